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
) -> bool:
    """Warn, and return True, if all bounds are extremes, and one is a single person's.

    Such bounds were read from rows.

    Parameters
    ----------
    parameter : str
    bounds : mapping of column to (low, high)
    columns : mapping of column to array-like of shape (n_rows,)
        Private cells.
    """
    people = [_people_at_ends(bounds[name], columns[name]) for name in bounds]
    if not people or min(map(min, people)) != 1:
        return False
    shown = ", ".join(f"{bounds[name]!r}" for name in list(bounds)[:_MOST_NAMED])
    warn(
        f"{parameter}: {shown} are the least and largest private value, some of which one person "
        "has. Bounds are public, so these values are too, outside the guarantee. Declare bounds "
        "that are known without these rows, such as (0, 120) of ages. "
        f"{NOT_FOR_PUBLICATION}",
        PrivacyLeakWarning,
    )
    return True


def _people_at_ends(pair: tuple[float, float], cells: ArrayLike) -> tuple[int, int]:
    """Count the people who have each bound; 0 where it is not the least or largest value."""
    x, (low, high) = read_numbers(cells), pair
    return (
        int((x == low).sum()) if np.nanmin(x, initial=np.inf) == low else 0,
        int((x == high).sum()) if np.nanmax(x, initial=-np.inf) == high else 0,
    )
