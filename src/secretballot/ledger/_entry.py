"""What a ledger holds: entries, each bound to all before it by a digest, and their totals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secretballot._errors import LedgerError
from secretballot.divergences import RenyiCost
from secretballot.ledger._budget import Budget, Cap


def to_json(value: Any, source: str) -> str:
    """Write public parameters as canonical JSON; ValueError if they are not plain values."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{source} must hold strings, finite numbers, lists and dicts: {error}"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is none of them")


def curve_bytes(cost: RenyiCost) -> bytes:
    """Return a curve as little-endian doubles."""
    return np.ascontiguousarray(cost.curve, dtype="<f8").tobytes()


def _digest(content: Any) -> str:
    # Every value is text or an integer by now: floats as hexadecimal, so that no digit is lost.
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def _cap_digits(cap: Cap) -> Any:
    if isinstance(cap, Mapping):
        return [[level, float(each).hex()] for level, each in sorted(cap.items())]
    return None if cap is None else float(cap).hex()


def genesis_digest(identity: Iterable[str], budget: Budget, orders: bytes) -> str:
    """Return the digest of what the ledger fixes, which every entry then covers."""
    levels = [
        [
            level.name,
            *(
                float(value).hex()
                for value in (
                    level.epsilon,
                    level.delta,
                    level.approximation_delta,
                    level.order,
                    level.renyi,
                )
            ),
        ]
        for level in budget.levels
    ]
    fixed = [budget.unit, budget.relation, budget.accounting, int(budget.allow_seeded)]
    return _digest(["secretballot ledger", list(identity), fixed, levels, orders.hex()])


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One release: what, when, how many rows, at what cost, for whom; never votes.

    (Or a move of the ledger, which has no rows and costs nothing.)

    Attributes
    ----------
    sequence : int
        Its place in the ledger, from 1.
    time : str
        When it was recorded, UTC.
    mechanism : str
        The mechanism's public parameters, JSON.
    n_rows : int
        Rows begun.
    scope_id, scope_epsilon : str and float, or None
        The scope it counts towards; its cap may be a dict of levels.
    seeded : bool
        Whether the noise was reproducible.
    note : str
        What the caller declared about the release, JSON.
    charges : dict of str to RenyiCost
        Cost per group.
    previous, digest : str
        The hash chain.
    """

    sequence: int = 0
    time: str = ""
    mechanism: str
    n_rows: int
    scope_id: str | None
    scope_epsilon: Cap
    seeded: bool
    note: str = "{}"
    charges: Mapping[str, RenyiCost]
    previous: str = ""
    digest: str = ""

    @property
    def is_release(self) -> bool:
        """Whether anything was released: a row at least, or it is not recorded."""
        return self.n_rows > 0

    @classmethod
    def move(cls, place: str) -> LedgerEntry:
        """Return the entry for a ledger that goes on in another place."""
        event = to_json({"event": "moved", "place": place}, "a move")
        return cls(
            mechanism=event,
            n_rows=0,
            scope_id=None,
            scope_epsilon=None,
            seeded=False,
            charges={},
        )

    def chained(self, sequence: int, time: str, previous: str) -> LedgerEntry:
        """Return the entry in its place after the one with the digest `previous`."""
        placed = replace(self, sequence=sequence, time=time, previous=previous)
        return replace(placed, digest=placed.expected_digest())

    def expected_digest(self) -> str:
        """Digest of everything the entry says, its place and its predecessor included."""
        return _digest(
            [
                self.sequence,
                self.time,
                self.mechanism,
                self.n_rows,
                self.scope_id,
                _cap_digits(self.scope_epsilon),
                int(self.seeded),
                self.note,
                self.previous,
                [
                    [group, float(cost.delta).hex(), curve_bytes(cost).hex()]
                    for group, cost in sorted(self.charges.items())
                ],
            ]
        )


@dataclass
class Totals:
    """The sums over a ledger's entries so far, and the head of its chain."""

    digest: str
    sequence: int = 0
    n_releases: int = 0
    n_rows: int = 0
    place: str | None = None
    charges: dict[str, RenyiCost] = field(default_factory=dict)
    scopes: dict[str, dict[str, RenyiCost]] = field(default_factory=dict)
    scope_epsilon: dict[str, Cap] = field(default_factory=dict)

    def add(self, entry: LedgerEntry) -> None:
        """Add the next entry; LedgerError if it is not the one that was written."""
        if (
            entry.sequence != self.sequence + 1
            or entry.previous != self.digest
            or entry.digest != entry.expected_digest()
        ):
            raise LedgerError(
                f"entry {entry.sequence} does not follow from the {self.sequence} before it: an "
                "entry was altered, removed or reordered; restore the ledger from a copy"
            )
        _accumulate(self.charges, entry.charges)
        if entry.scope_id is not None:
            _accumulate(self.scopes.setdefault(entry.scope_id, {}), entry.charges)
            self.scope_epsilon.setdefault(entry.scope_id, entry.scope_epsilon)
        self.sequence, self.digest = entry.sequence, entry.digest
        self.n_rows += entry.n_rows
        if entry.is_release:
            self.n_releases += 1
        else:
            self.place = json.loads(entry.mechanism).get("place")

    def snapshot(self) -> Totals:
        """Return a copy that further entries leave alone."""
        return replace(
            self,
            charges=dict(self.charges),
            scopes={scope: dict(charges) for scope, charges in self.scopes.items()},
            scope_epsilon=dict(self.scope_epsilon),
        )


def _accumulate(sums: dict[str, RenyiCost], charges: Mapping[str, RenyiCost]) -> None:
    for group, cost in charges.items():
        sums[group] = sums[group] + cost if group in sums else cost
