"""Everything that a release has to stay within: the budget, and the scope it belongs to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from secretballot._errors import BudgetExceededError
from secretballot.accounting._gate import FOR_APPROXIMATIONS, Gate, budget_gates, scope_gates
from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.divergences import (
    Cost,
    Costs,
    RenyiCost,
    check_groups,
    level_cost,
    split_group,
)
from secretballot.ledger import Budget, Scope, Totals

#: What helps where a part's cap, and where the budget itself, is used up.
_MORE = "another fit with a larger epsilon gets more of the budget, while that lasts."
_NO_MORE = (
    "this budget is used up, and what was released from it stays free to use. A fit without "
    "epsilon= takes all that is left: pass epsilon= to it where scores or other fits are to follow."
)

#: A smaller share of a budget is what sums of many charges are rounded by.
_ROUNDING = 1e-9

#: What helps where rows' own deltas are too much.
_LESS_DELTA = "use a smaller delta_t, or open the budget with a larger approximation_delta."


class Limits:
    """The gates of a budget and of one scope, against the totals of a ledger."""

    def __init__(self, budget: Budget, scope: Scope | None = None) -> None:
        self._budget = budget
        self._scope = scope
        self._gates = budget_gates(budget)
        self._scope_gates = scope_gates(budget, scope) if scope else []

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the budget's levels."""
        return self._budget.names

    @property
    def kind(self) -> str:
        """What the budget adds up."""
        return self._budget.kind

    @property
    def scope_id(self) -> str | None:
        """The scope that has to be in the totals."""
        return None if self._scope is None else self._scope.id

    def _gates_and_spent(self, totals: Totals) -> Iterator[tuple[Gate, Costs]]:
        seen = totals.seen_from(self.scope_id)
        for gate in self._gates:
            yield gate, seen
        within = self._spent_in_scope(totals)
        for gate in self._scope_gates:
            yield gate, within

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

    def _of(self, gate: Gate) -> str:
        where = "of the budget"
        if self._scope is not None and gate in self._scope_gates:
            where = f"of epsilon={self._scope.epsilon!r} for this part of the run"
        return where if len(self._budget.levels) == 1 else f"{where} (level {gate.level!r})"

    def _helps(self, gate: Gate) -> str:
        return _MORE if gate in self._scope_gates else _NO_MORE

    @property
    def where(self) -> str:
        """What plans are priced against."""
        if self._scope is None or not self._scope_gates:
            return "of the budget"
        return f"of epsilon={self._scope.epsilon!r} for this part of the run"

    @property
    def helps_plan(self) -> str:
        """What helps where not one row of a plan fits."""
        return _MORE if self._scope_gates else _NO_MORE

    def used_up(self, left: Mapping[str, tuple[float, float]]) -> str | None:
        """Return a level of which rounding alone has left some mu^2, if there is one."""
        gates = [*self._gates, *self._scope_gates]
        for group, (mu2, _) in left.items():
            level = split_group(group)[0]
            if any(mu2 <= _ROUNDING * gate.amount for gate in gates if gate.level == level):
                return level
        return None

    def check_most(self, most: Costs) -> None:
        """Refuse a mechanism whose costs don't suit the budget, whatever is left of it."""
        check_groups(most, self._budget.names, "max_cost()")
        if not any((cost.delta > 0).any() for cost in most.values()):
            return
        for level in self._budget.levels:
            if level.approximation_delta == 0:
                raise ValueError(
                    "the mechanism has a delta of its own, and this budget has set none aside: "
                    f"approximation_delta=0.0 of delta={level.delta:g}. Open a budget with "
                    "approximation_delta=, or with order=inf (basic composition)."
                )

    def check_cost(self, cost: Costs, most: Costs, n_rows: int) -> None:
        """Refuse realised costs that are not per row, or above what was promised."""
        check_groups(cost, self._budget.names, "cost()")
        for group, realised in cost.items():
            if realised.shape != (n_rows,):
                raise RuntimeError(
                    f"the mechanism's cost() has shape {realised.shape} for {group!r} instead of "
                    f"({n_rows},), one cost per row. Nothing was released or recorded."
                )
            promised = most.get(group, RenyiCost.zero())
            pairs = [(realised.at(g.order), promised.at(g.order)) for g in self._gates]
            for did, at_most in [*pairs, (realised.delta, promised.delta)]:
                # Room for rounding only: whoever charges by outcome computes the two alike.
                if np.any(did > at_most * (1 + 1e-9)):
                    raise RuntimeError(
                        f"the mechanism charges more to {group!r} than its max_cost() allows, "
                        "which is a fault of the mechanism. Nothing was released or recorded."
                    )

    def admit(self, totals: Totals, cost: Costs, most: Costs, n_rows: int) -> int:
        """Return how many of the rows, in order, are begun; BudgetExceededError if none is."""
        begun = n_rows
        for gate, spent in self._gates_and_spent(totals):
            begun = min(begun, gate.rows(spent, cost, most, n_rows))
            if not begun:
                self._refuse(gate, spent, most)
        return begun

    def admit_whole(self, totals: Totals, charges: Costs) -> None:
        """Raise BudgetExceededError if charges don't fit together."""
        for gate, spent in self._gates_and_spent(totals):
            if not gate.rows(spent, {}, charges, 1):
                short = gate.shortfall(spent, charges)
                remedy = f"use more noise, or {self._helps(gate)}"
                if FOR_APPROXIMATIONS in short:
                    remedy = _LESS_DELTA
                raise BudgetExceededError(
                    f"The rows don't fit what is left {self._of(gate)}: together they can cost "
                    f"{short}. Nothing was spent or reserved. Take fewer rows, {remedy}"
                )

    def admit_first(self, totals: Totals, most: Costs) -> None:
        """Raise BudgetExceededError if not even one row fits."""
        one = {group: each[:1] if each.shape else each for group, each in most.items()}
        self.admit(totals, {}, one, 1)

    def _refuse(self, gate: Gate, spent: Costs, most: Costs) -> None:
        one = {group: each[0] if each.shape else each for group, each in most.items()}
        short = gate.shortfall(spent, one)
        remedy = f"Use more noise; otherwise {self._helps(gate)}"
        if FOR_APPROXIMATIONS in short:
            remedy = _LESS_DELTA.capitalize()
        if any(math.isinf(float(each.at(gate.order))) for each in one.values()):
            remedy = (
                "No amount of noise makes that finite: leave order as it is when the budget is "
                "opened, or use a mechanism that is (epsilon, delta)-DP."
            )
        raise BudgetExceededError(
            f"The first row does not fit what is left {self._of(gate)}: it can cost "
            f"{short}. Nothing was released or recorded. {remedy}"
        )

    def pairs_left(self, totals: Totals) -> dict[str, tuple[float, float]]:
        """Return what is left of (epsilon, delta) for each level of a budget of basic composition.

        A scope that is capped at a share of a level's epsilon has that share of its delta.
        """
        left, within = {}, self._spent_in_scope(totals)
        for level in self._budget.levels:
            spent = level_cost(totals.charges, level.name, level.order)
            epsilon = level.epsilon - float(spent.at(math.inf))
            delta = level.delta - float(spent.delta)
            cap = None if self._scope is None else self._scope.cap(level.name)
            if self._scope is not None and cap is not None and cap < level.epsilon:
                used = level_cost(within, level.name, level.order)
                epsilon = min(epsilon, cap - float(used.at(math.inf)))
                share = cap / level.epsilon
                delta = min(delta, share * level.delta - float(used.delta))
            left[level.name] = epsilon, delta
        return left

    def delta_left(self, totals: Totals) -> dict[str, float]:
        """Return the delta that is left to each level for mechanisms with one of their own."""
        if self.kind == "pairs":
            return {level: delta for level, (_, delta) in self.pairs_left(totals).items()}
        left = dict.fromkeys(self.levels, math.inf)
        for gate, spent in self._gates_and_spent(totals):
            used = float(level_cost(spent, gate.level, gate.order).delta)
            left[gate.level] = min(left[gate.level], gate.delta - used)
        return left

    def left_in_mu2(self, totals: Totals, groups: Iterable[str]) -> dict[str, tuple[float, float]]:
        """Return what may still be charged to levels, or their parts, of a Gaussian budget."""
        gates = list(self._gates_and_spent(totals))
        left = {}
        for group in groups:
            rooms = [g.left(spent, group) for g, spent in gates if g.level == split_group(group)[0]]
            mu2, delta = (min(room) for room in zip(*rooms, strict=True))
            left[group] = max(mu2, 0.0), max(delta, 0.0)
        return left

    def check_pairs(self, left: Mapping[str, tuple[float, float]]) -> None:
        """Raise BudgetExceededError if some level has no pair (epsilon, delta) left for a plan."""
        for level, (epsilon, delta) in left.items():
            if not (epsilon > 0 and delta > 0):
                raise BudgetExceededError(
                    f"No plan fits the (epsilon, delta) = ({max(epsilon, 0):.4g}, "
                    f"{max(delta, 0):.3g}) that is left to {level!r}. Nothing was released or "
                    f"recorded. Gaussian noise needs some of both; {self.helps_plan}"
                )

    def check_room(self, totals: Totals) -> None:
        """Raise BudgetExceededError if nothing is left that noise could be calibrated to."""
        for gate, spent in self._gates_and_spent(totals):
            if gate.is_used_up(spent):
                raise BudgetExceededError(
                    f"Next to nothing is left {self._of(gate)}: noise that fits it would drown "
                    f"every answer; {self._helps(gate)}"
                )

    def load(
        self,
        totals: Totals,
        mechanism: ReleaseMechanism,
        n_queries: int,
        n_columns: int | None,
        *,
        whole_curve: bool,
    ) -> float:
        """Return the most that rows can cost as a share of what is left; at most 1 fits.

        Without `whole_curve` the mechanism may compute the gate orders alone, which is quicker
        and not always to the last digit what a release will be charged.
        """
        n_times = 1 if mechanism.rows == "parallel" else n_queries
        turns = {group: int(row.sum()) for group, row in mechanism.participation(n_times).items()}
        curves: dict[float | None, Costs] = {}
        worst = 0.0
        for gate, spent in self._gates_and_spent(totals):
            order = None if whole_curve or isinstance(gate.order, str) else gate.order
            if order not in curves:
                most = mechanism.max_cost(n_columns, order=order)
                self.check_most(most)
                curves[order] = {
                    group: turns.get(group, n_times) * each for group, each in most.items()
                }
            worst = max(worst, gate.load(spent, curves[order]))
        return worst


def parallel_cost(costs: Costs) -> dict[str, Cost]:
    """Return rows of disjoint people as the one row that they cost."""
    return {group: each.max() if each.shape else each for group, each in costs.items()}
