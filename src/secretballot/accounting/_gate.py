"""Which rows a budget lets through."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from secretballot.divergences import (
    EVERYONE,
    GAUSSIAN,
    Cost,
    Costs,
    Order,
    best_order,
    gate_budget,
    gaussian_budget,
    group_division,
    is_part,
    level_cost,
    zero_cost,
)
from secretballot.ledger import Budget, Scope

#: What is left free when noise is calibrated, relative to the room: sums of very many rows are
#: rounded, and the last row must still fit.
CALIBRATION_MARGIN = 1e-9

#: A smaller share of a budget is what calibration and rounding left over: it would buy answers
#: under thirty times the noise.
WORTH_SPENDING = 3e-3

#: What a gate's limit on deltas is called.
FOR_APPROXIMATIONS = "delta for approximations"


def _prefix(base: float, cost: Any, most: Any, limit: float, n_rows: int) -> int:
    """Count the rows that begin one after the other: all earlier costs and its own most fit."""
    before = np.zeros(n_rows)
    np.cumsum(np.broadcast_to(cost, n_rows)[:-1], out=before[1:])
    fits = base + before + most <= limit
    return n_rows if fits.all() else int(np.argmin(fits))


@dataclass(frozen=True)
class Gate:
    """The limits of a level: `amount` at one order, or of mu^2, and `delta` for approximations."""

    level: str
    order: Order
    amount: float
    delta: float

    @property
    def currency(self) -> str:
        """What is counted."""
        if isinstance(self.order, str):
            return "mu^2"
        return f"divergence at the Renyi order {self.order:g}"

    def _limits(self) -> Iterable[tuple[str, Callable[[Cost], Any], float]]:
        """Yield what is limited, how it is read off a cost, and the limit."""
        yield self.currency, self._divergence, self.amount
        if self.delta < math.inf:
            yield FOR_APPROXIMATIONS, lambda cost: cost.delta, self.delta

    def _divergence(self, cost: Cost) -> Any:
        return cost.at(self.order)

    def _lines(
        self, value: Callable[[Cost], Any], spent: Costs, *loads: Costs
    ) -> Iterable[tuple[float, list[Any]]]:
        """Yield, per part, what it has spent and what it would be charged on top.

        Whoever is in a part may be in the dearest part of every other division. Parts of its own
        division that this release doesn't name differ only in what they have spent, so the dearest
        stands for them (and for a level without parts).
        """

        def shared(costs: Costs) -> Any:
            groups = [costs[group] for group in (EVERYONE, self.level) if group in costs]
            return sum((value(cost) for cost in groups), 0.0)

        base = float(shared(spent))
        common = [shared(load) for load in loads]
        named = {g for load in loads for g in load if is_part(g, self.level)}
        # One: `check_groups` refuses more.
        divisions = set(map(group_division, named))
        idle, apart = 0.0, dict[str, float]()
        for group, cost in spent.items():
            if not is_part(group, self.level) or group in named:
                continue
            paid, division = float(value(cost)), group_division(group)
            if division in divisions:
                idle = max(idle, paid)
            else:
                apart[division] = max(apart.get(division, 0.0), paid)
        base += sum(apart.values())
        yield base + idle, common
        for group in named:
            own = float(value(spent[group])) if group in spent else 0.0
            yield (
                base + own,
                [
                    part + value(load[group]) if group in load else part
                    for part, load in zip(common, loads, strict=True)
                ],
            )

    def left(self, spent: Costs, group: str) -> tuple[float, float]:
        """Return what may still be charged to a group of this level: amount, and delta."""
        # The last line is the part's own, if the group is one.
        amount, delta = (
            limit - list(self._lines(value, spent, {group: zero_cost(self.order)}))[-1][0]
            for _, value, limit in self._limits()
        )
        return amount, delta

    def rows(self, spent: Costs, cost: Costs, most: Costs, n_rows: int) -> int:
        """Return how many of the rows, in order, may be begun."""
        return min(
            _prefix(base, did, at_most, limit, n_rows)
            for _, value, limit in self._limits()
            for base, (did, at_most) in self._lines(value, spent, cost, most)
        )

    def shortfall(self, spent: Costs, most: Costs) -> str:
        """Say what one row can cost where it doesn't fit, and what is left there."""
        for what, value, limit in self._limits():
            for base, (one,) in self._lines(value, spent, most):
                if not base + one <= limit:
                    return f"{float(one):.6g} of {what}, and {max(limit - base, 0):.6g} is left"
        return "nothing"

    def is_used_up(self, spent: Costs) -> bool:
        """Whether nothing that is worth spending is left at the gate order."""
        used = float(level_cost(spent, self.level, self.order).at(self.order))
        return used >= self.amount * (1 - WORTH_SPENDING)

    def load(self, spent: Costs, wanted: Costs) -> float:
        """Return `wanted` as a share of the room that is left; infinite if there is none."""
        worst = 0.0
        for _, value, limit in self._limits():
            for base, (cost,) in self._lines(value, spent, wanted):
                asked = float(cost)
                room = (limit - base) * (1 - CALIBRATION_MARGIN) - 4e-16 * limit
                if asked > 0:
                    worst = max(worst, asked / room if room > 0 else math.inf)
        return worst


def budget_gates(budget: Budget) -> list[Gate]:
    """Return the gates of a budget, one per level."""
    return [
        Gate(level.name, level.order, level.amount, level.approximation_delta)
        for level in budget.levels
    ]


def scope_gates(budget: Budget, scope: Scope) -> list[Gate]:
    """Return the gates of what one scope may spend on its own, one per level.

    Each gates on the order best for the scope, which is fixed by (epsilon, delta) alone and so
    before anything is released. Its deltas are capped by the budget's, of which
    they are a part (in a Gaussian budget, the same part as of its mu^2).
    """
    gates = []
    for level in budget.levels:
        cap = scope.cap(level.name)
        if cap is None:
            continue
        if isinstance(level.order, str):
            allowed = gaussian_budget(cap, level.delta, level.approximation_delta)
            share = min(allowed / level.amount, 1.0)
            gates.append(Gate(level.name, GAUSSIAN, allowed, share * level.approximation_delta))
            continue
        order: Order
        if math.isinf(level.order):
            order, spare = level.order, level.delta
        else:
            spare = level.delta - level.approximation_delta
            order = best_order(cap, spare)
        allowed = gate_budget(cap, spare, order)
        gates.append(Gate(level.name, order, allowed, math.inf))
    return gates
