"""The sharpest release that is (epsilon, delta)-private, by one root-find."""

from __future__ import annotations

import math
from collections.abc import Callable

from secretballot._numbers import check_number

_LEAST, _MOST = 1e-12, 1e12


def check_pair(epsilon: float, delta: float, *, pure: bool = True) -> None:
    """Refuse a pair that is no privacy guarantee, and delta 0 where noise can't be `pure`."""
    check_number("epsilon", epsilon, above=0)
    check_number("delta", delta, least=0, below=1)
    if delta == 0 and not pure:
        raise ValueError("delta=0 takes Laplace noise; with any other use a delta above 0.")


def sharpest(delta_of: Callable[[float], float], delta: float) -> float:
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
