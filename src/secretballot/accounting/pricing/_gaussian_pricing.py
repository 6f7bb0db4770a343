"""Pricing under Gaussian differential privacy."""

from __future__ import annotations

import math
from typing import cast

from secretballot.accounting._protocol import SelfPriced, row_laws
from secretballot.accounting.pricing._plan_pricing import Headroom, PlanPricing
from secretballot.accounting.pricing._priced_rows import Span
from secretballot.divergences import (
    EVERYONE,
    GAUSSIAN,
    Cost,
    Costs,
    GaussianCost,
    HasGaussianCost,
    Profile,
    PureRelease,
    RenyiCost,
    gaussian_share,
)
from secretballot.ledger import Totals


class GaussianPricing(PlanPricing):
    """Pricing under Gaussian DP: mu^2 adds up, and a delta beside it.

    Noisy vectors have exact prices, plans of other moves those of their games, and mechanisms
    without a game the prices that they state or that their Renyi curves imply.
    """

    currency = "mu^2"
    slope = -2.0

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the mu^2 that comes back, at most what was paid; the delta stays paid."""
        refunds: dict[str, float] = {}
        if self._plan is None:
            return {}
        for piece in span:
            for group, undrawn in self._plan.pieces(*piece).items():
                for payer in self._payers[group]:
                    refunds[payer] = refunds.get(payer, 0.0) + float(undrawn.refund().mu2)
        return {
            payer: GaussianCost(min(mu2, float(paid[payer].at(GAUSSIAN))))
            for payer, mu2 in refunds.items()
            if payer in paid  # an entry by hand may have charged less
        }

    def headroom(self, totals: Totals) -> Headroom:
        """Return the mu^2 and the delta for approximations that each payer has left."""
        return self._limits.headroom(totals, [p for ps in self._payers.values() for p in ps])

    @property
    def _noise_advice(self) -> str:
        laws = row_laws(self._priced.mechanism, self._priced.n_columns)
        moves = [step.move for law in laws.values() for step in law]
        if not moves or not all(isinstance(move, PureRelease) for move in moves):
            return super()._noise_advice
        return (
            "Use more noise, or order='renyi' when a budget is opened, in which a few purely "
            "private rows cost less"
        )

    def _payers_of(self, group: str) -> tuple[str, ...]:
        return self._limits.budget.names if group == EVERYONE else (group,)

    def _available(self, amount: float, delta: float) -> tuple[float, float]:
        """Return the mu^2 and the delta that rows may take of what is left.

        Plans take half of the delta at most, which hardly costs more mu^2: their delta doesn't come
        back, and the mu^2 that does needs some to be spent again.
        """
        return (amount, delta / 2) if self.has_game else (amount, delta)

    def _share(self, prices: list[HasGaussianCost], amount: float, delta: float) -> float:
        parts = parts_of_delta(prices, delta)
        return gaussian_share(list(zip(parts, prices, strict=True)), amount, delta)

    def _share_of_mu2(self, mu2: float, amount: float, delta: float) -> float:
        return mu2 / amount if amount > 0 else math.inf

    def _cost(self, amount: float, delta: float) -> Cost:
        return GaussianCost(amount, delta)

    def _charges(self, span: Span, headroom: Headroom, most: float = 1.0) -> dict[str, Cost] | None:
        charges = super()._charges(span, headroom, most)
        if charges is not None:
            for group, prices in self._prices(span).items():
                if len(prices) == 1 and isinstance(prices[0], GaussianCost):
                    # Exact, whatever is left.
                    charges.update(dict.fromkeys(self._payers[group], prices[0]))
        return charges

    def _prices(self, span: Span) -> dict[str, list[HasGaussianCost]]:
        if self._plan is None:
            return {group: [price] for group, price in self._prices_without_game(span).items()}
        pieces = [self._plan.pieces(*piece, self._fineness) for piece in span]
        return {
            group: [piece[group].exact_cost or piece[group] for piece in pieces]
            for group in self._plan.groups
        }

    def _prices_without_game(self, span: Span) -> dict[str, HasGaussianCost]:
        """Return the prices that mechanisms state themselves, or those of their Renyi curves."""
        priced = self._priced
        if isinstance(priced.mechanism, SelfPriced):
            price = priced.mechanism.priced(priced.n_columns)
            if priced.is_parallel:
                return {EVERYONE: price}
            if isinstance(price, GaussianCost):
                return {EVERYONE: span.n_rows * price}
        return {
            group: Profile.from_renyi(priced.turns(group, span) * cast("RenyiCost", cost))
            for group, cost in priced.max_cost().items()
        }


def parts_of_delta(prices: list[HasGaussianCost], delta: float) -> list[float]:
    """Divide a delta among plans about as their mu^2 is divided."""
    mu2 = [float(price.gaussian_cost(delta / len(prices)).mu2) for price in prices]
    total = sum(mu2)
    return [m / total if 0 < total < math.inf else 1 / len(mu2) for m in mu2]
