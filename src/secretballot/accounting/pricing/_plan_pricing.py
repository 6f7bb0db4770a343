"""Pricing of each batch as one plan, fixed before it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

from secretballot._errors import BudgetExceededError
from secretballot.accounting._limits import Limits
from secretballot.accounting.pricing._plan_prices import Headroom, PlanPrices
from secretballot.accounting.pricing._priced_rows import PricedRows, Span
from secretballot.accounting.pricing._pricing import Pricing
from secretballot.divergences import Costs, check_groups
from secretballot.games import find_most_rows
from secretballot.ledger import Totals

#: What is left, as a key of a cache: payer, amount and delta.
_HeadroomKey = tuple[tuple[str, float, float], ...]


class PlanPricing(Pricing):
    """Pricing of each batch as one plan: admit the longest prefix that fits, and charge all of it.

    The charge is fixed before the draw, whatever comes out.
    """

    note = {"priced": "as one plan"}

    def __init__(self, limits: Limits, priced: PricedRows, prices: PlanPrices) -> None:
        self._limits, self._priced, self._prices = limits, priced, prices
        check_groups(prices.payers, limits.levels, "laws()")
        # The transaction asks again for what was computed before the draw.
        self._longest_plan = lru_cache(maxsize=2)(self._find_longest_plan)

    def price(self, totals: Totals, span: Span) -> Costs:
        """Compute the charges, the same share of what is left of the currency and of delta."""
        headroom = self._prices.headroom(totals)
        charges = self._prices.charges(span, headroom)
        if charges is None:
            shares = self._prices.shares(span, headroom)
            payer = max(shares, key=shares.__getitem__)
            amount, delta = headroom[payer]
            raise BudgetExceededError(
                f"The rows cost {shares[payer]:.4g} times the {self._prices.currency} of "
                f"{amount:.4g} (and the delta of {delta:.3g}) that is left to {payer!r}. Nothing "
                "was spent or reserved. "
                + (
                    self._prices.own_delta_fault(span.n_rows, headroom)
                    or "Take fewer rows, or use more noise."
                )
            )
        return charges

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the refund for rows and answers that were paid for and not drawn."""
        return self._prices.refund(span, paid)

    def admit(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits the budget."""
        self.charge(totals)

    def charge(self, totals: Totals) -> tuple[int, Costs]:
        """Count the rows of the longest plan that fits, and compute its charges."""
        headroom = self._prices.headroom(totals)
        return self._longest_plan(tuple((payer, *pair) for payer, pair in headroom.items()))

    def _find_longest_plan(self, key: _HeadroomKey) -> tuple[int, Costs]:
        headroom = {payer: (amount, delta) for payer, amount, delta in key}
        n_rows = self._priced.n_rows
        if not self._priced.is_parallel:
            n_rows = self._most_rows(lambda n: Span((0, n)), n_rows, headroom)
        charges = self._prices.charges(Span((0, n_rows)), headroom) if n_rows else None
        if charges is None:
            self._refuse(headroom)
        return n_rows, charges

    def _most_rows(self, span: Callable[[int], Span], most: int, headroom: Headroom) -> int:
        """Return the largest number, up to `most`, whose span fits what is left."""
        return find_most_rows(lambda n: max(self._prices.shares(span(n), headroom).values()), most)

    def _refuse(self, headroom: Headroom) -> NoReturn:
        own_delta_fault = self._prices.own_delta_fault(1, headroom)
        currency, where = self._prices.currency, self._limits.where
        if not own_delta_fault and (level := self._limits.used_up_level(headroom)) is not None:
            raise BudgetExceededError(
                f"Nothing of the {currency} is left {where} (level {level!r}). Nothing was "
                f"released or recorded: {self._limits.advice}"
            )
        amounts = "; ".join(
            f"{amount:.4g} beside {delta:.3g} for {payer!r}"
            for payer, (amount, delta) in headroom.items()
        )
        raise BudgetExceededError(
            f"Not even one row fits the {currency} and the delta that are left {where}: {amounts}. "
            "Nothing was released or recorded. "
            + (own_delta_fault or f"Use more noise; otherwise {self._limits.advice}")
        )
