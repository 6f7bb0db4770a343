"""Trade-off functions of a budget: limits of any test that tells neighbouring data sets apart.

Proofs: docs/theory/gaussian-budget.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from scipy.special import ndtr, ndtri

from secretballot.costs._orders import GAUSSIAN
from secretballot.costs._threshold_search import bracket_threshold
from secretballot.ledger._budget import LevelBudget

#: Rounding of a probability, upwards.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-14

#: Larger epsilons are no limit, up to rounding.
_NO_LIMIT = 700.0

#: Quantiles of the normal distribution beyond these underflow.
_FURTHEST = 40.0


class TradeOff(Protocol):
    """Limits of tests between two neighbouring data sets, by everything that is released.

    A test calls data "true" or "false" by what was released. Its power is the probability of
    "true" on one data set, its false-alarm rate that on the neighbour. All values are upper
    bounds, rounded up.
    """

    def power(self, false_alarms: float) -> float:
        """Bound the power of a test with a false-alarm rate."""

    def best_guess(self) -> float:
        """Bound the probability that a guess between two equally likely neighbours is right."""

    def rise(self, factor: float) -> float:
        """Bound the probability that a true suspicion gains at least a factor of odds above 1."""


@dataclass(frozen=True)
class PairTradeOff:
    """Trade-off function of (epsilon, delta)-differential privacy.

    References
    ----------
    Wasserman and Zhou, "A Statistical Framework for Differential Privacy" (2010); Kairouz, Oh and
    Viswanath, "The Composition Theorem for Differential Privacy" (2015).
    """

    epsilon: float
    delta: float

    def power(self, false_alarms: float) -> float:
        return _up(min(offset + slope * false_alarms for offset, slope in self._lines()))

    def best_guess(self) -> float:
        inverse = math.exp(-min(self.epsilon, _NO_LIMIT))
        return _up((1 + self.delta * inverse) / (1 + inverse))

    def rise(self, factor: float) -> float:
        # The power is at least `factor` false alarms up to where they meet.
        lines = [(offset, slope) for offset, slope in self._lines() if slope < factor]
        return _up(min(factor * offset / (factor - slope) for offset, slope in lines))

    def _lines(self) -> list[tuple[float, float]]:
        """Return offset and slope of the lines whose minimum is the power."""
        steep = math.exp(min(self.epsilon, _NO_LIMIT))
        flat = 1 / steep
        return [(self.delta, steep), (1 - flat * (1 - self.delta), flat), (1.0, 0.0)]


@dataclass(frozen=True)
class GaussianTradeOff:
    """Trade-off function of N(0, 1) and N(mu, 1), of which all is known with probability `delta`.

    References
    ----------
    Dong, Roth and Su, "Gaussian Differential Privacy" (2022), Definition 2.6.
    """

    mu: float
    delta: float

    def power(self, false_alarms: float) -> float:
        rate = min(false_alarms / (1 - self.delta), 1.0)
        return self._power_beyond(-float(ndtri(rate)))

    def best_guess(self) -> float:
        return _up(self.delta + (1 - self.delta) * float(ndtr(self.mu / 2)))

    def rise(self, factor: float) -> float:
        def is_reached(shifted: float) -> bool:
            false_alarms = (1 - self.delta) * float(ndtr(_FURTHEST - shifted))
            return self._power_beyond(shifted - _FURTHEST) >= factor * false_alarms

        # The power is concave in false alarms, so that the factor is reached from one quantile on;
        # at the furthest one there are no false alarms.
        below, _ = bracket_threshold(is_reached, 2 * _FURTHEST)
        return self._power_beyond(below - _FURTHEST)

    def _power_beyond(self, quantile: float) -> float:
        """Compute the power of the test that a draw of the normal is above a quantile."""
        return _up(self.delta + (1 - self.delta) * float(ndtr(self.mu - quantile)))


def level_trade_off(level: LevelBudget) -> TradeOff:
    if level.order == GAUSSIAN:
        return GaussianTradeOff(math.sqrt(level.amount), level.approximation_delta)
    return PairTradeOff(level.epsilon, level.delta)


def _up(probability: float) -> float:
    return min(probability * (1 + _RELATIVE) + _ABSOLUTE * (probability > 0), 1.0)
