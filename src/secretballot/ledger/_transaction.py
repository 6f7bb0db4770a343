"""Transaction on a ledger, and the check that it is the original, before anything is spent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from secretballot._base._errors import LedgerError
from secretballot.ledger._budget import Budget, is_text
from secretballot.ledger._entry import Child, ChildTotals, LedgerEntry
from secretballot.ledger._file_store import FileStore
from secretballot.ledger._mark import Mark
from secretballot.ledger._store import Rows, Store, meaning, same_place
from secretballot.ledger._stored_entries import (
    Header,
    digest_at,
    insert_entry,
    last_in,
    load_reservation,
    read_header,
    reservation_entries,
)
from secretballot.ledger._totals import CHECKPOINT_EVERY, Totals


def copy_fault(store: Store, rows: Rows, header: Header, place: str, mark: Mark | None) -> str:
    """Explain why a ledger may be a copy that lacks later entries; empty if it is none.

    `place` is the last that was recorded.
    """
    accepting = (
        f"PrivacyAccountant.open({store.name!r}, accept='moved') (or 'secretballot ledger accept "
        "FILE --moved')"
    )
    if not same_place(place, rows.place()):
        return (
            "it is a copy, was restored from one, or was moved: what the original has spent since "
            "is not in it, and both together could spend the budget twice. If the original is gone "
            f"and nothing was spent from it since, {accepting} continues here and records the "
            "move. Nothing was released"
        )
    if mark is None or mark.ledger_id != header.ledger_id or not lacks_entry(rows, header, mark):
        return ""
    return (
        f"it was restored from a copy: {mark.sequence} entries had been recorded, as the mark "
        f"{store.mark_path()!r} says, and they are not in it, so that the budget could be spent "
        "twice. Put the newer one back. Only if that is gone, and nothing that the missing entries "
        f"released was handed out, {accepting} continues here and records that. Nothing was "
        "released"
    )


def lacks_entry(rows: Rows, header: Header, mark: Mark) -> bool:
    digest = digest_at(rows, mark.sequence) if mark.sequence else header.digest
    return digest != mark.digest


def check_no_original(rows: Rows, header: Header, place: str) -> None:
    """Refuse a copy while the file that it was made of lies where it was recorded, or beside it."""
    for name in rows.originals(place):
        head = _head(name, header.digest)
        if head is None:
            continue
        remedy = "Spend from that one, which has entries that this one lacks"
        if not lacks_entry(rows, header, head):
            remedy = "Spend from that one, or delete it with its mark before the copy is accepted"
        raise LedgerError(
            f"it is a copy, and the original still lies at {name!r}: both together could spend the "
            f"budget twice. {remedy}. Nothing was released"
        )


def _head(name: str, digest: str) -> Mark | None:
    """Read the last entry of a file that may be the original; None if it is another, or damaged."""
    store = FileStore(name)

    def ask(rows: Rows) -> Mark | None:
        with meaning(store):
            header = read_header(rows)
            last = last_in(rows, "entry")
            head = digest_at(rows, last) if last else header.digest
        return Mark(header.ledger_id, last, str(head)) if header.digest == digest else None

    with suppress(LedgerError):
        return store.read(ask)
    return None  # nobody spends from it as it is


@dataclass
class Chain:
    """Totals up to the last entry of a ledger, which transactions of its children share."""

    totals: Totals


def closed_child(name: str) -> ValueError:
    """Return the error about a child budget that was closed."""
    return ValueError(
        f"the child budget {name!r} was closed, and what was left of it given back. "
        "Nothing was released or recorded."
    )


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
        return self._chain.totals.of_child(self._child) if self._child else self._chain.totals

    @property
    def children(self) -> dict[str, ChildTotals]:
        return self._chain.totals.children

    def within(self, child: str, budget: Budget) -> Transaction:
        """Return the transaction as one of a child budget, whose entries are the child's."""
        state = self._chain.totals.children.get(child)
        if state is None or state.is_closed:
            raise closed_child(child)
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
