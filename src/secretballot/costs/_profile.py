"""Privacy profiles, delta as a function of epsilon, and the Gaussian profile above them.

Proofs: docs/theory/divergences.md, "Gaussian bounds of a profile".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri, ndtri_exp

from secretballot._base._cached_property import cached_property
from secretballot.costs._cost import GaussianCost, RenyiCost
from secretballot.costs._orders import ORDERS, Floats
from secretballot.costs._threshold_search import bracket_zero

#: Relative rounding of mu.
_ROUNDING = 1e-9

#: Nodes of a profile that is a function: up to where delta is negligible, or an epsilon of 512.
_NODES = 256
_NEGLIGIBLE, _FURTHEST = 1e-18, 512.0


@dataclass(frozen=True, eq=False)
class Profile:
    """Upper bounds of delta at nodes e^epsilon = `ratio`, ascending from 1, in both directions."""

    ratio: Floats
    delta: Floats

    @classmethod
    def from_epsilons(cls, epsilon: Floats, delta: Floats) -> Profile:
        return cls(np.exp(epsilon), np.asarray(delta, dtype=np.float64))

    @classmethod
    def from_function(cls, delta: Callable[[float], float]) -> Profile:
        """Make the profile of a function that gives delta at every epsilon."""
        furthest = 0.125
        while delta(furthest) > _NEGLIGIBLE and furthest < _FURTHEST:
            furthest *= 2
        epsilon = furthest * np.linspace(0.0, 1.0, _NODES) ** 1.5
        return cls.from_epsilons(epsilon, np.array([delta(float(node)) for node in epsilon]))

    @classmethod
    def from_renyi(cls, cost: RenyiCost) -> Profile:
        """Make the profile that a Renyi curve implies, looser than that of a game."""
        finite, orders = cost.curve[:-1], ORDERS[:-1]
        failure, pure = float(cost.delta), float(cost.curve[-1])

        def delta(epsilon: float) -> float:
            if epsilon >= pure:
                return failure
            # Randomised response dominates any purely private release.
            response = (
                math.expm1(pure - epsilon) / (math.exp(-epsilon) + math.exp(pure - epsilon))
                if pure < _FURTHEST
                else 1.0
            )
            # The inverse of the conversion to epsilon (Canonne, Kamath and Steinke, 2020).
            log = (orders - 1) * (finite - epsilon + np.log1p(-1 / orders)) - np.log(orders)
            return min(failure + min(float(np.exp(min(log.min(), 0.0))), response), 1.0)

        beyond = cls.from_function(lambda epsilon: delta(epsilon) - failure)
        return cls(beyond.ratio, np.minimum(beyond.delta + failure, 1.0))

    @cached_property
    def _tests(self) -> tuple[Floats, Floats]:
        """Tests of the lower hull's segments: rejection a under P, and log b under Q."""
        ratio, delta = self.ratio, np.minimum.accumulate(self.delta)
        while True:
            slope = np.diff(delta) / np.diff(ratio)
            # A node above the chord of its neighbours is not on the hull.
            above = np.diff(slope) < 0
            if not above.any():
                break
            on_hull = np.concatenate([[True], ~above, [True]])
            ratio, delta = ratio[on_hull], delta[on_hull]
        falls = slope < 0
        with np.errstate(divide="ignore"):
            log_b = np.log(-slope)
        # A segment is flat only at the end, where delta has reached its last value.
        return (delta[:-1] - slope * ratio[:-1])[falls], log_b[falls]

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Compute the least sufficient mu^2, rounded up; infinite below the profile's tail."""
        failure = approximation_delta
        if self.delta[0] <= failure:
            return GaussianCost(0.0, failure)
        if self.delta[-1] > failure:
            return GaussianCost(math.inf, failure)
        a, log_b = self._tests
        rejected = (a - failure) / (1 - failure)
        with np.errstate(invalid="ignore", divide="ignore"):
            mu = ndtri(np.clip(rejected, 0.0, 1.0)) - ndtri_exp(
                np.minimum(log_b - math.log1p(-failure), 0.0)
            )
        # No shift is enough where delta begins at 1.
        mu = np.where(np.isnan(mu), np.inf, mu)
        largest = float(np.where(rejected > 0, mu, 0.0).max(initial=0.0)) * (1 + _ROUNDING)
        return GaussianCost(largest**2, failure)


class HasGaussianCost(Protocol):
    """Release with a price in mu^2 beside any approximation delta."""

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Compute the least sufficient mu^2, rounded up."""


def gaussian_share(
    priced: Sequence[tuple[float, HasGaussianCost]], mu2: float, approximation_delta: float
) -> float:
    """Compute the least share of (`mu2`, `approximation_delta`) that pays, perhaps infinite."""
    # Each release comes with its part of the approximation delta; the parts sum to 1.

    def spare_mu2(s: float) -> float:
        costs = [item.gaussian_cost(part * s * approximation_delta) for part, item in priced]
        return s * mu2 - sum(float(cost.mu2) for cost in costs)

    if not mu2 > 0:
        return 0.0 if spare_mu2(0.0) >= 0 else math.inf
    # A delta of a half or more is no privacy to speak of.
    most = 0.5 / approximation_delta if approximation_delta else 1e12
    return bracket_zero(spare_mu2, most, 1e-7)[1]
