"""Entries of a ledger: their encoding, what they do to reservations and children, their digests."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache
from typing import Literal, Self, cast

import numpy as np

from secretballot._base._errors import LedgerError
from secretballot.costs._cost import Cost, GaussianCost, RenyiCost
from secretballot.costs._groups import Costs, level_cost
from secretballot.costs._orders import GAUSSIAN, ORDERS
from secretballot.ledger._budget import Budget, Cap, LevelBudget, is_text

#: Largest depth of nested lists and dicts.
_MAX_DEPTH = 64
#: NUL as JSON writes it, and no backslash before "u0000".
_NUL = re.compile(r"(?<!\\)(\\\\)*\\u0000")


def to_json(value: object, source: str) -> str:
    """Encode public parameters as canonical JSON; ValueError if they are not plain values."""
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False, default=_plain)
        # A reader that has less of the stack left must be able to decode it too.
        is_deep = _depth(json.loads(text)) > _MAX_DEPTH
    except RecursionError:
        text, is_deep = "", True
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{source} must hold strings, finite numbers, lists and dicts: {error}"
        ) from error
    if _NUL.search(text):
        raise ValueError(f"{source} must not hold NUL.")
    if is_deep:
        raise ValueError(f"{source} must not nest lists and dicts more than {_MAX_DEPTH} deep.")
    return text


@lru_cache(maxsize=1024)
def check_description(text: str, *, of_dict: bool = False) -> None:
    """Check that a recorded text is JSON as `to_json` writes it; ValueError if not."""
    description = json.loads(text)
    to_json(description, "a description")
    if of_dict and not isinstance(description, dict):
        raise ValueError("a mechanism is described by a dict")


def _depth(value: object) -> int:
    if not isinstance(value, list | dict):
        return 0
    values = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, values), default=0)


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is no plain value")


def curve_bytes(cost: Cost) -> bytes:
    return np.ascontiguousarray(cost.curve, dtype="<f8").tobytes()


def digest_of(content: list[object]) -> str:
    """Compute the SHA-256 of nested lists of text, integers and None, as JSON."""
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def cap_digits(cap: Cap) -> object:
    """Encode the cap of a scope for a digest; floats are hexadecimal, so that no bit is lost."""
    if isinstance(cap, Mapping):
        return [[level, float(epsilon).hex()] for level, epsilon in sorted(cap.items())]
    return None if cap is None else float(cap).hex()


def charge_digits(charges: Costs) -> list[list[str]]:
    return [
        [group, float(cost.delta).hex(), curve_bytes(cost).hex()]
        for group, cost in sorted(charges.items())
    ]


def genesis_digest(identity: Iterable[str], budget: Budget, orders: bytes) -> str:
    """Compute the digest of a ledger's header, which the first entry follows."""
    fixed = [budget.unit, budget.relation, budget.accounting, int(budget.allow_seeded)]
    levels = _level_digits(budget.levels)
    return digest_of(["secretballot ledger", list(identity), fixed, levels, orders.hex()])


def _level_digits(levels: Iterable[LevelBudget]) -> list[list[str]]:
    digits: list[list[str]] = []
    for level in levels:
        digits.append([])
        for value in astuple(level):
            digits[-1].append(value if isinstance(value, str) else float(value).hex())
    return digits


ReservationEvent = Literal["reserve", "draw", "settle"]

#: A long plan of noisy comparisons costs 2 / pi of the noisy numbers, which few rows of it may be
#: refunded as.
_LONG_PLAN = 2 / math.pi


@dataclass(frozen=True)
class Reserved:
    """State of a reservation after one of its entries."""

    id: str
    event: ReservationEvent  # the entry pays for (more) rows, draws some, or ends it with a refund
    plans: tuple[
        tuple[int, int | None], ...
    ]  # of each payment: (rows, None), (rows, 0) or (0, answers)
    rows: int = 0  # drawn so far
    answers: int = 0

    @property
    def n_rows(self) -> int:
        return sum(n_rows for n_rows, _ in self.plans)

    @property
    def rows_left(self) -> int:
        """Rows that were paid for and not begun."""
        return self.n_rows - self.rows

    @property
    def answers_left(self) -> int | None:
        """Answers that may still be drawn; None where they are not counted."""
        counted = [n_answers for _, n_answers in self.plans if n_answers is not None]
        return sum(counted) - self.answers if counted else None

    @property
    def is_settled(self) -> bool:
        return self.event == "settle"

    def undrawn(self) -> Iterator[tuple[int, int | None]]:
        """Yield the rows, and answers if counted, of each plan that were not drawn."""
        rows, answers = self.rows, self.answers
        for n_rows, n_answers in self.plans:
            yield max(n_rows - rows, 0), None if n_answers is None else max(n_answers - answers, 0)
            rows, answers = max(rows - n_rows, 0), max(answers - (n_answers or 0), 0)

    def refund_shares(self) -> Iterator[float]:
        """Yield the most of each plan's payment that may come back, as a share.

        Proportional to rows, or answers, not drawn; but each row that was drawn keeps 2 / pi of its
        part at least, and all but a few keep their parts: a plan costs less than its rows.
        """
        for plan, left in zip(self.plans, self.undrawn(), strict=True):
            n, undrawn = sum(filter(None, plan)), sum(filter(None, left))
            share = undrawn / n
            in_order = (undrawn + math.sqrt(undrawn)) / n
            yield min(share / _LONG_PLAN, 1 - _LONG_PLAN * (1 - share), in_order)

    def extended(self, n_rows: int, n_answers: int | None) -> Self:
        return replace(self, event="reserve", plans=(*self.plans, (n_rows, n_answers)))

    def drawn(self, n_rows: int, n_answers: int) -> Self:
        return replace(
            self, event="draw", rows=self.rows + n_rows, answers=self.answers + n_answers
        )

    def settled(self) -> Self:
        return replace(self, event="settle")

    def follows(self, before: Self | None, n_rows: int) -> bool:
        """Check that an entry with `n_rows` rows leads from the state before to this one."""
        if self.event == "reserve" and sum(map(bool, self.plans[-1])) != 1:
            return False  # rows and answers are paid for, and refunded, apart
        if before is None:
            is_first = len(self.plans) == 1 and not self.rows and not self.answers
            return n_rows == 0 and is_first and self.event == "reserve"
        if before.is_settled:
            return False
        if self.event == "settle":
            return n_rows == 0 and self == before.settled()
        if self.event == "reserve":
            return n_rows == 0 and self == before.extended(*self.plans[-1])
        answers, answers_left = self.answers - before.answers, self.answers_left
        return (
            0 < n_rows <= before.rows_left
            and 0 <= answers <= n_rows
            and (answers_left is None or answers_left >= 0)
            and self == before.drawn(n_rows, answers)
        )

    def stored(self) -> tuple[str, ReservationEvent, str]:
        return self.id, self.event, json.dumps([self.plans, self.rows, self.answers])

    @classmethod
    def of_stored(cls, id: str, event: ReservationEvent, state: str) -> Self:
        plans, rows, answers = json.loads(state)
        numbers = [rows, answers, *(number for plan in plans for number in plan)]
        if not all(number is None or (type(number) is int and number >= 0) for number in numbers):
            raise ValueError("a reservation counts rows and answers")
        return cls(id, event, tuple((n, k) for n, k in plans), rows, answers)


ChildEvent = Literal["carve", "spend", "close"]

#: No name of a child has it: in drafts it joined the names of nested children.
NAME_SEPARATOR = "/"
#: Fields of a stored grant for kinds of children that were removed.
_REMOVED = {"group": None, "sealed": False}


def is_child_name(name: object) -> bool:
    return is_text(name) and NAME_SEPARATOR not in name


@dataclass(frozen=True)
class Grant:
    """Part of a budget that a child got: its limits."""

    levels: tuple[LevelBudget, ...]

    def budget(self, root: Budget) -> Budget:
        return replace(root, levels=self.levels)

    def costs(self) -> dict[str, Cost]:
        """Compute the charge to the parent, by level: the limits of the child."""
        return {level.name: self._cost(level) for level in self.levels}

    def refund(self, child: ChildTotals) -> dict[str, Cost]:
        """Compute the refund of a child that is closed, by level: all that was not charged."""
        return {
            level.name: self._cost(level).refund_after(
                level_cost(child.charges, level.name, level.order)
            )
            for level in self.levels
        }

    def _cost(self, level: LevelBudget) -> Cost:
        if level.order == GAUSSIAN:
            return GaussianCost(level.amount, level.approximation_delta)
        if math.isinf(level.order):
            return RenyiCost.from_epsilon_delta(level.epsilon, level.approximation_delta)
        # A divergence grows with its order, so the limit at one order holds for smaller ones.
        curve = np.where(level.order >= ORDERS, level.amount, np.inf)
        return RenyiCost(curve, level.approximation_delta)

    def stored(self) -> str:
        """Encode the grant as JSON; numbers are hexadecimal, so that no bit is lost."""
        return to_json({"levels": _level_digits(self.levels), **_REMOVED}, "a child budget")

    @classmethod
    def of_stored(cls, text: str) -> Self:
        content = json.loads(text)
        if any(content[name] is not value for name, value in _REMOVED.items()):
            raise _removed_kind()
        levels = []
        for name, epsilon, delta, share, order, amount in content["levels"]:
            levels.append(
                LevelBudget(
                    name=name,
                    epsilon=float.fromhex(epsilon),
                    delta=float.fromhex(delta),
                    approximation_delta=float.fromhex(share),
                    order=GAUSSIAN if order == GAUSSIAN else float.fromhex(order),
                    amount=float.fromhex(amount),
                )
            )
        return cls(tuple(levels))


@dataclass(frozen=True)
class Child:
    """Child budget that an entry makes, spends from or closes."""

    name: str
    event: ChildEvent
    grant: Grant | None = None  # of "carve"

    def stored(self) -> tuple[str, ChildEvent, str]:
        return self.name, self.event, "" if self.grant is None else self.grant.stored()

    @classmethod
    def of_stored(cls, name: str, event: str, grant: str) -> Self:
        if event == "begin" or NAME_SEPARATOR in name:
            raise _removed_kind()
        return cls(name, cast("ChildEvent", event), Grant.of_stored(grant) if grant else None)


def _removed_kind() -> LedgerError:
    return LedgerError(
        "is of a kind of child budget that was removed (nested, sealed, begun or of a group), and "
        "only the version that wrote it reads it"
    )


@dataclass(frozen=True)
class ChildTotals:
    """Sums of a child budget, and its state."""

    grant: Grant
    scope: str | None = None  # in which its parent was charged
    charges: Costs = field(default_factory=dict)
    n_releases: int = 0
    n_rows: int = 0
    is_closed: bool = False

    def after(self, event: ChildEvent) -> Self:
        return replace(self, is_closed=event == "close")

    def digits(self, name: str) -> list[object]:
        # The 0 is of the event "begin", which was removed.
        counted = [self.n_releases, self.n_rows, 0, int(self.is_closed)]
        return [name, self.grant.stored(), counted, charge_digits(self.charges)]


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """Record of one release, of a reservation, or of a declaration of the ledger; never votes.

    A declaration (of a move, or of a clock) has no rows and costs nothing. A reservation pays
    before rows are drawn, and is refunded when it is settled.
    """

    sequence: int = 0  # from 1
    time: str = ""  # UTC
    mechanism: str  # public parameters, JSON
    n_rows: int = 0  # begun
    scope_id: str | None = None
    scope_epsilon: Cap = None
    seeded: bool = False  # the noise was reproducible
    note: str = "{}"  # what the caller declared, JSON
    charges: Costs = field(default_factory=dict)  # per group; a refund when settled or closed
    reservation: Reserved | None = None  # its state after the entry
    child: Child | None = None
    checkpoint: str | None = None  # digest of the sums up to this entry
    previous: str = ""  # the hash chain
    digest: str = ""

    @property
    def account(self) -> str:
        """Name of the child that is charged; "" for the whole budget."""
        return self.child.name if self.child is not None and self.child.event == "spend" else ""

    @property
    def is_release(self) -> bool:
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
    def is_refund(self) -> bool:
        """True if the charges are given back."""
        is_closing = self.child is not None and self.child.event == "close"
        return is_closing or (self.reservation is not None and self.reservation.is_settled)

    @classmethod
    def move(cls, place: str) -> LedgerEntry:
        return cls(mechanism=to_json({"event": "moved", "place": place}, "a move"))

    @classmethod
    def clock(cls) -> LedgerEntry:
        """Make the entry for a clock that was ahead when the last entry was recorded."""
        return cls(mechanism=to_json({"event": "clock was ahead"}, "a clock"))

    @classmethod
    def child_event(cls, child: Child, charges: Costs, scope_id: str | None) -> LedgerEntry:
        mechanism = to_json({"event": child.event, "child": child.name}, "a child budget")
        return cls(mechanism=mechanism, charges=charges, child=child, scope_id=scope_id)

    def chained(self, sequence: int, time: str, previous: str) -> LedgerEntry:
        placed = replace(self, sequence=sequence, time=time, previous=previous)
        return replace(placed, digest=placed.expected_digest())

    def expected_digest(self) -> str:
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
