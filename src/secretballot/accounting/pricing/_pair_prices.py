"""Prices of plans as pairs (epsilon, delta)."""

from __future__ import annotations

import math

from secretballot.accounting._protocol import game_laws
from secretballot.accounting.pricing._plan_prices import Headroom, PlanPrices
from secretballot.accounting.pricing._priced_rows import PricedRows, Span
from secretballot.divergences import (
    EVERYONE,
    Cost,
    Costs,
    RenyiCost,
    gaussian_budget,
    split_group,
)
from secretballot.ledger import Totals

#: The sum of charges may be rounded up by this.
_ROUNDING = 1 - 1e-12


class PairPrices(PlanPrices):
    """Prices of one mechanism's rows under basic composition: one plan, which costs one pair.

    Plans add up badly as pairs. A single one costs less than under Gaussian DP where its curve is
    far from a Gaussian one (known votes that mostly agree), or where rows have a delta of their own
    (stable top-k sets).
    """

    currency = "epsilon"
    slope = -1.1

    @property
    def payers(self) -> tuple[str, ...]:
        """The levels of the budget: the dearest of a level's parts decides."""
        assert self._plan is not None
        return tuple(payer for group in self._plan.groups for payer in self._payers(group))

    def headroom(self, totals: Totals) -> Headroom:
        """Return the pair (epsilon, delta) that each level has left."""
        return self._limits.pair_headroom(totals)

    def shares(self, span: Span, headroom: Headroom) -> dict[str, float]:
        """Compute the share of epsilon and of delta that rows take."""
        assert self._plan is not None
        pieces = self._plan.pieces("rows", *span.rows, self._fineness)
        shares: dict[str, float] = {}
        for group, piece in pieces.items():
            for level in self._payers(group):
                share = piece.price.share(*headroom[level])
                shares[level] = max(shares.get(level, 0.0), share)
        return shares

    def charges(self, span: Span, headroom: Headroom) -> dict[str, Cost] | None:
        """Compute the pair of each level, or return None if the rows don't fit."""
        shares = self.shares(span, headroom)
        if max(shares.values()) > 1:
            return None
        charges: dict[str, Cost] = {}
        for level, share in shares.items():
            epsilon, delta = headroom[level]
            share *= _ROUNDING
            charges[level] = RenyiCost.from_epsilon_delta(share * epsilon, share * delta)
        return charges

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Return nothing: a plan that was begun is paid for."""
        return {}

    def _share_of_mu2(self, mu2: float, amount: float, delta: float) -> float:
        own_delta = max(self._priced.own_deltas(self._priced.n_rows).values())
        budget = gaussian_budget(amount, delta, own_delta) if own_delta < delta else 0.0
        return mu2 / budget if budget > 0 else math.inf

    def _payers(self, group: str) -> tuple[str, ...]:
        return self._limits.levels if group == EVERYONE else (split_group(group)[0],)


def is_pair_plan(priced: PricedRows) -> bool:
    """Whether rows have a game, and no pure cost that could be added up row by row."""
    if priced.is_parallel or not game_laws(priced.mechanism, priced.n_columns):
        return False
    costs = priced.mechanism.max_cost(priced.n_columns, order=math.inf)
    return any(math.isinf(cost.at(math.inf)) for cost in costs.values())
