"""Pricing under Renyi differential privacy, row by row."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from secretballot._base._cached_property import cached_property
from secretballot.accounting._limits import Limits
from secretballot.accounting._protocol import row_laws
from secretballot.accounting.pricing._priced_rows import PricedRows, Span
from secretballot.accounting.pricing._pricing import Pricing
from secretballot.costs._groups import Costs
from secretballot.costs._law import worst_case_cost
from secretballot.costs._split_plan import answer_steps, threshold_steps
from secretballot.ledger._totals import Totals


class RenyiPricing(Pricing):
    """Pricing under Renyi DP: admit rows in order, and charge what each of them costs.

    A row is begun if the most it can cost fits on top of what the rows before it did cost. Parallel
    rows are begun together, and cost what the dearest of them does. At order infinity this is basic
    composition of pairs (epsilon, delta), and Gaussian noise costs infinitely much.
    """

    def __init__(self, limits: Limits, priced: PricedRows) -> None:
        self._limits, self._priced = limits, priced
        self._mechanism = priced.mechanism
        self._costs: Costs = {}

    @cached_property
    def has_threshold(self) -> bool:
        """True where thresholds and answers are paid for apart."""
        laws = row_laws(self._mechanism, self._priced.n_columns)
        return bool(laws) and all(map(answer_steps, laws.values()))

    def price(self, totals: Totals, span: Span) -> Costs:
        """Compute the most that rows and answers can cost."""
        charges = self._cost(span)
        self._limits.check_charges(totals, charges)
        return charges

    def payments(self, totals: Totals, span: Span) -> list[tuple[Span, Costs]]:
        """Compute separate prices of rows and of the answers behind their threshold."""
        self.price(totals, span)
        return [(part, self._cost(part)) for part in span.apart()]

    def unchecked_price(self, span: Span) -> Costs:
        """Compute the most that rows and answers can cost, whether they fit or not."""
        return self._cost(span)

    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the most that rows and answers could have cost: all of it comes back."""
        return self._cost(span)

    def admit(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits the budget."""
        first = {group: cost[:1] if cost.shape else cost for group, cost in self._most.items()}
        self._limits.admit(totals, {}, first, 1)

    def observe(self, outcome: NDArray[Any]) -> None:
        """Compute what the rows of the outcome cost."""
        priced = self._priced
        self._costs = self._mechanism.cost(outcome, priced.votes, n_columns=priced.n_columns)
        self._limits.check_realised(self._costs, self._most_by_row, priced.n_rows)

    def charge(self, totals: Totals) -> tuple[int, Costs]:
        """Count the rows of the longest prefix that fits, and compute what it costs."""
        n_rows = self._priced.n_rows
        if self._priced.is_parallel:
            charges = _dearest(self._costs)
            return n_rows * self._limits.admit(totals, charges, self._most, 1), charges
        n_rows = self._limits.admit(totals, self._costs, self._most, n_rows)
        return n_rows, {group: cost[:n_rows].sum() for group, cost in self._costs.items()}

    @cached_property
    def _most_by_row(self) -> Costs:
        """The most that each row can cost, per group."""
        priced = self._priced
        costs = dict(self._mechanism.max_cost(priced.n_columns, priced.votes))
        self._limits.check_costs(costs)
        for group, rows in self._mechanism.participation(priced.n_rows).items():
            costs[group] = costs[group] * rows
        return costs

    @cached_property
    def _most(self) -> Costs:
        """The most that what is begun together can cost, per group."""
        return _dearest(self._most_by_row) if self._priced.is_parallel else self._most_by_row

    @cached_property
    def _reserved(self) -> tuple[Costs, Costs]:
        """The most that a row (or its threshold) can cost, and the most that an answer can."""
        rows: Costs = {}
        answers: Costs = {}
        if not self.has_threshold:
            rows = self._priced.max_cost()
        else:
            laws = row_laws(self._mechanism, self._priced.n_columns)
            rows = {group: worst_case_cost(threshold_steps(law)) for group, law in laws.items()}
            answers = {group: worst_case_cost(answer_steps(law)) for group, law in laws.items()}
        self._limits.check_costs(rows)
        return rows, answers

    def _cost(self, span: Span) -> Costs:
        """Compute the charges of each group for the rows and answers of a span."""
        rows, answers = self._reserved
        charges = {group: self._priced.turns(group, span) * cost for group, cost in rows.items()}
        if span.n_answers is None:
            return charges
        # Nobody knows beforehand which rows are answered: every group pays for all answers.
        return {group: cost + span.n_answers * answers[group] for group, cost in charges.items()}


def _dearest(costs: Costs) -> Costs:
    """Return the largest cost of a row per group: parallel composition over disjoint people."""
    return {group: cost.max() if cost.shape else cost for group, cost in costs.items()}
