"""Prices of plans in mu^2, and a delta beside it."""

from __future__ import annotations

import math
from typing import cast

from secretballot.accounting._protocol import SelfPriced
from secretballot.accounting.pricing._plan_prices import Headroom, PlanPrices
from secretballot.accounting.pricing._priced_rows import Span
from secretballot.divergences import (
    EVERYONE,
    GAUSSIAN,
    Cost,
    Costs,
    GaussianCost,
    HasGaussianCost,
    Profile,
    RenyiCost,
    gaussian_share,
)
from secretballot.ledger import Totals

#: The sum of charges may be rounded up by this.
_ROUNDING = 1 - 1e-12


class GaussianPrices(PlanPrices):
    """Prices of one mechanism's rows under Gaussian DP."""

    currency = "mu^2"
    slope = -2.0

    @property
    def has_threshold(self) -> bool:
        """Whether thresholds and answers are paid for apart."""
        return self._plan is not None and self._plan.has_threshold

    @property
    def payers(self) -> tuple[str, ...]:
        """The levels of the budget, or the parts of them, that are charged."""
        if self._plan is not None:
            groups = self._plan.groups
        else:
            groups = tuple(self._priced.mechanism.max_cost(self._priced.n_columns))
        return tuple(payer for group in groups for payer in self._payers(group))

    def headroom(self, totals: Totals) -> Headroom:
        """Return the mu^2 and the delta for approximations that each payer has left."""
        return self._limits.mu2_headroom(totals, self.payers)

    def _available(self, amount: float, delta: float) -> tuple[float, float]:
        """Return the mu^2 and the delta that rows may take of what is left.

        Plans take half of the delta at most, which hardly costs more mu^2: their delta doesn't come
        back, and the mu^2 that does needs some to be spent again.
        """
        return (amount, delta / 2) if self.has_game else (amount, delta)

    def shares(self, span: Span, headroom: Headroom) -> dict[str, float]:
        """Compute the share of mu^2 and of delta that rows take."""
        return {
            payer: _share(prices, *self._available(*headroom[payer]))
            for group, prices in self._prices(span).items()
            for payer in self._payers(group)
        }

    def charges(self, span: Span, headroom: Headroom) -> dict[str, Cost] | None:
        """Compute the charges of rows, or return None if they don't fit."""
        charges: dict[str, Cost] = {}
        for group, prices in self._prices(span).items():
            for payer in self._payers(group):
                mu2, delta = self._available(*headroom[payer])
                share = _share(prices, mu2, delta)
                if share > 1:
                    return None
                if len(prices) == 1 and isinstance(prices[0], GaussianCost):
                    charges[payer] = prices[0]  # exact, whatever is left
                else:
                    share *= _ROUNDING
                    charges[payer] = GaussianCost(share * mu2, share * delta)
        return charges

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the mu^2 that comes back, at most what was paid; the delta stays paid."""
        refunds: dict[str, float] = {}
        if self._plan is None:
            return {}
        for piece in span:
            for group, undrawn in self._plan.pieces(*piece).items():
                for payer in self._payers(group):
                    refunds[payer] = refunds.get(payer, 0.0) + float(undrawn.refund().mu2)
        return {
            payer: GaussianCost(min(mu2, float(paid[payer].at(GAUSSIAN))))
            for payer, mu2 in refunds.items()
        }

    def _share_of_mu2(self, mu2: float, amount: float, delta: float) -> float:
        return mu2 / amount if amount > 0 else math.inf

    def _payers(self, group: str) -> tuple[str, ...]:
        return self._limits.levels if group == EVERYONE else (group,)

    def _prices(self, span: Span) -> dict[str, list[HasGaussianCost]]:
        """Return the prices of the plans that each group's rows are made of."""
        if self._plan is None:
            return {group: [price] for group, price in self._prices_without_game(span).items()}
        pieces = [self._plan.pieces(*piece, self._fineness) for piece in span]
        return {
            group: [piece[group].exact_cost or piece[group] for piece in pieces]
            for group in self._plan.groups
        }

    def _prices_without_game(self, span: Span) -> dict[str, HasGaussianCost]:
        """Return the prices that mechanisms state themselves, or those of their Renyi curves."""
        mechanism, n_columns = self._priced.mechanism, self._priced.n_columns
        if isinstance(mechanism, SelfPriced):
            price = mechanism.priced(n_columns)
            if self._priced.is_parallel:
                return {EVERYONE: price}
            if isinstance(price, GaussianCost):
                return {EVERYONE: span.n_rows * price}
        return {
            group: Profile.from_renyi(self._priced.turns(group, span) * cast("RenyiCost", cost))
            for group, cost in mechanism.max_cost(n_columns).items()
        }


def _share(prices: list[HasGaussianCost], mu2: float, delta: float) -> float:
    """Compute the share of mu^2 and delta that plans take together.

    The delta is divided among them about as the mu^2 is.
    """
    amounts = [float(price.gaussian_cost(delta / len(prices)).mu2) for price in prices]
    total = sum(amounts)
    parts = [a / total if 0 < total < math.inf else 1 / len(amounts) for a in amounts]
    return gaussian_share(list(zip(parts, prices, strict=True)), mu2, delta)
