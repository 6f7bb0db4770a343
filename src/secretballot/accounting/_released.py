"""What was released, alike releases together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from secretballot.accounting._notes import declared
from secretballot.ledger import LedgerEntry, Reserved


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


class Contents(NamedTuple):
    """What a ledger holds: releases, moves, and rows that were paid for before."""

    released: list[Released]
    n_moves: int
    reservations: list[Reserved]


def contents(entries: Iterable[LedgerEntry]) -> Contents:
    """Put alike releases together, in the order in which they began; and how reservations stand."""
    found: dict[tuple[str, str, bool], Released] = {}
    n_moves, reservations = 0, dict[str, Reserved]()
    for entry in entries:
        n_moves += entry.is_move
        if entry.reservation is not None:
            reservations[entry.reservation.id] = entry.reservation
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
    return Contents(list(found.values()), n_moves, list(reservations.values()))
