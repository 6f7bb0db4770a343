"""Searches for the number from which on a condition holds, and for the least noise of a plan."""

from __future__ import annotations

import math
from collections.abc import Callable

from secretballot.costs._grid import FINE, Fineness

_LEAST, _MOST = 1e-12, 1e12
_PRECISION = 1e-10

#: Steps of the secant method.
_SECANT_STEPS = 10

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


def bracket_zero(
    rising: Callable[[float], float], most: float = _MOST, precision: float = _PRECISION
) -> tuple[float, float]:
    """Bracket the number from which on a rising function is not negative."""
    # As `bracket_threshold`, with a third of the evaluations where the function is nearly linear:
    # the secant method finds the zero, and two numbers next to it decide what holds elsewhere.
    fails, holds_from = -math.inf, math.inf

    def value_at(number: float) -> float:
        nonlocal fails, holds_from
        value = rising(number)
        if value >= 0:
            holds_from = min(holds_from, number)
        else:
            fails = max(fails, number)
        return value

    def holds(number: float) -> bool:
        if fails < number < holds_from:
            return value_at(number) >= 0
        return number >= holds_from

    zero = _secant_zero(value_at, min(1.0, most), most, precision / 100)
    if zero is not None:
        holds(zero * (1 - precision / 100))
        holds(min(zero * (1 + precision / 100), most))
    return bracket_threshold(holds, most, precision)


def _secant_zero(
    function: Callable[[float], float], start: float, most: float, precision: float
) -> float | None:
    """Find a zero by the secant method; None if it leaves (0, `most`] or does not converge."""
    before, at = start / 2, start
    value_before, value = function(before), function(at)
    for _ in range(_SECANT_STEPS):
        if not (math.isfinite(value_before) and math.isfinite(value)) or value == value_before:
            return None
        before, at = at, at - value * (at - before) / (value - value_before)
        if not 0 < at <= most:
            return None
        if abs(at - before) <= precision * at:
            return at
        value_before, value = value, function(at)
    return None


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


#: Relative distance below the wanted privacy at which the search ends.
_SLACK = 2e-3

#: The first search uses grids that are coarser by this factor, and overstate the share by about
#: the following logarithm.
_COARSER = 4.0
_OVERSTATEMENT = 0.0055

#: About how the logarithm of a share falls with the logarithm of the noise.
_SLOPE = -2.0

_MOST_STEPS = 40


def least_plan_noise(
    share: Callable[[float, Fineness], float], enough: float, guess: float, coarse: bool
) -> float:
    """Find the least noise with a share of at most 1.

    ``share(noise, fineness)`` computes which part of the wanted privacy a plan uses. It lies
    between 0.998 and 1 for the noise returned, unless the price falls in steps. `enough` is
    noise that is enough by a simpler bound. (Of moves that are themselves bounded in the game, such
    as labels of clipped ballots, few rows may cost more in it.)

    The search begins at `guess`. With `coarse` it is first made on coarse grids, which overstate
    the price by a few per cent: not where the guess is a good one.
    """
    noise, slope, fallback, enough = guess, _SLOPE, enough, math.inf
    if coarse:
        noise, slope = _search_coarsely(share, noise, slope)
    for _ in range(_MOST_STEPS):
        used = share(noise, FINE)
        if used <= 1:
            enough = min(enough, noise)
            if used >= 1 - _SLACK:
                break
        # The target is the middle of the slack.
        distance = (math.log(used) if 0 < used < math.inf else 0.5) + _SLACK / 2
        proposal = noise * math.exp(max(min(distance / -slope, 1.0), -1.0))
        if proposal >= enough or noise > enough:
            # The price falls in steps: bisect between enough noise and too little.
            proposal = math.sqrt(enough * min(noise, proposal))
        if math.isclose(proposal, noise, rel_tol=1e-7):
            break
        noise = proposal
    if fallback < enough < math.inf and share(fallback, FINE) > 1:
        return enough
    return min(enough, fallback)


def _search_coarsely(
    share: Callable[[float, Fineness], float], noise: float, slope: float
) -> tuple[float, float]:
    """Find noise at which the share is about 1, and the slope of the logarithms there."""
    fineness = FINE.coarser(_COARSER, 1.0)
    last: tuple[float, float] | None = None
    for _ in range(6):
        used = share(noise, fineness)
        if not 0 < used < math.inf:
            return noise, slope
        x, y = math.log(noise), math.log(used)
        if last is not None and x != last[0]:
            slope = min(max((y - last[1]) / (x - last[0]), -3.0), -0.5)
        if abs(y - _OVERSTATEMENT) < _SLACK / 4:
            break
        last, noise = (x, y), math.exp(x - (y - _OVERSTATEMENT) / slope)
    return noise, slope
