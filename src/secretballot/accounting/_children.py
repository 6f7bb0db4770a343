"""Child budgets: parts of a budget for a team, a project or a year."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from secretballot._base._numbers import as_float, check_number, quoted
from secretballot._base._view import percent
from secretballot.accounting._limits import largest_epsilon
from secretballot.accounting._report import spent_on
from secretballot.accounting._reservations import Reservation, Reserving
from secretballot.ledger._budget import (
    Budget,
    Cap,
    LevelBudget,
    Scope,
    check_cap,
    without_only_level,
)
from secretballot.ledger._entry import (
    NAME_SEPARATOR,
    Child,
    Grant,
    LedgerEntry,
    is_child_name,
    to_json,
)
from secretballot.ledger._ledger import ChildLedger, Ledger, Transaction


def make_grant(budget: Budget, epsilon: Cap, *, approximation_delta: float | None) -> Grant:
    """Convert the epsilon of a child, at its parent's delta, to limits in the parent's currency.

    The part of delta that is for approximations is in proportion to it, unless it is given.
    """
    check_cap(epsilon, budget.names)
    if approximation_delta is not None:
        check_number("approximation_delta", approximation_delta, least=0)
    levels = []
    for level in budget.levels:
        cap = as_float(epsilon if not isinstance(epsilon, dict) else epsilon[level.name])
        levels.append(_child_level(level, cap, approximation_delta))
    return Grant(tuple(levels))


def epsilon_of_share(levels: Iterable[LevelBudget], share: float) -> dict[str, float] | float:
    """Compute the epsilon of a child that gets a part of the whole budget of its parent."""

    def largest_cap(level: LevelBudget) -> float:
        return largest_epsilon(
            level.epsilon, lambda cap: level.amount_of(cap, level.order)[1] <= share * level.amount
        )

    caps = {level.name: largest_cap(level) for level in levels}
    return without_only_level(caps)


def _child_level(level: LevelBudget, cap: float, approximation_delta: float | None) -> LevelBudget:
    _, amount = level.amount_of(cap, level.order)
    if not amount > 0:
        raise ValueError(
            f"epsilon={cap:g} of a child can't be certified at delta={level.delta:g} in the "
            f"currency of its parent, order={level.order!r}. Give it more, or open budgets that "
            "children share with order='gaussian'."
        )
    share = min(amount / level.amount, 1.0) * level.approximation_delta
    if approximation_delta is not None:
        share = as_float(approximation_delta)
        if share > level.approximation_delta:
            raise ValueError(
                f"approximation_delta={share:g} of a child is more than the budget's "
                f"({level.approximation_delta:g})."
            )
    return replace(level, epsilon=cap, approximation_delta=share, amount=amount)


def child_reports(ledger: Ledger) -> list[dict[str, Any]]:
    """Report the state of each child as plain values: its levels, and the share spent of each."""
    totals, reports = ledger.totals(), list[dict[str, Any]]()
    for name, child in sorted(totals.children.items()):
        levels, within = [], totals.of_child(name)
        for level in child.grant.levels:
            values = {"level": level.name, "epsilon": level.epsilon, "delta": level.delta}
            levels.append({**values, "share_spent": spent_on(level, within).share})
        state = "closed" if child.is_closed else "open"
        report = {"name": name, "state": state, "n_releases": child.n_releases, "levels": levels}
        reports.append(report)
    return reports


def children_rows(reports: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each level of each child."""
    rows: list[tuple[str, ...]] = []
    for report in reports:
        for level in report["levels"]:
            amounts = (level["level"], f"{level['epsilon']:g}", percent(level["share_spent"]))
            rows.append((report["name"], *amounts, f"{report['n_releases']:,}", report["state"]))
    return rows


class Carving(Reserving):
    """Handle on a budget that gives parts of it to children."""

    def child(
        self,
        name: str,
        *,
        epsilon: Cap = None,
        approximation_delta: float | None = None,
    ) -> Self:
        """Give a part of the budget to a team, a project or a year, or return one that exists.

        A child is an accountant in the same ledger. All of its part is charged to this budget now,
        and its releases are charged to the child alone. `close` returns what it did not spend.

        Parameters
        ----------
        name : str
            Name without ``"/"``.
        epsilon : float or dict of str to float, default=None
            The most that the child may spend, for all levels alike or per level. None: return the
            child of that name, which was made before.
        approximation_delta : float, default=None
            The part of delta that is set aside for approximations; None: in proportion.

        Returns
        -------
        PrivacyAccountant

        Raises
        ------
        BudgetExceededError
            If the part does not fit what is left; nothing was recorded.
        ValueError
            If the name is taken or unknown, an argument is invalid, accounting is data dependent,
            or this is a child itself.

        Examples
        --------
        >>> from secretballot.accounting import PrivacyAccountant
        >>> accountant = PrivacyAccountant(epsilon=1.0, delta=1e-5)
        >>> team = accountant.child("cardiology", epsilon=0.5)
        >>> team.epsilon, round(accountant.remaining().share, 2)
        (0.5, 0.72)
        >>> team.close()
        >>> accountant.remaining().share
        1.0
        """
        if not is_child_name(name):
            raise ValueError(
                f"name={quoted(name)} of a child must be a non-empty string without "
                f"{NAME_SEPARATOR!r} and NUL."
            )
        if self.child_name:
            raise ValueError(
                f"the child {self.child_name!r} has no children: take parts of the whole budget."
            )
        if epsilon is None:
            return self._handle(ChildLedger.of(self._ledger, name))
        budget = self._ledger.budget
        if budget.accounting != "worst_case":
            raise ValueError(
                f"accounting={budget.accounting!r}: children are for budgets with "
                "accounting='worst_case'. Where costs depend on votes, what is left for a child "
                "would tell about them."
            )
        grant = make_grant(budget, epsilon, approximation_delta=approximation_delta)
        scope = _charging_scope(name, self._ledger)
        limits, costs = self._limits(scope), grant.costs()
        limits.check_costs(costs)

        def record(transaction: Transaction) -> None:
            if name in transaction.whole.children:
                if transaction.whole.children[name].is_closed:
                    raise ValueError(
                        f"name={name!r} was a child that was closed, for good: take another name."
                    )
                raise ValueError(
                    f"name={name!r} is a child already; leave epsilon out to go on with it, or "
                    "take another name."
                )
            limits.check_charges(transaction.totals(scope.id), costs, child=name)
            carved = Child(name, "carve", grant)
            transaction.append(LedgerEntry.child_event(carved, costs, scope.id))

        self._ledger.transact(record)
        return self._handle(ChildLedger.of(self._ledger, name))

    def children(self) -> dict[str, Self]:
        """Return the children of this budget by name, the closed ones too."""
        names = () if self.child_name else self._ledger.totals().children
        return {name: self.child(name) for name in names}

    def close(self, reservations: Iterable[Reservation] = ()) -> None:
        """Close a child for good, and give back to its parent what it did not spend.

        What was drawn never comes back. When to close must be decided by what was released, and by
        public facts alone.

        Parameters
        ----------
        reservations : iterable of Reservation, default=()
            Open reservations of the child, to be settled first. What others paid counts as spent.

        Raises
        ------
        ValueError
            If this is no child, or was closed before.
        """
        child = self._ledger
        if not isinstance(child, ChildLedger):
            raise ValueError("close() is for a child budget, and this is the whole one.")
        name = child.child_name
        if child.totals().children[name].is_closed:
            raise ValueError(f"the child {name!r} was closed before.")
        for reservation in reservations:
            self.settle(reservation)
        scope = _charging_scope(name, child.root)

        def record(transaction: Transaction) -> None:
            last = transaction.whole.children[name]
            if last.is_closed:
                raise ValueError(f"the child {name!r} was closed before.")
            refund = last.grant.refund(last)
            closed = Child(name, "close")
            transaction.append(LedgerEntry.child_event(closed, refund, scope.id))

        child.root.transact(record)

    @property
    def child_name(self) -> str:
        """Name of this child budget; "" for the whole one."""
        return self._ledger.child_name

    def _handle(self, ledger: Ledger) -> Self:
        handle = type(self).__new__(type(self))
        handle._ledger = ledger
        return handle


def _charging_scope(name: str, whole: Ledger) -> Scope:
    """Return the scope in which a child is charged to the whole budget."""
    return Scope(to_json(["child", name], "a scope"), None, whole.genesis)
