"""A privacy profile, delta as a function of epsilon, and the Gaussian one that lies above it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import ndtri, ndtri_exp

from secretballot.divergences._cost import RenyiCost
from secretballot.divergences._gaussian_cost import GaussianCost
from secretballot.divergences._just_enough import bracket_threshold
from secretballot.divergences._orders import ORDERS, Floats

#: What mu is rounded up by.
_ROUNDING = 1e-9

#: Where a profile that is known everywhere is looked at: up to where it ends, or so far.
_NODES = 256
_NOTHING, _FURTHEST = 1e-18, 512.0


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
    def from_epsilons(cls, epsilon: Floats, delta: Floats) -> Profile:
        """Return the profile with the bounds `delta` at `epsilon`, ascending from 0."""
        return cls(np.exp(epsilon), np.asarray(delta, dtype=np.float64))

    @classmethod
    def from_function(cls, delta: Callable[[float], float]) -> Profile:
        """Return the profile of what is known at every epsilon."""
        furthest = 0.125
        while delta(furthest) > _NOTHING and furthest < _FURTHEST:
            furthest *= 2
        epsilon = furthest * np.linspace(0.0, 1.0, _NODES) ** 1.5
        return cls.from_epsilons(epsilon, np.array([delta(float(each)) for each in epsilon]))

    @classmethod
    def from_renyi(cls, cost: RenyiCost) -> Profile:
        """Return the profile that a Renyi curve proves: looser than what is known of a plan."""
        finite, orders = cost.curve[:-1], ORDERS[:-1]
        own, pure = float(cost.delta), float(cost.curve[-1])

        def delta(epsilon: float) -> float:
            if epsilon >= pure:
                return own
            # No purely private release is worse than randomised response.
            coin = (
                math.expm1(pure - epsilon) / (math.exp(-epsilon) + math.exp(pure - epsilon))
                if pure < _FURTHEST
                else 1.0
            )
            # The inverse of the conversion to epsilon (Canonne, Kamath and Steinke, 2020).
            log = (orders - 1) * (finite - epsilon + np.log1p(-1 / orders)) - np.log(orders)
            return min(own + min(float(np.exp(min(log.min(), 0.0))), coin), 1.0)

        beyond = cls.from_function(lambda epsilon: delta(epsilon) - own)
        return cls(beyond.ratio, np.minimum(beyond.delta + own, 1.0))

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
        # Where delta begins at 1 no shift is enough, however steeply it falls.
        mu = np.where(np.isnan(mu), np.inf, mu)
        largest = float(np.where(here > 0, mu, 0.0).max(initial=0.0)) * (1 + _ROUNDING)
        return GaussianCost(largest**2, failure)


class HasGaussianCost(Protocol):
    """What has a price in mu^2, beside an approximation delta of one's choice."""

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Return the least mu^2 that is enough, rounded up."""


def gaussian_share(
    priced: Sequence[tuple[float, HasGaussianCost]], mu2: float, approximation_delta: float
) -> float:
    """Return the least s for which s `mu2` beside s `approximation_delta` is enough for all.

    Parameters
    ----------
    priced : sequence of tuple of float and HasGaussianCost
        What is released, and which parts of the approximation delta each may have; they sum to 1.

    Returns
    -------
    float
        At most 1 if it all fits a budget of so much; infinite if no share is enough.
    """

    def enough(s: float) -> bool:
        deltas = [part * s * approximation_delta for part, _ in priced]
        costs = [each.gaussian_cost(d) for d, (_, each) in zip(deltas, priced, strict=True)]
        return sum(float(cost.mu2) for cost in costs) <= s * mu2

    if not mu2 > 0:
        return 0.0 if enough(0.0) else math.inf
    # A delta of a half or more is no privacy to speak of.
    return bracket_threshold(
        enough, 0.5 / approximation_delta if approximation_delta else 1e12, 1e-7
    )[1]
