"""The least noise with which a plan's price fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from secretballot.games.moves import FINE, Fineness

M = TypeVar("M")

#: Relative distance below the wanted privacy at which the search ends.
_SLACK = 2e-3

#: The first search uses grids that are coarser by this factor, and overstate the share by about
#: the following logarithm.
_COARSER = 4.0
_OVERSTATEMENT = 0.0055

_MOST_STEPS = 40


def least_plan_noise(
    build: Callable[[float], M],
    share: Callable[[M, Fineness], float],
    enough: float,
    guess: float,
    coarse: bool,
    slope: float = -1.1,
) -> M:
    """Find ``build(noise)`` for the least noise with a share of at most 1.

    Parameters
    ----------
    build : callable
        From the amount of noise to a mechanism.
    share : callable
        ``share(mechanism, fineness)`` computes which part of the wanted privacy a plan uses.
    enough : float
        Noise that is enough by a simpler bound. (Of moves that are themselves bounded in the game,
        such as labels of clipped ballots, few rows may cost more in it.)
    guess : float
        Noise at which the search begins.
    coarse : bool
        If True, search on coarse grids first, which overstate the price by a few per cent; not
        where the guess is a good one.
    slope : float, default=-1.1
        Approximate derivative of the share's logarithm by that of the noise.

    Returns
    -------
    mechanism
        Its share on the fine grids lies between 0.998 and 1, unless the price falls in steps.
    """
    noise, fallback, enough = guess, enough, math.inf
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
    build: Callable[[float], M],
    share: Callable[[M, Fineness], float],
    noise: float,
    slope: float,
) -> tuple[float, float]:
    """Find noise at which the share is about 1, and the slope of the logarithms there."""
    fineness = FINE.coarser(_COARSER, 1.0)
    points: list[tuple[float, float]] = []
    for _ in range(6):
        used = share(build(noise), fineness)
        if not 0 < used < math.inf:
            return noise, slope
        points.append((math.log(noise), math.log(used)))
        if len(points) > 1:
            (x0, y0), (x1, y1) = points[-2:]
            if x1 != x0:
                slope = min(max((y1 - y0) / (x1 - x0), -3.0), -0.5)
        if abs(points[-1][1] - _OVERSTATEMENT) < _SLACK / 4:
            break
        noise = math.exp(points[-1][0] - (points[-1][1] - _OVERSTATEMENT) / slope)
    return noise, slope
