"""Declared bounds of columns of numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

Bounds = Mapping[Hashable, tuple[float, float]]


def read_bounds(
    bounds: ArrayLike | Mapping[Hashable, ArrayLike] | None, names: Sequence[Hashable]
) -> Bounds:
    """Read the bounds of columns, or raise ValueError; columns without bounds are left out.

    Parameters
    ----------
    bounds : pair, array-like of shape (n_columns, 2), dict or None
        (low, high) of all columns, of each, or by column.
    names : sequence
        Columns of numbers.
    """
    by_column = _bounds_by_column(bounds, names)
    for name in by_column:
        if name not in names:
            raise ValueError(f"bounds names {name!r}, which is no column of numbers of X.")
    return {name: _checked_pair(name, by_column[name]) for name in names if name in by_column}


def _bounds_by_column(
    bounds: ArrayLike | Mapping[Hashable, ArrayLike] | None, names: Sequence[Hashable]
) -> Mapping[Hashable, ArrayLike]:
    if bounds is None or isinstance(bounds, Mapping):
        return bounds or {}
    try:
        pairs = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"bounds={bounds!r} are no numbers; give pairs (low, high).") from None
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (len(names), 1))
    if pairs.shape != (len(names), 2):
        raise ValueError(
            f"bounds has shape {pairs.shape}; give one pair (low, high), one for each of the "
            f"{len(names)} columns of numbers, or a dict of them by column."
        )
    return dict(zip(names, pairs.tolist(), strict=True))


def _checked_pair(name: Hashable, pair: ArrayLike) -> tuple[float, float]:
    try:
        low, high = np.asarray(pair, dtype=np.float64).tolist()
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0 < high - low < math.inf:
        raise ValueError(f"bounds of {name!r} are {pair!r}; give (low, high), low below high.")
    return low, high
