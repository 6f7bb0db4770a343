"""Data frames of pandas and polars as Arrow columns, with the type that each has at home."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from secretballot.collaboration.remote._arrow import decode, encode, load_arrow
from secretballot.transport import MessageError

#: Types of pandas that are sent; of numpy's own all are but objects, texts and bytes.
_EXTENSIONS = re.compile(
    r"U?Int(8|16|32|64)|Float(32|64)|boolean|string|str|datetime64\[(s|ms|us|ns), [\w/+:-]+\]"
)
_NUMPY = re.compile(
    r"bool|u?int(8|16|32|64)|float(16|32|64)|(datetime|timedelta)64\[(s|ms|us|ns)\]"
)
_CATEGORIES = re.compile(r"(ordered|category):(.+)", re.DOTALL)
#: Names of columns that are numbers, and of columns that say which missing text is NaN.
_NUMBERED, _IS_NAN = "#", "?"


def put_text(cells: Iterable[Any], name: str) -> dict[str, Any]:
    """Return texts as Arrow columns; where some are None and some NaN, a second one says which.

    Encoders hold the two apart, so they stay what they are.
    """
    arrow, listed = load_arrow(), list(cells)
    nan = [isinstance(cell, float) and cell != cell for cell in listed]
    for cell, is_nan in zip(listed, nan, strict=True):
        if not (isinstance(cell, str) or cell is None or is_nan):
            raise ValueError(
                f"{name} holds {type(cell).__name__} objects, which can't be sent: only numbers, "
                "booleans, times and texts, and what is missing among them."
            )
    texts = [None if is_nan else cell for cell, is_nan in zip(listed, nan, strict=True)]
    try:
        columns = {"": arrow.array(texts, arrow.large_string())}
    except UnicodeEncodeError:
        raise ValueError(f"{name} holds a text with half of a surrogate pair.") from None
    return columns | ({_IS_NAN: arrow.array(nan)} if any(nan) else {})


def take_text(text: Any, is_nan: Any = None) -> np.ndarray[Any, np.dtype[np.object_]]:
    """Return texts that were sent, shape (n,)."""
    arrow = load_arrow()
    if text.type != arrow.large_string() or (is_nan is not None and is_nan.type != arrow.bool_()):
        raise MessageError("a column of texts holds others")
    cells = np.empty(len(text), object)
    cells[:] = text.to_pylist()
    if is_nan is not None:
        cells[is_nan.to_numpy(zero_copy_only=False).astype(bool)] = float("nan")
    return cells


def put_pandas(frame: Any, name: str) -> memoryview:
    """Return a data frame as bytes."""
    columns: dict[str, Any] = {}
    tags = {}
    for at, label in enumerate(frame.columns):
        key, series = f"{at}:{_key(label, name)}", frame.iloc[:, at]
        made, tag = _put_series(series, f"{name}[{label!r}]")
        for extra, column in made.items():
            columns[extra + key], tags[extra + key] = column, tag
    return encode(columns, tags)


def _put_series(series: Any, name: str) -> tuple[dict[str, Any], str]:
    arrow, dtype, tag = load_arrow(), series.dtype, str(series.dtype)
    if tag == "category":
        inner, of = _put_series(dtype.categories.to_series(), f"{name}.cat.categories")
        if _IS_NAN in inner or _CATEGORIES.fullmatch(of):
            raise ValueError(f"{name} has categories that can't be sent.")
        codes = series.cat.codes.to_numpy()
        indices = arrow.array(codes, mask=codes < 0)
        made = arrow.DictionaryArray.from_arrays(indices, inner[""], ordered=bool(dtype.ordered))
        return {"": made}, f"{'ordered' if dtype.ordered else 'category'}:{of}"
    if tag == "object":
        return put_text(series.tolist(), name), tag
    if isinstance(dtype, np.dtype) and _NUMPY.fullmatch(tag):
        return {"": arrow.array(series.to_numpy())}, tag
    if isinstance(dtype, np.dtype) or not _EXTENSIONS.fullmatch(tag):
        raise ValueError(
            f"{name} is of dtype {dtype}, which can't be sent: only numbers, booleans, times, "
            "texts and categories."
        )
    if tag in ("string", "str"):
        cells = series.to_numpy(dtype=object)
        return put_text(np.where(series.isna().to_numpy(), None, cells), name), tag
    return {"": arrow.array(series)}, tag


def take_pandas(body: Any, max_bytes: int) -> Any:
    """Return a data frame that was sent."""
    pandas, made, labels = import_module("pandas"), [], list[str | int]()
    columns = decode(body, max_bytes)
    nan = {name[1:]: column for name, _, column in columns if name.startswith(_IS_NAN)}
    for name, tag, column in columns:
        if not name.startswith(_IS_NAN):
            made.append(_take_series(column, tag, nan.pop(name, None), pandas))
            labels.append(_label(name, len(labels)))
    if nan or not made:
        raise MessageError("a data frame has no columns, or some of none")
    frame = pandas.concat(made, axis=1)
    frame.columns = labels
    return frame


def _take_series(column: Any, tag: str, is_nan: Any, pandas: Any) -> Any:
    if categories := _CATEGORIES.fullmatch(tag):
        values = _take_series(column.dictionary, categories[2], None, pandas)
        dtype = pandas.CategoricalDtype(pandas.Index(values), ordered=categories[1] == "ordered")
        codes = column.indices.fill_null(-1).to_numpy()
        return pandas.Series(pandas.Categorical.from_codes(codes, dtype=dtype))
    if tag == "object" or (tag == "str" and not _has_str(pandas)):
        return pandas.Series(take_text(column, is_nan), dtype=object)
    if is_nan is not None:
        raise MessageError("a column is not of the type that it says")
    if tag in ("string", "str"):
        # Of cells and not of Arrow's own memory, so that it is the same without Arrow.
        made = pandas.Series(take_text(column), dtype=tag)
    elif _NUMPY.fullmatch(tag):
        plain = tag.startswith(("datetime", "timedelta")) or not column.null_count
        made = pandas.Series(column.to_numpy(zero_copy_only=False) if plain else [])
    elif _EXTENSIONS.fullmatch(tag):
        made = pandas.Series(pandas.api.types.pandas_dtype(tag).__from_arrow__(column))
        if tag.startswith("datetime64"):
            _ = made.dt.year  # raises for a local time that no calendar has
    else:
        raise MessageError("a column is of no type that is known")
    if str(made.dtype) != tag or len(made) != len(column):
        raise MessageError("a column is not of the type that it says")
    return made


def _has_str(pandas: Any) -> bool:
    return int(pandas.__version__.split(".")[0]) >= 3


def put_polars(frame: Any, name: str) -> memoryview:
    """Return a data frame as bytes."""
    polars, arrow, columns, tags = import_module("polars"), load_arrow(), dict[str, Any](), {}
    for at, series in enumerate(frame.get_columns()):
        dtype, tag = series.dtype, str(series.dtype)
        texts = isinstance(dtype, polars.Enum | polars.Categorical | polars.String)
        if isinstance(dtype, polars.Enum):
            tag = json.dumps(list(dtype.categories))
        elif not (
            texts
            or isinstance(dtype, polars.Boolean | polars.Datetime | polars.Duration)
            or (dtype.is_numeric() and not dtype.is_decimal())
        ):
            raise ValueError(
                f"{name}[{series.name!r}] is of dtype {dtype}, which can't be sent: only numbers, "
                "booleans, times, texts and categories."
            )
        key = f"{at}:{series.name}"
        plain = series.cast(polars.String).to_list() if texts else series.to_arrow()
        columns[key] = arrow.array(plain, arrow.large_string()) if texts else plain
        tags[key] = tag
    return encode(columns, tags)


def take_polars(body: Any, max_bytes: int) -> Any:
    """Return a data frame that was sent."""
    polars, made = import_module("polars"), []
    try:
        for name, tag, column in decode(body, max_bytes):
            made.append(_take_polars_series(column, tag, str(_label(name, len(made))), polars))
        if not made:
            raise MessageError("a data frame has no columns")
        return polars.DataFrame(made)
    except polars.exceptions.PanicException as error:  # which is no Exception
        raise MessageError(f"what came is no table ({type(error).__name__})") from None


def _take_polars_series(column: Any, tag: str, label: str, polars: Any) -> Any:
    if hasattr(column, "dictionary"):
        raise MessageError("a column is not of the type that it says")
    if "\0" in label:
        raise MessageError("a column has a name that polars can't hand on")
    series = polars.Series(label, column)
    if tag.startswith("["):
        categories = json.loads(tag)
        if not all(isinstance(each, str) for each in categories):
            raise MessageError("categories of a column are no texts")
        series, tag = series.cast(polars.Enum(categories)), "Enum"
    elif tag == "Categorical":
        series = series.cast(polars.Categorical)
    if not str(series.dtype).startswith(tag):
        raise MessageError("a column is not of the type that it says")
    if isinstance(series.dtype, polars.Datetime) and series.null_count() < len(series):
        ends = series.gather([series.arg_min(), series.arg_max()])
        ends.cast(polars.String)  # panics for a time that no calendar has
    return series


def _key(label: Any, name: str) -> str:
    if isinstance(label, str):
        return label
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return f"{_NUMBERED}{int(label)}"
    raise ValueError(f"{name} has a column named {label!r}; name columns by texts or numbers.")


def _label(key: str, at: int) -> str | int:
    position, _, label = key.partition(":")
    if position != str(at):
        raise MessageError("columns are not in order")
    return int(label[1:]) if label.startswith(_NUMBERED) else label
