"""Check on public rows that the output of a model for a row depends on that row alone.

Where one private row changed what is said of the others, it would move a sum over all of them by
more than is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.schema._own_rows import own_rows

#: Rows that are looked at, of which some also alone.
_MOST_ROWS, _ALONE = 1000, 12
_N_RANDOM = 4
_SEED = 20_160_817  # public: nothing private is drawn
#: Rounding, as a part of the largest number of a column, by bytes of a number: sums of another
#: number of rows are added up in another order.
_ROUNDING = {2: 3e-2, 4: 1e-3}
_ROUNDING_OF_DOUBLES = 1e-5


def check_rows_alone(function: Callable[[Any], NDArray[Any]], X_public: Any, name: str) -> None:
    """Raise ValueError where a function makes something else of public rows than of some of them.

    Tried are both halves, random subsets, single rows, and another order with rows twice.

    Parameters
    ----------
    function : callable
        From a table to an array of as many rows.
    X_public : table
    name : str
        What errors call the function.
    """
    every = np.arange(_num_samples(X_public))
    some = every[np.linspace(0, len(every) - 1, min(len(every), _MOST_ROWS)).astype(int)]
    whole = function(own_rows(X_public))[some]
    for rows in _subsets(len(some)):
        part = function(_safe_indexing(X_public, some[rows]))
        if not _alike(whole[rows], part, whole):
            raise ValueError(
                f"{name} makes something else of some public rows than of the same rows among "
                "others, or in another order. What it makes of a row must depend on that row "
                "alone, or one private row would change what is said of all."
            )


def _subsets(n_rows: int) -> Iterator[NDArray[np.intp]]:
    every, rng = np.arange(n_rows), np.random.default_rng(_SEED)
    yield every
    for half in (every[::2], every[1::2]):
        if len(half):
            yield half
    for _ in range(_N_RANDOM):
        yield np.sort(rng.choice(every, size=max(n_rows // 2, 1), replace=False))
    yield np.concatenate([rng.permutation(n_rows), every])
    for row in rng.choice(every, size=min(n_rows, _ALONE), replace=False):
        yield np.array([row])


def _alike(one: NDArray[Any], other: NDArray[Any], whole: NDArray[Any]) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc" or other.dtype.kind not in "fc":
        return bool((one == other).all())
    rounding = _ROUNDING.get(min(one.dtype.itemsize, other.dtype.itemsize), _ROUNDING_OF_DOUBLES)
    largest = np.abs(whole).max(axis=0, initial=0.0)
    return bool((np.abs(one - other) <= rounding * largest).all())


def in_halves(
    function: Callable[[Any], NDArray[Any]], X: Any, none: NDArray[Any]
) -> tuple[NDArray[Any], Exception | None]:
    """Apply a function to rows; where it fails, to halves of them, down to single rows.

    A row that it can't answer must not take the answers of others along.

    Parameters
    ----------
    function : callable
        From a table to an array of as many rows. It is given rows of its own.
    X : table
    none : ndarray of shape (1, ...)
        What a row gets that it can't answer.

    Returns
    -------
    answers : ndarray of shape (n_rows, ...)
    error : Exception or None
        What it said first. Private, if the rows are.
    """
    try:
        return function(own_rows(X)), None
    except MemoryError:
        raise
    except Exception as error:
        n_rows, said = _num_samples(X), error
    if n_rows <= 1:
        return np.repeat(none, n_rows, axis=0), said
    halves = [
        in_halves(function, _safe_indexing(X, rows), none)[0]
        for rows in np.array_split(np.arange(n_rows), 2)
    ]
    return np.concatenate(halves), said
