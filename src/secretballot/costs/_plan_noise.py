"""The least noise with which a plan's price fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from secretballot.costs.moves import FINE, Fineness

M = TypeVar("M")

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
    build: Callable[[float], M],
    share: Callable[[M, Fineness], float],
    enough: float,
    guess: float,
    coarse: bool,
) -> M:
    """Find ``build(noise)`` for the least noise with a share of at most 1.

    ``share(mechanism, fineness)`` computes which part of the wanted privacy a plan uses. It lies
    between 0.998 and 1 for the mechanism returned, unless the price falls in steps. `enough` is
    noise that is enough by a simpler bound. (Of moves that are themselves bounded in the game, such
    as labels of clipped ballots, few rows may cost more in it.)

    The search begins at `guess`. With `coarse` it is first made on coarse grids, which overstate
    the price by a few per cent: not where the guess is a good one.
    """
    noise, slope, fallback, enough = guess, _SLOPE, enough, math.inf
    if coarse:
        noise, slope = _search_coarsely(build, share, noise, slope)
    for _ in range(_MOST_STEPS):
        used = share(build(noise), FINE)
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
    if fallback < enough < math.inf and share(build(fallback), FINE) > 1:
        return build(enough)
    return build(min(enough, fallback))


def _search_coarsely(
    build: Callable[[float], M], share: Callable[[M, Fineness], float], noise: float, slope: float
) -> tuple[float, float]:
    """Find noise at which the share is about 1, and the slope of the logarithms there."""
    fineness = FINE.coarser(_COARSER, 1.0)
    last: tuple[float, float] | None = None
    for _ in range(6):
        used = share(build(noise), fineness)
        if not 0 < used < math.inf:
            return noise, slope
        x, y = math.log(noise), math.log(used)
        if last is not None and x != last[0]:
            slope = min(max((y - last[1]) / (x - last[0]), -3.0), -0.5)
        if abs(y - _OVERSTATEMENT) < _SLACK / 4:
            break
        last, noise = (x, y), math.exp(x - (y - _OVERSTATEMENT) / slope)
    return noise, slope
