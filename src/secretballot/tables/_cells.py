"""Cells of columns, read one by one, so that a cell never depends on the other rows.

A column's data type depends on all rows: one text makes objects of numbers, one missing value makes
floats of integers. So numbers and texts are read alike from columns of any type.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, SupportsFloat, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T")
#: Text of a number in labels.
NumberText = Callable[[float], str]

#: Longest text of a cell that is not a text itself, such as a list.
_LONGEST_TEXT = 1000

#: Microseconds of a day.
_MICROSECONDS = 86_400_000_000
#: Kinds of NumPy types that hold real numbers.
_REAL = "biuf"


def is_missing(cell: object) -> bool:
    if cell is None:
        return True
    if isinstance(cell, str):
        return False
    try:
        return bool(cell != cell)
    except Exception:  # an array in a cell; pandas' NA, which neither equals nor differs
        return type(cell).__name__ == "NAType"


def column_cells(values: Any) -> NDArray[Any]:
    """Return a column as an array of real numbers, or of objects."""
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in _REAL else _as_objects(values)
    dtype: Any = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in _REAL:
        return np.asarray(values)
    if hasattr(values, "astype"):  # pandas
        if hasattr(dtype, "categories") and hasattr(values, "cat"):
            categories = [*each_cell(values.cat.categories), None]
            return object_array(categories)[values.cat.codes.to_numpy()]
        if getattr(dtype, "kind", "") in "iuf":  # numbers with NA
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return each_cell(values)
    if hasattr(dtype, "is_numeric") and dtype.is_numeric() and not dtype.is_decimal():  # polars
        return np.asarray(values.to_numpy())
    return each_cell(values)


def missing_cells(values: ArrayLike) -> NDArray[np.bool_]:
    cells = column_cells(values)
    if cells.dtype.kind in _REAL:
        return np.asarray(np.isnan(cells))
    return np.fromiter(map(is_missing, cells), bool, len(cells))


def _as_objects(values: NDArray[Any]) -> NDArray[Any]:
    # Times one by one: `astype` makes integers of those finer than microseconds.
    return object_array(values) if values.dtype.kind in "mM" else values.astype(object)


def each_cell(values: Any) -> NDArray[Any]:
    """Return the cells of a column as objects; those that have no object of Python are missing."""
    try:
        # Types of Arrow make lists of lists one by one, and arrays of all together.
        if hasattr(values, "astype") and not hasattr(values.dtype, "pyarrow_dtype"):  # pandas
            return _as_objects(values.astype(object).to_numpy())
        return object_array(values.to_pylist() if hasattr(values, "to_pylist") else values)
    except BaseException as error:
        check_of_cell(error)
    by_position = getattr(values, "iloc", values)
    cells = np.empty(len(values), dtype=object)
    for index in range(len(values)):
        try:
            cell = by_position[index]
            cells[index] = cell.as_py() if hasattr(cell, "as_py") else cell
        except BaseException as error:
            check_of_cell(error)
    return cells


def check_of_cell(error: BaseException) -> None:
    """Raise an error again that is not about a cell; a panic of polars is no Exception."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    if isinstance(error, MemoryError):
        raise error


def object_array(values: Any) -> NDArray[Any]:
    cells = np.empty(len(values), dtype=object)
    for index, cell in enumerate(values):
        cells[index] = cell
    return cells


def read_numbers(values: ArrayLike) -> NDArray[np.float64]:
    """Read a column as finite numbers; NaN where a cell is no number.

    Texts of numbers are numbers: one other text makes texts of a whole column. So are booleans.
    """
    cells = column_cells(values)
    with np.errstate(over="ignore", invalid="ignore"):
        if cells.dtype.kind in _REAL:
            x = cells.astype(np.float64)
        else:
            x = np.fromiter(map(_number, cells), np.float64, len(cells))
    x[~np.isfinite(x)] = np.nan
    return x


def _number(cell: Any) -> float:
    if isinstance(cell, complex | np.complexfloating):
        return float(cell.real) if cell.imag == 0 else np.nan
    if isinstance(cell, datetime.timedelta | np.timedelta64 | np.datetime64):
        return np.nan
    if hasattr(cell, "__len__") and not isinstance(cell, str | bytes):
        return np.nan  # an array of one number is no number
    try:
        boolean = _boolean(cell) if isinstance(cell, str) else None
        return float(cell if boolean is None else boolean)
    except Exception:
        return np.nan


def read_booleans(values: ArrayLike) -> NDArray[np.float64]:
    """Read a column of booleans as 1 and 0; NaN where a cell is neither."""
    codes = read_coded_texts(values).positions({"False": 0, "True": 1}, -1)
    return np.where(codes < 0, np.nan, codes)


#: Texts of booleans, in small letters. Other files write the same column in another way.
_BOOLEANS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def _boolean(text: str | None) -> bool | None:
    return None if text is None else _BOOLEANS.get(text.lower())


def boolean_texts(values: ArrayLike) -> tuple[str, ...]:
    """Return the texts of a column that holds booleans alone; none of any other column."""
    texts = [text for text in read_coded_texts(values).texts if text is not None]
    return tuple(texts) if all(_boolean(text) is not None for text in texts) else ()


def text_finder(values: Mapping[str | None, T]) -> Callable[[str | None, T], T]:
    """Return a function that finds a text, or another text of the same boolean, in a mapping."""
    booleans: dict[bool | None, T] = {}
    for text, value in values.items():
        if (boolean := _boolean(text)) is not None:
            booleans.setdefault(boolean, value)

    def find(text: str | None, other: T) -> T:
        return values[text] if text in values else booleans.get(_boolean(text), other)

    return find


def read_texts(values: ArrayLike, booleans: Sequence[Hashable] = ()) -> NDArray[Any]:
    """Read a column as texts, None where missing; booleans get the texts of `booleans`."""
    coded = read_coded_texts(values)
    find = text_finder({cell_text(text): cell_text(text) for text in booleans})
    texts = [find(text, text) for text in coded.texts]
    return np.array(texts, dtype=object)[coded.codes]


class CodedTexts(NamedTuple):
    """Texts of a column, which may repeat (None: missing), and the position of each cell's text."""

    texts: list[str | None]
    codes: NDArray[np.intp]

    def positions(self, known: Mapping[str | None, int], other: int) -> NDArray[np.intp]:
        """Look up the number of each cell's text, or boolean; `other` without one."""
        find = text_finder(known)
        table = np.array([find(text, other) for text in self.texts], dtype=np.intp)
        return np.asarray(table[self.codes])


def read_coded_texts(values: ArrayLike) -> CodedTexts:
    column: Any = values
    if hasattr(getattr(column, "cat", None), "codes"):  # pandas; -1 is a missing cell
        texts = _texts([*each_cell(column.cat.categories), None])
        return CodedTexts(texts, column.cat.codes.to_numpy().astype(np.intp) % len(texts))
    cells = column_cells(column)
    if cells.dtype.kind in _REAL:
        numbers, codes = np.unique(cells, return_inverse=True)
        return CodedTexts(_texts(numbers.tolist()), codes.reshape(len(cells)))
    texts = _texts(cells.tolist())
    positions = {text: position for position, text in enumerate(dict.fromkeys(texts))}
    codes = np.fromiter(map(positions.__getitem__, texts), np.intp, len(texts))
    return CodedTexts(list(positions), codes)


def _texts(cells: list[Any]) -> list[str | None]:
    return [cell if type(cell) is str else cell_text(cell) for cell in cells]


def cell_text(cell: object) -> str | None:
    """Return the text of a cell; None if it is missing.

    Equal values of different types have the same text: 1 and 1.0, a date and its midnight, times of
    different units.
    """
    if type(cell) is str:
        return cell
    if is_missing(cell):
        return None
    try:
        return _text(cell)
    except Exception:  # an object whose text can't be made
        return None


def _text(cell: object) -> str | None:
    if isinstance(cell, bool | np.bool_ | str):
        return str(cell)
    if isinstance(cell, bytes):
        return cell.decode("latin-1")  # as NumPy does
    if isinstance(cell, complex | np.complexfloating) and cell.imag == 0:
        cell = cell.real
    if isinstance(cell, datetime.timedelta | np.timedelta64):
        return _duration_text(cell)
    if isinstance(cell, Real | Decimal):
        return number_text(cell)
    if isinstance(cell, datetime.date | np.datetime64):
        return _time_text(cell)
    return str(cell)[:_LONGEST_TEXT]


def number_text(number: SupportsFloat) -> str:
    """Return the text of a number, which is the same for 1 and 1.0."""
    try:
        value = float(number)
    except OverflowError:
        return str(number)
    return str(int(value)) if value.is_integer() else str(value)


def _time_text(cell: Any) -> str:
    nanoseconds = getattr(cell, "nanosecond", 0)
    if isinstance(cell, np.datetime64):
        nanoseconds = _below_microseconds(cell)
        cell = cell.astype("M8[us]").item()
    elif hasattr(cell, "to_pydatetime"):
        cell = cell.to_pydatetime(warn=False)
    elif not isinstance(cell, datetime.datetime):
        cell = datetime.datetime.combine(cell, datetime.time())
    return f"{cell}{f' {nanoseconds} ns' if nanoseconds else ''}"


def _duration_text(cell: Any) -> str:
    nanoseconds = getattr(cell, "nanoseconds", 0)
    if isinstance(cell, np.timedelta64):
        nanoseconds = _below_microseconds(cell)
        cell = cell.astype("m8[us]").item()
    plain = datetime.timedelta(cell.days, cell.seconds, cell.microseconds)
    return f"{plain}{f' {nanoseconds} ns' if nanoseconds else ''}"


def _below_microseconds(cell: Any) -> int:
    unit, _ = np.datetime_data(cell.dtype)
    if unit not in ("ns", "ps", "fs", "as"):
        return 0
    return int(cell.astype(f"{cell.dtype.kind}8[ns]").astype(np.int64)) % 1000


def read_objects(values: ArrayLike) -> NDArray[Any]:
    """Read a column as objects; numbers as integers where they are whole, else as floats."""
    cells = column_cells(values)
    out = np.empty(len(cells), dtype=object)
    for index, cell in enumerate(cells.tolist() if cells.dtype.kind != "O" else cells):
        with suppress(Exception):  # an object that can't be compared or converted
            out[index] = _plain(cell)
    return out


def _plain(cell: object) -> Any:
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    if isinstance(cell, complex | np.complexfloating):
        return _plain(cell.real) if cell.imag == 0 else cell
    if hasattr(cell, "as_unit"):  # a time of pandas, in the unit of its column
        return in_canonical_unit(cell)
    if isinstance(cell, np.timedelta64) or not isinstance(cell, int | float | np.number):
        return cell
    try:
        value = float(cell)
    except OverflowError:
        return cell
    return int(value) if value.is_integer() else value


def in_canonical_unit(cell: Any) -> Any:
    if is_missing(cell):
        return None
    fine = getattr(cell, "nanosecond", 0) or getattr(cell, "nanoseconds", 0)
    try:
        return cell.as_unit("ns" if fine else "us")
    except (OverflowError, ValueError):
        return cell.as_unit("s")


def read_days(values: ArrayLike, kind: str) -> NDArray[np.float64]:
    """Read times as days since 1970, or durations as days; NaN where a cell is none.

    Times with a zone are converted to UTC, a period is its start, texts are read as ISO 8601.
    Numbers are days, whatever type the column has: what was read is read again as it is.
    """
    column: Any = values
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:  # pandas
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    letter, read = ("M", _time) if kind == "time" else ("m", _duration)
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == letter:
        return _days(np.asarray(column))
    cells = column_cells(column)
    if cells.dtype.kind in _REAL:
        return read_numbers(cells)
    days = np.full(len(cells), np.nan)
    for index, cell in enumerate(cells):
        if is_missing(cell):
            continue
        if _is_plain_number(cell):
            number = _number(cell)
            days[index] = number if np.isfinite(number) else np.nan
            continue
        try:
            days[index] = _days(np.asarray(read(cell)))
        except Exception:  # no time
            continue
    return days


def _days(exact: NDArray[Any]) -> NDArray[np.float64]:
    """Convert times or durations of any unit to days; the unit does not change the number."""
    full_days = exact.astype(f"{exact.dtype.kind}8[D]")
    days = full_days.astype(np.int64) + (exact - full_days) / np.timedelta64(1, "D")
    return np.asarray(np.where(np.isnat(exact), np.nan, days))


def date_text(number: float) -> str:
    """Return a number of days since 1970 as a date in ISO 8601, with the time if it has one."""
    minutes = np.datetime64(0, "m") + np.timedelta64(round(number * 1_440), "m")
    return str(minutes).removesuffix("T00:00")


def range_text(low: float, high: float, text: NumberText | None = None) -> str:
    """Return the text of an interval, whose ends may be infinite; `text` makes that of a number."""
    low, high = low + 0.0, high + 0.0  # no negative zero
    if low == high:
        return text(low) if text else f"{low:.6g}"
    if np.isinf(low) and np.isinf(high):
        return "all"
    shown_low = text(low) if text and np.isfinite(low) else f"{low:.4g}"
    shown_high = text(high) if text and np.isfinite(high) else f"{high:.4g}"
    if np.isinf(low):
        return f"up to {shown_high}"
    return f"above {shown_low}" if np.isinf(high) else f"{shown_low} to {shown_high}"


def read_times(values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Read a column as times (in UTC) or durations of a NumPy type; NaT where a cell is none.

    Numbers are days, as in `read_days`.
    """
    if getattr(getattr(values, "dtype", None), "tz", None) is not None:  # pandas
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    if getattr(values, "dtype", None) == dtype:
        return np.array(values)
    cells = column_cells(values)
    out = np.full(len(cells), np.datetime64("NaT") if dtype.kind == "M" else "NaT", dtype=dtype)
    for index, cell in enumerate(cells):
        if is_missing(cell):
            continue
        try:
            exact = _time(cell) if dtype.kind == "M" else _duration(cell)
            cast = exact.astype(dtype)
            # A cast beyond the range of the unit gives another time.
            if cast.astype(f"{dtype.kind}8[D]") == exact.astype(f"{dtype.kind}8[D]"):
                out[index] = cast
        except Exception:  # no time, or one out of range
            continue
    return out


def _is_plain_number(cell: object) -> bool:
    return isinstance(cell, Real | np.bool_) and not isinstance(cell, np.timedelta64)


def _time(cell: Any) -> Any:
    if isinstance(cell, np.datetime64):
        return cell
    if _is_plain_number(cell):
        return np.datetime64(0, "us") + _duration(cell)
    if isinstance(cell, str):
        cell = datetime.datetime.fromisoformat(cell)
    if getattr(cell, "tzinfo", None) is not None:
        cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
    cell = getattr(cell, "start_time", cell)  # a period of pandas
    return cell.to_datetime64() if hasattr(cell, "to_datetime64") else np.datetime64(cell)


def _duration(cell: Any) -> Any:
    if _is_plain_number(cell):
        return np.timedelta64(round(_number(cell) * _MICROSECONDS), "us")
    if isinstance(cell, np.timedelta64):
        return cell
    if not isinstance(cell, datetime.timedelta):
        raise TypeError("no duration")
    return cell.to_timedelta64() if hasattr(cell, "to_timedelta64") else np.timedelta64(cell)
