"""Tables of rows as fields and arrays of a message, nothing of which is code.

Numbers are sent as they are in memory, texts as UTF-8 with their lengths. Readers use the memory of
the message itself, so that an array takes no more than its bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from secretballot.parties._question import Table, frame_package
from secretballot.parties._stream import Buffer, Fields, MessageError, read_field

if TYPE_CHECKING:
    import pandas
    import polars

#: Types of numpy that are sent.
_DTYPE = re.compile(r"<[iu][248]|<f[248]|\|[iub]1|<[mM]8\[(s|ms|us|ns)\]|\|S[1-9]\d{0,8}")
#: Arrays begin at multiples of this, as numpy reads them fastest.
_ALIGNED = 16
#: Bytes that a text takes at most beside its characters, and each of them.
_TEXT, _CHARACTER = 96, 4
#: Decoded tables may take this multiple of the longest message.
_EXPANSION = 2
#: Dimensions of an array.
_DIMENSIONS = 8
#: Lengths that stand for missing texts.
_NONE, _NAN = -1, -2


class ArrayWriter:
    """Encoder of arrays one after another; `forms` lists their types and shapes."""

    def __init__(self) -> None:
        self.forms: list[list[object]] = []
        self._parts: list[NDArray[np.uint8]] = []

    def add(self, array: NDArray[Any], name: str = "X") -> None:
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if not _DTYPE.fullmatch(plain.dtype.str):
            raise ValueError(
                f"{name} is of dtype {array.dtype}, which can't be sent: only numbers of up to 64 "
                "bits, booleans, times and texts."
            )
        self.forms.append([plain.dtype.str, list(array.shape)])
        gap = -sum(map(len, self._parts)) % _ALIGNED
        self._parts += [np.zeros(gap, np.uint8), plain.reshape(-1).view(np.uint8)]

    def add_texts(self, cells: Iterable[object], name: str = "X") -> None:
        lengths, encoded = [], []
        for cell in cells:
            if isinstance(cell, str):
                try:
                    encoded.append(cell.encode())
                except UnicodeEncodeError:
                    raise ValueError(
                        f"{name} holds a text with half of a surrogate pair."
                    ) from None
                lengths.append(len(encoded[-1]))
            elif cell is None or (isinstance(cell, float) and math.isnan(cell)):
                lengths.append(_NONE if cell is None else _NAN)
            else:
                raise ValueError(
                    f"{name} holds {type(cell).__name__} objects, which can't be sent: only "
                    "numbers, booleans, times and texts, and what is missing among them."
                )
        self.add(np.array(lengths, np.int64), name)
        self.add(np.frombuffer(b"".join(encoded), np.uint8), name)

    def body(self) -> memoryview:
        return (self._parts[1] if len(self.forms) == 1 else np.concatenate(self._parts)).data


class ArrayReader:
    """Decoder of arrays one after another; their faults are `MessageError`."""

    def __init__(self, fields: Fields, body: Buffer, max_bytes: int) -> None:
        self._forms = iter(read_field(fields, "arrays", list[list[object]]))
        self._bytes, self._position = np.frombuffer(body, np.uint8), 0
        self._max_bytes, self._n_decoded = _EXPANSION * max_bytes, 0

    def next(self, kinds: str = "biufmMS") -> NDArray[Any]:
        """Return the next array, of a dtype of these kinds."""
        name, shape = next(self._forms, ("", []))
        if not isinstance(name, str) or not _DTYPE.fullmatch(name):
            raise MessageError("an array is missing, or of a type that is not known")
        dtype, sizes = np.dtype(name), read_shape({"shape": shape})
        start = self._position + -self._position % _ALIGNED
        end = start + math.prod(sizes) * dtype.itemsize
        if dtype.kind not in kinds or end > len(self._bytes):
            raise MessageError("an array is of another type than its table's, or too short")
        flat = self._bytes[start:end]
        if dtype.kind == "b" and (flat > 1).any():
            raise MessageError("an array of booleans holds others")
        self._position = end
        return flat.view(dtype).reshape(sizes)

    def next_texts(self) -> list[Any]:
        lengths, encoded = self.next("i").ravel(), bytes(self.next("u"))
        self.count(_TEXT * len(lengths) + _CHARACTER * len(encoded))
        if (lengths < _NAN).any() or (lengths > len(encoded)).any():
            raise MessageError("texts have lengths that are none")
        ends = np.maximum(lengths, 0).cumsum()
        if (ends[-1] if len(ends) else 0) != len(encoded):
            raise MessageError("texts are longer or shorter than their lengths")
        missing: dict[int, object] = {_NONE: None, _NAN: math.nan}
        return [
            encoded[end - length : end].decode() if length >= 0 else missing[length]
            for length, end in zip(lengths.tolist(), ends.tolist(), strict=True)
        ]

    def count(self, n_bytes: int) -> None:
        self._n_decoded += n_bytes
        if self._n_decoded > self._max_bytes:
            raise MessageError(
                f"a table takes {self._n_decoded:,} bytes of memory, and {self._max_bytes:,} are "
                "allowed"
            )

    def close(self) -> None:
        if next(self._forms, None) is not None or self._position != len(self._bytes):
            raise MessageError("a table is longer than its arrays")


def read_shape(fields: Fields) -> tuple[int, ...]:
    shape = read_field(fields, "shape", list[int])
    if len(shape) > _DIMENSIONS or any(size >= 2**62 for size in shape):
        raise MessageError("a table has no shape that is known")
    return tuple(shape)


#: Fields that describe a table.
TABLE_FIELDS = ("table", "arrays", "shape", "columns")
#: Memory of a row, whatever is in it.
_ROW = 8
#: Types of pandas beside those of numpy: with a mask, times with a zone, and categories.
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


def encode_table(X: Table) -> tuple[dict[str, object], memoryview]:
    writer = ArrayWriter()
    fields: dict[str, object] = {"arrays": writer.forms}
    if (frames := frame_package(X)) is not None:
        columns = _write_columns(X, frames.__name__, writer)
        return {**fields, "table": frames.__name__, "columns": columns}, writer.body()
    if issparse(X):
        rows = X.tocsr()
        for array in (rows.data, rows.indices, rows.indptr):
            writer.add(array)
        kind = "csr_matrix" if isinstance(X, csr_matrix) else "csr_array"
        return {**fields, "table": kind, "shape": list(rows.shape)}, writer.body()
    if isinstance(X, list) and X and all(isinstance(row, str) for row in X):
        writer.add_texts(X)
        return {**fields, "table": "texts"}, writer.body()
    try:
        cells = np.asarray(X)
    except ValueError:
        raise ValueError("X has rows of different lengths; give a table.") from None
    if cells.dtype.kind not in "UO":
        writer.add(cells)
        return {**fields, "table": "array"}, writer.body()
    writer.add_texts(cells.ravel().tolist())
    kind = "text" if cells.dtype.kind == "U" else "objects"
    return {**fields, "table": kind, "shape": list(cells.shape)}, writer.body()


def decode_table(fields: Fields, body: Buffer, max_bytes: int) -> Table:
    """Decode a table, which may take twice the longest message, or raise `MessageError`."""
    try:
        reader = ArrayReader(fields, body, max_bytes)
        table = _read(fields, reader)
        reader.close()
        reader.count(_ROW * (len(table) if isinstance(table, list) else table.shape[0]))
    except MessageError:
        raise
    except ImportError as error:
        raise MessageError(f"a table for {error.name} came, which is not installed") from None
    except Exception as error:  # errors of other libraries about a stranger's table
        raise MessageError(f"the message is no table ({type(error).__name__})") from None
    return table


def _read(fields: Fields, reader: ArrayReader) -> Table:
    kind = fields.get("table")
    if kind == "pandas":
        return _read_pandas(fields, reader)
    if kind == "polars":
        return _read_polars(fields, reader)
    if kind == "array":
        return reader.next()
    if kind in ("csr_matrix", "csr_array"):
        data, indices, indptr = reader.next("biuf"), reader.next("i"), reader.next("i")
        make = csr_matrix if kind == "csr_matrix" else csr_array
        rows = make((data, indices, indptr), shape=read_shape(fields))
        # Compiled code must not read beyond an end; SciPy's check of a table without entries
        # ignores where its rows begin.
        rows.check_format(full_check=True)
        if (indptr[1:] < indptr[:-1]).any():
            raise MessageError("the rows of a sparse table are not in order")
        return rows
    if kind not in ("text", "texts", "objects"):
        raise MessageError("a table is of no kind that is known")
    texts = reader.next_texts()
    if kind == "texts":
        return texts
    if kind == "text":
        # Each text of an array takes as much as the longest.
        reader.count(4 * max(map(len, texts), default=0) * len(texts))
        return np.array(texts, str).reshape(read_shape(fields))
    cells = np.empty(len(texts), object)
    cells[:] = texts
    return cells.reshape(read_shape(fields))


def _write_columns(X: Table, package: str, writer: ArrayWriter) -> list[list[object]]:
    if not X.shape[1]:
        raise ValueError("X has no columns.")
    is_pandas = package == "pandas"
    write = _write_pandas if is_pandas else _write_polars
    columns: list[list[object]] = []
    for label, series in X.items() if is_pandas else X.to_dict().items():
        if isinstance(label, bool) or not isinstance(label, str | int | np.integer):
            raise ValueError(f"X has a column named {label!r}; name columns by texts or numbers.")
        tag = write(series, writer, f"X[{label!r}]")
        columns.append([label if isinstance(label, str) else int(label), tag])
    return columns


def _write_pandas(series: pandas.Series[Any], writer: ArrayWriter, name: str) -> str:
    dtype, tag = series.dtype, str(series.dtype)
    if tag == "category":
        writer.add(series.cat.codes.to_numpy(), name)
        values = series.cat.categories.to_series()
        inner = _write_pandas(values, writer, f"{name}.cat.categories")
        return f"{'ordered' if series.cat.ordered else 'category'}:{inner}"
    if tag == "object":
        writer.add_texts(series.tolist(), name)
    elif tag in _TEXTS:
        writer.add_texts(np.where(series.isna(), None, series.to_numpy(dtype=object)), name)
    elif isinstance(dtype, np.dtype):
        writer.add(series.to_numpy(), name)
    elif _MASKED.fullmatch(tag):
        plain = dtype.numpy_dtype
        writer.add(series.to_numpy(dtype=plain, na_value=plain.type()), name)
        writer.add(series.isna().to_numpy(), name)
    elif _ZONED.fullmatch(tag):
        writer.add(series.dt.tz_convert(None).to_numpy(), name)
    else:
        raise _unknown_type(name, dtype)
    return tag


def _read_pandas(fields: Fields, reader: ArrayReader) -> pandas.DataFrame:
    frames = import_module("pandas")
    columns = _read_columns(fields, reader)
    series = [_read_series(reader, tag, frames) for _, tag in columns]
    if len({len(column) for column in series}) > 1:
        raise MessageError("the columns of a data frame are of different lengths")
    frame: pandas.DataFrame = frames.concat(series, axis=1)
    frame.columns = [label for label, _ in columns]
    return frame


def _read_series(reader: ArrayReader, tag: str, frames: ModuleType) -> pandas.Series[Any]:
    if match := _CATEGORIES.fullmatch(tag):
        codes = reader.next("i")
        values = frames.Index(_read_series(reader, match[2], frames))
        dtype = frames.CategoricalDtype(values, ordered=match[1] == "ordered")
        return frames.Series(frames.Categorical.from_codes(codes, dtype=dtype))
    if tag in _TEXTS:
        return frames.Series(reader.next_texts(), dtype=tag)
    values = reader.next()
    if _MASKED.fullmatch(tag):
        array_type = frames.api.types.pandas_dtype(tag).construct_array_type()
        series = frames.Series(array_type(values.copy(), reader.next("b").copy()))
    elif _ZONED.fullmatch(tag):
        series = frames.Series(values).dt.tz_localize("UTC").astype(tag)
        _ = series.dt.year  # raises for a local time that no calendar has
    else:
        series = frames.Series(values)
    if str(series.dtype) != tag:
        raise MessageError("a column is not of the type that its frame names")
    return series


def _write_polars(series: polars.Series, writer: ArrayWriter, name: str) -> str:
    dtype = series.dtype
    parameters = [getattr(dtype, field, None) for field in ("time_unit", "time_zone")]
    tag = "|".join([str(dtype.base_type()), *filter(None, parameters)])
    if tag in _POLARS_TEXTS:
        writer.add_texts(series.cast(import_module("polars").String).to_list(), name)
        if tag == "Enum":
            categories = dtype.categories.to_list()  # type: ignore[attr-defined]
            writer.add_texts(categories, name)
    elif _POLARS.fullmatch(tag):
        physical = series.to_physical()
        writer.add(physical.fill_null(False if tag == "Boolean" else 0).to_numpy(), name)
        writer.add(series.is_null().to_numpy(), name)
    else:
        raise _unknown_type(name, dtype)
    return tag


def _read_polars(fields: Fields, reader: ArrayReader) -> polars.DataFrame:
    frames = import_module("polars")
    columns = _read_columns(fields, reader)
    names = [str(label) for label, _ in columns]
    if "\0" in "".join(names):
        raise MessageError("a column has a name that polars can't pass on")
    try:
        series = [_read_polars_series(reader, tag, frames) for _, tag in columns]
        named = [part.alias(name) for name, part in zip(names, series, strict=True)]
        frame: polars.DataFrame = frames.DataFrame(named)
    except frames.exceptions.PanicException as error:  # which is no Exception
        raise MessageError(f"the message is no table ({type(error).__name__})") from None
    return frame


def _read_polars_series(reader: ArrayReader, tag: str, frames: ModuleType) -> polars.Series:
    if tag in _POLARS_TEXTS:
        texts = reader.next_texts()
        dtype = frames.Enum(reader.next_texts()) if tag == "Enum" else getattr(frames, tag)
        return frames.Series(texts, dtype=dtype)
    match = _POLARS.fullmatch(tag)
    if match is None:
        raise MessageError("a column is of no type that is known")
    dtype = getattr(frames, match[1])(*filter(None, match.groups()[1:]))
    physical, nulls = frames.Series(reader.next("biuf")), frames.Series(reader.next("b"))
    if len(physical) != len(nulls):
        raise MessageError("a column and its nulls are of different lengths")
    series = physical.set(nulls, None).cast(dtype)
    if match[1] in ("Date", "Datetime") and series.null_count() < len(series):
        ends = series.gather([series.arg_min(), series.arg_max()])
        ends.cast(frames.String)  # panics for a time that no calendar has
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
