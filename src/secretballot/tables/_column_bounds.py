"""Declared bounds of columns of numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from secretballot._base._numbers import quoted
from secretballot.tables._cells import read_days, read_numbers

#: Columns that an error lists.
_MOST_NAMED = 20

Bounds = Mapping[Hashable, tuple[float, float]]


def read_bounds(
    bounds: ArrayLike | Mapping[Hashable, ArrayLike] | None,
    names: Sequence[Hashable],
    shown: Sequence[Hashable] | None = None,
) -> Bounds:
    """Read the bounds of columns of numbers; times and durations as days.

    `bounds` are a pair for all columns, one for each, or a dict of them. An error lists the columns
    that are `shown`; None: all.
    """
    by_column = _bounds_by_column(bounds, names)
    for name in by_column:
        if name not in names:
            raise ValueError(
                f"bounds names {name!r}, which is no column of numbers of X. These are "
                f"{list(names if shown is None else shown)[:_MOST_NAMED]!r}."
            )
    return {name: _checked_pair(name, by_column[name]) for name in names if name in by_column}


def _bounds_by_column(
    bounds: ArrayLike | Mapping[Hashable, ArrayLike] | None, names: Sequence[Hashable]
) -> Mapping[Hashable, ArrayLike]:
    if bounds is None or isinstance(bounds, Mapping):
        return bounds or {}
    dates = _pairs_of_dates(bounds, names)
    if dates is not None:
        return dates
    try:
        pairs = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds={quoted(bounds)} are no numbers or dates; give pairs (low, high)."
        ) from None
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (len(names), 1))
    if pairs.shape != (len(names), 2):
        raise ValueError(
            f"bounds has shape {pairs.shape}; give one pair (low, high), one for each of the "
            f"{len(names)} columns of numbers, or a dict of them by column."
        )
    return dict(zip(names, pairs.tolist(), strict=True))


def _pairs_of_dates(
    bounds: ArrayLike, names: Sequence[Hashable]
) -> Mapping[Hashable, ArrayLike] | None:
    """Return one pair for all columns, or one for each, if a pair is of times or durations."""
    if not isinstance(bounds, list | tuple | np.ndarray):
        return None
    if _days_of(bounds) is not None:
        return dict.fromkeys(names, bounds)
    if len(bounds) == len(names) and any(_days_of(pair) is not None for pair in bounds):
        return dict(zip(names, bounds, strict=True))
    return None


def _checked_pair(name: Hashable, pair: ArrayLike) -> tuple[float, float]:
    low, high = _days_of(pair) or _numbers_of(pair)
    if not 0 < high - low < math.inf:
        raise ValueError(
            f"bounds of {name!r} are {pair!r}; give (low, high), low below high, as numbers, or "
            "dates such as '2024-12-31'."
        )
    return low, high


def date_bounds(
    bounds: ArrayLike | Mapping[Hashable, ArrayLike] | None, names: Sequence[Hashable]
) -> dict[Hashable, str]:
    """Return the columns whose declared bounds are times or durations, with which of them."""
    by_column = _bounds_by_column(bounds, names)
    kinds = ("time", "duration")
    return {
        name: kind for name, pair in by_column.items() for kind in kinds if _days_of(pair, kind)
    }


def _numbers_of(pair: ArrayLike) -> tuple[float, float]:
    try:
        low, high = np.asarray(pair, dtype=np.float64).tolist()
    except (TypeError, ValueError):
        return math.nan, math.nan
    return low, high


def _days_of(pair: object, *kinds: str) -> tuple[float, float] | None:
    if not isinstance(pair, list | tuple | np.ndarray) or np.shape(pair) != (2,):
        return None
    cells = np.empty(2, dtype=object)
    cells[:] = list(pair)
    if not np.isnan(read_numbers(cells)).all():
        return None
    for kind in kinds or ("time", "duration"):
        low, high = read_days(cells, kind).tolist()
        if not math.isnan(low) and not math.isnan(high):
            return low, high
    return None
