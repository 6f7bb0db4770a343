"""Add a ledger up again, and check that no release went over what it had to stay within."""

from __future__ import annotations

from datetime import datetime
from typing import NoReturn

from secretballot._errors import LedgerError
from secretballot.accounting._gate import Gate, budget_gates, scope_gates
from secretballot.accounting._report import ROUNDING, PrivacySpent, spent_on
from secretballot.divergences import Cost, Costs, level_cost
from secretballot.ledger import Budget, Ledger, LedgerEntry, Reserved, Scope, Totals


def spent_by_level(budget: Budget, totals: Totals) -> dict[str, PrivacySpent]:
    """Sum up each level of a ledger."""
    sensitive = budget.accounting == "data_dependent"
    return {level.name: spent_on(level, totals, sensitive=sensitive) for level in budget.levels}


def history(ledger: Ledger) -> list[dict[str, PrivacySpent]]:
    """Return what had been spent after each release, and before the first."""
    walk = ledger.walk()
    states = [spent_by_level(ledger.budget, walk.totals)]
    for entry in walk:
        if entry.is_release:
            states.append(spent_by_level(ledger.budget, walk.totals))
    return states


def timeline(ledger: Ledger) -> list[tuple[datetime, dict[str, PrivacySpent]]]:
    """Return when the ledger was opened, and when anything was paid, drawn or given back."""
    walk = ledger.walk()
    times = [(ledger.header().created, spent_by_level(ledger.budget, walk.totals))]
    for entry in walk:
        if not entry.is_move:
            times.append((entry.time, spent_by_level(ledger.budget, walk.totals)))
    return [(datetime.fromisoformat(time), state) for time, state in times]


def replay(ledger: Ledger) -> dict[str, PrivacySpent]:
    """Return what the entries add up to, per level; LedgerError if one of them overspent.

    The hash chain says that nothing was changed. This says that what was recorded was allowed: at
    every entry the budget of each level holds, and the cap of the entry's scope; and no reservation
    gave more rows than were paid for, or more back than was paid.
    """
    budget, walk = ledger.budget, ledger.walk()
    caps: dict[str, list[Gate]] = {}
    reservations = Reservations(ledger.path)
    for entry in walk:
        reservations.check(entry)
        for gate in budget_gates(budget):
            _check(gate, walk.totals.charges, entry, ledger.path, "the budget")
        if entry.scope_id is not None and entry.charges:
            scope = walk.totals.scopes[entry.scope_id]
            if entry.scope_epsilon != scope.epsilon:
                raise LedgerError(
                    f"The ledger {ledger.path!r} is wrong: entry {entry.sequence} changes the "
                    "cap of its scope."
                )
            if entry.scope_id not in caps:
                caps[entry.scope_id] = scope_gates(budget, Scope(entry.scope_id, scope.epsilon))
            for gate in caps[entry.scope_id]:
                _check(gate, scope.charges, entry, ledger.path, "its scope")
    return spent_by_level(budget, walk.totals)


class Reservations:
    """How reservations stood before an entry, and what was paid for them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._states: dict[str, Reserved] = {}
        self._paid: dict[str, dict[str, Cost]] = {}

    def check(self, entry: LedgerEntry) -> None:
        """Follow a reservation; LedgerError if an entry gives what was not paid for."""
        state = entry.reservation
        if state is None:
            if not entry.charges and entry.is_release:
                self._wrong(entry, "releases rows that nobody paid for")
            return
        if not state.follows(self._states.get(state.id), entry.n_rows):
            self._wrong(entry, "doesn't follow from how its reservation stood before")
        self._states[state.id] = state
        paid = self._paid.setdefault(state.id, {})
        if state.event == "draw" and entry.charges:
            self._wrong(entry, "charges for rows that were paid for before")
        for group, cost in entry.charges.items():
            if not entry.is_refund:
                paid[group] = paid[group] + cost if group in paid else cost
            elif group not in paid or not _at_most(cost, paid[group]):
                self._wrong(entry, "gives back more than was paid")

    def _wrong(self, entry: LedgerEntry, what: str) -> NoReturn:
        raise LedgerError(
            f"The ledger {self._path!r} is wrong: entry {entry.sequence} {what}. No version "
            "records that."
        )


def _at_most(back: Cost, paid: Cost) -> bool:
    room = 1 + ROUNDING
    return bool((back.curve <= paid.curve * room).all() and back.delta <= paid.delta * room)


def _check(gate: Gate, charges: Costs, entry: LedgerEntry, path: str, what: str) -> None:
    cost = level_cost(charges, gate.level, gate.order)
    room = 1 + ROUNDING
    if cost.at(gate.order) > gate.amount * room or cost.delta > gate.delta * room:
        raise LedgerError(
            f"The ledger {path!r} is wrong: entry {entry.sequence} spends more than {what} allows "
            f"for the level {gate.level!r}. (Where parts of a level take turns, the first versions "
            "of secretballot recorded that: they let parts pay anew in every fit or division, but "
            "parts are other people there. No version records it otherwise.)"
        )
