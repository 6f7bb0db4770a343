"""Private rows among public rows: shared memory, shared index labels, identical rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot._sklearn_compat import _num_samples, _safe_indexing

#: Least number of identical rows, each unique in both tables, that is refused.
_TOO_MANY = 30
#: Limit of an exact test of shared memory (a number, which its types do not know); beyond it rows
#: are compared instead.
_MOST_WORK = 10**5

_Hashes = NDArray[np.uint64]


def check_no_shared_rows(X_public: ArrayLike, X: ArrayLike) -> None:
    """Raise ValueError if private rows are among the public rows.

    Refused are the same object, shared memory, data frames in which most rows with index labels in
    common are equal, and 30 identical rows that are unique within both tables. Coarse tables have
    honest twins, which are not unique.

    Parameters
    ----------
    X_public : table
        The public rows.
    X : table
        The private rows.
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
    """Describe the rows that both tables have in common; None if there are none."""
    if X_public is X:
        return "is X itself"
    if _share_memory(X_public, X):
        return "shares memory with X"
    if getattr(X_public, "shape", ())[1:] != getattr(X, "shape", ())[1:] and all(
        hasattr(table, "shape") for table in (X_public, X)
    ):
        return None  # refused elsewhere
    public, private = row_hashes(X_public), row_hashes(X)
    if _same_index(X_public, X, public, private):
        return "has rows with the index labels and the values of rows of X"
    twins = len(np.intersect1d(_unique(public), _unique(private), assume_unique=True))
    if twins >= _TOO_MANY:
        return f"has {twins} rows that are rows of X too, each the only one of its kind in both"
    return None


def _share_memory(X_public: ArrayLike, X: ArrayLike) -> bool:
    public = list(_buffers(X_public))
    return any(_overlap(buffer, pool) for buffer in _buffers(X) for pool in public)


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
        for index in range(X.shape[1]):
            yield X.iloc[:, index].to_numpy()


def _same_index(X_public: Any, X: Any, public: _Hashes, private: _Hashes) -> bool:
    """Return whether most rows with labels in common are equal, and one of them is unique."""
    if not (hasattr(X_public, "iloc") and hasattr(X, "iloc")):
        return False
    if not (X_public.index.is_unique and X.index.is_unique):
        return False
    common = X.index.intersection(X_public.index)
    unique_public, unique_private = _unique(public), _unique(private)
    public = public[X_public.index.get_indexer(common)]
    private = private[X.index.get_indexer(common)]
    same = public == private
    if 2 * int(same.sum()) < max(len(common), 1):
        return False
    return bool((same & np.isin(private, unique_private) & np.isin(public, unique_public)).any())


def _unique(hashes: _Hashes) -> _Hashes:
    """Return the hashes that occur once."""
    values, counts = np.unique(hashes, return_counts=True)
    return np.asarray(values[counts == 1])


def row_hashes(X: Any) -> _Hashes:
    """Return a 64-bit hash of each row; equal cells have equal hashes, whatever their types."""
    if issparse(X):
        return _sparse_hashes(X.tocsr())
    if isinstance(X, np.ndarray) and X.ndim > 1:
        columns: Sequence[Any] = list(X.reshape(len(X), -1).T)
    elif hasattr(X, "columns") and hasattr(X, "shape"):
        columns = [_safe_indexing(X, index, axis=1) for index in range(X.shape[1])]
    elif _is_nested(X):
        columns = list(zip(*X, strict=True))
    else:
        return np.fromiter(map(_cell_hash, X), np.uint64, _num_samples(X))
    total = np.zeros(_num_samples(X), dtype=np.uint64)
    for index, values in enumerate(columns):
        salt = _mixed(np.full(1, index + 1, dtype=np.uint64))
        total += _mixed(_column_hashes(values) ^ salt)
    return total


def _sparse_hashes(X: Any) -> _Hashes:
    X.sum_duplicates()
    cells = _number_hashes(X.data) ^ _mixed(X.indices.astype(np.uint64) + np.uint64(1))
    cells = np.where(X.data == 0, np.uint64(0), _mixed(cells))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(cells, dtype=np.uint64)])
    return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]])


def _column_hashes(values: ArrayLike) -> _Hashes:
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return _number_hashes(np.asarray(values))
    cells = np.asarray(values, dtype=object).tolist()
    cache: dict[Hashable, int] = {}
    for cell in cells:
        if isinstance(cell, str | int | float) and cell not in cache:
            cache[cell] = _cell_hash(cell)
    hashes = (cache[c] if isinstance(c, str | int | float) else _cell_hash(c) for c in cells)
    return np.fromiter(hashes, np.uint64, len(cells))


def _number_hashes(values: NDArray[Any]) -> _Hashes:
    numbers = values.astype(np.float64) + 0.0  # one zero
    numbers[np.isnan(numbers)] = np.nan
    return _mixed(numbers.view(np.uint64))


def _cell_hash(cell: object) -> int:
    if isinstance(cell, bool | int | float | np.number | np.bool_):
        try:
            return int(_number_hashes(np.array([float(cell)]))[0])
        except (OverflowError, TypeError):  # too large, or complex
            pass
    try:
        key = cell if isinstance(cell, Hashable) and cell == cell else str(cell)
        return hash(key) & (2**64 - 1)
    except Exception:  # objects that can't be compared, such as NA of pandas
        return hash(str(cell)) & (2**64 - 1)


def _is_nested(X: Iterable[Any]) -> bool:
    """Return whether rows are lists of cells of equal lengths."""
    rows = list(X)
    listed = all(isinstance(row, list | tuple | np.ndarray) for row in rows)
    return listed and len({len(row) for row in rows}) == 1


def _mixed(bits: _Hashes) -> _Hashes:
    """Mix 64 bits, so that sums of hashes differ for different rows (finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        bits = bits.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(bits ^ (bits >> np.uint64(31)))
