"""What a plan costs in the Gaussian currency, and what its unused rows are worth there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secretballot.divergences import Profile, bracket, gaussian_delta
from secretballot.games._grid import ValueFunction

#: Floating-point error of all rows together, relative.
ROUNDING = 1e-9


def profile_of(worths: Sequence[ValueFunction]) -> Profile:
    """Return the privacy profile of a plan whose games are worth so much, all of them."""
    first = worths[0]
    # All games of a plan are on one grid; a shorter one is continued by its end, which is larger.
    low = min(worth.first for worth in worths)
    delta = np.max([worth.over(low, 1) for worth in worths], axis=0)[::-1] * (1 + ROUNDING)
    epsilon = first.grid.step * np.arange(len(delta))
    return Profile.of_epsilons(epsilon, np.minimum(delta, 1.0))


def refund_of(worths: Sequence[ValueFunction]) -> float:
    """Return the mu^2 that may be given back for rows of a plan which are worth so much.

    The largest Gaussian curve that lies below all of the games' curves, everywhere: who stops for
    that much never does better than who draws the rows. The curves are the numerical ones, from
    which the price was made, rounded up alike; between nodes they are chords, and so above the
    convex Gaussian curve where they are at the nodes.
    """

    def above(mu: float) -> bool:
        for worth in worths:
            loss = worth.grid.step * (worth.first + np.arange(worth.values.shape[-1]))
            if (gaussian_delta(mu, -loss) > worth.values * (1 + ROUNDING)).any():
                return True
        return False

    below, _ = bracket(above)
    return below**2 * (1 - ROUNDING)
