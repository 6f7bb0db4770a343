"""Check on public rows that a function's output for a row depends on it alone; copies of rows.

Otherwise one private row could move a sum over all rows by more than is charged.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from copy import deepcopy
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.tables._frames import container_kind

#: Public rows that are checked, and rows that are checked alone.
_MOST_ROWS, _N_SINGLE = 1000, 12
_N_RANDOM = 4
_SEED = 20_160_817  # public: nothing private is drawn
#: Rounding relative to the largest number of a column, by bytes of a number: the order of sums
#: depends on the number of rows.
_ROUNDING = {2: 3e-2, 4: 1e-3}
_ROUNDING_OF_DOUBLES = 1e-5
#: Immutable types of cells.
_IMMUTABLE = (
    *(str, bytes, int, float, complex, bool, type(None), Decimal),
    *(datetime.date, datetime.timedelta, np.generic),
)


def check_row_independence(
    function: Callable[[Any], NDArray[Any]], X_public: ArrayLike, name: str
) -> None:
    """Raise ValueError if a function's output for a public row depends on other rows.

    Compared are both halves, random subsets, single rows, and another order with rows twice.
    """
    n_public = _num_samples(X_public)
    checked = np.linspace(0, n_public - 1, min(n_public, _MOST_ROWS)).astype(int)
    expected = function(copy_rows(X_public))[checked]
    for rows in _subsets(len(checked)):
        output = function(_safe_indexing(X_public, checked[rows]))
        if not _is_close(expected[rows], output, expected):
            raise ValueError(
                f"{name} makes something else of some public rows beside other rows, or in another "
                "order, by more than rounding. Its answer for a row must depend on that row alone: "
                "one private row would change the answers of all. Steps that compute from the "
                "batch, such as its mean or its largest value, must learn that in fit."
            )


def _subsets(n_rows: int) -> Iterator[NDArray[np.intp]]:
    rows, rng = np.arange(n_rows), np.random.default_rng(_SEED)
    yield rows
    for half in (rows[::2], rows[1::2]):
        if len(half):
            yield half
    for _ in range(_N_RANDOM):
        yield np.sort(rng.choice(rows, size=max(n_rows // 2, 1), replace=False))
    yield np.concatenate([rng.permutation(n_rows), rows])
    for row in rng.choice(rows, size=min(n_rows, _N_SINGLE), replace=False):
        yield np.array([row])


def _is_close(expected: NDArray[Any], output: NDArray[Any], all_rows: NDArray[Any]) -> bool:
    if expected.shape != output.shape:
        return False
    if expected.dtype.kind not in "fc" or output.dtype.kind not in "fc":
        return bool((expected == output).all())
    bytes_ = min(expected.dtype.itemsize, output.dtype.itemsize)
    rounding = _ROUNDING.get(bytes_, _ROUNDING_OF_DOUBLES)
    largest = np.abs(all_rows).max(axis=0, initial=0.0)
    return bool((np.abs(expected - output) <= rounding * largest).all())


def apply_in_halves(
    function: Callable[[Any], NDArray[Any]], X: ArrayLike, missing: NDArray[Any]
) -> tuple[NDArray[Any], Exception | None]:
    """Apply a function to rows; where it fails, to halves of them, down to single rows.

    So a row on which it fails, whose answer is `missing`, does not change the answers of others.
    Returns the first error too: it is private, if the rows are.
    """
    try:
        return function(copy_rows(X)), None
    except MemoryError:
        raise
    except Exception as error:
        n_rows, first_error = _num_samples(X), error
    if n_rows <= 1:
        return np.repeat(missing, n_rows, axis=0), first_error
    halves = [
        apply_in_halves(function, _safe_indexing(X, rows), missing)[0]
        for rows in np.array_split(np.arange(n_rows), 2)
    ]
    return np.concatenate(halves), first_error


def copy_rows(X: Any) -> Any:
    """Copy rows, and their mutable cells: lists, dictionaries, arrays."""
    container = container_kind(X)
    if container == "pandas":
        return _copy_frame(X)
    if container == "polars":
        objects = [name for name, dtype in X.schema.items() if str(dtype) == "Object"]
        return X.with_columns(type(X[name])(name, deepcopy(X[name].to_list())) for name in objects)
    if container == "list" or isinstance(X, list) or not hasattr(X, "copy"):
        return deepcopy(X)
    if getattr(X, "dtype", None) == np.dtype(object) and not _all_immutable(X):
        if isinstance(X, np.ndarray):
            return deepcopy(X)
        return X.map(deepcopy) if hasattr(X, "map") else deepcopy(X)
    return X.copy()


def _copy_frame(X: Any) -> Any:
    frame = X.copy()
    for index, dtype in enumerate(X.dtypes):
        if dtype == np.dtype(object) and not _all_immutable(X.iloc[:, index]):
            frame.isetitem(index, X.iloc[:, index].map(deepcopy))
    return frame


def _all_immutable(cells: ArrayLike) -> bool:
    kinds = set(map(type, np.asarray(cells, dtype=object).ravel()))
    return all(issubclass(kind, _IMMUTABLE) for kind in kinds)
