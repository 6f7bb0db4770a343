"""Handles on a child budget, in the ledger of the whole budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from secretballot._base._errors import LedgerError
from secretballot.ledger._budget import Budget
from secretballot.ledger._child import ChildTotals
from secretballot.ledger._encoding import digest_of
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._header import Header
from secretballot.ledger._interrupts import HeldInterrupts
from secretballot.ledger._ledger import Accepted, Head, Ledger, Walk
from secretballot.ledger._totals import Totals
from secretballot.ledger._transaction import Transaction

T = TypeVar("T")


class ChildLedger(Ledger):
    """Handle on one child of a ledger: its budget, its sums, and its entries.

    Parameters
    ----------
    root : Ledger
    child_name : str
    budget : Budget
    """

    def __init__(self, root: Ledger, child_name: str, budget: Budget) -> None:
        self._root, self.child_name, self.budget = root, child_name, budget
        self._store = root._store
        self.name, self.is_temporary = root.name, root.is_temporary
        # Scopes and reservations of one child are refused by another.
        self.genesis = digest_of(["secretballot child", root.genesis, child_name])

    @classmethod
    def of(cls, root: Ledger, child_name: str) -> ChildLedger:
        """Return the handle of a child; LedgerError if there is none."""
        child = root.totals().children.get(child_name)
        if child is None:
            raise LedgerError(f"The ledger {root.name!r} has no child budget {child_name!r}.")
        return cls(root, child_name, child.grant.budget(root.budget))

    def __reduce__(self) -> tuple[type[ChildLedger], tuple[Ledger, str, Budget]]:  # type: ignore[override]
        return ChildLedger, (self.root, self.child_name, self.budget)

    @property
    def root(self) -> Ledger:
        """Handle on the whole budget."""
        return self._root

    def state(self) -> ChildTotals:
        """Return the sums of the child, and its state."""
        return self.root.totals().children[self.child_name]

    def transact(
        self,
        act: Callable[[Transaction], T],
        scope: str | None = None,
        *,
        accept: Accepted | None = None,
        interrupts: HeldInterrupts | None = None,
    ) -> T:
        """Run a function with the exclusive right to spend; its entries are the child's."""

        def act_within(transaction: Transaction) -> T:
            return act(transaction.within(self.child_name, self.budget))

        return self.root.transact(act_within, scope, accept=accept, interrupts=interrupts)

    def settle(self, *, accept: Accepted | None = None) -> str:
        """Check that the ledger is the original in its place, or record what is accepted."""
        return self.root.settle(accept=accept)

    def completeness_note(self) -> str:
        """Explain why entries at the end may be missing; "" if the mark says that none is."""
        return self.root.completeness_note()

    def totals(self, scope: str | None = None) -> Totals:
        """Return the sums over the child's entries, and of a scope."""
        return self.root.totals(scope).of_child(self.child_name)

    def reservation(self, id: str) -> list[LedgerEntry]:
        """Return the entries that paid for a reservation of the child, and its last entry."""
        entries = self.root.reservation(id)
        return entries if all(map(self._owns, entries)) else []

    def private_records(self) -> dict[int, str]:
        """Return no records: budgets that keep them have no children."""
        return {}

    def header(self) -> Header:
        """Read the identity of the ledger, with the budget of the child."""
        return self.root.header()._replace(budget=self.budget)

    def walk(self, n_entries: int | None = None) -> Walk:
        """Return a walk over the entries that are charged to the child."""
        return _ChildWalk(self, self.root.walk())

    def verify(self) -> Head:
        """Check every entry of the whole ledger."""
        return self.root.verify()

    def _owns(self, entry: LedgerEntry) -> bool:
        return entry.child is not None and entry.child.account == self.child_name


class _ChildWalk(Walk):
    """Walk over the entries that are charged to a child."""

    def __init__(self, ledger: ChildLedger, walk: Walk) -> None:
        self._child, self._root = ledger, walk
        self.totals = walk.totals.of_child(ledger.child_name)

    def __iter__(self) -> Iterator[LedgerEntry]:
        for entry in self._root:
            self.totals = self._root.totals.of_child(self._child.child_name)
            if self._child._owns(entry):
                yield entry
