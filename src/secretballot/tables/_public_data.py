"""Public rows: wrapper that keeps a pool whole in cross-validation, and refusal of private rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from itertools import pairwise, product
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot._base._errors import NOT_FOR_PUBLICATION
from secretballot._base._numbers import quoted
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.tables._cells import cell_text
from secretballot.tables._frames import Rows, match_order


class PublicData:
    """Public rows that scikit-learn must pass on as they are.

    Cross-validation slices every fit argument that has as many rows as ``X``. A pool wrapped in
    `PublicData` has no length, shape or array interface, so it always arrives whole; `clone` and
    `copy.deepcopy` give the object itself.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_queries, n_features)
        The public rows.
    may_be_private : bool, default=False
        Whether rows of private people may be among them. Estimators refuse a pool that shares
        memory with their private rows, has most of its index labels in common with the same cells,
        or has ten rows and more that are private rows too, each the only one of its kind in both
        tables (more, where rows have twins by chance). Fewer copies pass. True accepts all, and the
        privacy statement says that the guarantee does not cover what is shown of these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.ensemble import PublicData
    >>> pool = PublicData(np.zeros((3, 2)))
    >>> pool
    PublicData(ndarray)
    >>> pool.X.shape
    (3, 2)
    """

    __slots__ = ("X", "__weakref__", "may_be_private")

    def __init__(self, X: Rows | PublicData, *, may_be_private: bool = False) -> None:
        if X is None:
            raise ValueError("X is None; give the public rows, or X_public=None for no pool.")
        if not isinstance(may_be_private, bool):
            raise ValueError(f"may_be_private={may_be_private!r} is neither True nor False.")
        self.may_be_private = may_be_private or declared_private(X)
        self.X: Rows = X.X if isinstance(X, PublicData) else X

    def __sklearn_clone__(self) -> PublicData:
        return self

    def __copy__(self) -> PublicData:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> PublicData:
        return self

    @property
    def __array_interface__(self) -> NoReturn:
        # scikit-learn reads it before it transforms rows; cross-validation does not.
        raise TypeError(
            "PublicData can't go through a step of a Pipeline (transform_input=['X_public']). Put "
            "the step inside of the estimator, where each teacher fits it on rows of its own "
            "(PrivateTeacherEnsemble(make_pipeline(step, estimator))), or into features= of "
            "PrivateLogisticRegression. A step that learns nothing from rows may be applied to X "
            "and to X_public beforehand."
        )

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"PublicData has no attribute {name!r}. It only wraps the public rows, which are its "
            "attribute X. Change them first, and wrap what results: "
            "PublicData(pool.X.drop(columns=['id']))."
        )

    def __repr__(self) -> str:
        return f"PublicData({type(self.X).__name__})"


def declared_private(X_public: Rows | PublicData | None) -> bool:
    """Return True if public rows were declared to be rows that may be private."""
    return isinstance(X_public, PublicData) and X_public.may_be_private


def public_rows(X_public: Rows | PublicData, X: Rows | None) -> Any:
    """Return the rows of a pool, with columns in the order of X; refuse private rows, and slices.

    X are the private rows, if any. A slice of a pool looks like a pool, so a bare one must not be
    as long as X.
    """
    rows = X_public.X if isinstance(X_public, PublicData) else X_public
    no_table = isinstance(rows, str | bytes | dict | Set) and not hasattr(rows, "shape")
    is_table = isinstance(rows, list | tuple)
    is_table = is_table or any(hasattr(rows, name) for name in ("shape", "columns", "__array__"))
    if no_table or not is_table or getattr(rows, "shape", None) == ():
        raise ValueError(f"X_public={quoted(rows)} is no table; give the public rows themselves.")
    if isinstance(rows, tuple) and any(np.ndim(part) > 1 for part in rows[:1]):
        raise ValueError(
            f"X_public is a tuple of {len(rows)} parts; pass the rows alone, X_public=X_public[0]: "
            "labels of public rows are not used."
        )
    n_rows = _num_samples(rows)
    if n_rows == 0:
        raise ValueError("X_public has 0 rows; give at least one, or X_public=None.")
    if X is not None:
        rows = match_order(rows, X)  # whole rows are compared
        if not declared_private(X_public):
            check_no_shared_rows(rows, X)
    bare = not isinstance(X_public, PublicData)
    if bare and X is not None and n_rows == _num_samples(X):
        raise ValueError(
            f"X_public has as many rows as X ({_num_samples(X)}): scikit-learn slices such an "
            "argument in cross-validation. Pass X_public=PublicData(X_public) instead."
        )
    return rows


#: Fewest identical rows, each unique in both tables, that are refused.
_TOO_MANY = 10
#: They are refused if they also exceed this multiple of their expected number by this number of
#: standard errors.
_FACTOR, _ERRORS = 2, 4
#: Work limit of an exact test of shared memory; beyond it rows are compared instead. (NumPy takes
#: any number, which its type annotations lack.)
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


def _shared(X_public: Any, X: Any) -> str | None:
    if X_public is X:
        return "is X itself"
    if _overlap(X_public, X):
        return "shares memory with X"
    if hasattr(X_public, "shape") and hasattr(X, "shape") and X_public.shape[1:] != X.shape[1:]:
        return None  # refused elsewhere
    public, private = row_hashes(X_public), row_hashes(X)
    if _same_index(X_public, X, public, private):
        return "has rows with the index labels and the values of rows of X"
    twins = len(np.intersect1d(_unique(public), _unique(private), assume_unique=True))
    # The probability that a new row equals a row that occurs once is the share of rows that occur
    # twice (Good and Turing). One more pair keeps it above 0.
    counts = np.unique(private, return_counts=True)[1]
    expected = len(public) * (2 * (int((counts == 2).sum()) + 1) / (len(private) + 1))
    if twins >= max(_TOO_MANY, _FACTOR * expected + _ERRORS * np.sqrt(expected)):
        return f"has {twins} rows that are rows of X too, each the only one of its kind in both"
    return None


def _overlap(X_public: Any, X: Any) -> bool:
    """Return True if two tables share memory."""
    for a, b in product(_buffers(X), _buffers(X_public)):
        with suppress(np.exceptions.TooHardError):
            if np.may_share_memory(a, b) and np.shares_memory(a, b, _MOST_WORK):  # type: ignore[arg-type]
                return True
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
    """Return True if most rows with common labels are equal, also among rows that are unique."""
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
    is_unique = np.isin(private, unique_private)  # other rows may be equal by chance
    n_same = int((same & is_unique & np.isin(public, unique_public)).sum())
    return 2 * n_same >= max(int(is_unique.sum()), 1)


def _unique(hashes: _Hashes) -> _Hashes:
    values, counts = np.unique(hashes, return_counts=True)
    return np.asarray(values[counts == 1])


def row_hashes(X: Any) -> _Hashes:
    """Hash rows: equal cells of any types have equal hashes; fractions in single precision."""
    hashes: list[int] = []
    if issparse(X):
        table = X.tocsr(copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        for start, end in pairwise(table.indptr):
            columns, data = table.indices[start:end], _single(table.data[start:end])
            hashes.append(hash((*columns.tolist(), *data.tolist())))
        return np.array(hashes, dtype=np.int64)
    for start in range(0, _num_samples(X), _BATCH):
        batch = _safe_indexing(X, slice(start, start + _BATCH))
        cells = np.asarray(batch) if hasattr(batch, "shape") else _as_cells(batch)
        cells = cells.reshape(len(cells), -1)
        if cells.dtype.kind in "biuf" and not (np.isnan(cells) | (cells == -1)).any():
            hashes += map(hash, map(tuple, _single(cells).tolist()))
        else:
            with np.errstate(over="ignore"):
                hashes += [hash(tuple(map(_cell_hash, row))) for row in cells.tolist()]
    return np.array(hashes, dtype=np.int64)


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
    """Return a hash: the same for equal cells, and for all missing cells."""
    try:
        if cell == -1:
            return hash("-1")  # hash(-1) is hash(-2)
        if isinstance(cell, float) and not cell.is_integer():
            cell = float(np.float32(cell))
        return hash(cell) if cell == cell else 0
    except Exception:  # without a hash, or that can't be compared, such as NA of pandas
        return hash(cell_text(cell))
