"""Targets and predictions of numbers, and the declared bounds of targets."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, column_or_1d

from secretballot._base._errors import NOT_FOR_PUBLICATION, marked_errors
from secretballot._base._numbers import as_float, quoted
from secretballot.tables._cells import is_missing, read_numbers
from secretballot.tables._frames import check_column

#: Types of cells by NumPy's letters for columns of them; texts first.
_TYPES: dict[str, tuple[type, ...]] = {
    "U": (str, bytes),
    "M": (datetime.date, np.datetime64),
    "m": (datetime.timedelta, np.timedelta64),
}
#: Noun for a column of times, and code for its numbers of days, by NumPy's letter; "P": periods.
_DAYS = {
    "M": (
        "dates",
        "(pandas.to_datetime({0}, utc=True) - pandas.Timestamp('2020-01-01', tz='UTC')) / "
        "pandas.Timedelta(days=1)",
    ),
    "P": (
        "periods",
        "(pandas.PeriodIndex({0}).to_timestamp() - pandas.Timestamp('2020-01-01')) / "
        "pandas.Timedelta(days=1)",
    ),
    "m": ("durations", "pandas.to_timedelta({0}) / pandas.Timedelta(days=1)"),
}


def check_target_bounds(target_bounds: object) -> tuple[float, float]:
    if target_bounds is None:
        raise ValueError(
            "target_bounds=None: the range of targets must be known beforehand, and not be "
            "read from private rows. Pass target_bounds=(low, high); targets are clipped to it."
        )
    try:
        low, high = map(as_float, target_bounds)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        low = high = np.nan
    if not low < high or not np.isfinite(high - low):
        raise ValueError(
            f"target_bounds={quoted(target_bounds)} is no pair (low, high) of finite numbers "
            "with low < high."
        )
    return low, high


def _check_numbers(y: ArrayLike, name: str) -> None:
    """Refuse texts, dates and durations, which NumPy would convert to numbers."""
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    cells: Any = y if kind else np.asarray(y)
    kind = kind or cells.dtype.kind
    if kind == "O":
        present = [cell for cell in np.ravel(cells) if not is_missing(cell)]
        kinds = [
            letter
            for letter, types in _TYPES.items()
            if any(isinstance(cell, types) for cell in present)
        ]
        kind = next(iter(kinds), kind)
        if any(hasattr(cell, "start_time") for cell in present):
            kind = "P"
    if kind in _DAYS:
        what, days = _DAYS[kind]
        raise ValueError(
            f"{name} holds {what}, and the target of a regression is a number. Convert it first to "
            f"days, {days.format(name)}, and declare target_bounds in these days. "
            f"{NOT_FOR_PUBLICATION}"
        )
    if kind in ("U", "S", "T"):
        raise ValueError(
            f"{name} holds texts, and the target of a regression is a number (could not convert "
            f"string to float). Convert it first, {name}.astype(float), decimal commas to points, "
            "and units and separators of thousands removed before, or take "
            f"PrivateLogisticRegression for classes. {NOT_FOR_PUBLICATION}"
        )


def read_targets(y: ArrayLike, name: str = "y") -> NDArray[np.float64]:
    """Return private targets as finite numbers of shape (n_rows,), or raise ValueError."""
    check_column(y, name)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and min(shape) > 1:
        raise ValueError(
            f"{name} has {shape[1]} columns, and a model predicts one number a row: give one "
            "column of it, and fit a model for each."
        )
    with marked_errors(name):
        _check_numbers(y, name)
    try:
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name=name)
        numbers: NDArray[np.float64] = column_or_1d(targets, warn=True)
    except (MemoryError, Warning):
        raise
    except Exception as error:
        reason = str(error).split("\n", 1)[0] if isinstance(error, ValueError) else ""
        raise ValueError(
            f"{reason.rstrip('.') or f'{name} holds what is no number'}. Every row needs one "
            f"finite number; leave rows without one out of X and {name}. {NOT_FOR_PUBLICATION}"
        ) from None
    return numbers


def read_predictions(y_pred: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return a prediction for each row; NaN where a cell is no finite number."""
    check_column(y_pred, "y_pred")
    cells: Any = y_pred
    shape = np.shape(cells) if hasattr(cells, "shape") else (len(cells),)
    if shape == (n_rows, 1):
        cells, shape = np.asarray(cells)[:, 0], (n_rows,)
    if shape != (n_rows,):
        raise ValueError(
            f"y_true has {n_rows} rows and y_pred shape {shape}; give a prediction for each."
        )
    numbers = read_numbers(cells)
    if getattr(getattr(cells, "dtype", None), "kind", "") == "c" or not np.isfinite(numbers).any():
        raise ValueError(
            "y_pred holds no finite real number, and predictions of numbers are expected: give "
            f"model.predict(X) of a regressor. Nothing was spent. {NOT_FOR_PUBLICATION}"
        )
    return numbers
