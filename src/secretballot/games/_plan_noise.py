"""The least noise with which a plan's price fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from secretballot.games._worst_game import FINE, Fineness

M = TypeVar("M")

#: How far below the wanted privacy the answer may stay, relative.
_SLACK = 2e-3

#: A first look is taken on grids of losses that are so much coarser.
_COARSER = 4.0

#: By how much they overstate the share, usually: saves a price on the fine grids.
_OVERSTATED = 0.0055

_MOST_STEPS = 40


def least_plan_noise(
    build: Callable[[float], M],
    share: Callable[[M, Fineness], float],
    enough: float,
    guess: float,
    coarse: bool,
    slope: float = -1.1,
) -> M:
    """Return ``build(noise)`` for the least noise with a share of at most 1.

    Parameters
    ----------
    build : callable
        From the amount of noise to a mechanism.
    share : callable
        ``share(mechanism, fineness)`` says which part of the wanted privacy a plan uses.
    enough : float
        Noise that is enough by a simpler bound. (Of moves that are themselves bounded in the game,
        such as labels of clipped ballots, few rows may cost more in it.)
    guess : float
        What is looked at first.
    coarse : bool
        Whether to look on coarse grids first, which overstate the price by a few per cent; not
        where the guess is a good one.
    slope : float, default=-1.1
        About how the logarithm of the share falls with that of the noise.

    Returns
    -------
    mechanism
        Its share on the fine grids lies between 0.998 and 1, unless the price falls in steps.
    """
    noise, safe, enough = guess, enough, math.inf
    if coarse:
        noise, slope = _near(build, share, FINE.coarser(_COARSER, 1.0), noise, slope)
    for _ in range(_MOST_STEPS):
        used = share(build(noise), FINE)
        if used <= 1:
            enough = min(enough, noise)
            if used >= 1 - _SLACK:
                break
        # Aimed at the middle of what is good enough.
        step = (math.log(used) if 0 < used < math.inf else 0.5) + _SLACK / 2
        further = noise * math.exp(max(min(step / -slope, 1.0), -1.0))
        if further >= enough or noise > enough:
            # Steps in the price: between what is enough and what is not.
            further = math.sqrt(enough * min(noise, further))
        if math.isclose(further, noise, rel_tol=1e-7):
            break
        noise = further
    if safe < enough < math.inf and share(build(safe), FINE) > 1:
        return build(enough)
    return build(min(enough, safe))


def _near(
    build: Callable[[float], M],
    share: Callable[[M, Fineness], float],
    fineness: Fineness,
    noise: float,
    slope: float,
) -> tuple[float, float]:
    """Return noise at which the share is about 1, and how its logarithm falls with the noise's."""
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
        if abs(points[-1][1] - _OVERSTATED) < _SLACK / 4:
            break
        noise = math.exp(points[-1][0] - (points[-1][1] - _OVERSTATED) / slope)
    return noise, slope
