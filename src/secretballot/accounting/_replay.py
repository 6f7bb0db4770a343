"""Replay of a ledger: its sums, and the check that every entry was within its limits."""

from __future__ import annotations

from datetime import datetime

from secretballot._base._errors import LedgerError
from secretballot.accounting._privacy_filter import (
    PrivacyFilter,
    budget_filters,
    overspent,
    scope_filters,
)
from secretballot.accounting._report import PrivacySpent, spent_on
from secretballot.ledger._budget import Budget, Scope
from secretballot.ledger._encoding import charge_digits
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._totals import Totals


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
        if not entry.is_declaration:
            times.append((entry.time, spent_by_level(ledger.budget, walk.totals)))
    return [(datetime.fromisoformat(time), state) for time, state in times]


def replay(ledger: Ledger) -> dict[str, PrivacySpent]:
    """Sum up a ledger, and raise LedgerError if one of its entries was not allowed.

    The hash chain proves that nothing was changed. This proves that what was recorded was allowed:
    at every entry the budget of each level holds, and the cap of the entry's scope. (That no entry
    draws or gives back what nobody paid for is checked wherever entries are added up.)
    """
    budget, walk = ledger.budget, ledger.walk()
    of_budget, of_scopes = budget_filters(budget), dict[str, list[PrivacyFilter]]()
    children = _ChildReplay(budget)
    for entry in walk:
        faults = [
            "releases rows that nobody paid for" if _is_free(entry) else "",
            children.fault(entry, walk.totals),
            overspent(of_budget, walk.totals.charges, "the budget"),
        ]
        if entry.scope_id is not None and entry.charges:
            scope = walk.totals.scopes[entry.scope_id]
            if entry.scope_id not in of_scopes:
                recorded = Scope(entry.scope_id, scope.epsilon)
                of_scopes[entry.scope_id] = scope_filters(budget, recorded)
            if entry.scope_epsilon != scope.epsilon:
                faults.append("changes the cap of its scope")
            faults.append(overspent(of_scopes[entry.scope_id], scope.charges, "its scope"))
        for fault in filter(None, faults):
            raise LedgerError(
                f"The ledger {ledger.name!r} is wrong: entry {entry.sequence} {fault}. No version "
                "records that."
            )
    return spent_by_level(budget, walk.totals)


class _ChildReplay:
    """Limits of child budgets, while a ledger is summed up again.

    Parameters
    ----------
    budget : Budget
        The whole one.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._filters: dict[str, list[PrivacyFilter]] = {}

    def fault(self, entry: LedgerEntry, totals: Totals) -> str:
        """Describe what an entry does against the limits of a child; "" if nothing.

        Parameters
        ----------
        entry : LedgerEntry
        totals : Totals
            Sums after the entry.
        """
        if entry.child is None:
            return ""
        name, event = entry.child.name, entry.child.event
        state, charges = totals.children[name], charge_digits(entry.charges)
        if event == "close" and charges != charge_digits(state.grant.refund(state)):
            return f"gives back other than the rest of the child {name!r}"
        if event != "spend":
            return ""
        if name not in self._filters:
            self._filters[name] = budget_filters(state.grant.budget(self._budget))
        return overspent(self._filters[name], state.charges, f"the child {name!r}")


def _is_free(entry: LedgerEntry) -> bool:
    return entry.is_release and not entry.charges and entry.reservation is None
