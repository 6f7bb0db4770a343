"""Cost of a release under Gaussian differential privacy: mu^2, and a delta beside it."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from secretballot.costs._additive_noise import gaussian_delta
from secretballot.costs._cost import Cost, plain
from secretballot.costs._orders import GAUSSIAN, Floats, Order
from secretballot.costs._threshold_search import bracket_threshold

#: Relative rounding of a budget, downwards.
_ROUNDING = 1e-9


class GaussianCost(Cost):
    """The privacy cost of one release, or of each row of a batch: `mu2` and an approximation delta.

    Up to `delta`, the pair N(0, 1) and N(mu, 1) dominates the release: its privacy profile lies, in
    both directions, under ``delta + (1 - delta) * gaussian_delta(mu, epsilon)``.

    Costs add up under fully adaptive composition, if each cost is fixed before its release.

    Parameters
    ----------
    mu2 : array-like of shape (...)
        Mu squared. Leading axes are a batch (the rows of an outcome).
    delta : array-like of shape (...), default=0.0
        Probability of failure on top.

    Raises
    ------
    ValueError
        If a value is negative or not a number.

    References
    ----------
    Dong, Roth and Su, "Gaussian Differential Privacy" (2022), Corollary 3.3. Adaptive budgets:
    Smith and Thakurta, "Fully Adaptive Composition for Gaussian Differential Privacy" (2022);
    Koskela, Tobaben and Honkela, "Individual Privacy Accounting with Gaussian Differential
    Privacy" (2023).

    Examples
    --------
    >>> from secretballot.accounting import GaussianCost
    >>> vector = GaussianCost(2 / 40**2)
    >>> round(float((100 * vector).epsilon(delta=1e-5)), 3)
    1.356
    """

    __slots__ = ()
    _n_amounts = 1

    def __init__(self, mu2: ArrayLike, delta: ArrayLike = 0.0) -> None:
        self._set(np.asarray(mu2, dtype=np.float64)[..., None], delta, "mu2")

    @classmethod
    def from_curve(cls, curve: Floats, delta: ArrayLike) -> Self:
        """Make the cost whose mu^2 is the one entry of `curve`."""
        return cls(curve[..., 0], delta)

    @property
    def mu2(self) -> Floats:
        """Mu squared, of the batch's shape."""
        return np.asarray(self.curve[..., 0])

    def at(self, order: Order) -> float | Floats:
        """Return mu^2, the amount that a Gaussian budget counts."""
        if order != GAUSSIAN:
            raise ValueError(f"order={order!r}: a Gaussian cost has {GAUSSIAN!r} only.")
        return plain(self.curve[..., 0])

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Return itself, or an infinite cost beside too little approximation delta."""
        if float(self.delta) > approximation_delta:
            return GaussianCost(np.inf, approximation_delta)
        return GaussianCost(self.mu2, approximation_delta)

    def epsilon(self, delta: float) -> float | Floats:
        """Compute the least epsilon at `delta`, rounded up; infinite if there is none.

        After an adaptive run the guarantee is the budget's: the costs depend on released outcomes.
        """
        mu2, failure = np.broadcast_arrays(self.mu2, self.delta)
        spare = np.asarray((delta - failure) / (1 - np.minimum(failure, 0.5)))
        return plain(np.asarray(np.vectorize(_epsilon, otypes=[float])(np.sqrt(mu2), spare)))

    def __repr__(self) -> str:
        if self.shape:
            return f"<GaussianCost of {self.shape} releases>"
        return f"<GaussianCost: mu^2 {float(self.mu2):.4g}, delta {float(self.delta):.3g}>"


def gaussian_budget(epsilon: float, delta: float, approximation_delta: float) -> float:
    """Compute the largest mu^2 that is (epsilon, delta)-private, rounded down; 0 if none is."""
    spare = (delta - approximation_delta) / (1 - approximation_delta)
    if not spare > 0:
        return 0.0
    within, _ = bracket_threshold(lambda mu: float(gaussian_delta(mu, epsilon)) > spare)
    return within**2 * (1 - _ROUNDING)


def _epsilon(mu: float, delta: float) -> float:
    if mu == 0 and delta >= 0:
        return 0.0
    if not delta > 0 or not np.isfinite(mu):
        return float("inf")
    if float(gaussian_delta(mu, 0.0)) <= delta:
        return 0.0
    return bracket_threshold(lambda epsilon: float(gaussian_delta(mu, epsilon)) <= delta)[1]
