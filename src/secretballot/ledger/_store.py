"""Interface of a ledger's store, and its rows: header, entries, totals at checkpoints."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from secretballot._base._errors import LedgerError
from secretballot.costs._cost import Cost, GaussianCost, RenyiCost
from secretballot.costs._groups import GROUP_SEPARATOR, Costs, group_division, split_group
from secretballot.costs._orders import GAUSSIAN, ORDERS, grid_order, same_orders
from secretballot.ledger._budget import CHILD_SCOPE, Budget, LevelBudget
from secretballot.ledger._entry import (
    Child,
    ChildTotals,
    LedgerEntry,
    Reserved,
    check_description,
    curve_bytes,
    genesis_digest,
    to_json,
)
from secretballot.ledger._guard import Mark, Slots
from secretballot.ledger._totals import ReservationTotals, ScopeTotals, Totals

T = TypeVar("T")

#: Version of the tables, the digests and the mark (`docs/theory/ledger-format.md`).
FORMAT_VERSION = 1

#: In the header of a file; it tells a ledger from any other SQLite database ("SBLG").
APPLICATION_ID = 0x53424C47

#: Tables of a ledger, each after those that it refers to.
TABLES = (
    *("header", "level", "entry", "curve", "charge", "reservation", "checkpoint", "total"),
    *("child", "child_total", "private_record"),
)

#: Exceptions by which reading shows values that no ledger holds.
_WRONG_VALUES = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


class Rows(Protocol):
    """Rows of one ledger within a transaction of its store."""

    def fetch(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return all its rows.

        A parameter is written ``?``. A table is written in braces, with its columns in brackets if
        not all of them may be read: ``{entry}``, ``{private_record(sequence)}``.
        """

    def insert(self, table: str, values: tuple[object, ...]) -> None:
        """Insert one row; LedgerError if the store did not write it."""

    def check_format(self) -> None:
        """Refuse a store that holds no ledger of this format."""

    def check_spendable(self) -> None:
        """Refuse a store where a spend could be lost, or be made twice."""

    def place(self) -> str:
        """Return the identity of the store, which a copy does not have (`same_place`)."""

    def originals(self, recorded: str) -> list[str]:
        """Return the paths of other files that lie at a recorded place, as far as that is known."""


class Written(NamedTuple, Generic[T]):
    """Result of a transaction that wrote."""

    answer: T
    mark: Mark  # the last entry after it
    is_moved: bool = False  # True if a mark of another place has to be replaced, in both slots


class Store(Protocol):
    """Place where a ledger is kept: transactions on its rows, and its mark.

    One writer at a time has the exclusive right to write. A transaction is committed durably, or
    not at all.
    """

    #: Path or URL, without passwords.
    name: str
    #: True if the ledger is deleted with the process that made it.
    is_temporary: bool
    #: Explanation of a ledger that has no mark.
    without_mark: str

    def create(self, fill: Callable[[Rows], Mark]) -> None:
        """Make a new ledger, completely or not at all; LedgerError if there is one."""

    def read(self, query: Callable[[Rows], T]) -> T:
        """Run a query in a short transaction that changes nothing."""

    def write(self, act: Callable[[Rows, Mark | None], Written[T]]) -> Written[T]:
        """Run a function with the exclusive right to write, and the mark; then commit."""

    def slots(self) -> Slots:
        """Read the mark without its lock; empty slots if there is none."""

    def mark_path(self) -> str:
        """Return the path of the mark."""

    def readable(self, error: Exception) -> LedgerError:
        """Convert an error of the store to one that names a remedy."""


@contextmanager
def meaning(store: Store) -> Iterator[None]:
    """Convert errors in the contents of a store to a LedgerError that names it."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"The ledger {store.name!r} can't be used: {error}.") from None
    except OSError as error:
        raise store.readable(error) from error
    except _WRONG_VALUES as error:
        raise LedgerError(
            f"The ledger {store.name!r} can't be used: it holds values that secretballot never "
            f"wrote ({error}); restore it from a copy."
        ) from error


@contextmanager
def naming(sequence: int) -> Iterator[None]:
    """Convert errors in the contents of an entry to a LedgerError that names it."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"entry {sequence} {error}") from None
    except _WRONG_VALUES as error:
        raise LedgerError(
            f"entry {sequence} holds values that secretballot never wrote ({error}); restore it "
            "from a copy"
        ) from None


def wrong_format(version: int) -> LedgerError:
    reason = (
        "which a later version of secretballot wrote, and this one reads format "
        f"{FORMAT_VERSION}; update secretballot"
        if version > FORMAT_VERSION
        else "which no version of secretballot writes; restore it from a copy"
    )
    return LedgerError(f"it has format {version}, {reason}")


_ORDERS = ORDERS.astype("<f8").tobytes()

_COLUMNS = (
    "ledger_id, created, library_version, place, unit, relation, accounting, allow_seeded, orders, "
    "digest"
)


class Header(NamedTuple):
    """Budget and identity of a ledger."""

    budget: Budget
    digest: str
    ledger_id: str
    created: str
    library_version: str
    place: str


def write_new(rows: Rows, budget: Budget) -> Header:
    from secretballot import __version__

    identity = (
        uuid.uuid4().hex,
        datetime.now(UTC).isoformat(timespec="microseconds"),
        __version__,
        rows.place(),
    )
    genesis = genesis_digest(identity, budget, _ORDERS)
    fixed = (budget.unit, budget.relation, budget.accounting, int(budget.allow_seeded))
    rows.insert("header", (1, *identity, *fixed, _ORDERS, genesis))
    for position, level in enumerate(budget.levels):
        rows.insert("level", (position, *astuple(level)))
    return Header(budget, genesis, *identity)


def read_header(rows: Rows) -> Header:
    """Read the header; LedgerError if there is no ledger, or its header was altered."""
    rows.check_format()
    headers = rows.fetch(f"SELECT {_COLUMNS} FROM {{header}}")
    if not headers:
        raise LedgerError("its header is missing; restore it from a copy")
    *identity, unit, relation, accounting, allow_seeded, orders, digest = headers[0]
    datetime.fromisoformat(identity[1])
    levels = []
    for name, epsilon, delta, share, stored_order, amount in rows.fetch(
        "SELECT name, epsilon, delta, approximation_delta, gate_order, amount FROM {level} "
        "ORDER BY position"
    ):
        order = GAUSSIAN if stored_order == GAUSSIAN else float(stored_order)
        levels.append(LevelBudget(name, epsilon, delta, share, order, amount))
    if accounting == "data_dependent" and any(
        level.order in (GAUSSIAN, math.inf) for level in levels
    ):
        raise LedgerError(
            f"it charges what the actual votes cost at order={levels[0].order!r}, a kind of budget "
            "that was removed, and only the version that wrote it reads it"
        )
    budget = Budget(
        levels=tuple(levels),
        unit=unit,
        relation=relation,
        accounting=accounting,
        allow_seeded=bool(allow_seeded),
    )
    # The digest covers the orders of the machine that wrote them; then the grid's are used.
    if digest != genesis_digest(identity, budget, orders):
        raise LedgerError("its budget was altered; restore it from a copy")
    if orders != _ORDERS:
        recorded = np.frombuffer(orders, dtype="<f8")
        if recorded.shape != ORDERS.shape or not same_orders(recorded, ORDERS).all():
            raise LedgerError("it uses other Renyi orders; use the version that wrote it")
        on_grid = tuple(replace(level, order=grid_order(level.order)) for level in levels)
        budget = replace(budget, levels=on_grid)
    return Header(budget, digest, *identity)


#: Columns of an entry, called as its attributes.
_ENTRY_COLUMNS = (
    *("sequence", "time", "mechanism", "n_rows", "scope_id", "scope_epsilon", "seeded"),
    *("note", "previous", "digest"),
)
#: Id of the totals over the whole ledger, in the place of a scope's; no scope has it.
_WHOLE = ""
#: Larger than the number of any entry.
NO_LIMIT = 2**62


def read_entries(rows: Rows, *, after: int, at_most: int) -> list[LedgerEntry]:
    """Read the entries after a number, with their charges, in order."""
    stored = rows.fetch(
        f"SELECT {', '.join(_ENTRY_COLUMNS)}, (SELECT digest FROM {{checkpoint}} WHERE "
        "checkpoint.sequence = entry.sequence), id, reservation.event, state, path, child.event, "
        "given FROM {entry} LEFT JOIN {reservation} USING (sequence) LEFT JOIN {child} USING "
        "(sequence) WHERE sequence > ? ORDER BY sequence LIMIT ?",
        (after, at_most),
    )
    # After the last entry there must be no charge either.
    last = stored[-1][0] if len(stored) == at_most else NO_LIMIT
    charges: defaultdict[int, list[tuple[str, str, float, bytes]]] = defaultdict(list)
    for sequence, level, member, delta, curve in rows.fetch(
        "SELECT charge.sequence, level, member, delta, value FROM {charge} "
        "LEFT JOIN {curve} ON number = charge.curve WHERE charge.sequence > ? "
        "AND charge.sequence <= ?",
        (after, last),
    ):
        charges[sequence].append((level, member, delta, curve))
    entries = []
    for *columns, checkpoint, id, event, state, name, child_event, grant in stored:
        values = dict(zip(_ENTRY_COLUMNS, columns, strict=True))
        # `naming` converts exceptions: they show values that no version writes.
        with naming(values["sequence"]):
            check_description(values["mechanism"], of_dict=True)
            check_description(values["note"])
            if datetime.fromisoformat(values["time"]).utcoffset() != timedelta(0):
                raise ValueError("its time is not in UTC")
            if isinstance(values["scope_epsilon"], str):
                values["scope_epsilon"] = json.loads(values["scope_epsilon"])
            values["seeded"] = bool(values["seeded"])
            entry = LedgerEntry(
                **values,
                charges=_costs(charges.pop(values["sequence"], ())),
                reservation=None if id is None else Reserved.of_stored(id, event, state),
                child=None if name is None else Child.of_stored(name, child_event, grant),
                checkpoint=checkpoint,
            )
        entries.append(entry)
    if charges:
        raise LedgerError(
            f"there are charges for entry {min(charges)}, which was removed; restore it from a copy"
        )
    return entries


def _costs(charges: Iterable[tuple[str, str, float, bytes]]) -> dict[str, Cost]:
    """Decode costs by group: each is a Renyi curve, or one amount of mu^2."""
    costs: dict[str, Cost] = {}
    for level, member, delta, curve in charges:
        group = level + GROUP_SEPARATOR + member if member else level
        if member and not group_division(group):
            raise ValueError(f"the part {group!r} is of no division")
        amounts = np.frombuffer(curve, dtype="<f8")
        kind = RenyiCost if len(amounts) == len(ORDERS) else GaussianCost
        costs[group] = kind.from_curve(amounts, delta)
    return costs


def last_in(rows: Rows, table: str) -> int:
    """Return the number of the last entry in a table; 0 if it is empty."""
    return int(rows.fetch(f"SELECT coalesce(max(sequence), 0) FROM {{{table}}}")[0][0])


def digest_at(rows: Rows, sequence: int) -> str | None:
    """Return the digest that an entry is stored with; None if there is no such entry."""
    stored = rows.fetch("SELECT digest FROM {entry} WHERE sequence = ?", (sequence,))
    return str(stored[0][0]) if stored else None


def read_private_records(rows: Rows) -> dict[int, str]:
    return dict(rows.fetch("SELECT sequence, content FROM {private_record} ORDER BY sequence"))


def check_private_records(rows: Rows) -> None:
    """Check that each private record belongs to an entry; the message never repeats its text."""
    astray = rows.fetch(
        "SELECT sequence FROM {private_record(sequence)} WHERE sequence < 1 OR sequence > ? "
        "LIMIT 1",
        (last_in(rows, "entry"),),
    )
    if astray:
        raise LedgerError(
            f"there is a private record for entry {astray[0][0]}, which is not there; restore it "
            "from a copy"
        )


def read_totals(
    rows: Rows, *, at_most: int = NO_LIMIT, levels: tuple[LevelBudget, ...] = ()
) -> Totals | None:
    """Read the totals of the last checkpoint up to an entry, checked against it; None without."""
    last = rows.fetch("SELECT max(sequence) FROM {checkpoint} WHERE sequence <= ?", (at_most,))
    ((sequence,),) = last
    if sequence is None:
        return None
    entry = next(iter(read_entries(rows, after=sequence - 1, at_most=1)), None)
    if entry is None or entry.sequence != sequence or entry.digest != entry.expected_digest():
        raise LedgerError(f"entry {sequence} is gone or was altered; restore it from a copy")
    return replace(read_checkpoint(rows, entry), levels=levels)


def read_checkpoint(rows: Rows, entry: LedgerEntry) -> Totals:
    """Read the totals that were stored with an entry, and check them against it."""
    sequence = entry.sequence
    ((n_releases, n_rows, place),) = rows.fetch(
        "SELECT n_releases, n_rows, place FROM {checkpoint} WHERE sequence = ?", (sequence,)
    )
    stored = rows.fetch(
        "SELECT scope_id, scope_epsilon, level, member, delta, value FROM {total} LEFT JOIN "
        "{curve} ON number = total.curve WHERE sequence = ? ORDER BY scope_id",
        (sequence,),
    )
    scopes = {_WHOLE: ScopeTotals(None, {})}
    for scope, group in groupby(stored, key=lambda row: str(row[0])):
        sums = list(group)
        cap = sums[0][1]
        cap = json.loads(cap) if isinstance(cap, str) else cap
        scopes[scope] = ScopeTotals(cap, _costs(row[2:] for row in sums))
    whole_scope = scopes.pop(_WHOLE)
    children = _read_children(rows, sequence, scopes)
    totals = Totals(
        digest=entry.digest,
        sequence=sequence,
        n_releases=n_releases,
        n_rows=n_rows,
        place=place,
        checkpoint=sequence,
        charges=dict(whole_scope.charges),
        scopes=scopes,
        touched=set(scopes),
        children=children,
    )
    totals.check(entry)
    totals.touched.clear()
    return totals


def _read_children(
    rows: Rows, sequence: int, scopes: dict[str, ScopeTotals]
) -> dict[str, ChildTotals]:
    """Read the child budgets at a checkpoint; move their sums from `scopes` to them."""
    children: dict[str, ChildTotals] = {}
    for at, *event, scope in rows.fetch(
        "SELECT sequence, path, event, given, scope_id FROM {child} JOIN {entry} USING (sequence) "
        "WHERE event <> 'spend' AND sequence <= ? ORDER BY sequence",
        (sequence,),
    ):
        with naming(at):
            child = Child.of_stored(*event)
        before = children.get(child.name)
        if before is None:
            assert child.grant is not None
            before = ChildTotals(child.grant, scope)
        children[child.name] = before.after(child.event)
    for name, n_releases, n_rows in rows.fetch(
        "SELECT path, n_releases, n_rows FROM {child_total} WHERE sequence = ?", (sequence,)
    ):
        sums = scopes.pop(CHILD_SCOPE + name, ScopeTotals(None, {}))
        children[name] = replace(
            children[name], charges=sums.charges, n_releases=n_releases, n_rows=n_rows
        )
    return children


def load_scope(rows: Rows, totals: Totals, scope: str | None) -> None:
    """Add the sums of a scope to the totals, unless they have them."""
    if scope is None or scope in totals.scopes:
        return
    ((sequence,),) = rows.fetch(
        "SELECT max(sequence) FROM {total} WHERE scope_id = ? AND sequence <= ?",
        (scope, totals.checkpoint),
    )
    if sequence is not None:
        stored = read_totals(rows, at_most=sequence)
        if stored is not None:
            totals.scopes[scope] = stored.scopes[scope]


def read_reservation(rows: Rows, id: str, *, at_most: int = NO_LIMIT) -> ReservationTotals | None:
    """Read the payments of a reservation up to an entry, and its state; None if there is none."""
    of_id = "FROM {reservation} WHERE id = ? AND sequence <= ?"
    numbers = rows.fetch(
        f"SELECT sequence {of_id} AND event = 'reserve' ORDER BY sequence", (id, at_most)
    )
    if not numbers:
        return None
    entries = []
    for (sequence,) in [*numbers, *rows.fetch(f"SELECT max(sequence) {of_id}", (id, at_most))]:
        entries += read_entries(rows, after=sequence - 1, at_most=1)
    for entry in entries:
        if entry.reservation is None or entry.digest != entry.expected_digest():
            raise LedgerError(f"entry {entry.sequence} was altered; restore it from a copy")
    *payments, last = entries
    assert last.reservation is not None
    return ReservationTotals(last.reservation, tuple(payments))


def load_reservation(rows: Rows, totals: Totals, id: str) -> ReservationTotals | None:
    """Add what a reservation has paid and drawn to the totals, unless they have it."""
    if id not in totals.reservations:
        found = read_reservation(rows, id, at_most=totals.sequence)
        if found is not None:
            totals.reservations[id] = found
    return totals.reservations.get(id)


def insert_entry(rows: Rows, placed: LedgerEntry, after: Totals) -> None:
    """Write an entry and its charges, and the totals after it if it is a checkpoint."""
    described = (placed.sequence, placed.time, placed.mechanism, placed.n_rows)
    cap = placed.scope_epsilon
    scoped = (placed.scope_id, to_json(cap, "scope") if isinstance(cap, Mapping) else cap)
    chained = (int(placed.seeded), placed.note, placed.previous, placed.digest)
    rows.insert("entry", (*described, *scoped, *chained))
    for row in _stored(rows, placed.charges):
        rows.insert("charge", (placed.sequence, *row))
    if placed.reservation is not None:
        rows.insert("reservation", (placed.sequence, *placed.reservation.stored()))
    if placed.child is not None:
        rows.insert("child", (placed.sequence, *placed.child.stored()))
    if placed.checkpoint is None:
        return
    counted = (after.n_releases, after.n_rows, after.place)
    rows.insert("checkpoint", (placed.sequence, *counted, placed.checkpoint))
    touched = [(scope, after.scopes[scope]) for scope in sorted(after.touched)]
    children = [
        (CHILD_SCOPE + name, ScopeTotals(None, child.charges))
        for name, child in sorted(after.children.items())
    ]
    for name, child in sorted(after.children.items()):
        rows.insert("child_total", (placed.sequence, name, child.n_releases, child.n_rows))
    for scope, sums in [(_WHOLE, ScopeTotals(None, after.charges)), *touched, *children]:
        cap = sums.epsilon
        stored_cap = to_json(cap, "scope") if isinstance(cap, Mapping) else cap
        for row in _stored(rows, sums.charges):
            rows.insert("total", (placed.sequence, scope, *row, stored_cap))


def _stored(rows: Rows, charges: Costs) -> Iterator[tuple[str, str, float, int]]:
    """Yield the columns of charges. Each curve is stored once, and named by its number."""
    for group, cost in charges.items():
        curve = curve_bytes(cost)
        digest = hashlib.sha256(curve).digest()
        # Another curve of the same digest is refused by the table as this one is inserted.
        same_curve = "SELECT number FROM {curve} WHERE digest = ? AND value = ?"
        stored = rows.fetch(same_curve, (digest, curve))
        if not stored:
            stored = rows.fetch("SELECT coalesce(max(number), 0) + 1 FROM {curve}")
            rows.insert("curve", (stored[0][0], digest, curve))
        yield *split_group(group), float(cost.delta), int(stored[0][0])
