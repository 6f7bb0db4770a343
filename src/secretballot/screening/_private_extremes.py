"""Declared bounds that are the least and largest private value."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from secretballot._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn
from secretballot.schema import read_numbers

#: A warning names no more columns than this.
_MOST_NAMED = 3


def warn_private_extremes(
    parameter: str,
    bounds: Mapping[Hashable, tuple[float, float]],
    columns: Mapping[Hashable, ArrayLike],
) -> None:
    """Warn if all bounds are extremes that one person each has: they were read from private rows.

    Parameters
    ----------
    parameter : str
    bounds : mapping of column to (low, high)
    columns : mapping of column to array-like of shape (n_rows,)
        Private cells.
    """
    if not bounds or not all(_are_extremes(bounds[name], columns[name]) for name in bounds):
        return
    shown = ", ".join(f"{bounds[name]!r}" for name in list(bounds)[:_MOST_NAMED])
    warn(
        f"{parameter}: {shown} are the least and largest private value, which one person each has. "
        "Bounds are public, so these values are too, outside the guarantee. Declare bounds that "
        f"are known without these rows, such as (0, 120) of ages. {NOT_FOR_PUBLICATION}",
        PrivacyLeakWarning,
    )


def _are_extremes(pair: tuple[float, float], cells: ArrayLike) -> bool:
    x = read_numbers(cells)
    low, high = pair
    within = bool(np.nanmin(x, initial=np.inf) == low and np.nanmax(x, initial=-np.inf) == high)
    return within and int((x == low).sum()) == 1 == int((x == high).sum())
