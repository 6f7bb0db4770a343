"""A privacy profile, delta as a function of epsilon, and the Gaussian one that lies above it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri, ndtri_exp

from secretballot.divergences._gaussian_cost import GaussianCost
from secretballot.divergences._just_enough import bracket
from secretballot.divergences._orders import Floats

#: What mu is rounded up by.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Profile:
    """Upper bounds of delta, in both directions between neighbours, at some epsilons from 0 on.

    Attributes
    ----------
    ratio : ndarray of shape (n_nodes,)
        e^epsilon, ascending from 1.
    delta : ndarray of shape (n_nodes,)

    Notes
    -----
    The true delta is a convex function of the ratio that falls, so between nodes it lies below
    their lower convex hull, and beyond the last one below its delta. Each segment a - b ratio of
    the hull is the profile of a test that rejects with probability a under P and b under Q.
    N(0, 1) and N(mu, 1) have a test as good, up to delta0, if

        ndtri((a - delta0) / (1 - delta0)) - ndtri(b / (1 - delta0)) <= mu.

    So the largest of these over all segments is enough, at every epsilon between the nodes as well
    as at them, and beyond the last where its delta is at most delta0. What holds for every epsilon
    of at least 0 in both directions holds for those below 0.
    """

    ratio: Floats
    delta: Floats

    @classmethod
    def of_epsilons(cls, epsilon: Floats, delta: Floats) -> Profile:
        """Return the profile with the bounds `delta` at `epsilon`, ascending from 0."""
        return cls(np.exp(epsilon), np.asarray(delta, dtype=np.float64))

    @cached_property
    def _tests(self) -> tuple[Floats, Floats]:
        """What the segments of the lower hull reject, a under P and log b under Q."""
        ratio, delta = self.ratio, np.minimum.accumulate(self.delta)
        while True:
            slope = np.diff(delta) / np.diff(ratio)
            # Above the chord of two others a node is no corner of the hull.
            above = np.diff(slope) < 0
            if not above.any():
                break
            kept = np.concatenate([[True], ~above, [True]])
            ratio, delta = ratio[kept], delta[kept]
        falls = slope < 0
        with np.errstate(divide="ignore"):
            log_b = np.log(-slope)
        # A segment is flat only at the end, where delta has reached its last value.
        return (delta[:-1] - slope * ratio[:-1])[falls], log_b[falls]

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Return the least mu^2 that is enough beside an approximation delta, rounded up.

        Infinite if the profile's tail is above the approximation delta.
        """
        failure = approximation_delta
        if self.delta[0] <= failure:
            return GaussianCost(0.0, failure)
        if self.delta[-1] > failure:
            return GaussianCost(math.inf, failure)
        a, log_b = self._tests
        here = (a - failure) / (1 - failure)
        with np.errstate(invalid="ignore", divide="ignore"):
            mu = ndtri(np.clip(here, 0.0, 1.0)) - ndtri_exp(
                np.minimum(log_b - math.log1p(-failure), 0.0)
            )
        largest = float(np.where(here > 0, mu, 0.0).max(initial=0.0)) * (1 + _ROUNDING)
        return GaussianCost(largest**2, failure)

    def share(self, mu2: float, approximation_delta: float) -> float:
        """Return the least s for which s `mu2` beside s `approximation_delta` is enough.

        At most 1 if the release fits a budget of so much; infinite if no share is enough.
        """

        def enough(s: float) -> bool:
            cost = self.gaussian_cost(s * approximation_delta)
            return float(cost.mu2) <= s * mu2

        # A delta of a half or more is no privacy to speak of.
        return bracket(enough, 0.5 / approximation_delta if approximation_delta else 1e12)[1]


def pure_cost(epsilon: float) -> GaussianCost:
    """Return what a purely epsilon-private release costs, without an approximation delta.

    It is no better than randomised response (Kairouz, Oh and Viswanath, 2015), whose one corner the
    Gaussian curve has to reach.
    """
    return GaussianCost((-2 * ndtri_exp(-float(np.logaddexp(0.0, epsilon)))) ** 2 * (1 + _ROUNDING))
