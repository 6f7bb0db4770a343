"""Publication by the margin: one noisy number, whatever the kind of budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from secretballot.accounting import ORDERS
from secretballot.divergences import epsilon_at_orders
from secretballot.mechanisms import NoisyMargin
from secretballot.publication._kept import Kept

#: Orders and amounts of noise that are looked at, by public numbers alone.
_ORDERS = tuple(float(each) for each in ORDERS[(ORDERS >= 2) & (ORDERS <= 100)][::2])
NOISES = np.geomspace(0.5, 50, 33)


@dataclass(frozen=True)
class ByMargin:
    """The margin of what was kept, with noise.

    Attributes
    ----------
    kept : Kept
    order : float
        At which costs are converted.
    sigma : float
    """

    kept: Kept
    order: float
    sigma: float

    @classmethod
    def chosen(
        cls, kept: Kept, noises: NDArray[np.float64], delta: float, failure: float
    ) -> ByMargin:
        """Return the order and the noise with the best bound for votes as they usually are."""
        found = []
        for order in _ORDERS:
            margin = kept.margin(order)
            lower = np.maximum(margin.usual + noises * float(ndtri(failure)), 0.0)
            total = margin.cost_at(lower) + kept.others(order) + order / (2 * noises**2)
            epsilon = epsilon_at_orders(total, order, delta - kept.delta)
            place = int(np.argmin(epsilon))
            found.append((float(epsilon[place]), order, float(noises[place])))
        _, order, sigma = min(found)
        return cls(kept, order, sigma)

    @property
    def mechanism(self) -> NoisyMargin:
        """What is released."""
        return NoisyMargin(sigma=self.sigma)

    @property
    def statistic(self) -> list[list[float]]:
        """Of what."""
        return [[self.kept.margin(self.order).margin_of(self.kept.gap_counts)]]

    @property
    def own(self) -> float:
        """What the publication costs itself."""
        return self.order / (2 * self.sigma**2)

    def bound(self, outcome: NDArray[Any], failure: float) -> float:
        """Return what votes did cost at most, given what was released."""
        return self.kept.margin(self.order).bound(float(outcome[0, 0]), self.sigma, failure)
