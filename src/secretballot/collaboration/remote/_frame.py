"""Data frames of pandas and polars, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.collaboration.remote._column import (
    Arrays,
    put_numbers,
    put_text,
    take,
    take_text,
)
from secretballot.collaboration.remote._message import MessageError

#: Numbers of pandas that may be missing, and what they are without.
_NULLABLE = {
    f"{prefix}Int{bits}": f"{prefix.lower()}int{bits}"
    for prefix in ("", "U")
    for bits in (8, 16, 32, 64)
} | {"Float32": "float32", "Float64": "float64", "boolean": "bool"}


def put_pandas(frame: Any, name: str, arrays: Arrays) -> list[Any]:
    """Add the columns of a data frame to what is sent; return their names and kinds."""
    return [
        [_name(column, name), *_put_series(frame.iloc[:, at], f"{name}[{column!r}]", arrays)]
        for at, column in enumerate(frame.columns)
    ]


def _put_series(series: Any, name: str, arrays: Arrays) -> tuple[str, Any]:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        arrays.append(np.asarray(series.cat.codes))
        inner = _put_series(dtype.categories.to_series(), f"{name}.cat.categories", arrays)
        return "categories", [*inner, bool(dtype.ordered)]
    if str(dtype) in _NULLABLE:
        missing = series.isna().to_numpy()
        plain = series.to_numpy(dtype=_NULLABLE[str(dtype)], na_value=0)
        arrays += [plain, missing]
        return "nullable", str(dtype)
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        put_numbers(series.to_numpy(), name, arrays)
        return "numbers", None
    if not isinstance(dtype, np.dtype) and dtype.name != "string" and str(dtype) != "str":
        raise ValueError(
            f"{name} is of dtype {dtype}, which can't be sent: only numbers, booleans, texts and "
            "categories."
        )
    cells = series.to_numpy(dtype=object)
    if not isinstance(dtype, np.dtype):
        cells = np.where(series.isna().to_numpy(), None, cells)
    put_text(cells, name, arrays)
    return "text", str(dtype)


def take_pandas(columns: Any, arrays: Iterator[NDArray[Any]]) -> Any:
    """Return a data frame that was sent."""
    pandas = import_module("pandas")
    made = [_take_series(kind, form, arrays, pandas) for _, kind, form in columns]
    if len({len(series) for series in made}) > 1:
        raise MessageError("the columns of a data frame have different lengths")
    frame = pandas.concat(made, axis=1)
    frame.columns = [name for name, _, _ in columns]
    return frame


def _take_series(kind: str, form: Any, arrays: Iterator[NDArray[Any]], pandas: Any) -> Any:
    if kind == "categories":
        codes = take(arrays, "i", 1)
        inner, of, ordered = form
        categories = _take_series(inner, of, arrays, pandas)
        if len(codes) and not (codes.min() >= -1 and codes.max() < len(categories)):
            raise MessageError("a code is of no category")
        dtype = pandas.CategoricalDtype(pandas.Index(categories), ordered=bool(ordered))
        return pandas.Series(pandas.Categorical.from_codes(codes, dtype=dtype))
    if kind == "nullable":
        plain, missing = take(arrays, "biuf", 1), take(arrays, "b", 1)
        if _NULLABLE.get(form) != plain.dtype.name or len(plain) != len(missing):
            raise MessageError("a column is not of the kind that it says")
        series = pandas.Series(plain, dtype=form)
        series[missing] = pandas.NA
        return series
    if kind == "numbers":
        return pandas.Series(take(arrays, "biufS", 1))
    if kind != "text" or form not in ("object", "str", "string"):
        raise MessageError("a column is of no kind that is known")
    cells = take_text(arrays)
    # Before pandas 3, "str" would write None as a text.
    made = pandas.Series(cells, dtype=object)
    return (
        made if form == "object" or (form == "str" and not _has_str(pandas)) else made.astype(form)
    )


def _has_str(pandas: Any) -> bool:
    return int(pandas.__version__.split(".")[0]) >= 3


def put_polars(frame: Any, name: str, arrays: Arrays) -> list[Any]:
    """Add the columns of a data frame to what is sent; return their names and kinds."""
    polars, columns = import_module("polars"), []
    for series in frame.get_columns():
        dtype, form, of = series.dtype, str(series.dtype), None
        if isinstance(dtype, polars.Enum):
            form, of = "Enum", list(dtype.categories)
        elif isinstance(dtype, polars.Categorical):
            form = "Categorical"
        if (dtype.is_numeric() and not dtype.is_decimal()) or form == "Boolean":
            missing = series.is_null().to_numpy()
            put_numbers(
                series.fill_null(0 if form != "Boolean" else False).to_numpy(), name, arrays
            )
            arrays.append(missing)
        elif form in ("String", "Categorical", "Enum"):
            put_text(series.cast(polars.String).to_list(), f"{name}[{series.name!r}]", arrays)
        else:
            raise ValueError(
                f"{name}[{series.name!r}] is of dtype {dtype}, which can't be sent: only numbers, "
                "booleans, texts and categories."
            )
        columns.append([series.name, form, of])
    return columns


def take_polars(columns: Any, arrays: Iterator[NDArray[Any]]) -> Any:
    """Return a data frame that was sent."""
    polars, made = import_module("polars"), []
    for name, form, of in columns:
        if form in ("String", "Categorical", "Enum"):
            series = polars.Series(name, take_text(arrays).tolist(), dtype=polars.String)
            if form != "String":
                series = series.cast(polars.Enum(of) if form == "Enum" else polars.Categorical)
        else:
            plain, missing = take(arrays, "biuf", 1), take(arrays, "b", 1)
            series = polars.Series(name, plain)
            if str(series.dtype) != form or len(plain) != len(missing):
                raise MessageError("a column is not of the kind that it says")
            if missing.any():
                series = series.set(polars.Series(missing), None)
        made.append(series)
    return polars.DataFrame(made)


def _name(column: Any, name: str) -> str | int:
    if isinstance(column, str):
        return column
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        return int(column)
    raise ValueError(f"{name} has a column named {column!r}; name columns by texts or numbers.")
