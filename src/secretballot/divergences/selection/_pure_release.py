"""A release of which nothing is known but that it is (epsilon, delta)-private."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secretballot.divergences._law import Move
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences.selection._bounded_range import pure_ratio

_ROUNDING = 1e-11


@dataclass(frozen=True, kw_only=True)
class PureRelease(Move):
    """Releases something `epsilon`-private; its step may have a delta beside.

    It is no easier to tell apart than randomised response, which says the truth with probability
    e^epsilon / (1 + e^epsilon).

    References
    ----------
    Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy" (ICML 2015).
    """

    epsilon: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return the divergence of randomised response, rounded up."""
        a = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
        out = np.full(a.shape, float(self.epsilon))
        finite = np.isfinite(a)
        at = a[finite]
        # p^a q^(1-a) + q^a p^(1-a) with p/q = e^epsilon: cosh((a - 1/2) eps) / cosh(eps / 2).
        moment = _log_cosh((at - 0.5) * self.epsilon) - _log_cosh(self.epsilon / 2)
        bound = (np.maximum(moment, 0.0) * (1 + _ROUNDING) + 1e-15) / (at - 1)
        gaussian = at * self.epsilon**2 / 2
        out[finite] = np.minimum(np.minimum(bound, gaussian), self.epsilon)
        return out

    def exact(self, state: Any) -> Floats:
        """Return the divergence of randomised response, for each row."""
        curve = self.worst_case()
        return np.broadcast_to(curve, (len(state), len(curve)))

    def dominated_by(self, other: Move) -> bool:
        """Compare epsilons."""
        return isinstance(other, PureRelease) and self.epsilon <= other.epsilon

    @cached_property
    def ratio(self) -> float:
        """Shift in standard deviations of a noisy number that tells at least as much."""
        return pure_ratio(self.epsilon)


def _log_cosh(x: Floats | float) -> Floats:
    """Return log(cosh(x)), with all its digits for small x too."""
    size = np.abs(np.asarray(x, dtype=np.float64))
    far = size + np.log1p(np.exp(-2 * size)) - np.log(2)
    return np.asarray(np.where(size < 1, np.log1p(2 * np.sinh(np.minimum(size, 1) / 2) ** 2), far))
