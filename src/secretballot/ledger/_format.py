"""The rows of a ledger file: how a budget and its entries are written and read back."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

import numpy as np

from secretballot._errors import LedgerError
from secretballot.divergences import MEMBER_SEPARATOR, ORDERS, RenyiCost, split_group
from secretballot.ledger._budget import Budget, LevelBudget
from secretballot.ledger._entry import LedgerEntry, curve_bytes, genesis_digest, to_json
from secretballot.ledger._file import APPLICATION_ID, FORMAT_VERSION, SCHEMA, connection
from secretballot.ledger._place import place_of

_ENTRY_COLUMNS = (
    "sequence, time, mechanism, n_rows, scope_id, scope_epsilon, seeded, note, previous, digest"
)


class Header(NamedTuple):
    """What a ledger fixes, and which ledger it is."""

    budget: Budget
    digest: str
    ledger_id: str
    created: str
    library_version: str
    place: str


@contextmanager
def meaning(path: str) -> Iterator[None]:
    """Name the file in what is wrong with its contents."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"The ledger {path!r} can't be used: {error}.") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise LedgerError(
            f"The ledger {path!r} can't be used: it holds values that secretballot never wrote "
            f"({error}); restore it from a copy."
        ) from error


def write_new(path: str, budget: Budget) -> str:
    """Fill a new, empty file; return the digest of what it fixes."""
    from secretballot import __version__

    orders = ORDERS.astype("<f8").tobytes()
    identity = [
        uuid.uuid4().hex,
        datetime.now(UTC).isoformat(timespec="microseconds"),
        __version__,
        place_of(path),
    ]
    genesis = genesis_digest(identity, budget, orders)
    with connection(path, begin="IMMEDIATE") as opened:
        for statement in _statements(SCHEMA):
            opened.execute(statement)
        opened.execute(
            "INSERT INTO header VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *identity,
                budget.unit,
                budget.relation,
                budget.accounting,
                int(budget.allow_seeded),
                orders,
                genesis,
            ),
        )
        opened.executemany(
            "INSERT INTO level VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    position,
                    level.name,
                    level.epsilon,
                    level.delta,
                    level.approximation_delta,
                    level.order,
                    level.renyi,
                )
                for position, level in enumerate(budget.levels)
            ],
        )
        opened.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        opened.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    return genesis


def _statements(script: str) -> Iterator[str]:
    # executescript would commit first; the whole file has to appear in one transaction.
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def read_header(opened: sqlite3.Connection) -> Header:
    """Return what the ledger fixes; LedgerError if it is not our ledger."""
    if opened.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise LedgerError(
            "it is not a ledger of secretballot (an empty file is one whose creation was "
            "interrupted: delete it)"
        )
    version = opened.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT_VERSION:
        raise LedgerError(
            f"it has format {version}, and this version of secretballot reads format "
            f"{FORMAT_VERSION}; use the version that wrote it"
        )
    header = opened.execute(
        "SELECT ledger_id, created, library_version, place, unit, relation, accounting, "
        "allow_seeded, orders, digest FROM header"
    ).fetchone()
    if header is None:
        raise LedgerError("its header is missing; restore it from a copy")
    *identity, unit, relation, accounting, allow_seeded, orders, digest = header
    levels = opened.execute(
        "SELECT name, epsilon, delta, approximation_delta, gate_order, renyi_budget FROM level "
        "ORDER BY position"
    )
    budget = Budget(
        levels=tuple(
            LevelBudget(
                name=name,
                epsilon=epsilon,
                delta=delta,
                approximation_delta=approximation_delta,
                order=order,
                renyi=renyi,
            )
            for name, epsilon, delta, approximation_delta, order, renyi in levels
        ),
        unit=unit,
        relation=relation,
        accounting=accounting,
        allow_seeded=bool(allow_seeded),
    )
    if digest != genesis_digest(identity, budget, orders):
        raise LedgerError("its budget was altered; restore it from a copy")
    if orders != ORDERS.astype("<f8").tobytes():
        raise LedgerError("it uses other Renyi orders; use the version that wrote it")
    return Header(budget, digest, *identity)


def read_entries(opened: sqlite3.Connection, *, after: int) -> Iterator[LedgerEntry]:
    """Yield the entries after a sequence number with their charges, in order."""
    rows = opened.execute(
        f"SELECT {_ENTRY_COLUMNS} FROM entry WHERE sequence > ? ORDER BY sequence", (after,)
    )
    charges = groupby(
        opened.execute(
            "SELECT sequence, level, member, delta, curve FROM charge WHERE sequence > ? "
            "ORDER BY sequence",
            (after,),
        ),
        key=lambda charge: int(charge[0]),
    )
    charged, group = next(charges, (0, iter(())))
    for row in rows:
        costs = {}
        if charged == row[0]:
            costs = {
                level + (MEMBER_SEPARATOR + member if member else ""): RenyiCost(
                    np.frombuffer(curve, dtype="<f8"), delta
                )
                for _, level, member, delta, curve in group
            }
            charged, group = next(charges, (0, iter(())))
        yield LedgerEntry(
            sequence=row[0],
            time=row[1],
            mechanism=row[2],
            n_rows=row[3],
            scope_id=row[4],
            scope_epsilon=json.loads(row[5]) if isinstance(row[5], str) else row[5],
            seeded=bool(row[6]),
            note=row[7],
            charges=costs,
            previous=row[8],
            digest=row[9],
        )
    if charged:
        raise LedgerError(
            f"there are charges for entry {charged}, which was removed; restore it from a copy"
        )


def insert_entry(opened: sqlite3.Connection, placed: LedgerEntry) -> None:
    """Write an entry and its charges."""
    opened.execute(
        f"INSERT INTO entry ({_ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            placed.sequence,
            placed.time,
            placed.mechanism,
            placed.n_rows,
            placed.scope_id,
            to_json(cap, "scope") if isinstance(cap := placed.scope_epsilon, Mapping) else cap,
            int(placed.seeded),
            placed.note,
            placed.previous,
            placed.digest,
        ),
    )
    opened.executemany(
        "INSERT INTO charge (sequence, level, member, delta, curve) VALUES (?, ?, ?, ?, ?)",
        [
            (placed.sequence, *split_group(group), float(cost.delta), curve_bytes(cost))
            for group, cost in placed.charges.items()
        ],
    )
