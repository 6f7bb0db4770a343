"""The interface that the pricings of all kinds of budgets share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from secretballot.accounting.pricing._priced_rows import Span
from secretballot.costs._groups import Costs
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._totals import Totals
from secretballot.ledger._transaction import Transaction


class Pricing(ABC):
    """Pricing of one mechanism's rows in one kind of budget.

    A reservation asks for `price` and, when it is settled, for `refund`. A release asks for `admit`
    before the draw, for `observe` after it, and for `charge` in the ledger's transaction.

    Example with all functions and figures: docs/development/how-a-release-is-charged.md.
    """

    #: Whether thresholds and answers are paid for apart.
    has_threshold: bool = False

    #: Words that are added to the note of a release.
    note: Mapping[str, str] = {}

    #: Whether a sanitized budget keeps a record of the votes.
    keeps_private = True

    def span(self, n_rows: int) -> Span:
        """Return the span of the first rows, each of which may be answered."""
        return Span((0, n_rows), (0, n_rows) if self.has_threshold else None)

    @abstractmethod
    def price(self, totals: Totals, span: Span) -> Costs:
        """Compute the charges of rows that are paid for before they are drawn.

        BudgetExceededError if they don't fit the budget.
        """

    def payments(self, totals: Totals, span: Span) -> list[tuple[Span, Costs]]:
        """Compute separate prices of rows and of the answers behind their threshold.

        They add up to `price`.
        """
        return [(span, self.price(totals, span))]

    @abstractmethod
    def unchecked_price(self, span: Span) -> Costs:
        """Compute the charges in an unspent budget of the same size, whether they fit or not."""

    @abstractmethod
    def refund(self, span: Span, paid: Costs) -> Costs:
        """Compute the refund for rows and answers that were paid for and not drawn."""

    @abstractmethod
    def admit(self, totals: Totals) -> None:
        """Raise BudgetExceededError if not even one row fits the budget."""

    def observe(self, outcome: NDArray[Any]) -> None:  # noqa: B027
        """Read from the outcome what decides the charge; nothing where the price is fixed."""

    @abstractmethod
    def charge(self, totals: Totals) -> tuple[int, Costs]:
        """Count the rows that are begun, and compute their charges."""

    def record(self, transaction: Transaction, entry: LedgerEntry) -> LedgerEntry:
        """Return the entry of a release with the rows that are begun, and their charges."""
        n_rows, charges = self.charge(transaction.totals)
        return replace(entry, n_rows=n_rows, charges=charges)
