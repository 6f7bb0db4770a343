"""Budgets within a budget: carved, listed, closed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from secretballot.accounting.children._make_grant import make_grant
from secretballot.accounting.reserving import Reservation, Reserving
from secretballot.ledger import (
    PATH_SEPARATOR,
    Cap,
    Child,
    ChildLedger,
    Grant,
    Ledger,
    LedgerEntry,
    Scope,
    Transaction,
    is_text,
    parent_path,
    to_json,
)


class Carving(Reserving):
    """Handle on a budget that gives parts of it to children."""

    def child(
        self,
        name: str,
        *,
        epsilon: Cap = None,
        delta: float | None = None,
        approximation_delta: float | None = None,
        group: tuple[str, str] | None = None,
        sealed: bool = False,
    ) -> Self:
        """Give a part of the budget to a team, a project or a year, or return one that exists.

        A child is an accountant in the same ledger. All of its part is charged to this budget now,
        and its releases are charged to the child alone. `close` returns what it did not spend.

        Parameters
        ----------
        name : str
            Name without ``"/"``. Children of children are made by the child.
        epsilon : float or dict of str to float, default=None
            The most that the child may spend, for all levels alike or per level. None: return the
            child of that name, which was made before.
        delta : float, default=None
            With ``sealed=True``: the delta of its releases. Otherwise the child has the budget's.
        approximation_delta : float, default=None
            The part of delta that is set aside for approximations; None: in proportion.
        group : (str, str), default=None
            Division of the people into disjoint groups, and the group that all releases of the
            child are of: ``("region", "north")``. Of the groups of one division, the one with the
            largest charge counts. Who is in which group must be public and fixed.
        sealed : bool, default=False
            Whether the releases are made elsewhere, by another program say, and are
            (`epsilon`, `delta`)-DP together. Their whole profile is charged, which takes much more
            than the Gaussian of that epsilon and delta. Call `begin` before the first.

        Returns
        -------
        PrivacyAccountant

        Raises
        ------
        BudgetExceededError
            If the part does not fit what is left; nothing was recorded.
        ValueError
            If the name is taken or unknown, an argument is invalid, or accounting is data
            dependent.

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
        if not is_text(name) or PATH_SEPARATOR in name:
            raise ValueError(
                f"name={name!r} of a child must be a non-empty string without {PATH_SEPARATOR!r} "
                "and NUL."
            )
        path = PATH_SEPARATOR.join(filter(None, (self.child_path, name)))
        root = self._ledger.root
        if epsilon is None:
            return self._handle(ChildLedger.of(root, path))
        self._check_carving(sealed, delta)
        sealed_delta = None
        if sealed:
            sealed_delta = 0.0 if delta is None else delta
        grant = make_grant(
            self._ledger.budget,
            epsilon,
            approximation_delta=approximation_delta,
            group=group,
            sealed_delta=sealed_delta,
        )
        scope = _charging_scope(path, grant, self._ledger.genesis)
        limits, costs = self._limits(scope), grant.costs()
        limits.check_costs(costs)

        def record(transaction: Transaction) -> None:
            if path in transaction.children:
                raise ValueError(
                    f"name={name!r} is a child already; leave epsilon out to go on with it, or "
                    "take another name."
                )
            limits.check_child(transaction.totals, costs, name)
            carved = Child(path, "carve", grant)
            transaction.append(LedgerEntry.child_event(carved, costs, scope.id))

        self._ledger.transact(record, scope.id)
        return self._handle(ChildLedger.of(root, path))

    def children(self) -> dict[str, Self]:
        """Return the children of this budget by name, the closed ones too."""
        names = [
            path.rpartition(PATH_SEPARATOR)[2]
            for path in self._ledger.root.totals().children
            if parent_path(path) == self.child_path
        ]
        return {name: self.child(name) for name in names}

    def begin(self) -> None:
        """Record that the releases of a sealed child begin, from when on nothing comes back.

        Raises
        ------
        ValueError
            If this is no sealed child, or it was closed.
        """
        child = self._child_ledger("begin")
        if not child.state().grant.is_sealed:
            raise ValueError(
                f"the child {child.path!r} is not sealed: its releases are recorded one by one."
            )
        if not child.state().is_begun:
            entry = LedgerEntry.child_event(Child(child.path, "begin"), {}, None)
            child.parent.transact(lambda transaction: transaction.append(entry))

    def close(self, reservations: Iterable[Reservation] = ()) -> None:
        """Close a child for good, and give back to its parent what it did not spend.

        What was drawn never comes back, and of a sealed child that was begun nothing does. When to
        close must be decided by what was released, and by public facts alone.

        Parameters
        ----------
        reservations : iterable of Reservation, default=()
            Open reservations of the child, to be settled first. What others paid counts as spent.

        Raises
        ------
        ValueError
            If this is no child, was closed before, or has children that are open.
        """
        child = self._child_ledger("close")
        for reservation in reservations:
            self.settle(reservation)
        state = child.state()
        open_children = [
            path
            for path, below in child.root.totals().children.items()
            if path.startswith(child.path + PATH_SEPARATOR) and not below.is_closed
        ]
        if open_children:
            raise ValueError(
                f"the child {child.path!r} has children that are open: close "
                f"{', '.join(map(repr, open_children))} first."
            )
        parent = child.parent
        scope = _charging_scope(child.path, state.grant, parent.genesis)

        def record(transaction: Transaction) -> None:
            last = transaction.children[child.path]
            if last.is_closed:
                raise ValueError(f"the child {child.path!r} was closed before.")
            refund = last.grant.refund(last)
            closed = Child(child.path, "close")
            transaction.append(LedgerEntry.child_event(closed, refund, scope.id))

        parent.transact(record, scope.id)

    @property
    def child_path(self) -> str:
        """Names of the children that lead to this budget, joined by ``"/"``; "" for the whole."""
        return self._ledger.path

    def _child_ledger(self, verb: str) -> ChildLedger:
        if not isinstance(self._ledger, ChildLedger):
            raise ValueError(f"{verb}() is for a child budget, and this is the whole one.")
        if self._ledger.state().is_closed:
            raise ValueError(f"the child {self.child_path!r} was closed before.")
        return self._ledger

    def _check_carving(self, sealed: bool, delta: float | None) -> None:
        budget = self._ledger.budget
        if budget.accounting != "worst_case":
            raise ValueError(
                f"accounting={budget.accounting!r}: children are for budgets with "
                "accounting='worst_case'. Where costs depend on votes, what is left for a child "
                "would tell about them."
            )
        if delta is not None and not sealed:
            raise ValueError(
                f"delta={delta!r} is for a sealed child: others have the delta of the budget "
                f"({budget.delta:g}); leave it out."
            )

    def _handle(self, ledger: Ledger) -> Self:
        handle = type(self).__new__(type(self))
        handle._ledger = ledger
        return handle


def _charging_scope(path: str, grant: Grant, ledger: str) -> Scope:
    """Return the scope in which a child is charged: its own, or one of all groups of a division.

    Its id is JSON: no other budget and division have the same, whatever their names.
    """
    charged = (
        ["child", path] if grant.group is None else ["groups", parent_path(path), grant.group[0]]
    )
    return Scope(to_json(charged, "a scope"), None, ledger)
