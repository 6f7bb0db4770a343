"""Privacy filters: the rows that a budget lets through."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._cost import (
    Cost,
    add_up,
    best_order,
    gate_budget,
    gaussian_budget,
    sums_before,
)
from secretballot.costs._groups import (
    EVERYONE,
    Costs,
    group_division,
    is_part,
    level_cost,
    zero_cost,
)
from secretballot.costs._orders import Order
from secretballot.ledger._budget import Budget, Scope

#: An amount of one cost, or of each row's.
Amount = float | NDArray[np.float64]

#: Calibration keeps this share of what is left free: sums of very many rows are rounded, and the
#: last row must still fit.
CALIBRATION_MARGIN = 1e-9

#: A smaller share of a budget is what calibration and rounding have left over: it would buy answers
#: under thirty times the noise.
WORTH_SPENDING = 3e-3

#: Relative rounding of the sums of a ledger.
_ROUNDING = 1e-9

#: Sums of charges are rounded up, and parts of a budget, such as sevenths of it, to the nearest
#: float. All of the parts fit nevertheless: limits have this to spare. Those of mu^2 and of Renyi
#: divergences are rounded down by more when a budget is opened.
_SPARE = 1 + 2.0**-41

#: The name of a filter's limit on deltas.
DELTA_LIMIT = "delta for approximations"


@dataclass(frozen=True)
class PrivacyFilter:
    """The limits of one level: `amount` at a Renyi order, or of mu^2, and `delta`.

    References
    ----------
    Rogers, Roth, Ullman and Vadhan, "Privacy Odometers and Filters" (2016); Feldman and Zrnic,
    "Individual Privacy Accounting via a Renyi Filter" (2021).
    """

    level: str
    order: Order
    amount: float
    delta: float

    def count_rows(self, spent: Costs, costs: Costs, most: Costs, n_rows: int) -> int:
        """Count the rows, in order, whose `most` fits on top of the `costs` of earlier ones."""
        return min(
            _prefix(already_spent, cost, row_most, limit, n_rows)
            for _, amount, limit in self._limited_amounts()
            for already_spent, (cost, row_most) in self._payers(amount, spent, costs, most)
        )

    def shortfall(self, spent: Costs, charges: Costs) -> str:
        """Name the limit that the charges exceed: what they ask, what is spent of it, and left.

        The charges of a refused row exceed one. "nothing" stands for charges that fit.
        """
        for name, amount, limit in self._limited_amounts():
            for already_spent, (charge,) in self._payers(amount, spent, charges):
                if not add_up(already_spent, charge) <= limit * _SPARE:
                    remaining = max(limit - already_spent, 0)
                    return (
                        f"{float(charge):.6g} of {name}, of which {float(already_spent):.6g} is "
                        f"spent and {remaining:.6g} is left"
                    )
        return "nothing"

    def share_of_headroom(self, spent: Costs, charges: Costs) -> float:
        """Compute the largest share of what is left that charges take; infinite if none is."""
        largest = 0.0
        for _, amount, limit in self._limited_amounts():
            for already_spent, (charge,) in self._payers(amount, spent, charges):
                headroom = (limit - already_spent) * (1 - CALIBRATION_MARGIN) - 4e-16 * limit
                if charge > 0:
                    largest = max(largest, float(charge) / headroom if headroom > 0 else math.inf)
        return largest

    def headroom(self, spent: Costs, group: str) -> tuple[float, float]:
        """Return the amount and the delta that may still be charged to a group of the level."""
        # The last payer is the group itself, if it is a part.
        amount, *delta = (
            limit - list(self._payers(amount, spent, {group: zero_cost(self.order)}))[-1][0]
            for _, amount, limit in self._limited_amounts()
        )
        return amount, delta[0] if delta else math.inf

    def is_used_up(self, spent: Costs) -> bool:
        """Test if nothing that is worth spending is left of the amount."""
        return self.amount_spent(spent) >= self.amount * (1 - WORTH_SPENDING)

    def amount_spent(self, spent: Costs) -> float:
        """Compute how much of the amount the level has spent."""
        return float(level_cost(spent, self.level, self.order).at(self.order))

    def _limited_amounts(self) -> Iterator[tuple[str, Callable[[Cost], Amount], float]]:
        """Yield the name of each limit, a function that reads costs, and the limit."""
        is_gaussian = isinstance(self.order, str)
        currency = "mu^2" if is_gaussian else f"divergence at the Renyi order {self.order:g}"
        yield currency, lambda cost: cost.at(self.order), self.amount
        if self.delta < math.inf:
            yield DELTA_LIMIT, lambda cost: cost.delta, self.delta

    def _payers(
        self, amount: Callable[[Cost], Amount], spent: Costs, *charges: Costs
    ) -> Iterator[tuple[float, list[Amount]]]:
        """Yield what each payer of the level has spent, and what each of the charges adds.

        Payers are the parts that a charge names, and one for all others of the level. Of the
        division that pays, the parts without a charge differ in what they have spent alone: the
        dearest stands for them. Whoever is in a part may be in the dearest part of every other
        division.
        """

        def of_level(costs: Costs) -> Amount:
            groups = [group for group in (EVERYONE, self.level) if group in costs]
            total: Amount = 0.0
            for group in groups:
                total = add_up(total, amount(costs[group]))
            return total

        parts = {group for cost in charges for group in cost if is_part(group, self.level)}
        # One at most: `check_groups` refuses more.
        paying_divisions = set(map(group_division, parts))
        idle_part, other_divisions = 0.0, dict[str, float]()
        for group, cost in spent.items():
            if not is_part(group, self.level) or group in parts:
                continue
            used, division = float(amount(cost)), group_division(group)
            if division in paying_divisions:
                idle_part = max(idle_part, used)
            else:
                other_divisions[division] = max(other_divisions.get(division, 0.0), used)
        spent_by_all = float(of_level(spent))
        for largest_part in other_divisions.values():
            spent_by_all = float(add_up(spent_by_all, largest_part))
        level_charges = [of_level(charge) for charge in charges]
        yield float(add_up(spent_by_all, idle_part)), level_charges
        for part in parts:
            used = float(amount(spent[part])) if part in spent else 0.0
            yield (
                float(add_up(spent_by_all, used)),
                [
                    add_up(level_charge, amount(charge[part])) if part in charge else level_charge
                    for level_charge, charge in zip(level_charges, charges, strict=True)
                ],
            )


def _prefix(already_spent: float, cost: Amount, most: Amount, limit: float, n_rows: int) -> int:
    """Count the leading rows whose `most` fits the limit on top of all earlier costs."""
    before = sums_before(np.broadcast_to(cost, n_rows))
    fits = add_up(add_up(already_spent, before), most) <= limit * _SPARE
    return n_rows if fits.all() else int(np.argmin(fits))


def budget_filters(budget: Budget) -> list[PrivacyFilter]:
    """Return the filter of each level of a budget."""
    return [
        PrivacyFilter(level.name, level.order, level.amount, level.approximation_delta)
        for level in budget.levels
    ]


def scope_filters(budget: Budget, scope: Scope) -> list[PrivacyFilter]:
    """Return the filters of what one scope may spend, for each level with a cap.

    A filter counts the order that is best for the scope's (epsilon, delta), which is fixed before
    anything is released. Deltas are capped by the budget's, of which they are a part (under
    Gaussian DP the same part as of its mu^2).
    """
    filters = [
        PrivacyFilter(
            level.name, level.order, share * level.amount, share * level.approximation_delta
        )
        for level in budget.levels
        if (share := scope.share_of(level.name)) is not None
    ]
    for level in budget.levels:
        cap = scope.cap(level.name)
        if cap is None:
            continue
        order, delta = level.order, math.inf
        if isinstance(order, str):
            amount = gaussian_budget(cap, level.delta, level.approximation_delta)
            delta = min(amount / level.amount, 1.0) * level.approximation_delta
        else:
            spare = level.delta - level.approximation_delta
            order = order if math.isinf(order) else best_order(cap, spare)
            amount = gate_budget(cap, spare, order)
        filters.append(PrivacyFilter(level.name, order, amount, delta))
    return filters


def overspent(filters: list[PrivacyFilter], charges: Costs, allowing: str) -> str:
    """Name a level that has spent more than its filter allows; "" if there is none."""
    limit = 1 + _ROUNDING
    for filter_ in filters:
        cost = level_cost(charges, filter_.level, filter_.order)
        if cost.at(filter_.order) > filter_.amount * limit or cost.delta > filter_.delta * limit:
            return f"spends more than {allowing} allows for the level {filter_.level!r}"
    return ""
