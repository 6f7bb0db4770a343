"""Payment of a release from a reservation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting.pricing import PricedRows, answered_rows
from secretballot.accounting.reserving._reservation import Reservation
from secretballot.accounting.reserving._reservation_entry import (
    check_open,
    check_rows_left,
    open_state,
)
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._reserved import Reserved
from secretballot.ledger._transaction import Transaction


class ReservedPayment:
    """Rows of a release that a reservation has paid for.

    It takes the place of a `Pricing` in a release.
    """

    note: Mapping[str, str] = {}
    keeps_private = False

    def __init__(
        self, reservation: Reservation, priced: PricedRows, scope_id: str | None, state: Reserved
    ) -> None:
        self._reservation, self._priced, self._scope_id = reservation, priced, scope_id
        self._counts_answers = state.answers_left is not None
        self._answered: NDArray[np.bool_] | None = None
        self._check(state)

    def _check(self, state: Reserved) -> None:
        """Refuse rows that were not paid for."""
        check_open(state)
        check_rows_left(state, self._priced.n_rows)
        self._reservation.check_draw(self._priced, self._scope_id, state.rows)

    def observe(self, outcome: NDArray[Any]) -> None:
        """Read from the outcome which rows were answered, where answers are counted."""
        if self._counts_answers:
            self._answered = answered_rows(self._priced.mechanism, outcome)

    def record(self, transaction: Transaction, entry: LedgerEntry) -> LedgerEntry:
        """Return the entry of a release with the rows that are begun: while answers are left."""
        state = open_state(transaction, self._reservation)
        # Again: another process may have drawn meanwhile, and these are other rows now.
        self._check(state)
        n_rows, n_answers = self._priced.n_rows, 0
        if self._answered is not None and state.answers_left is not None:
            answers = self._answered.cumsum()
            last_row = np.searchsorted(answers, state.answers_left)
            n_rows = min(int(last_row) + 1, len(answers))
            n_answers = int(answers[n_rows - 1])
        return replace(entry, n_rows=n_rows, reservation=state.drawn(n_rows, n_answers))
