"""The releases that a ledger holds, grouped by mechanism and note."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from secretballot.accounting._notes import declared_facts
from secretballot.ledger._child import Grant
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._reserved import Reserved


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
    """Releases of a ledger, declarations of it, and the last state of each reservation.

    `n_moves` counts its new places, and `n_clocks` the times that its clock had been ahead.
    `grants` are the parts that children got, by name, and `closed` the children that were closed.
    `last` is the time of the last entry, "" if there is none.
    """

    released: list[Released]
    n_moves: int
    n_clocks: int
    reservations: list[Reserved]
    last: str
    grants: dict[str, Grant]
    closed: set[str]

    @property
    def is_all_seeded(self) -> bool:
        """True if a seed reproduces the noise of all releases."""
        return bool(self.released) and all(release.seeded for release in self.released)


def contents(entries: Iterable[LedgerEntry]) -> Contents:
    """Group the releases of a ledger, in the order in which they began."""
    groups: dict[tuple[str, str, bool], Released] = {}
    n_moves, n_clocks, reservations, last = 0, 0, dict[str, Reserved](), ""
    grants, closed = dict[str, Grant](), set[str]()
    for entry in entries:
        n_moves += entry.is_move
        n_clocks += entry.is_declaration and not entry.is_move
        last = entry.time
        if entry.child is not None and entry.child.grant is not None:
            grants[entry.child.name] = entry.child.grant
        if entry.child is not None and entry.child.event == "close":
            closed.add(entry.child.name)
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
    released, states = list(groups.values()), list(reservations.values())
    return Contents(released, n_moves, n_clocks, states, last, grants, closed)
