"""Copies of rows that share nothing with them: nobody changes what another one is given."""

from __future__ import annotations

import datetime
from copy import deepcopy
from decimal import Decimal
from typing import Any

import numpy as np

from secretballot.schema._frames import container_of

#: Types of cells that nobody can change.
_FIXED = (
    *(str, bytes, int, float, complex, bool, type(None), Decimal),
    *(datetime.date, datetime.timedelta, np.generic),
)


def own_rows(X: Any) -> Any:
    """Return a copy of rows, and of the cells that are objects: lists, dictionaries, arrays."""
    container = container_of(X)
    if container == "pandas":
        return _own_frame(X)
    if container == "polars":
        objects = [name for name, dtype in X.schema.items() if str(dtype) == "Object"]
        return X.with_columns(type(X[name])(name, deepcopy(X[name].to_list())) for name in objects)
    if container == "list" or isinstance(X, list) or not hasattr(X, "copy"):
        return deepcopy(X)
    if getattr(X, "dtype", None) == np.dtype(object) and not _fixed(X):
        if isinstance(X, np.ndarray):
            return deepcopy(X)
        return X.map(deepcopy) if hasattr(X, "map") else deepcopy(X)
    return X.copy()


def _own_frame(X: Any) -> Any:
    own = X.copy()
    for at, dtype in enumerate(X.dtypes):
        if dtype == np.dtype(object) and not _fixed(X.iloc[:, at]):
            own.isetitem(at, X.iloc[:, at].map(deepcopy))
    return own


def _fixed(cells: Any) -> bool:
    """Return whether no cell can be changed."""
    kinds = set(map(type, np.asarray(cells, dtype=object).ravel()))
    return all(issubclass(kind, _FIXED) for kind in kinds)
