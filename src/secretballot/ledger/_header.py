"""Header of a ledger: the budget and the identity, written once."""

from __future__ import annotations

import uuid
from dataclasses import astuple, replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from secretballot._base._errors import LedgerError
from secretballot.costs._orders import GAUSSIAN, ORDERS, Order, grid_order, same_orders
from secretballot.ledger._budget import Budget, LevelBudget
from secretballot.ledger._encoding import genesis_digest
from secretballot.ledger.stores import Rows

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
    """Write the header of a new ledger."""
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
    levels = tuple(
        LevelBudget(name, epsilon, delta, share, _order(order), amount)
        for name, epsilon, delta, share, order, amount in rows.fetch(
            "SELECT name, epsilon, delta, approximation_delta, gate_order, amount FROM {level} "
            "ORDER BY position"
        )
    )
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


def _order(stored: str | float) -> Order:
    return GAUSSIAN if stored == GAUSSIAN else float(stored)
