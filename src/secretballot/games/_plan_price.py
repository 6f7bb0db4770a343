"""What a plan costs: the pairs (epsilon, delta) that its game proves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from secretballot.divergences import check_pair
from secretballot.games._grid import ValueFunction

#: Floating-point error of all rows together, relative.
_ROUNDING = 1e-9

#: The delta at which a price is shown.
_SHOWN = 1e-5


@dataclass(frozen=True)
class PlanPrice:
    """What a plan costs: every pair (epsilon, delta) on its curve is proven.

    Made by `price_plan`.
    """

    _value_functions: tuple[ValueFunction, ...]

    def delta(self, epsilon: float) -> float:
        """Return delta at `epsilon`, rounded up."""
        worst = max(float(worth.at(np.array(-epsilon))) for worth in self._value_functions)
        return min(worst * (1 + _ROUNDING), 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon at `delta`, rounded up; infinite where the grid ends first."""
        if self.delta(0.0) <= delta:
            return 0.0
        return _least(lambda epsilon: self.delta(epsilon) <= delta, self._highest)

    def share(self, epsilon: float, delta: float) -> float:
        """Return the least s for which (s * epsilon, s * delta) is on the curve.

        At most 1 if the plan fits (epsilon, delta).
        """
        check_pair(epsilon, delta)
        return _least(lambda s: self.delta(s * epsilon) <= s * delta, self._highest / epsilon)

    @property
    def _highest(self) -> float:
        return -min(worth.first * worth.grid.step for worth in self._value_functions)

    def __repr__(self) -> str:
        return f"<PlanPrice: epsilon {self.epsilon(_SHOWN):.4g} at delta {_SHOWN:g}>"


def _least(enough: Callable[[float], bool], most: float) -> float:
    """Return a number that is enough, next to the least one; infinity if `most` isn't."""
    if not enough(most):
        return float("inf")
    low, high = 0.0, most
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
