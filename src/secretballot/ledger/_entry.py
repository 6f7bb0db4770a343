"""Entries of a ledger, and the digests that chain them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from secretballot.costs._groups import Costs
from secretballot.ledger._budget import Cap
from secretballot.ledger._child import Child
from secretballot.ledger._encoding import cap_digits, charge_digits, digest_of, to_json
from secretballot.ledger._reserved import Reserved


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """Record of one release, of a reservation, or of a declaration of the ledger; never votes.

    A declaration (of a move, or of a clock) has no rows and costs nothing. A reservation pays
    before rows are drawn, and is refunded when it is settled.

    Attributes
    ----------
    sequence, time : int and str
        Number of the entry, from 1, and when it was recorded, UTC.
    mechanism, note : str
        The mechanism's public parameters, and what the caller declared, JSON.
    n_rows : int
        Rows begun.
    scope_id, scope_epsilon : str and float, or None
        The scope it counts towards; its cap may be a dict of levels.
    seeded : bool
        Whether the noise was reproducible.
    charges : dict of str to Cost
        Cost per group; where a reservation is settled, the refund.
    reservation : Reserved or None
        State of the reservation that the entry makes, draws from or settles, after it.
    child : Child or None
        Child budget that the entry makes, spends from or closes. Who is charged: the child, or its
        parent.
    checkpoint : str or None
        For some entries: the digest of the sums over all entries up to this one.
    previous, digest : str
        The hash chain.
    """

    sequence: int = 0
    time: str = ""
    mechanism: str
    n_rows: int = 0
    scope_id: str | None = None
    scope_epsilon: Cap = None
    seeded: bool = False
    note: str = "{}"
    charges: Costs = field(default_factory=dict)
    reservation: Reserved | None = None
    child: Child | None = None
    checkpoint: str | None = None
    previous: str = ""
    digest: str = ""

    @property
    def is_release(self) -> bool:
        """True if rows were begun."""
        return self.n_rows > 0

    @property
    def is_declaration(self) -> bool:
        """True if the entry records what somebody declared of the ledger itself."""
        return not (self.is_release or self.reservation or self.child)

    @property
    def is_move(self) -> bool:
        """True if the entry records a new place of the ledger."""
        return self.is_declaration and "place" in json.loads(self.mechanism)

    @property
    def is_refundable(self) -> bool:
        """True if some of the charges may be given back by a later entry."""
        is_carving = self.child is not None and self.child.event == "carve"
        return is_carving or (self.reservation is not None and self.reservation.event == "reserve")

    @property
    def is_refund(self) -> bool:
        """True if the charges are given back."""
        is_closing = self.child is not None and self.child.event == "close"
        return is_closing or (self.reservation is not None and self.reservation.is_settled)

    @classmethod
    def move(cls, place: str) -> LedgerEntry:
        """Make the entry for a ledger that goes on in another place."""
        return cls(mechanism=to_json({"event": "moved", "place": place}, "a move"))

    @classmethod
    def clock(cls) -> LedgerEntry:
        """Make the entry for a clock that was ahead when the last entry was recorded."""
        return cls(mechanism=to_json({"event": "clock was ahead"}, "a clock"))

    @classmethod
    def child_event(cls, child: Child, charges: Costs, scope_id: str | None) -> LedgerEntry:
        """Make the entry that makes or closes a child budget."""
        mechanism = to_json({"event": child.event, "child": child.name}, "a child budget")
        return cls(mechanism=mechanism, charges=charges, child=child, scope_id=scope_id)

    def chained(self, sequence: int, time: str, previous: str) -> LedgerEntry:
        """Return the entry with its number, its time and the digests of the chain."""
        placed = replace(self, sequence=sequence, time=time, previous=previous)
        return replace(placed, digest=placed.expected_digest())

    def expected_digest(self) -> str:
        """Compute the digest of the entry's contents, its number and predecessor included."""
        return digest_of(
            [
                "secretballot entry",
                self.sequence,
                self.time,
                self.mechanism,
                self.n_rows,
                self.scope_id,
                cap_digits(self.scope_epsilon),
                int(self.seeded),
                self.note,
                charge_digits(self.charges),
                self.reservation and self.reservation.stored(),
                self.checkpoint,
                self.child and self.child.stored(),
                self.previous,
            ]
        )
