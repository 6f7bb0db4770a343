"""Export of a ledger as plain values, for other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from secretballot._tables import plain_number
from secretballot.divergences import ORDERS
from secretballot.ledger._budget import Cap
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Ledger

_IDENTITY = ("ledger_id", "created", "library_version", "place")
_CONVENTIONS = ("unit", "relation", "accounting", "allow_seeded")


def export(ledger: Ledger) -> dict[str, Any]:
    """Convert a ledger to plain values; numbers are exact, infinity is the text ``"inf"``.

    Private records are for the owner only, and left out.
    """
    header = ledger.header()
    entries = ledger.entries()
    budget = header.budget
    return {
        **{name: getattr(header, name) for name in _IDENTITY},
        **{name: getattr(budget, name) for name in _CONVENTIONS},
        "levels": [
            {
                "level": level.name,
                "epsilon": level.epsilon,
                "delta": level.delta,
                "approximation_delta": level.approximation_delta,
                "order": plain_number(level.order),
                "amount": level.amount,
            }
            for level in budget.levels
        ],
        "orders": [plain_number(order) for order in ORDERS.tolist()],
        "genesis": header.digest,
        "entries": [_entry(entry) for entry in entries],
        "n_entries": len(entries),
        "head": entries[-1].digest if entries else header.digest,
    }


def _entry(entry: LedgerEntry) -> dict[str, Any]:
    return {
        **{field.name: getattr(entry, field.name) for field in fields(entry)},
        "mechanism": json.loads(entry.mechanism),
        "scope_epsilon": _cap(entry.scope_epsilon),
        "note": json.loads(entry.note),
        "charges": [
            {
                "group": group,
                "delta": float(cost.delta),
                "curve": [plain_number(value) for value in cost.curve.tolist()],
            }
            for group, cost in sorted(entry.charges.items())
        ],
        "reservation": None
        if entry.reservation is None
        else {
            "id": entry.reservation.id,
            "event": entry.reservation.event,
            "state": json.loads(entry.reservation.state()),
        },
    }


def _cap(cap: Cap) -> object:
    if isinstance(cap, Mapping):
        return {level: plain_number(epsilon) for level, epsilon in cap.items()}
    return None if cap is None else plain_number(cap)
