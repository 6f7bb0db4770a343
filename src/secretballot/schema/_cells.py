"""Cells of columns, read one by one: what a cell says never depends on the other rows.

A column's data type does depend on them: one text makes objects of numbers, one missing value makes
floats of integers. So a number is the same number whatever type holds it, and so is a text.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The longest text of a cell that is no text itself, such as a list.
_LONGEST = 1000

#: Kinds of NumPy types that hold real numbers.
_REAL = "biuf"


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN, NaT or NA."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return False
    try:
        return bool(cell != cell)
    except Exception:  # an array in a cell; pandas' NA, which neither equals nor differs
        return type(cell).__name__ == "NAType"


def column_cells(values: Any) -> NDArray[Any]:
    """Return a column as an array of real numbers, or else of its cells as objects.

    Parameters
    ----------
    values : ndarray, sequence, or column of a data frame
    """
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in _REAL else _objects(values)
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in _REAL:
        return np.asarray(values)
    if hasattr(values, "astype"):  # of pandas
        if hasattr(dtype, "categories") and hasattr(values, "cat"):
            known = np.append(_listed(values.cat.categories), None)
            return np.asarray(known[values.cat.codes.to_numpy()])
        if getattr(dtype, "kind", "") in "iuf":  # numbers with a place for NA
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return _objects(values.astype(object).to_numpy())
    if hasattr(dtype, "is_numeric") and dtype.is_numeric() and not dtype.is_decimal():  # polars
        return np.asarray(values.to_numpy())
    return _listed(values.to_pylist() if hasattr(values, "to_pylist") else values)


def missing_cells(values: Any) -> NDArray[np.bool_]:
    """Return which cells of a column are missing: None, NaN, NaT or NA."""
    cells = column_cells(values)
    if cells.dtype.kind in _REAL:
        return np.asarray(np.isnan(cells))
    return np.fromiter(map(is_missing, cells), bool, len(cells))


def _objects(values: NDArray[Any]) -> NDArray[Any]:
    # Times one by one: as objects they would be integers where they are finer than microseconds.
    return _listed(values) if values.dtype.kind in "mM" else values.astype(object)


def _listed(values: Any) -> NDArray[Any]:
    cells = np.empty(len(values), dtype=object)
    for at, cell in enumerate(values):
        cells[at] = cell
    return cells


def numbers(values: Any) -> NDArray[np.float64]:
    """Return a column as finite numbers; NaN where a cell is none.

    Texts of numbers are numbers: one other text among them makes texts of a whole column.
    """
    cells = column_cells(values)
    with np.errstate(over="ignore", invalid="ignore"):
        if cells.dtype.kind in _REAL:
            found = cells.astype(np.float64)
        else:
            found = np.fromiter(map(_number, cells), np.float64, len(cells))
    found[~np.isfinite(found)] = np.nan
    return found


def _number(cell: Any) -> float:
    if isinstance(cell, complex | np.complexfloating):
        return float(cell.real) if cell.imag == 0 else np.nan
    if isinstance(cell, datetime.timedelta | np.timedelta64 | np.datetime64):
        return np.nan
    if hasattr(cell, "__len__") and not isinstance(cell, str | bytes):
        return np.nan  # an array of one number is no number
    try:
        return float(cell)
    except Exception:
        return np.nan


def truths(values: Any) -> NDArray[np.float64]:
    """Return a column of truths as 1 and 0; NaN where a cell is neither."""
    cells = column_cells(values)
    if cells.dtype.kind == "O":
        cells = _each(
            lambda cell: _TRUTHS.get(cell.lower(), cell) if isinstance(cell, str) else cell, cells
        )
    found = numbers(cells)
    found[(found != 0) & (found != 1)] = np.nan
    return found


_TRUTHS = {"true": True, "false": False}


def texts(values: Any) -> NDArray[Any]:
    """Return a column as texts, and None where a cell is missing: an array of objects."""
    cells = column_cells(values)
    if cells.dtype.kind == "O":
        return _each(cell_text, cells)
    known, place = np.unique(cells, return_inverse=True)  # looked at once for each value
    return np.asarray(_each(cell_text, known)[place.reshape(len(cells))])


def cell_text(cell: Any) -> str | None:
    """Return the text of a cell, None where it is missing.

    It is the same for all that is equal in columns of different types: 1 and 1.0, a date and its
    midnight, times of different units.
    """
    if type(cell) is str:
        return cell
    if is_missing(cell):
        return None
    try:
        return _text(cell)
    except Exception:  # an object that can't be shown
        return None


def _text(cell: Any) -> str | None:
    if isinstance(cell, bool | np.bool_ | str):
        return str(cell)
    if isinstance(cell, bytes):
        return cell.decode("latin-1")  # as NumPy makes texts of them
    if isinstance(cell, complex | np.complexfloating) and cell.imag == 0:
        cell = cell.real
    if isinstance(cell, datetime.timedelta | np.timedelta64):
        return _duration_text(cell)
    if isinstance(cell, Real | Decimal):
        return number_text(cell)
    if isinstance(cell, datetime.date | np.datetime64):
        return _time_text(cell)
    return str(cell)[:_LONGEST]


def number_text(number: Any) -> str:
    """Return the text of a number: the same for 1 and 1.0, which a column may be cast to."""
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


def plain_objects(values: Any) -> NDArray[Any]:
    """Return a column's cells as objects; numbers as integers where they are whole, else floats."""
    return _each(_plain, column_cells(values))


def _plain(cell: Any) -> Any:
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    if isinstance(cell, complex | np.complexfloating):
        return _plain(cell.real) if cell.imag == 0 else cell
    if hasattr(cell, "as_unit"):  # a time of pandas, in the unit of its column
        return _in_least_unit(cell)
    if isinstance(cell, np.timedelta64) or not isinstance(cell, int | float | np.number):
        return cell
    try:
        value = float(cell)
    except OverflowError:
        return cell
    return int(value) if value.is_integer() else value


def _in_least_unit(cell: Any) -> Any:
    if is_missing(cell):
        return None
    fine = getattr(cell, "nanosecond", 0) or getattr(cell, "nanoseconds", 0)
    try:
        return cell.as_unit("ns" if fine else "us")
    except (OverflowError, ValueError):
        return cell.as_unit("s")


def _each(function: Callable[[Any], Any], cells: NDArray[Any]) -> NDArray[Any]:
    found = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells.tolist() if cells.dtype.kind != "O" else cells):
        found[at] = function(cell)
    return found


def times(values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a column of times as ``datetime64`` of a unit, NaT where a cell is none.

    Times of a zone are those of UTC, and texts are read as ISO 8601.
    """
    return _moments(values, dtype, _time)


def durations(values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a column of durations as ``timedelta64`` of a unit, NaT where a cell is none."""
    return _moments(values, dtype, _duration)


def _moments(values: Any, dtype: np.dtype[Any], read: Callable[[Any], Any]) -> NDArray[Any]:
    if getattr(getattr(values, "dtype", None), "tz", None) is not None:  # of pandas
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    if getattr(values, "dtype", None) == dtype:
        return np.array(values)
    cells = column_cells(values)
    found = np.full(len(cells), np.datetime64("NaT") if dtype.kind == "M" else "NaT", dtype=dtype)
    for at, cell in enumerate(cells if cells.dtype.kind == "O" else ()):
        if is_missing(cell):
            continue
        try:
            exact = read(cell)
            cast = exact.astype(dtype)
            # What is beyond the unit's range would come out as another time.
            if cast.astype(f"{dtype.kind}8[D]") == exact.astype(f"{dtype.kind}8[D]"):
                found[at] = cast
        except Exception:  # no time, or one that its own type can't show
            continue
    return found


def _time(cell: Any) -> Any:
    if isinstance(cell, np.datetime64):
        return cell
    if isinstance(cell, str):
        cell = datetime.datetime.fromisoformat(cell)
    if getattr(cell, "tzinfo", None) is not None:
        cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
    return cell.to_datetime64() if hasattr(cell, "to_datetime64") else np.datetime64(cell)


def _duration(cell: Any) -> Any:
    if isinstance(cell, np.timedelta64):
        return cell
    if not isinstance(cell, datetime.timedelta):
        raise TypeError("no duration")
    return cell.to_timedelta64() if hasattr(cell, "to_timedelta64") else np.timedelta64(cell)
