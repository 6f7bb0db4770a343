"""Data frames of pandas and polars as arrays, with the type of each column."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from secretballot.collaboration.remote._arrays import ArrayReader, ArrayWriter
from secretballot.transport import Fields, MessageError, read_field

if TYPE_CHECKING:
    import pandas
    import polars

#: Types of pandas: those of numpy, those with a mask, times with a zone, and categories.
_NUMPY = re.compile(
    r"bool|u?int(8|16|32|64)|float(16|32|64)|(datetime|timedelta)64\[(s|ms|us|ns)\]"
)
_MASKED = re.compile(r"U?Int(8|16|32|64)|Float(32|64)|boolean")
_ZONED = re.compile(r"datetime64\[(s|ms|us|ns), [\w/+:-]+\]")
_CATEGORIES = re.compile(r"(ordered|category):(.+)", re.DOTALL)
_TEXTS = ("object", "string", "str")
#: Types of polars: the name of a class, a unit of time, a zone.
_POLARS = re.compile(
    r"(U?Int(?:8|16|32|64)|Float(?:32|64)|Boolean|Date|Time|Duration|Datetime)"
    r"(?:\|(ms|us|ns))?(?:\|([\w/+:-]+))?"
)
_POLARS_TEXTS = ("Enum", "Categorical", "String")
#: Memory of a column beside its cells.
_COLUMN = 4_096

#: Name and type of a column.
Column = tuple[str | int, str]


def write_pandas(frame: pandas.DataFrame, writer: ArrayWriter, name: str) -> list[Column]:
    """Encode the columns of a data frame, and return their names and types."""
    columns: list[Column] = []
    for at, label in enumerate(frame.columns):
        if isinstance(label, bool) or not isinstance(label, str | int | np.integer):
            raise ValueError(
                f"{name} has a column named {label!r}; name columns by texts or numbers."
            )
        tag = _write_series(frame.iloc[:, at], writer, f"{name}[{label!r}]")
        columns.append((label if isinstance(label, str) else int(label), tag))
    return columns


def _write_series(series: pandas.Series[Any], writer: ArrayWriter, name: str) -> str:
    dtype, tag = series.dtype, str(series.dtype)
    if tag == "category":
        writer.add(series.cat.codes.to_numpy(), name)
        values = series.cat.categories.to_series()
        inner = _write_series(values, writer, f"{name}.cat.categories")
        return f"{'ordered' if series.cat.ordered else 'category'}:{inner}"
    if tag == "object":
        writer.add_texts(series.tolist(), name)
    elif tag in _TEXTS:
        writer.add_texts(np.where(series.isna(), None, series.to_numpy(dtype=object)), name)
    elif isinstance(dtype, np.dtype) and _NUMPY.fullmatch(tag):
        writer.add(series.to_numpy(), name)
    elif _MASKED.fullmatch(tag):
        plain = dtype.numpy_dtype  # type: ignore[union-attr]
        writer.add(series.to_numpy(dtype=plain, na_value=plain.type()), name)
        writer.add(series.isna().to_numpy(), name)
    elif _ZONED.fullmatch(tag):
        writer.add(series.dt.tz_convert(None).to_numpy(), name)
    else:
        raise _unknown_type(name, dtype)
    return tag


def read_pandas(fields: Fields, reader: ArrayReader) -> pandas.DataFrame:
    """Decode a data frame."""
    pandas = import_module("pandas")
    columns = _read_columns(fields, reader)
    series = [_read_series(reader, tag, pandas) for _, tag in columns]
    if len({len(column) for column in series}) > 1:
        raise MessageError("the columns of a data frame are of different lengths")
    frame = pandas.concat(series, axis=1)
    frame.columns = [label for label, _ in columns]
    return frame


def _read_series(reader: ArrayReader, tag: str, pandas: Any) -> pandas.Series[Any]:
    if match := _CATEGORIES.fullmatch(tag):
        codes = reader.next("i")
        values = pandas.Index(_read_series(reader, match[2], pandas))
        dtype = pandas.CategoricalDtype(values, ordered=match[1] == "ordered")
        return pandas.Series(pandas.Categorical.from_codes(codes, dtype=dtype))
    if tag in _TEXTS:
        return pandas.Series(reader.next_texts(), dtype=tag)
    values = reader.next()
    if _MASKED.fullmatch(tag):
        array_type = pandas.api.types.pandas_dtype(tag).construct_array_type()
        series = pandas.Series(array_type(values.copy(), reader.next("b").copy()))
    elif _ZONED.fullmatch(tag):
        series = pandas.Series(values).dt.tz_localize("UTC").astype(tag)
        _ = series.dt.year  # raises for a local time that no calendar has
    else:
        series = pandas.Series(values)
    if str(series.dtype) != tag:
        raise MessageError("a column is not of the type that its frame names")
    return series


def write_polars(frame: polars.DataFrame, writer: ArrayWriter, name: str) -> list[Column]:
    """Encode the columns of a data frame, and return their names and types."""
    columns: list[Column] = []
    for series in frame.get_columns():
        dtype, place = series.dtype, f"{name}[{series.name!r}]"
        parameters = [getattr(dtype, field, None) for field in ("time_unit", "time_zone")]
        tag = "|".join([str(dtype.base_type()), *filter(None, parameters)])
        if tag in _POLARS_TEXTS:
            writer.add_texts(series.cast(import_module("polars").String).to_list(), place)
            if tag == "Enum":
                writer.add_texts(series.cat.get_categories().to_list(), place)
        elif _POLARS.fullmatch(tag):
            physical = series.to_physical()
            writer.add(physical.fill_null(False if tag == "Boolean" else 0).to_numpy(), place)
            writer.add(series.is_null().to_numpy(), place)
        else:
            raise _unknown_type(place, dtype)
        columns.append((series.name, tag))
    return columns


def read_polars(fields: Fields, reader: ArrayReader) -> polars.DataFrame:
    """Decode a data frame."""
    polars = import_module("polars")
    columns = _read_columns(fields, reader)
    names = [str(label) for label, _ in columns]
    if "\0" in "".join(names):
        raise MessageError("a column has a name that polars can't pass on")
    try:
        series = [_read_polars_series(reader, tag, polars) for _, tag in columns]
        return polars.DataFrame([part.alias(n) for n, part in zip(names, series, strict=True)])
    except polars.exceptions.PanicException as error:  # which is no Exception
        raise MessageError(f"the message is no table ({type(error).__name__})") from None


def _read_polars_series(reader: ArrayReader, tag: str, polars: Any) -> polars.Series:
    if tag in _POLARS_TEXTS:
        texts = reader.next_texts()
        dtype = polars.Enum(reader.next_texts()) if tag == "Enum" else getattr(polars, tag)
        return polars.Series(texts, dtype=dtype)
    match = _POLARS.fullmatch(tag)
    if match is None:
        raise MessageError("a column is of no type that is known")
    dtype = getattr(polars, match[1])(*filter(None, match.groups()[1:]))
    physical, nulls = polars.Series(reader.next("biuf")), polars.Series(reader.next("b"))
    series = physical.set(nulls, None).cast(dtype)
    if series.dtype.is_temporal() and series.null_count() < len(series):
        ends = series.gather([series.arg_min(), series.arg_max()])
        ends.cast(polars.String)  # panics for a time that no calendar has
    return series


def _read_columns(fields: Fields, reader: ArrayReader) -> list[Column]:
    columns: list[Column] = []
    for column in read_field(fields, "columns", list[list[object]]):
        label, tag = column
        if not isinstance(label, str | int) or not isinstance(tag, str):
            raise MessageError("a column has no name and type")
        columns.append((label, tag))
    if not columns:
        raise MessageError("a data frame has no columns")
    reader.count(_COLUMN * len(columns))
    return columns


def _unknown_type(name: str, dtype: object) -> ValueError:
    return ValueError(
        f"{name} is of dtype {dtype}, which can't be sent: only numbers, booleans, times, texts "
        "and categories."
    )
