"""Where a condition begins to hold."""

from __future__ import annotations

import math
from collections.abc import Callable

_PRECISION = 1e-10


def bracket(enough: Callable[[float], bool], most: float = 1e12) -> tuple[float, float]:
    """Return two numbers next to each other, of which the second is enough and the first isn't.

    From somewhere in (0, `most`] on every number is enough. If none is, both are infinite; what is
    returned is enough as computed, whatever rounding does to the order.
    """
    low, high = 0.0, min(1.0, most)
    while not enough(high):
        if high >= most:
            return math.inf, math.inf
        low, high = high, min(2 * high, most)
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low, high
