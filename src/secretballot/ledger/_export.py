"""A whole ledger as plain values, for other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from secretballot._tables import plain_number
from secretballot.divergences import ORDERS
from secretballot.ledger._budget import Cap
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Ledger


def export(ledger: Ledger) -> dict[str, Any]:
    """Return what a ledger holds; numbers are exact, infinity is the text ``"inf"``.

    Private records are for the owner only, and left out.
    """
    header = ledger.header()
    entries = ledger.entries()
    budget = header.budget
    return {
        "ledger_id": header.ledger_id,
        "created": header.created,
        "library_version": header.library_version,
        "place": header.place,
        "unit": budget.unit,
        "relation": budget.relation,
        "accounting": budget.accounting,
        "allow_seeded": budget.allow_seeded,
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
        "sequence": entry.sequence,
        "time": entry.time,
        "mechanism": json.loads(entry.mechanism),
        "n_rows": entry.n_rows,
        "scope_id": entry.scope_id,
        "scope_epsilon": _cap(entry.scope_epsilon),
        "seeded": entry.seeded,
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
        "checkpoint": entry.checkpoint,
        "previous": entry.previous,
        "digest": entry.digest,
    }


def _cap(cap: Cap) -> Any:
    if isinstance(cap, Mapping):
        return {level: plain_number(each) for level, each in cap.items()}
    return None if cap is None else plain_number(cap)
