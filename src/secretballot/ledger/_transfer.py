"""Move of a ledger to a server, and its export as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from secretballot._base._errors import LedgerError
from secretballot._base._interrupts import HeldInterrupts
from secretballot._base._view import plain_number
from secretballot.costs._orders import ORDERS
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._guard import Mark
from secretballot.ledger._ledger import BATCH, Ledger, Transaction, named_store, read_steps
from secretballot.ledger._server_connection import is_url
from secretballot.ledger._store import (
    TABLES,
    Rows,
    Store,
    meaning,
    read_header,
    read_private_records,
    read_totals,
)
from secretballot.ledger._totals import Totals


def move(ledger: Ledger, name: str) -> Ledger:
    """Copy a ledger file to a new ledger on a server, where it goes on; the file is spent no more.

    The last entry names the new place. It is committed in the file before the copy is committed, so
    that at no time both can be spent from. The copy has the same chain, and is checked. Unless an
    error says that the move was recorded, nothing has changed.
    """
    if is_url(ledger.name) or not is_url(name):
        raise LedgerError(
            "A ledger is moved from a file to the URL of a server. A file goes to another folder "
            "by renaming it and its mark, and to another disk by a copy, with which "
            "PrivacyAccountant.open(path, accept='moved') goes on."
        )
    store = named_store(name)
    is_recorded = False

    def fill(target: Rows) -> Mark:
        def hand_over(transaction: Transaction) -> Mark:
            source = transaction._rows
            if not source.place():
                raise LedgerError(
                    f"The ledger {ledger.name!r} can't be moved: its file system gives a file no "
                    "identity, so that it could be spent from after the move. Nothing was changed."
                )
            transaction.append(LedgerEntry.move(target.place()))
            for table in TABLES:
                for row in source.fetch(f"SELECT * FROM {{{table}}}"):
                    target.insert(table, row)
            _check_copy(source, target, transaction.whole, store)
            totals = transaction.whole
            return Mark(read_header(target).ledger_id, totals.sequence, totals.digest)

        nonlocal is_recorded
        mark = ledger.transact(hand_over, interrupts=block)
        is_recorded = True
        return mark

    with HeldInterrupts() as block:
        try:
            store.create(fill)
        except LedgerError as error:
            if not is_recorded:
                raise
            raise LedgerError(
                f"{error} {ledger.name!r} has the entry of its move already, and is not spent "
                f"from. If {store.name!r} is there, the move is done. If it is not, "
                f"PrivacyAccountant.open({ledger.name!r}, accept='moved') goes on with the file."
            ) from error
        return Ledger(store, ledger.budget, ledger.genesis)


def _check_copy(source: Rows, target: Rows, totals: Totals, store: Store) -> None:
    """Check the chain of a copy, its sums and its private records."""
    with meaning(store):
        header = read_header(target)
        copied = Totals(digest=header.digest, levels=header.budget.levels)
        while batch := list(read_steps(target, copied, BATCH)):
            copied = batch[-1][1]
            copied.forget()
        read_totals(target)
        same_records = read_private_records(target) == read_private_records(source)
        if copied.digest != totals.digest or not same_records:
            raise LedgerError("the copy is not the same; nothing was moved")


def export(ledger: Ledger) -> dict[str, Any]:
    """Convert a ledger to plain values; numbers are exact, infinity is the text ``"inf"``.

    Private records are for the owner only, and left out.
    """
    identity = ledger.header()._asdict()
    budget, genesis = asdict(identity.pop("budget")), identity.pop("digest")
    levels = [{"level": level.pop("name"), **level} for level in budget.pop("levels")]
    entries = ledger.entries()
    exported = {
        **identity,
        **budget,
        "levels": levels,
        "orders": ORDERS.tolist(),
        "genesis": genesis,
        "entries": list(map(_entry, entries)),
        "n_entries": len(entries),
        "head": entries[-1].digest if entries else genesis,
    }
    return {name: _plain(value) for name, value in exported.items()}


def _entry(entry: LedgerEntry) -> dict[str, Any]:
    exported = {**vars(entry), "reservation": None, "child": None}
    exported["mechanism"], exported["note"] = map(json.loads, (entry.mechanism, entry.note))
    exported["charges"] = [
        {"group": group, "delta": float(cost.delta), "curve": cost.curve.tolist()}
        for group, cost in sorted(entry.charges.items())
    ]
    if entry.reservation is not None:
        id, event, state = entry.reservation.stored()
        exported["reservation"] = {"id": id, "event": event, "state": json.loads(state)}
    if entry.child is not None:
        name, child_event, grant = entry.child.stored()
        exported["child"] = {
            "path": name,
            "event": child_event,
            "given": json.loads(grant) if grant else None,
        }
    return exported


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    return plain_number(value) if isinstance(value, float) else value
