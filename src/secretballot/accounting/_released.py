"""The releases that a ledger holds, grouped by mechanism and note."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from secretballot.accounting._notes import declared_facts
from secretballot.ledger import LedgerEntry, Reserved


@dataclass
class Released:
    """Releases of one mechanism with one note, seeded or not."""

    mechanism: Any
    note: Any
    seeded: bool
    n_releases: int
    n_rows: int
    first: str
    last: str

    @property
    def facts(self) -> dict[str, Any]:
        """The words of the note that the statement reads."""
        return declared_facts(self.note)


class Contents(NamedTuple):
    """Releases of a ledger, moves of its file, and the last state of each reservation.

    `last` is the time of the last entry, "" if there is none.
    """

    released: list[Released]
    n_moves: int
    reservations: list[Reserved]
    last: str

    @property
    def is_all_seeded(self) -> bool:
        """True if a seed reproduces the noise of all releases."""
        return bool(self.released) and all(release.seeded for release in self.released)


def contents(entries: Iterable[LedgerEntry]) -> Contents:
    """Group the releases of a ledger, in the order in which they began."""
    groups: dict[tuple[str, str, bool], Released] = {}
    n_moves, reservations, last = 0, dict[str, Reserved](), ""
    for entry in entries:
        n_moves += entry.is_move
        last = entry.time
        if entry.reservation is not None:
            reservations[entry.reservation.id] = entry.reservation
        if not entry.is_release:
            continue
        key = entry.mechanism, entry.note, entry.seeded
        if key not in groups:
            mechanism, note = map(json.loads, key[:2])
            groups[key] = Released(mechanism, note, entry.seeded, 0, 0, entry.time, entry.time)
        group = groups[key]
        group.last = entry.time
        group.n_releases += 1
        group.n_rows += entry.n_rows
    return Contents(list(groups.values()), n_moves, list(reservations.values()), last)
