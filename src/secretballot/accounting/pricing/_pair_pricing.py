"""Pricing of a plan as one pair (epsilon, delta)."""

from __future__ import annotations

import math
from typing import cast

from secretballot.accounting._protocol import game_laws
from secretballot.accounting.pricing._plan_pricing import Headroom, PlanPricing
from secretballot.accounting.pricing._priced_rows import PricedRows, Span
from secretballot.divergences import (
    EVERYONE,
    Cost,
    Costs,
    HasGaussianCost,
    RenyiCost,
    gaussian_budget,
    split_group,
)
from secretballot.games import PlanPiece
from secretballot.ledger import Totals


class PairPricing(PlanPricing):
    """Pricing under basic composition of rows without a pure cost: one plan, which pays one pair.

    Plans add up badly as pairs. A single one costs less than under Gaussian DP where its curve is
    far from a Gaussian one (known votes that mostly agree), or where rows have a delta of their own
    (stable top-k sets).
    """

    adds_up = False
    currency = "epsilon"
    slope = -1.1

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Return nothing: a plan that was begun is paid for."""
        return {}

    def headroom(self, totals: Totals) -> Headroom:
        """Return the pair (epsilon, delta) that each level has left, of which a plan needs both."""
        headroom = self._limits.pair_headroom(totals)
        for level, (epsilon, delta) in headroom.items():
            if not (epsilon > 0 and delta > 0):
                raise self._limits.refusal(
                    f"No plan fits the (epsilon, delta) = ({epsilon:.4g}, {delta:.3g}) that is "
                    f"left to {level!r}",
                    f"Gaussian noise needs some of both; {self._limits.advice(headroom)}",
                )
        return headroom

    def _payers_of(self, group: str) -> tuple[str, ...]:
        return self._limits.budget.names if group == EVERYONE else (split_group(group)[0],)

    def _share(self, prices: list[HasGaussianCost], amount: float, delta: float) -> float:
        (piece,) = cast("list[PlanPiece]", prices)
        return piece.price.share(amount, delta)

    def _share_of_mu2(self, mu2: float, amount: float, delta: float) -> float:
        own_delta = max(self._priced.own_deltas(self._priced.n_rows).values())
        budget = gaussian_budget(amount, delta, own_delta) if own_delta < delta else 0.0
        return mu2 / budget if budget > 0 else math.inf

    def _cost(self, amount: float, delta: float) -> Cost:
        return RenyiCost.from_epsilon_delta(amount, delta)


def is_pair_plan(priced: PricedRows) -> bool:
    """Test for rows with a game, and without a pure cost that could be added up row by row."""
    if priced.is_parallel or not game_laws(priced.mechanism, priced.n_columns):
        return False
    costs = priced.max_cost(order=math.inf)
    return any(math.isinf(cost.at(math.inf)) for cost in costs.values())
