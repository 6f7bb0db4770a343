"""Declared bounds that are the least and largest private value."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, warn
from secretballot.tables._cells import read_numbers

#: A warning names no more columns than this.
_MOST_NAMED = 3


def warn_private_extremes(
    parameter: str,
    bounds: Mapping[Hashable, tuple[float, float]],
    columns: Mapping[Hashable, ArrayLike],
) -> None:
    """Warn of bounds read from rows: all are extremes of private cells, one a single person's."""
    warn_extreme_counts(parameter, bounds, count_at_bounds(bounds, columns))


def count_at_bounds(
    bounds: Mapping[Hashable, tuple[float, float]], columns: Mapping[Hashable, ArrayLike]
) -> NDArray[np.intp]:
    """Count private cells at and beyond each bound: shape (n_columns, 2 ends, 2)."""
    counts = np.zeros((len(bounds), 2, 2), dtype=np.intp)
    for row, (name, (low, high)) in zip(counts, bounds.items(), strict=True):
        x = read_numbers(columns[name])
        row[:] = [[(x == low).sum(), (x < low).sum()], [(x == high).sum(), (x > high).sum()]]
    return counts


def warn_extreme_counts(
    parameter: str, bounds: Mapping[Hashable, tuple[float, float]], counts: NDArray[np.intp]
) -> None:
    """Warn as `warn_private_extremes`, given the counts of `count_at_bounds`."""
    # A bound beyond which somebody is, is no extreme.
    at_extremes = np.where(counts[..., 1] == 0, counts[..., 0], 0)
    if at_extremes.min(initial=2) != 1:
        return
    shown = ", ".join(f"{bounds[name]!r}" for name in list(bounds)[:_MOST_NAMED])
    warn(
        f"{parameter}: {shown} are the least and largest private value, some of which one person "
        "has. Bounds are public, so these values are too, outside the guarantee. Declare bounds "
        "that are known without these rows, such as (0, 120) of ages. "
        f"{NOT_FOR_PUBLICATION}",
        PrivacyLeakWarning,
    )
