"""Tables of several libraries: their columns, and data frames made of columns of public types."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot._sklearn_compat import _safe_indexing
from secretballot.schema._column_schema import ColumnSchema


def container_of(X: Any) -> str:
    """Return the kind of table, as in `RowSchema`; empty for anything without types."""
    for name in ("pandas", "polars"):
        package = sys.modules.get(name)
        if package is not None and isinstance(X, package.DataFrame):
            return name
        if package is not None and isinstance(X, package.Series):
            return "column"
    if isinstance(X, list | tuple):
        return _container_of_list(X)
    if issparse(X):
        return "numbers" if X.dtype.kind in "biuf" else ""
    if not isinstance(X, np.ndarray):
        return ""
    if X.ndim == 1:
        return "column"
    return "numbers" if X.dtype.kind in "biuf" else "objects" if X.ndim == 2 else ""


def _container_of_list(X: Any) -> str:
    if all(isinstance(row, str) for row in X):
        return "list"
    cells = [row for row in X if isinstance(row, list | tuple | np.ndarray)]
    if len(cells) < len(X) or {np.ndim(_first(row)) for row in cells} != {0}:
        return ""  # dictionaries, images: a list has no types, and its rows are what they are
    return "numbers" if as_table(X, None, "X_public").dtype.kind in "biuf" else "objects"


def _first(row: Any) -> Any:
    return row[0] if len(row) else [[]]


def check_table(X: Any, name: str, *, one_dimension: bool = False) -> None:
    """Refuse tables of libraries whose types are not read, and one row that is given as no table.

    Parameters
    ----------
    X : table
    name : str
        What errors call the table.
    one_dimension : bool
        Whether a row may be one cell, such as a text.
    """
    shape = getattr(X, "shape", ())
    if hasattr(X, "columns") and container_of(X) not in ("pandas", "polars"):
        kind = type(X)
        raise ValueError(
            f"{name} is a {kind.__name__} of {kind.__module__.split('.')[0]}, whose types are not "
            "read. Give a data frame of pandas or polars, such as table.to_pandas(), or an array."
        )
    if len(shape) == 1 and not one_dimension:
        raise ValueError(
            f"{name}: expected 2D array, got 1D array instead, of shape {tuple(shape)}. Reshape "
            "your data: array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one sample; "
            "one row of a data frame is frame.iloc[[0]], not frame.iloc[0]."
        )


def as_table(X: Any, shape: tuple[int, ...] | None, name: str) -> Any:
    """Return a list of rows as an array; other tables as they are.

    Parameters
    ----------
    X : table
    shape : tuple of int or None
        Of a row; None for public rows, which say it.
    name : str
        What errors call the table.
    """
    if hasattr(X, "shape") or hasattr(X, "columns"):
        return X
    rows = list(X)
    public = shape is None
    shape = (len(rows[0]),) if shape is None else shape
    table = np.empty((len(rows), *shape), dtype=object)
    for at, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != shape[0]:
            raise ValueError(
                f"{name} has a row that is not a list of {shape[0]} cells. {NOT_FOR_PUBLICATION}"
            )
        for column, cell in enumerate(row):
            table[at, column] = cell
    if public and all(isinstance(cell, Real | np.number) for cell in table.ravel()):
        return table.astype(np.float64)
    return table


def column_order(names: list[Any] | None, width: int, X: Any, name: str) -> list[int]:
    """Return the positions in a table of columns with these names, or by position without names.

    Raises
    ------
    ValueError
        If columns are missing, or there are others.
    """
    found = column_names(X)
    shape = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != width:
        raise ValueError(
            f"X_public must have the columns of X: {name} has the shape {tuple(shape)}, and "
            f"X_public has {width} columns."
        )
    if names is None or found is None or names == found:
        return list(range(width))
    missing, others = ([n for n in a if n not in b] for a, b in ((names, found), (found, names)))
    if missing or others or len(set(found)) < width:
        raise ValueError(
            f"X_public must have the columns of X, in any order: {name} lacks {missing[:5]!r}, "
            f"and X_public lacks {others[:5]!r}."
        )
    return [found.index(each) for each in names]


def column_names(X: Any) -> list[Any] | None:
    """Return the names of columns, None if they have none.

    Columns called 0, 1, 2 and so on have no names: so would an array's be called.
    """
    names = list(getattr(X, "columns", ()))
    return None if not names or names == list(range(len(names))) else names


def columns_of(X: Any) -> list[Any]:
    """Return the columns of an array or a data frame."""
    if isinstance(X, np.ndarray):
        return list(X.T)
    return [_safe_indexing(X, at, axis=1) for at in range(X.shape[1])]


def frame_of(library: str, columns: Sequence[ColumnSchema], cells: Sequence[NDArray[Any]]) -> Any:
    """Return a data frame of the public types.

    Parameters
    ----------
    library : {"pandas", "polars"}
    columns : sequence of ColumnSchema
    cells : sequence of ndarray
        Of each column, as `ColumnSchema.plain` returns them.
    """
    package = sys.modules[library]
    make = _of_pandas if library == "pandas" else _of_polars
    made = [make(column, plain, package) for column, plain in zip(columns, cells, strict=True)]
    if library == "polars":
        return package.DataFrame(made)
    table = package.concat(made, axis=1)
    table.columns = package.Index([column.name for column in columns])
    return table


def _of_pandas(column: ColumnSchema, plain: NDArray[Any], pandas: Any) -> Any:
    dtype = column.dtype
    if column.kind == "category":
        known = pandas.CategoricalDtype(list(column.categories), ordered=column.ordered)
        return pandas.Series(pandas.Categorical.from_codes(plain, dtype=known))
    if column.kind == "time" and getattr(dtype, "tz", None) is not None:
        return pandas.Series(plain).dt.tz_localize("UTC").dt.tz_convert(dtype.tz)
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return pandas.Series(plain.astype(dtype))
    if column.kind == "object":
        dtype = (
            object  # types of other libraries, intervals: some have no place for what is missing
        )
    return pandas.Series(objects_of(column, plain), dtype=dtype)


def _of_polars(column: ColumnSchema, plain: NDArray[Any], polars: Any) -> Any:
    name, dtype = column.name, column.dtype
    if column.kind == "category":
        if type(dtype).__name__ == "Enum":
            dtype = polars.Enum(list(column.categories))
        return polars.Series(name, objects_of(column, plain).tolist(), dtype=dtype)
    if column.kind in ("time", "duration"):
        found = polars.Series(name, plain if plain.dtype != "M8[D]" else plain.astype("M8[ms]"))
        zone = getattr(dtype, "time_zone", None)
        if zone is not None:
            found = found.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return found.cast(dtype)
    if column.kind == "object":
        plain = _held(plain, lambda cell: polars.Series([cell], dtype=dtype))
    return polars.Series(name, objects_of(column, plain).tolist(), dtype=dtype)


def objects_of(column: ColumnSchema, plain: NDArray[Any]) -> NDArray[Any]:
    """Return the cells of a column as objects, missing ones None."""
    found = np.empty(len(plain), dtype=object)
    there = ~column.missing(plain)
    if column.kind == "category":
        found[there] = np.array([*column.categories, None], dtype=object)[plain[there]]
    elif column.kind == "truth":
        found[there] = plain[there].astype(bool)
    elif column.kind == "number":
        found[there] = plain[there].astype(column.exact).tolist()
    else:
        found[there] = plain[there]
    return found


def _held(plain: NDArray[Any], make: Any) -> NDArray[Any]:
    """Return cells of which those that a type can't hold are missing."""
    found = np.empty(len(plain), dtype=object)
    for at, cell in enumerate(plain):
        try:
            make(cell)
        except Exception:
            continue
        found[at] = cell
    return found
