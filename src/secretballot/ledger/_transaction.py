"""What can be done while a ledger is held: read totals and reservations, append entries."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

from secretballot.ledger._budget import Budget, is_text
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._header import meaning
from secretballot.ledger._rows import insert_entry, insert_private_record, reservation_entries
from secretballot.ledger._totals import CHECKPOINT_EVERY, Totals


class Transaction:
    """What can be done while the ledger is held: read totals and reservations, append entries."""

    def __init__(
        self, path: str, opened: sqlite3.Connection, totals: Totals, budget: Budget
    ) -> None:
        self._path = path
        self._opened = opened
        self._budget = budget
        self.totals = totals

    def reservation(self, id: str) -> list[LedgerEntry]:
        """Return the entries that paid for a reservation, and then the last of it."""
        with meaning(self._path):
            return reservation_entries(self._opened, id)

    def append(self, entry: LedgerEntry, private: str | None = None) -> None:
        """Write an entry after the last; it is recorded once the transaction has been left.

        With it goes a text for the owner only (`Ledger.private_records`), if there is one;
        ValueError unless the accounting is ``"sanitized"``.
        """
        if private is not None:
            self._check_private(private)
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        sequence = self.totals.sequence + 1
        after = self.totals.added_up(replace(entry, sequence=sequence))
        if sequence - after.checkpoint >= CHECKPOINT_EVERY:
            entry = replace(entry, checkpoint=after.sums_digest())
        placed = entry.chained(sequence, now, self.totals.digest)
        insert_entry(self._opened, placed, after)
        if private is not None:
            insert_private_record(self._opened, sequence, private)
        self.totals = self.totals.after(placed)

    def _check_private(self, private: str) -> None:
        # Messages never repeat it: they end up in logs.
        if not self._budget.keeps_private:
            raise ValueError(
                f"private= is for a ledger with accounting='sanitized', and this one has "
                f"accounting={self._budget.accounting!r}, which keeps nothing of the votes; leave "
                "it out. Nothing was released."
            )
        if not is_text(private):
            raise ValueError(
                f"private= (a {type(private).__name__}, not shown) must be a non-empty string "
                "that a file can hold. Nothing was released."
            )
