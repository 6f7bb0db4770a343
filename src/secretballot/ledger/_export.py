"""Export of a ledger as plain values, for other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from secretballot._base._view import plain_number
from secretballot.costs._orders import ORDERS
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Ledger


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
        name, child_event, given = entry.child.stored()
        exported["child"] = {
            "path": name,
            "event": child_event,
            "given": json.loads(given) if given else None,
        }
    return exported


def _plain(value: Any) -> Any:
    """Replace infinite numbers within nested dicts and lists."""
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    return plain_number(value) if isinstance(value, float) else value
