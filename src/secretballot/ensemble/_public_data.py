"""The wrapper that keeps a public pool whole in cross-validation."""

from __future__ import annotations

from typing import Any

from secretballot._sklearn_compat import _num_samples


class PublicData:
    """Public rows that scikit-learn must hand on as they are.

    Cross-validation slices every fit argument that has as many rows as ``X``. A pool wrapped in
    `PublicData` has no length, shape or array interface, so it always arrives whole; `clone` and
    `copy.deepcopy` give the object itself.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_queries, n_features)
        The public rows.

    Attributes
    ----------
    X : object
        The rows, as they were given.

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

    __slots__ = ("X", "__weakref__")

    def __init__(self, X: Any) -> None:
        if X is None:
            raise ValueError("X is None; give the public rows, or X_public=None for no pool.")
        self.X = X.X if isinstance(X, PublicData) else X

    def __sklearn_clone__(self) -> PublicData:
        return self

    def __copy__(self) -> PublicData:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PublicData:
        return self

    def __repr__(self) -> str:
        return f"PublicData({type(self.X).__name__})"


def public_rows(X_public: Any, n_private: int | None) -> Any:
    """Rows of a pool given bare or as `PublicData`.

    A bare pool as long as the private data is refused: cross-validation would have sliced it, and
    a slice of a pool can't be told from a pool.
    """
    rows = X_public.X if isinstance(X_public, PublicData) else X_public
    table = any(hasattr(rows, name) for name in ("shape", "__len__", "__array__"))
    if not table or getattr(rows, "shape", None) == () or isinstance(rows, str | bytes | dict):
        raise ValueError(f"X_public={rows!r} is no table; give the public rows themselves.")
    bare = not isinstance(X_public, PublicData)
    if bare and n_private is not None and _num_samples(rows) == n_private:
        raise ValueError(
            f"X_public has as many rows as X ({n_private}): scikit-learn slices such an argument "
            "in cross-validation. Pass X_public=PublicData(X_public) instead."
        )
    if _num_samples(rows) == 0:
        raise ValueError("X_public has 0 rows; give at least one, or X_public=None.")
    return rows
