"""What was released, alike releases together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from secretballot.accounting._notes import declared
from secretballot.ledger import LedgerEntry


@dataclass
class Released:
    """Releases of one mechanism with one note, seeded or not."""

    mechanism: Any
    note: Any
    told: dict[str, Any]  # what of the note the statement knows
    seeded: bool
    first: str
    last: str
    n_releases: int = 0
    n_rows: int = 0


def released(entries: Iterable[LedgerEntry]) -> list[Released]:
    """Put alike releases together, in the order in which they began."""
    found: dict[tuple[str, str, bool], Released] = {}
    for entry in entries:
        if not entry.is_release:
            continue
        kind = entry.mechanism, entry.note, entry.seeded
        if kind not in found:
            found[kind] = Released(
                mechanism=json.loads(entry.mechanism),
                note=json.loads(entry.note),
                told=declared(entry),
                seeded=entry.seeded,
                first=entry.time,
                last=entry.time,
            )
        alike = found[kind]
        alike.last = entry.time
        alike.n_releases += 1
        alike.n_rows += entry.n_rows
    return list(found.values())
