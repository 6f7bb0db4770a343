"""Check of the entries of child budgets in a replay."""

from __future__ import annotations

from secretballot.accounting._privacy_filter import PrivacyFilter, budget_filters, overspent
from secretballot.ledger import Budget, LedgerEntry, Totals, charge_digits


class ChildReplay:
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
        path, event = entry.child.path, entry.child.event
        state, charges = totals.children[path], charge_digits(entry.charges)
        if event == "carve" and charges != charge_digits(state.grant.costs()):
            return f"charges another price for the child {path!r} than that of its limits"
        if event == "begin" and charges:
            return f"charges for the child {path!r} a second time"
        if event == "close" and charges != charge_digits(state.grant.rest(state)):
            return f"gives back other than the rest of the child {path!r}"
        account = entry.child.account
        if not account:
            return ""
        charged = totals.children[account]
        if account not in self._filters:
            self._filters[account] = budget_filters(charged.grant.budget(self._budget))
        if charged.grant.is_sealed and event == "spend":
            return f"spends from the child {account!r}, which is sealed"
        return overspent(self._filters[account], charged.charges, f"the child {account!r}")
