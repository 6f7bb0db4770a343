"""Private rows among public rows: shared memory, shared index labels, identical rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.tables._cells import cell_text

#: Identical rows, each unique in both tables, are refused if they are at least so many, ...
_TOO_MANY = 10
#: ... and exceed this multiple of their expected number by so many standard errors.
_FACTOR, _ERRORS = 2, 4
#: Limit of an exact test of shared memory (a number, which its types do not know); beyond it rows
#: are compared instead.
_MOST_WORK = 10**5

#: Rows that are hashed at a time.
_BATCH = 1_000

_Hashes = NDArray[np.int64]


def check_no_shared_rows(X_public: ArrayLike, X: ArrayLike) -> None:
    """Raise ValueError if private rows are among the public rows.

    Refused are the same object, shared memory, data frames in which most rows with index labels in
    common are equal, and identical rows that are unique within both tables, if they are clearly
    more than by chance: coarse tables have honest twins.
    """
    reason = _shared(X_public, X)
    if reason is not None:
        raise ValueError(
            f"X_public {reason}: what is learned from public rows, or shown of them, is not "
            "protected. Pass rows of other people, who need no protection. If it is meant so, "
            "X_public=PublicData(rows, may_be_private=True) is accepted, and the privacy "
            f"statement says so. {NOT_FOR_PUBLICATION}"
        )


def _shared(X_public: ArrayLike, X: ArrayLike) -> str | None:
    if X_public is X:
        return "is X itself"
    pools = list(_buffers(X_public))
    if any(_overlap(buffer, pool) for buffer in _buffers(X) for pool in pools):
        return "shares memory with X"
    if getattr(X_public, "shape", ())[1:] != getattr(X, "shape", ())[1:] and all(
        hasattr(table, "shape") for table in (X_public, X)
    ):
        return None  # refused elsewhere
    public, private = row_hashes(X_public), row_hashes(X)
    if _same_index(X_public, X, public, private):
        return "has rows with the index labels and the values of rows of X"
    twins = len(np.intersect1d(_unique(public), _unique(private), assume_unique=True))
    # The probability that another row equals one that occurs once is the share of rows of which
    # there are exactly two (Good and Turing). One more pair keeps it above 0.
    counts = np.unique(private, return_counts=True)[1]
    expected = len(public) * (2 * (int((counts == 2).sum()) + 1) / (len(private) + 1))
    if twins >= max(_TOO_MANY, _FACTOR * expected + _ERRORS * np.sqrt(expected)):
        return f"has {twins} rows that are rows of X too, each the only one of its kind in both"
    return None


def _overlap(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, _MOST_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False


def _buffers(X: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays that hold the cells of a table: its own, or those of its columns."""
    if isinstance(X, np.ndarray):
        yield X
    elif issparse(X):
        yield X.data
    elif hasattr(X, "iloc"):
        for index in range(X.shape[1] if X.ndim > 1 else 0):
            yield X.iloc[:, index].to_numpy()
        if X.ndim == 1:
            yield X.to_numpy()


def _same_index(X_public: Any, X: Any, public: _Hashes, private: _Hashes) -> bool:
    """Return True if most rows with labels in common are equal, and one of them is unique."""
    if not all(hasattr(table, "iloc") and table.index.is_unique for table in (X_public, X)):
        return False
    common = X.index.intersection(X_public.index)
    unique_public, unique_private = _unique(public), _unique(private)
    public = public[X_public.index.get_indexer(common)]
    private = private[X.index.get_indexer(common)]
    same = public == private
    if 2 * int(same.sum()) < max(len(common), 1):
        return False
    is_unique = np.isin(private, unique_private)  # others are equal by chance
    n_same = int((same & is_unique & np.isin(public, unique_public)).sum())
    return 2 * n_same >= max(int(is_unique.sum()), 1)


def _unique(hashes: _Hashes) -> _Hashes:
    values, counts = np.unique(hashes, return_counts=True)
    return np.asarray(values[counts == 1])


def row_hashes(X: Any) -> _Hashes:
    """Hash rows: equal cells of any types have equal hashes; fractions in single precision."""
    return np.fromiter(map(hash, _row_keys(X)), np.int64, _num_samples(X))


def _row_keys(X: Any) -> Iterator[tuple[Hashable, ...]]:
    if issparse(X):
        table = X.tocsr(copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        for start, end in pairwise(table.indptr):
            yield (*table.indices[start:end].tolist(), *_single(table.data[start:end]).tolist())
        return
    for start in range(0, _num_samples(X), _BATCH):
        batch = _safe_indexing(X, slice(start, start + _BATCH))
        cells = np.asarray(batch) if hasattr(batch, "shape") else _as_cells(batch)
        cells = cells.reshape(len(cells), -1)
        if cells.dtype.kind in "biuf" and not (np.isnan(cells) | (cells == -1)).any():
            yield from map(tuple, _single(cells).tolist())
        else:
            with np.errstate(over="ignore"):
                keys = [tuple(map(_cell_hash, row)) for row in cells.tolist()]
            yield from keys


def _single(numbers: NDArray[Any]) -> NDArray[Any]:
    if numbers.dtype.kind != "f":
        return numbers
    with np.errstate(over="ignore"):
        rounded = numbers.astype(np.float32)
    return np.where(numbers == np.floor(numbers), numbers, rounded)


def _as_cells(rows: Sequence[Any]) -> NDArray[np.object_]:
    try:
        return np.array(rows, dtype=object)
    except ValueError:  # arrays of different shapes
        return np.fromiter(rows, object, len(rows))


def _cell_hash(cell: object) -> int:
    """Return a hash that equal cells share, and missing ones."""
    try:
        if cell == -1:
            return hash("-1")  # hash(-1) is hash(-2)
        if isinstance(cell, float) and not cell.is_integer():
            cell = float(np.float32(cell))
        return hash(cell) if cell == cell else 0
    except Exception:  # without a hash, or that can't be compared, such as NA of pandas
        return hash(cell_text(cell))
