"""Bisection for the number at which a condition begins to hold."""

from __future__ import annotations

import math
from collections.abc import Callable

_LEAST, _MOST = 1e-12, 1e12
_PRECISION = 1e-10

#: Numbers below this count as 0.
_NEGLIGIBLE = 1e-160


def bracket_threshold(
    holds: Callable[[float], bool], most: float = _MOST, precision: float = _PRECISION
) -> tuple[float, float]:
    """Bracket the number from which on a condition holds.

    It holds at the second number returned, as computed, and not at the first. They differ by at
    most `precision`, relative, or the first is 0. Both are infinite if it fails up to `most`.
    """
    low, high = 0.0, min(1.0, most)
    while not holds(high):
        if high >= most:
            return math.inf, math.inf
        low, high = high, min(2 * high, most)
    while high - low > precision * high and high > _NEGLIGIBLE:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def find_sharpness(delta_of: Callable[[float], float], delta: float) -> float:
    """Find the largest sharpness with ``delta_of(sharpness) <= delta``, for a rising `delta_of`.

    Sharpness is the inverse of a noise scale. The result meets the condition as computed;
    ValueError if none does.
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
    root = brentq(lambda log: delta_of(math.exp(log)) - delta, *ends, xtol=1e-16, rtol=1e-15)
    sharpness, step = math.exp(root), 1e-16
    while sharpness > low and delta_of(sharpness) > delta:
        sharpness, step = sharpness * (1 - step), step * 2
    return max(sharpness, low)
