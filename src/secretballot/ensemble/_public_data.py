"""Wrapper that keeps a public pool whole in cross-validation."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, NoReturn

import numpy as np

from secretballot._base._numbers import quoted
from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._estimator_types import Rows
from secretballot.tables._frames import match_order
from secretballot.tables._shared_rows import check_no_shared_rows


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
    table = any(hasattr(rows, name) for name in ("shape", "columns", "__array__"))
    table = table or isinstance(rows, list | tuple)
    if no_table or not table or getattr(rows, "shape", None) == ():
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
