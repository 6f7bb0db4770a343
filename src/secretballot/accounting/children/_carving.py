"""Budgets within a budget: carved, listed, closed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from secretballot._base._numbers import quoted
from secretballot.accounting.children._make_grant import make_grant
from secretballot.accounting.reserving import Reservation, Reserving
from secretballot.ledger._budget import Cap, Scope
from secretballot.ledger._child import NAME_SEPARATOR, Child, is_child_name
from secretballot.ledger._child_ledger import ChildLedger
from secretballot.ledger._encoding import to_json
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._ledger import Ledger
from secretballot.ledger._transaction import Transaction


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
        self._check_carving()
        budget = self._ledger.budget
        grant = make_grant(budget, epsilon, approximation_delta=approximation_delta)
        scope = _charging_scope(name, self._ledger)
        limits, costs = self._limits(scope), grant.costs()
        limits.check_costs(costs)

        def record(transaction: Transaction) -> None:
            if name in transaction.children:
                raise ValueError(
                    f"name={name!r} is a child already; leave epsilon out to go on with it, or "
                    "take another name."
                )
            limits.check_child(transaction.totals, costs, name)
            carved = Child(name, "carve", grant)
            transaction.append(LedgerEntry.child_event(carved, costs, scope.id))

        self._ledger.transact(record, scope.id)
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
        if child.state().is_closed:
            raise ValueError(f"the child {name!r} was closed before.")
        for reservation in reservations:
            self.settle(reservation)
        scope = _charging_scope(name, child.root)

        def record(transaction: Transaction) -> None:
            last = transaction.children[name]
            if last.is_closed:
                raise ValueError(f"the child {name!r} was closed before.")
            refund = last.grant.refund(last)
            closed = Child(name, "close")
            transaction.append(LedgerEntry.child_event(closed, refund, scope.id))

        child.root.transact(record, scope.id)

    @property
    def child_name(self) -> str:
        """Name of this child budget; "" for the whole one."""
        return self._ledger.child_name

    def _check_carving(self) -> None:
        budget = self._ledger.budget
        if budget.accounting != "worst_case":
            raise ValueError(
                f"accounting={budget.accounting!r}: children are for budgets with "
                "accounting='worst_case'. Where costs depend on votes, what is left for a child "
                "would tell about them."
            )

    def _handle(self, ledger: Ledger) -> Self:
        handle = type(self).__new__(type(self))
        handle._ledger = ledger
        return handle


def _charging_scope(name: str, whole: Ledger) -> Scope:
    """Return the scope in which a child is charged to the whole budget."""
    return Scope(to_json(["child", name], "a scope"), None, whole.genesis)
