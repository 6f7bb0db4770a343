"""Transaction on a ledger: read totals and reservations, append entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from secretballot._base._errors import LedgerError
from secretballot.ledger._budget import Budget, is_text
from secretballot.ledger._child import Child, ChildTotals
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._stored_entries import insert_entry, load_reservation, reservation_entries
from secretballot.ledger._totals import CHECKPOINT_EVERY, Totals
from secretballot.ledger.stores import Rows, Store, meaning


@dataclass
class Chain:
    """Totals up to the last entry of a ledger, which transactions of its children share."""

    totals: Totals


@dataclass
class Transaction:
    """Totals, reservations and new entries of a ledger, while nobody else writes to it."""

    _store: Store
    _rows: Rows
    _chain: Chain
    _budget: Budget
    _child: str = ""

    @property
    def totals(self) -> Totals:
        """Sums over the entries of the ledger, or of the child that the transaction is within."""
        return self._chain.totals.of_child(self._child) if self._child else self._chain.totals

    @property
    def children(self) -> dict[str, ChildTotals]:
        """Child budgets of the ledger, by name."""
        return self._chain.totals.children

    def within(self, child: str, budget: Budget) -> Transaction:
        """Return the transaction as one of a child budget, whose entries are the child's."""
        state = self._chain.totals.children.get(child)
        if state is None or state.is_closed:
            raise ValueError(
                f"the child budget {child!r} was closed, and what was left of it given back. "
                "Nothing was released or recorded."
            )
        if budget != state.grant.budget(self._budget):
            raise LedgerError(
                f"the child budget {child!r} has other limits than this handle, which was pickled "
                "with others and is not to be trusted; accountant.child(name) returns another. "
                "Nothing was released or recorded"
            )
        return replace(self, _budget=budget, _child=child)

    def reservation(self, id: str) -> list[LedgerEntry]:
        """Return the entries that paid for a reservation, and then its last entry."""
        with meaning(self._store):
            return reservation_entries(self._rows, id)

    def append(self, entry: LedgerEntry, private: str | None = None, *, time: str = "") -> None:
        """Write an entry after the last one, to be committed at the end of the transaction.

        `private` is the entry's private record (`Ledger.private_records`), allowed with
        ``accounting="sanitized"`` only. `time` is now, unless it is given.
        """
        if private is not None:
            self._check_private(private)
        if self._child and entry.child is None:
            entry = replace(entry, child=Child(self._child, "spend"))
        now = time or datetime.now(UTC).isoformat(timespec="microseconds")
        before = self._chain.totals
        sequence = before.sequence + 1
        with meaning(self._store):
            load_reservation(self._rows, before, entry.reservation)
            after = before.added_up(replace(entry, sequence=sequence))
        if sequence - after.checkpoint >= CHECKPOINT_EVERY:
            entry = replace(entry, checkpoint=after.sums_digest())
        placed = entry.chained(sequence, now, before.digest)
        insert_entry(self._rows, placed, after)
        if private is not None:
            self._rows.insert("private_record", (sequence, private))
        self._chain.totals = before.after(placed)

    def _check_private(self, private: str) -> None:
        # Messages end up in logs, and never repeat the record.
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
