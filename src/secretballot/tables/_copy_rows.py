"""Deep copies of rows, so that one user of them can't change the rows of another."""

from __future__ import annotations

import datetime
from copy import deepcopy
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secretballot.tables._frames import container_kind

#: Immutable types of cells.
_IMMUTABLE = (
    *(str, bytes, int, float, complex, bool, type(None), Decimal),
    *(datetime.date, datetime.timedelta, np.generic),
)


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
