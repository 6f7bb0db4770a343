"""Add a ledger up again, and check that no release went over what it had to stay within."""

from __future__ import annotations

from secretballot._errors import LedgerError
from secretballot.accounting._gate import Gate, budget_gates, scope_gates
from secretballot.accounting._report import PrivacySpent, spent_on
from secretballot.divergences import Costs, level_cost
from secretballot.ledger import Budget, Ledger, LedgerEntry, Scope, Totals

#: Rows are added in another order here than where they were let through.
_ROUNDING = 1e-9


def history(budget: Budget, entries: list[LedgerEntry]) -> list[dict[str, PrivacySpent]]:
    """Return what had been spent after each release, and before the first."""
    totals = Totals(digest=entries[0].previous if entries else "")
    states = [{level.name: spent_on(level, totals) for level in budget.levels}]
    for entry in entries:
        totals.add(entry)
        if entry.is_release:
            states.append({level.name: spent_on(level, totals) for level in budget.levels})
    return states


def replay(ledger: Ledger) -> dict[str, PrivacySpent]:
    """Return what the entries add up to, per level; LedgerError if one of them overspent.

    The hash chain says that nothing was changed. This says that what was recorded was allowed: at
    every entry the budget of each level holds, and the cap of the entry's scope.
    """
    entries, budget = ledger.entries(), ledger.budget
    totals = Totals(digest=entries[0].previous if entries else "")
    caps: dict[str, list[Gate]] = {}
    for entry in entries:
        totals.add(entry)
        for gate in budget_gates(budget):
            _check(gate, totals.charges, entry, ledger.path, "the budget")
        if entry.scope_id is not None:
            if entry.scope_epsilon != totals.scope_epsilon[entry.scope_id]:
                raise LedgerError(
                    f"The ledger {ledger.path!r} is wrong: entry {entry.sequence} changes the "
                    "cap of its scope."
                )
            if entry.scope_id not in caps:
                scope = Scope(entry.scope_id, entry.scope_epsilon)
                caps[entry.scope_id] = scope_gates(budget, scope)
            for gate in caps[entry.scope_id]:
                _check(gate, totals.scopes[entry.scope_id], entry, ledger.path, "its scope")
    return {level.name: spent_on(level, totals) for level in budget.levels}


def _check(gate: Gate, charges: Costs, entry: LedgerEntry, path: str, what: str) -> None:
    cost = level_cost(charges, gate.level)
    room = 1 + _ROUNDING
    if cost.at(gate.order) > gate.renyi * room or cost.delta > gate.delta * room:
        raise LedgerError(
            f"The ledger {path!r} is wrong: entry {entry.sequence} spends more than {what} allows "
            f"for the level {gate.level!r}. No version of secretballot records that."
        )
