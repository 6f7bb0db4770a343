"""Replay of a ledger: its sums, and the check that every entry was within its limits."""

from __future__ import annotations

from datetime import datetime
from typing import NoReturn

from secretballot._errors import LedgerError
from secretballot.accounting._privacy_filter import PrivacyFilter, budget_filters, scope_filters
from secretballot.accounting._report import ROUNDING, PrivacySpent, spent_on
from secretballot.divergences import Cost, Costs, level_cost
from secretballot.ledger import Budget, Ledger, LedgerEntry, Reserved, Scope, Totals


def spent_by_level(budget: Budget, totals: Totals) -> dict[str, PrivacySpent]:
    """Report the privacy that each level has spent, from the totals of a ledger."""
    sensitive = budget.is_sensitive
    return {level.name: spent_on(level, totals, sensitive=sensitive) for level in budget.levels}


def history(ledger: Ledger) -> list[dict[str, PrivacySpent]]:
    """Sum up a ledger before the first release and after each."""
    walk = ledger.walk()
    states = [spent_by_level(ledger.budget, walk.totals)]
    for entry in walk:
        if entry.is_release:
            states.append(spent_by_level(ledger.budget, walk.totals))
    return states


def timeline(ledger: Ledger) -> list[tuple[datetime, dict[str, PrivacySpent]]]:
    """Sum up a ledger when it was opened, and when anything was paid, drawn or given back."""
    walk = ledger.walk()
    times = [(ledger.header().created, spent_by_level(ledger.budget, walk.totals))]
    for entry in walk:
        if not entry.is_move:
            times.append((entry.time, spent_by_level(ledger.budget, walk.totals)))
    return [(datetime.fromisoformat(time), state) for time, state in times]


def replay(ledger: Ledger) -> dict[str, PrivacySpent]:
    """Sum up a ledger, and raise LedgerError if one of its entries was not allowed.

    The hash chain proves that nothing was changed. This proves that what was recorded was allowed:
    at every entry the budget of each level holds, and the cap of the entry's scope; no reservation
    gave more rows than were paid for, or more back than was paid.
    """
    budget, walk = ledger.budget, ledger.walk()
    of_budget, of_scopes = budget_filters(budget), dict[str, list[PrivacyFilter]]()
    reservations = _ReservationReplay(ledger.path)
    for entry in walk:
        reservations.check(entry)
        for filter_ in of_budget:
            _check_filter(filter_, walk.totals.charges, entry, ledger.path, "the budget")
        if entry.scope_id is not None and entry.charges:
            scope = walk.totals.scopes[entry.scope_id]
            if entry.scope_epsilon != scope.epsilon:
                raise _wrong(ledger.path, entry, "changes the cap of its scope")
            if entry.scope_id not in of_scopes:
                of_scopes[entry.scope_id] = scope_filters(
                    budget, Scope(entry.scope_id, scope.epsilon)
                )
            for filter_ in of_scopes[entry.scope_id]:
                _check_filter(filter_, scope.charges, entry, ledger.path, "its scope")
    return spent_by_level(budget, walk.totals)


class _ReservationReplay:
    """State of each reservation before an entry, and what was paid for it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._states: dict[str, Reserved] = {}
        self._paid: dict[str, dict[str, Cost]] = {}

    def check(self, entry: LedgerEntry) -> None:
        """Raise LedgerError if an entry draws or gives back what was not paid for."""
        state = entry.reservation
        if state is None:
            if not entry.charges and entry.is_release:
                self._refuse(entry, "releases rows that nobody paid for")
            return
        if not state.follows(self._states.get(state.id), entry.n_rows):
            self._refuse(entry, "doesn't follow from how its reservation stood before")
        self._states[state.id] = state
        paid = self._paid.setdefault(state.id, {})
        if state.event == "draw" and entry.charges:
            self._refuse(entry, "charges for rows that were paid for before")
        for group, cost in entry.charges.items():
            if not entry.is_refund:
                paid[group] = paid[group] + cost if group in paid else cost
            elif group not in paid or not _at_most(cost, paid[group]):
                self._refuse(entry, "gives back more than was paid")

    def _refuse(self, entry: LedgerEntry, fault: str) -> NoReturn:
        raise _wrong(self._path, entry, fault)


def _at_most(refund: Cost, paid: Cost) -> bool:
    limit = 1 + ROUNDING
    return bool((refund.curve <= paid.curve * limit).all() and refund.delta <= paid.delta * limit)


def _check_filter(
    filter_: PrivacyFilter, charges: Costs, entry: LedgerEntry, path: str, allowing: str
) -> None:
    cost = level_cost(charges, filter_.level, filter_.order)
    limit = 1 + ROUNDING
    if cost.at(filter_.order) > filter_.amount * limit or cost.delta > filter_.delta * limit:
        raise _wrong(
            path, entry, f"spends more than {allowing} allows for the level {filter_.level!r}"
        )


def _wrong(path: str, entry: LedgerEntry, fault: str) -> LedgerError:
    return LedgerError(
        f"The ledger {path!r} is wrong: entry {entry.sequence} {fault}. No version records that."
    )
