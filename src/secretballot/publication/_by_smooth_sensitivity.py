"""Publication by smooth sensitivity: the cost itself with noise, and how much noise that was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from secretballot.accounting import ORDERS
from secretballot.divergences import (
    ConfidentMax,
    Floats,
    NoisyMax,
    epsilon_at_orders,
    smooth_sensitivity,
    two_class_costs,
    two_class_sensitivities,
)
from secretballot.mechanisms import NoisyCost
from secretballot.publication._kept import Kept

#: What is looked at, by public numbers alone: orders, beta, noises in sensitivities and in beta.
_ORDERS = tuple(float(each) for each in ORDERS[(ORDERS >= 2) & (ORDERS <= 60)][::4])
_BETAS, _SIGMAS = np.geomspace(0.002, 0.3, 12), np.geomspace(1, 30, 10)
_SIGMAS_LOG = (1.0, 2.0, 4.0)


@dataclass(frozen=True)
class BySmoothSensitivity:
    """The cost of what was kept, with noise by its smooth sensitivity.

    Attributes
    ----------
    kept : Kept
    order : float
        At which costs are converted.
    mechanism : NoisyCost
        What is released.
    """

    kept: Kept
    order: float
    mechanism: NoisyCost

    @classmethod
    def chosen(cls, kept: Kept, delta: float, failure: float) -> BySmoothSensitivity:
        """Return the order and the noises with the best bound for votes as they usually are."""
        for move, _ in kept.moves:
            two = isinstance(move, NoisyMax) and move.n_classes == 2
            if not (two or isinstance(move, ConfidentMax)):
                raise ValueError(
                    f"method='smooth' is for votes on two classes, and {move!r} was released; use "
                    "method='margin'."
                )
        best, chosen = np.inf, None
        tail = -float(ndtri(failure / 2))
        for order in _ORDERS:
            usual = kept.margin(order).usual_gaps()
            guess, changes = _cost(kept, usual, order), _sensitivities(kept, usual, order)
            for beta in _BETAS:
                largest = smooth_sensitivity(changes, float(beta))
                for sigma in _SIGMAS:
                    for times in _SIGMAS_LOG:
                        mechanism = NoisyCost(
                            beta=float(beta), sigma=float(sigma), sigma_log=times * float(beta)
                        )
                        own = float(mechanism.noise.cost(np.array([order]))[0])
                        if np.isfinite(own):
                            noise = tail * sigma * largest * np.exp(tail * times * beta)
                            total = guess + noise + own + kept.others(order)
                            epsilon = float(epsilon_at_orders(total, order, delta - kept.delta))
                            if epsilon < best:
                                best, chosen = epsilon, cls(kept, order, mechanism)
        if chosen is None:
            raise ValueError("method='smooth' has no order at which it costs less than everything.")
        return chosen

    @property
    def sigma(self) -> float:
        """Noise on the cost, in sensitivities."""
        return self.mechanism.sigma

    @property
    def statistic(self) -> list[list[float]]:
        """Of what."""
        changes = _sensitivities(self.kept, self.kept.how_often, self.order)
        cost = _cost(self.kept, self.kept.how_often, self.order)
        return [[cost, smooth_sensitivity(changes, self.mechanism.beta)]]

    @property
    def own(self) -> float:
        """What the publication costs itself."""
        return float(self.mechanism.noise.cost(np.array([self.order]))[0])

    def bound(self, outcome: NDArray[Any], failure: float) -> float:
        """Return what votes did cost at most, given what was released."""
        release = self.mechanism.noise
        return float(release.upper_bound(outcome[0, 0], outcome[0, 1], failure))


def _cost(kept: Kept, how_often: tuple[NDArray[np.int64], ...], order: float) -> float:
    """Return what rows of these gaps cost together."""
    total = 0.0
    for (move, n_votes), known in zip(kept.moves, how_often, strict=True):
        gaps = np.flatnonzero(known)
        costs = two_class_costs(move, n_votes, order)[(n_votes - gaps) // 2]
        total += float(costs @ known[gaps])
    return total


def _sensitivities(kept: Kept, how_often: tuple[NDArray[np.int64], ...], order: float) -> Floats:
    """Return how much that changes by one ballot, after 0, 1, ... others have been replaced."""
    found = []
    for (move, n_votes), known in zip(kept.moves, how_often, strict=True):
        gaps = np.repeat(np.arange(len(known)), known)
        votes = np.stack([n_votes + gaps, n_votes - gaps], axis=1) / 2
        found.append(two_class_sensitivities(move, votes, order))
    longest = max(map(len, found))
    together = np.zeros(longest)
    for each in found:
        together += np.append(each, np.full(longest - len(each), each[-1]))
    return together
