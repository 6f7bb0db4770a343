"""Header of a ledger file: the budget and the identity, written once."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from secretballot._errors import LedgerError
from secretballot.divergences import ORDERS, grid_order, same_orders
from secretballot.ledger._budget import Budget, LevelBudget
from secretballot.ledger._entry import genesis_digest
from secretballot.ledger._file import readable, transact
from secretballot.ledger._place import place_of
from secretballot.ledger._schema import (
    SCHEMA,
    check_schema,
    execute_all,
    insert_row,
    mark_as_ledger,
)

_ORDERS = ORDERS.astype("<f8").tobytes()

#: Exceptions of values that no ledger holds.
_WRONG_VALUES = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


class Header(NamedTuple):
    """Budget and identity of a ledger."""

    budget: Budget
    digest: str
    ledger_id: str
    created: str
    library_version: str
    place: str


@contextmanager
def meaning(path: str) -> Iterator[None]:
    """Convert errors in the contents of a file to a LedgerError that names the file."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"The ledger {path!r} can't be used: {error}.") from None
    except OSError as error:
        raise readable(error, path) from error
    except _WRONG_VALUES as error:
        raise LedgerError(
            f"The ledger {path!r} can't be used: it holds values that secretballot never wrote "
            f"({error}); restore it from a copy."
        ) from error


def write_new(path: str, budget: Budget) -> Header:
    """Write the tables and the header of a new ledger to an empty file."""
    from secretballot import __version__

    identity = (
        uuid.uuid4().hex,
        datetime.now(UTC).isoformat(timespec="microseconds"),
        __version__,
        place_of(path),
    )
    genesis = genesis_digest(identity, budget, _ORDERS)
    fixed = (budget.unit, budget.relation, budget.accounting, int(budget.allow_seeded))

    def fill(opened: sqlite3.Connection) -> None:
        execute_all(opened, SCHEMA)
        insert_row(opened, "header", (1, *identity, *fixed, _ORDERS, genesis))
        for position, level in enumerate(budget.levels):
            insert_row(opened, "level", (position, *astuple(level)))
        mark_as_ledger(opened)

    transact(path, fill, to="write")
    return Header(budget, genesis, *identity)


def read_header(opened: sqlite3.Connection) -> Header:
    """Read the header; LedgerError if the file is no ledger, or its header was altered."""
    check_schema(opened)
    header = opened.execute("SELECT * FROM header").fetchone()
    if header is None:
        raise LedgerError("its header is missing; restore it from a copy")
    _, *identity, unit, relation, accounting, allow_seeded, orders, digest = header
    datetime.fromisoformat(identity[1])
    rows = opened.execute("SELECT * FROM level ORDER BY position").fetchall()
    levels = tuple(LevelBudget(*row[1:]) for row in rows)
    budget = Budget(
        levels=levels,
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
