"""Pricing of rows and of the answers behind their threshold, under Gaussian privacy."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting._protocol import ReleaseMechanism, StatesLaws
from secretballot.accounting.pricing._gaussian_pricing import (
    GaussianPricing,
    Headroom,
    parts_of_delta,
)
from secretballot.accounting.pricing._priced_rows import Span
from secretballot.costs._cost import Cost, GaussianCost
from secretballot.costs._groups import Costs
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._totals import Totals

#: Rows per answer that are expected before outcomes are seen, and the answers this weighs as.
_ROWS_PER_ANSWER, _PRIOR_ANSWERS = 3.0, 5.0

#: The most rounds of a release.
_MOST_ROUNDS = 16


class ThresholdPricing(GaussianPricing):
    """Pricing of thresholds and answers as two plans, in rounds.

    A round pays for all rows that remain and as many answers, if they fit. Otherwise it pays for as
    many answers as fit, and for each of them as many rows as the outcomes so far had (three before
    there are any). When rows or answers are used up, the other's rest is refunded, less a little,
    and the next round begins. Rounds depend on recorded outcomes alone, so each price is fixed
    before what it pays for is drawn.
    """

    has_threshold = True
    note = {}

    _answered: NDArray[np.bool_]

    def payments(self, totals: Totals, span: Span) -> list[tuple[Span, Costs]]:
        """Compute separate prices of rows and of the answers behind their threshold.

        Rows cost what they do at their part of the delta, and answers the rest.
        """
        charges = self.price(totals, span)
        apart = span.apart()
        if len(apart) == 1:
            return [(span, charges)]
        headroom = self.headroom(totals)
        of_rows: dict[str, Cost] = {}
        of_answers: dict[str, Cost] = {}
        for payer, charge in cast("dict[str, GaussianCost]", charges).items():
            rows_cost = GaussianCost.zero()
            for group, prices in self._prices(span).items():
                if payer in self._payers[group]:
                    part, _ = parts_of_delta(prices, self._available(*headroom[payer])[1])
                    rows_cost = rows_cost.parallel(
                        prices[0].gaussian_cost(part * float(charge.delta))
                    )
            of_rows[payer], of_answers[payer] = rows_cost, charge.without(rows_cost)
        return list(zip(apart, (of_rows, of_answers), strict=True))

    def admit(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits the budget."""
        headroom = self.headroom(totals)
        if self._affordable(0, _ROWS_PER_ANSWER, headroom) is None:
            self._refuse(headroom)

    def observe(self, outcome: NDArray[Any]) -> None:
        """Read from the outcome which rows were answered."""
        self._answered = answered_rows(self._priced.mechanism, outcome)

    def charge(self, totals: Totals) -> tuple[int, Costs]:
        """Count the rows that all rounds begin, and compute their charges."""
        headroom = dict(self.headroom(totals))
        start, n_answers, charges = 0, 0, {payer: GaussianCost.zero() for payer in headroom}
        for _ in range(_MOST_ROUNDS):
            rate = (start + _ROWS_PER_ANSWER * _PRIOR_ANSWERS) / (n_answers + _PRIOR_ANSWERS)
            span, paid = self._round(start, rate, headroom)
            if paid is None:
                break
            assert span.answers is not None
            # A row is begun while there is an answer left for it.
            answers = self._answered[slice(*span.rows)].cumsum()
            drawn = min(int(np.searchsorted(answers, span.answers[1])) + 1, len(answers))
            used = int(answers[drawn - 1])
            undrawn = Span((start + drawn, span.rows[1]), (used, span.answers[1]))
            refund = self.refund(undrawn, paid)
            for payer, cost in paid.items():
                net = GaussianCost(cost.without(refund[payer]).at(GAUSSIAN), cost.delta)
                charges[payer] = charges[payer] + net
                mu2, delta = headroom[payer]
                headroom[payer] = (mu2 - float(net.mu2), delta - float(net.delta))
            start, n_answers = start + drawn, n_answers + used
            if start == self._priced.n_rows:
                break
        if not start:
            self._refuse(headroom)
        return start, charges

    def _round(self, start: int, rate: float, headroom: Headroom) -> tuple[Span, Costs | None]:
        """Return the rows and answers of the next round, and their charges if any fit."""
        n_rows = self._priced.n_rows
        remaining = Span((start, n_rows), (0, n_rows - start))
        if self.noisy_numbers_share(remaining, headroom) <= 2:
            charges = self._charges(remaining, headroom)
            if charges is not None:
                return remaining, charges
        span = self._affordable(start, rate, headroom)
        return (remaining, None) if span is None else (span, self._charges(span, headroom))

    def _affordable(self, start: int, rate: float, headroom: Headroom) -> Span | None:
        """Return the most rows and answers that fit, at `rate` rows for an answer."""
        n_rest = self._priced.n_rows - start

        def span(n_answers: int) -> Span:
            n_rows = min(n_rest, max(n_answers, math.ceil(rate * n_answers)))
            return Span((start, start + n_rows), (0, n_answers))

        n_answers = self._most_rows(span, n_rest, headroom)
        return span(n_answers) if n_answers else None


def answered_rows(mechanism: ReleaseMechanism, outcome: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the rows that passed their threshold."""
    stated = cast("StatesLaws", mechanism)
    law = next(iter(stated.laws().values()))
    follows = next(step.name for step in law if step.after is not None)
    return np.asarray(stated.executed(outcome)[follows] > 0)
