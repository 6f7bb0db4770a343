"""The largest of many scores with Gaussian noise, all of which may move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secretballot.divergences._law import Move
from secretballot.divergences._orders import ORDERS, Floats


@dataclass(frozen=True, kw_only=True)
class NoisyGaps(Move):
    """Releases which of `n_scores` is largest with N(0, sigma^2) on each; all move by `shift`.

    What is charged at each order is the cheaper of two bounds: the noisy scores themselves, or what
    one score against any other tells, and the number of scores once.

    References
    ----------
    Zhu and Wang, "Adaptive Private-K-Selection with Adaptive K and Application to Multi-label PATE"
    (AISTATS 2022), Theorem 8 and Corollary 9.
    """

    sigma: float
    shift: float
    n_scores: int

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return a bound of the supremum over all data."""
        a = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
        if self.n_scores == 1:
            return np.zeros(len(a))
        one = a * (self.shift / self.sigma) ** 2 / 2
        return np.asarray(
            np.minimum(self.n_scores * one, 4 * one + np.log(self.n_scores) / (a - 1))
        )

    def exact(self, state: Any) -> Floats:
        """Return the same bound for each row."""
        curve = self.worst_case()
        return np.broadcast_to(curve, (len(state), len(curve)))
