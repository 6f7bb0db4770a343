"""Price of a plan: the pairs (epsilon, delta) that its game proves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot._base._cached_property import cached_property
from secretballot._base._numbers import check_number
from secretballot._base._sizes import check_pair
from secretballot._base._view import Shown, View
from secretballot._base._view_parts import Table
from secretballot.costs._additive_noise import gaussian_delta
from secretballot.costs._gaussian_cost import GaussianCost
from secretballot.costs._profile import Profile
from secretballot.costs._threshold_search import bracket_threshold
from secretballot.costs.moves import ValueFunction

#: Floating-point error of all rows together, relative.
_ROUNDING = 1e-9

#: The delta at which `repr` shows a price, and those of the view.
_SHOWN_DELTA = 1e-5
_DELTAS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


@dataclass(frozen=True)
class PlanPrice(Shown):
    """Price of a plan: every pair (epsilon, delta) on its curve is proven.

    Returned by `price_plan`.
    """

    _value_functions: tuple[ValueFunction, ...]

    def delta(self, epsilon: float) -> float:
        """Compute delta at `epsilon`, rounded up."""
        worst = max(function.at_loss(-epsilon) for function in self._value_functions)
        return min(worst * (1 + _ROUNDING), 1.0)

    def epsilon(self, delta: float) -> float:
        """Compute the least epsilon at `delta`, rounded up; infinite where the grid ends first."""
        if self.delta(0.0) <= delta:
            return 0.0
        return bracket_threshold(lambda epsilon: self.delta(epsilon) <= delta, self._highest)[1]

    def share(self, epsilon: float, delta: float) -> float:
        """Compute the least s for which (s * epsilon, s * delta) is on the curve.

        At most 1 if the plan fits (epsilon, delta).
        """
        check_pair(epsilon, delta)
        largest = self._highest / epsilon
        return bracket_threshold(lambda s: self.delta(s * epsilon) <= s * delta, largest)[1]

    def gaussian_cost(self, approximation_delta: float) -> GaussianCost:
        """Compute the price where mu^2 and deltas add up, rounded up.

        Such costs add, also of plans that are chosen one after the other by earlier outcomes. With
        an approximation delta of 1e-7, say, a long plan of noisy bits costs 36 % less than its
        noisy counts would; with 0 it would cost as much.

        Parameters
        ----------
        approximation_delta : float
            Delta to be paid beside mu^2, at least 0.

        Returns
        -------
        GaussianCost
            Infinite where the approximation delta is below what the numerical curve can show.

        Examples
        --------
        >>> from secretballot import GNMax
        >>> from secretballot.accounting import price_plan
        >>> cost = price_plan(GNMax(sigma=40), 40, n_columns=2).gaussian_cost(1e-7)
        >>> noisy_counts = 40 * 2 / 40**2
        >>> round(float(cost.mu2) / noisy_counts, 2)
        0.66
        """
        check_number("approximation_delta", approximation_delta, least=0.0, below=1.0)
        return self._profile.gaussian_cost(approximation_delta)

    def refund(self) -> float:
        """Compute the mu^2 that may be given back if a plan of more rows ends before these.

        The largest Gaussian curve below the plan's numerical one, from which the price was
        computed: to stop for it never gains an adversary more than to draw the rows. (To charge
        afterwards the price of the rows that were drawn would be too little.)
        """

        def exceeds(mu: float) -> bool:
            return any(
                (gaussian_delta(mu, -function.losses) > function.values * (1 + _ROUNDING)).any()
                for function in self._value_functions
            )

        return bracket_threshold(exceeds)[0] ** 2 * (1 - _ROUNDING)

    @cached_property
    def _profile(self) -> Profile:
        # Parts of a level may have grids of their own. A shorter curve is continued by its value
        # at the end, which is larger.
        step = min(function.grid.step for function in self._value_functions)
        epsilon = step * np.arange(round(self._highest / step) + 1, dtype=np.float64)
        delta = np.zeros(len(epsilon))
        for function in self._value_functions:
            np.maximum(delta, function.at(-epsilon) * (1 + _ROUNDING), out=delta)
        return Profile.from_epsilons(epsilon, np.minimum(delta, 1.0))

    @property
    def _highest(self) -> float:
        return -min(float(function.losses[0]) for function in self._value_functions)

    def _view(self) -> View:
        priced = [(f"{delta:g}", f"{self.epsilon(delta):.4g}") for delta in _DELTAS]
        return View("PlanPrice", (Table(("delta", "epsilon"), priced),))

    def __repr__(self) -> str:
        return f"<PlanPrice: epsilon {self.epsilon(_SHOWN_DELTA):.4g} at delta {_SHOWN_DELTA:g}>"
