"""The limits of a release: the budget, and the scope that it is a part of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from secretballot._base._errors import BudgetExceededError
from secretballot.accounting._privacy_filter import (
    DELTA_LIMIT,
    PrivacyFilter,
    budget_filters,
    scope_filters,
)
from secretballot.costs._cost import RenyiCost
from secretballot.costs._groups import Costs, check_groups, split_group
from secretballot.costs._orders import Order
from secretballot.ledger._budget import Budget, Scope
from secretballot.ledger._totals import Totals

#: The advice where a scope's cap is used up, where the budget is, where it is not, and where
#: nothing was spent.
_LARGER_SCOPE = "another fit with a larger epsilon gets more of the budget, while that lasts."
USED_UP = (
    "this budget is used up, and what was released from it stays free to use. Where more is to "
    "follow, give each fit or answer an amount beforehand: epsilon=, or share= of an answer."
)
_DEAR = (
    "what is left stays for releases that cost less, or for counts of more rows: the noise for few "
    "rows has to be small."
)
_LARGER_BUDGET = (
    "open a budget with a larger epsilon (or delta): nothing of this one has been spent."
)

#: Share of a budget that is not used up.
_MUCH_LEFT = 0.01

#: The advice where rows' own deltas don't fit.
LESS_DELTA = (
    "Ask for fewer rows, use a smaller delta_t, or open the budget with a larger "
    "approximation_delta (or delta, where there is none)."
)

#: The advice where a cost is infinite.
_FINITE = (
    "No amount of noise makes that finite: leave order as it is when the budget is opened, or use "
    "a mechanism that is (epsilon, delta)-DP."
)

#: The problem and the advice in a budget whose costs depend on the votes. Neither depends on what
#: was spent, nor on the votes.
_WITHHELD = (
    "The rows don't fit what is left {where}. The figures are withheld: accounting is data "
    "dependent, so they are themselves sensitive"
)
_ANY_REMEDY = (
    "Use more noise, fewer rows, or another mechanism if its cost has no bound at the budget's "
    "order or its delta_t is too large; otherwise this budget, or the epsilon of this fit, is used "
    "up, and what was released from it stays free to use."
)

#: The rounding of a sum of many charges, as a share of the budget.
_ROUNDING = 1e-9

#: The rounding of a realised cost beside the most that was promised.
_COST_ROUNDING = 1e-9


class Limits:
    """The filters of a budget and of one scope, against the totals of a ledger."""

    def __init__(self, budget: Budget, scope: Scope | None = None) -> None:
        self.budget = budget
        self._scope = scope
        self._filters = budget_filters(budget)
        self._scope_filters = scope_filters(budget, scope) if scope else []
        #: The scope that the totals have to include.
        self.scope_id = scope.id if scope else None
        #: The budget or the scope that plans are priced against, for messages.
        self.where = "of the budget"
        if scope and self._scope_filters:
            cap = f"epsilon={scope.epsilon!r}" if scope.share is None else f"share={scope.share!r}"
            self.where = f"of {cap} for this part of the run"

    def advice(self, headroom: Mapping[str, tuple[float, float]]) -> str:
        """Return the advice where not one row of a plan fits what is left, for messages."""
        if self._scope_filters:
            return _LARGER_SCOPE
        amounts = {level.name: level.amount for level in self.budget.levels}
        return _advice_of(
            min(rest / amounts[split_group(g)[0]] for g, (rest, _) in headroom.items())
        )

    def refusal(self, problem: str, remedy: str) -> BudgetExceededError:
        """Build the error of rows that don't fit; `problem` has no full stop.

        Where costs depend on the votes, the error has one text for any problem: even the limit that
        is exceeded tells about the votes.
        """
        if self.budget.is_sensitive:
            where = self.where if not self._scope_filters else f"of the budget or {self.where}"
            problem, remedy = _WITHHELD.format(where=where), _ANY_REMEDY
        return BudgetExceededError(f"{problem}. Nothing was released or recorded. {remedy}")

    def check_costs(self, most: Costs) -> None:
        """Refuse a mechanism whose costs don't suit the budget, whatever is left of it."""
        check_groups(most, self.budget.names, "max_cost()")
        has_delta = any((cost.delta > 0).any() for cost in most.values())
        if has_delta and self.budget.levels[0].approximation_delta == 0:
            raise ValueError(
                "the mechanism has a delta of its own, and this budget has set none aside: "
                f"approximation_delta=0.0 of delta={self.budget.delta:g}. Open a budget with "
                "approximation_delta=, or with order=inf (basic composition)."
            )

    def check_finite(self, most: Costs) -> None:
        """Refuse a mechanism whose costs no amount of noise makes finite at the budget's order."""
        if any(
            math.isinf(float(cost.at(f.order))) for cost in most.values() for f in self._filters
        ):
            raise self.refusal("A row has no finite cost at the budget's order", _FINITE)

    def check_realised(self, costs: Costs, most: Costs, n_rows: int) -> None:
        """Refuse realised costs that are not one per row, or above what was promised."""
        check_groups(costs, self.budget.names, "cost()")
        for group, cost in costs.items():
            if cost.shape != (n_rows,):
                raise RuntimeError(
                    f"the mechanism's cost() has shape {cost.shape} for {group!r} instead of "
                    f"({n_rows},), one cost per row. Nothing was released or recorded."
                )
            promised = most.get(group, RenyiCost.zero())
            pairs = [(cost.at(f.order), promised.at(f.order)) for f in self._filters]
            for amount, promised_amount in [*pairs, (cost.delta, promised.delta)]:
                if np.any(amount > promised_amount * (1 + _COST_ROUNDING)):
                    raise RuntimeError(
                        f"the mechanism charges more to {group!r} than its max_cost() allows, "
                        "which is a fault of the mechanism. Nothing was released or recorded."
                    )

    def admit(self, totals: Totals, costs: Costs, most: Costs, n_rows: int) -> int:
        """Count the leading rows that fit the budget; BudgetExceededError if not even one does.

        A row fits if its largest possible cost (`most`) fits on top of the actual costs (`costs`)
        of the rows before it.
        """
        admitted = n_rows
        for filter_, spent in self._spent(totals):
            admitted = min(admitted, filter_.count_rows(spent, costs, most, n_rows))
            if not admitted:
                first = {group: cost[0] if cost.shape else cost for group, cost in most.items()}
                short, remedy = self._shortfall(filter_, spent, first)
                raise self.refusal(
                    f"The first row does not fit what is left {self._of(filter_)}: it can cost "
                    f"{short}",
                    remedy,
                )
        return admitted

    def check_charges(self, totals: Totals, charges: Costs) -> None:
        """Raise BudgetExceededError if charges don't fit together."""
        for filter_, spent in self._spent(totals):
            if not filter_.count_rows(spent, {}, charges, 1):
                short, remedy = self._shortfall(filter_, spent, charges)
                raise self.refusal(
                    f"The rows don't fit what is left {self._of(filter_)}: together they can cost "
                    f"{short}",
                    remedy if remedy == _FINITE else f"Fewer rows may fit. {remedy}",
                )

    def check_child(self, totals: Totals, charges: Costs, name: str) -> None:
        """Raise BudgetExceededError if a child's part does not fit."""
        for filter_, spent in self._spent(totals):
            if not filter_.count_rows(spent, {}, charges, 1):
                short, _ = self._shortfall(filter_, spent, charges)
                raise self.refusal(
                    f"The child {name!r} does not fit what is left {self._of(filter_)}: it takes "
                    f"{short}",
                    "Give it a smaller epsilon, or close a child that is done.",
                )

    def check_headroom(self, totals: Totals) -> None:
        """Raise BudgetExceededError if nothing is left that noise could be calibrated to."""
        for filter_, spent in self._spent(totals):
            if filter_.is_used_up(spent):
                raise self.refusal(
                    f"Next to nothing is left {self._of(filter_)}",
                    "Noise that fits it would drown every answer; " + self._advice(filter_, spent),
                )

    def share_of_headroom(self, totals: Totals, charges_at: Callable[[Order], Costs]) -> float:
        """Compute the largest share of what is left that charges take; at most 1 fits.

        `charges_at` returns the charges with the amount at a filter's order.
        """
        return max(
            filter_.share_of_headroom(spent, charges_at(filter_.order))
            for filter_, spent in self._spent(totals)
        )

    def headroom(self, totals: Totals, groups: Iterable[str]) -> dict[str, tuple[float, float]]:
        """Return the amount and the delta that levels, or parts of levels, have left."""
        filters = list(self._spent(totals))
        headroom = {}
        for group in groups:
            level = split_group(group)[0]
            headrooms = [f.headroom(spent, group) for f, spent in filters if f.level == level]
            amount, delta = (max(min(room), 0.0) for room in zip(*headrooms, strict=True))
            headroom[group] = amount, delta
        return headroom

    def used_up_level(self, headroom: Mapping[str, tuple[float, float]]) -> str | None:
        """Return a level of which rounding alone has left some mu^2, if there is one."""
        filters = [*self._filters, *self._scope_filters]
        for group, (mu2, _) in headroom.items():
            level = split_group(group)[0]
            if any(mu2 <= _ROUNDING * f.amount for f in filters if f.level == level):
                return level
        return None

    def _spent(self, totals: Totals) -> Iterator[tuple[PrivacyFilter, Costs]]:
        """Yield each filter, and what was spent on those whom it protects."""
        charges = totals.charges_with_parts(self.scope_id)
        for filter_ in self._filters:
            yield filter_, charges
        within = self._spent_in_scope(totals)
        for filter_ in self._scope_filters:
            yield filter_, within

    def _spent_in_scope(self, totals: Totals) -> Costs:
        if self._scope is None or self._scope.id not in totals.scopes:
            return {}
        recorded = totals.scopes[self._scope.id]
        if recorded.epsilon != self._scope.epsilon:
            raise ValueError(
                f"scope={self._scope!r} is in the ledger with epsilon={recorded.epsilon!r}; a "
                "scope's cap is fixed by its first release. Make another one with "
                "accountant.scope(epsilon)."
            )
        return recorded.charges

    def _of(self, filter_: PrivacyFilter) -> str:
        where = self.where if filter_ in self._scope_filters else "of the budget"
        one_level = len(self.budget.levels) == 1
        return where if one_level else f"{where} (level {filter_.level!r})"

    def _advice(self, filter_: PrivacyFilter, spent: Costs) -> str:
        if filter_ in self._scope_filters:
            return _LARGER_SCOPE
        return _advice_of(1 - filter_.amount_spent(spent) / filter_.amount)

    def _shortfall(self, filter_: PrivacyFilter, spent: Costs, charges: Costs) -> tuple[str, str]:
        """Describe what is missing, and what helps."""
        short = filter_.shortfall(spent, charges)
        if any(math.isinf(float(cost.at(filter_.order))) for cost in charges.values()):
            return short, _FINITE
        if DELTA_LIMIT in short:
            return short, LESS_DELTA
        return short, f"Use more noise; otherwise {self._advice(filter_, spent)}"


def _advice_of(left: float) -> str:
    """Return the advice for the share of the budget that is left."""
    if left >= 1:
        return _LARGER_BUDGET
    return _DEAR if left > _MUCH_LEFT else USED_UP
