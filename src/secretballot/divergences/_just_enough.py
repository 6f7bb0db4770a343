"""Where a condition begins to hold: numbers that are just enough."""

from __future__ import annotations

import math
from collections.abc import Callable

_LEAST, _MOST = 1e-12, 1e12
_PRECISION = 1e-10

#: Numbers below this count as 0.
_NOTHING = 1e-160


def bracket_threshold(
    enough: Callable[[float], bool], most: float = _MOST, precision: float = _PRECISION
) -> tuple[float, float]:
    """Return two numbers next to each other, of which the second is enough and the first isn't.

    From somewhere in (0, `most`] on every number is enough. If none is, both are infinite; what is
    returned is enough as computed, whatever rounding does to the order. The two differ by no more
    than `precision`, relative, or the first is 0.
    """
    low, high = 0.0, min(1.0, most)
    while not enough(high):
        if high >= most:
            return math.inf, math.inf
        low, high = high, min(2 * high, most)
    while high - low > precision * high and high > _NOTHING:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low, high


def find_sharpness(delta_of: Callable[[float], float], delta: float) -> float:
    """Return the largest sharpness at which ``delta_of(sharpness) <= delta``.

    Sharpness is the inverse of an amount of noise; `delta_of` grows with it. Whatever the search
    finds meets the condition as computed; that it is the largest rests on the growth.

    Raises
    ------
    ValueError
        If no sharpness meets the condition.
    """
    from scipy.optimize import brentq

    low = high = 1.0
    while low > _LEAST and delta_of(low) > delta:
        high, low = low, low / 8
    while high < _MOST and delta_of(high) <= delta:
        low, high = high, high * 8
    if delta_of(low) > delta:
        raise ValueError(
            f"delta={delta!r} can't be reached by any amount of this noise; use a larger delta or "
            "epsilon, for a Dirichlet draw a pseudo_count or a larger min_count, or Laplace noise."
        )
    if delta_of(high) <= delta:
        return high
    ends = math.log(low), math.log(high)
    found = brentq(lambda log: delta_of(math.exp(log)) - delta, *ends, xtol=1e-16, rtol=1e-15)
    sharpness, step = math.exp(found), 1e-16
    while sharpness > low and delta_of(sharpness) > delta:
        sharpness, step = sharpness * (1 - step), step * 2
    return max(sharpness, low)
