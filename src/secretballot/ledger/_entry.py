"""One release as the ledger holds it, bound to all before it by a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from secretballot.divergences import ORDERS, Cost, Costs, GaussianCost, RenyiCost
from secretballot.ledger._budget import Budget, Cap
from secretballot.ledger._reserved import Reserved

#: Lists and dicts that may be one in the other.
_DEEPEST = 64


def to_json(value: Any, source: str) -> str:
    """Write public parameters as canonical JSON; ValueError if they are not plain values."""
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False, default=_plain)
        # Read with as little of the stack left as there may be elsewhere, it must not fail there.
        is_deep = _depth(json.loads(text)) > _DEEPEST
    except RecursionError:
        is_deep = True
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{source} must hold strings, finite numbers, lists and dicts: {error}"
        ) from error
    if is_deep:
        raise ValueError(
            f"{source} must not hold more than {_DEEPEST} lists and dicts one in the other."
        )
    return text


@lru_cache(maxsize=1024)
def check_description(text: str) -> None:
    """Check that a recorded text is what `to_json` may have written; ValueError if it is not."""
    to_json(json.loads(text), "a description")


def _depth(value: Any) -> int:
    """Return how many lists and dicts are one in the other."""
    values = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, values), default=0) if isinstance(value, list | dict) else 0


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is none of them")


def curve_bytes(cost: Cost) -> bytes:
    """Return what a cost amounts to as little-endian doubles."""
    return np.ascontiguousarray(cost.curve, dtype="<f8").tobytes()


def cost_of(curve: bytes, delta: float) -> Cost:
    """Return the cost that was written as such: a Renyi curve, or one amount of mu^2."""
    amounts = np.frombuffer(curve, dtype="<f8")
    kind = RenyiCost if len(amounts) == len(ORDERS) else GaussianCost
    return kind.from_curve(amounts, delta)


def digest_of(content: Any) -> str:
    """Return the SHA-256 of values that are text or integers by now.

    Floats come as hexadecimal, so that no digit is lost.
    """
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def cap_digits(cap: Cap) -> Any:
    """Return the cap of a scope for a digest."""
    if isinstance(cap, Mapping):
        return [[level, float(each).hex()] for level, each in sorted(cap.items())]
    return None if cap is None else float(cap).hex()


def charge_digits(charges: Costs) -> Any:
    """Return costs per group for a digest."""
    return [
        [group, float(cost.delta).hex(), curve_bytes(cost).hex()]
        for group, cost in sorted(charges.items())
    ]


def genesis_digest(identity: Iterable[str], budget: Budget, orders: bytes) -> str:
    """Return the digest of what the ledger fixes, which every entry then covers."""
    levels = [
        [
            level.name,
            *(
                value if isinstance(value, str) else float(value).hex()
                for value in (
                    level.epsilon,
                    level.delta,
                    level.approximation_delta,
                    level.order,
                    level.amount,
                )
            ),
        ]
        for level in budget.levels
    ]
    fixed = [budget.unit, budget.relation, budget.accounting, int(budget.allow_seeded)]
    return digest_of(["secretballot ledger", list(identity), fixed, levels, orders.hex()])


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One release: what, when, how many rows, at what cost, for whom; never votes.

    (Or a move of the ledger, which has no rows and costs nothing; or what is paid before rows are
    drawn, and given back afterwards.)

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
    charges : dict of str to Cost
        Cost per group; where a reservation is settled, what is given back.
    reservation : Reserved or None
        The reservation that the entry makes, draws from or settles, as it stands then.
    checkpoint : str or None
        Every now and then: the digest of the sums over all entries up to this one.
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
    charges: Costs
    reservation: Reserved | None = None
    checkpoint: str | None = None
    previous: str = ""
    digest: str = ""

    @property
    def is_release(self) -> bool:
        """Whether anything was released: a row at least, or it is not recorded."""
        return self.n_rows > 0

    @property
    def is_move(self) -> bool:
        """Whether the ledger goes on in another place."""
        return not self.is_release and self.reservation is None

    @property
    def is_refund(self) -> bool:
        """Whether the charges are given back."""
        return self.reservation is not None and self.reservation.is_settled

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

    def drawing(self, reservation: Reserved, n_rows: int) -> LedgerEntry:
        """Return the entry for rows that were paid for before."""
        return replace(self, reservation=reservation, n_rows=n_rows)

    def chained(self, sequence: int, time: str, previous: str) -> LedgerEntry:
        """Return the entry in its place after the one with the digest `previous`."""
        placed = replace(self, sequence=sequence, time=time, previous=previous)
        return replace(placed, digest=placed.expected_digest())

    def expected_digest(self) -> str:
        """Digest of everything the entry says, its place and its predecessor included."""
        reservation = self.reservation
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
                reservation and [reservation.id, reservation.event, reservation.state()],
                self.checkpoint,
                self.previous,
            ]
        )
