"""Sums over the entries of a ledger, in total and within scopes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from secretballot._base._errors import LedgerError
from secretballot.costs._cost import Cost
from secretballot.costs._groups import Costs, parts_cost, split_group
from secretballot.ledger._budget import Cap, LevelBudget
from secretballot.ledger._child import Child, ChildTotals
from secretballot.ledger._encoding import cap_digits, charge_digits, digest_of
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._entry_form import check_form
from secretballot.ledger._paid_for import ReservationTotals, check_child, check_limits

#: Entries from one checkpoint to the next: what has to be read again to go on with a ledger.
CHECKPOINT_EVERY = 64


@dataclass(frozen=True)
class ScopeTotals:
    """Sums within one scope, per group, and its cap."""

    epsilon: Cap
    charges: Costs


@dataclass
class Totals:
    """Sums over a ledger's entries so far, and the head of its chain.

    Sums per part are kept within a scope only: elsewhere a part is other people. A level has paid
    its own charges, and in each scope and division the largest charge of a part
    (`divergences._groups` has the rule). An entry without a scope is a scope of its own.

    `levels` are the limits of the whole budget. `charges` are the sums of everyone and of each
    level, the parts of levels included. `scopes` has at least those in `touched`, the scopes of
    entries since the last checkpoint; others are read from the file when needed. `children` are the
    child budgets by their names: what is charged to one is not in `charges`, which has the charge
    for the child itself. `reservations` has those of the entries that were read last; others are
    read from the file when needed.
    """

    digest: str
    levels: tuple[LevelBudget, ...] = ()
    sequence: int = 0
    n_releases: int = 0
    n_rows: int = 0
    place: str | None = None
    checkpoint: int = 0
    charges: dict[str, Cost] = field(default_factory=dict)
    scopes: dict[str, ScopeTotals] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    children: dict[str, ChildTotals] = field(default_factory=dict)
    reservations: dict[str, ReservationTotals] = field(default_factory=dict)

    def after(self, entry: LedgerEntry) -> Totals:
        """Return the totals after the next entry; LedgerError if its digests are wrong."""
        if (
            entry.sequence != self.sequence + 1
            or entry.previous != self.digest
            or entry.digest != entry.expected_digest()
        ):
            raise LedgerError(
                f"entry {entry.sequence} does not follow from the {self.sequence} before it: an "
                "entry was altered, removed or reordered; restore the ledger from a copy"
            )
        after = self.added_up(entry)
        after.digest = entry.digest
        if entry.checkpoint is not None:
            after.check(entry)
            after.checkpoint = entry.sequence
            after.touched.clear()
        return after

    def added_up(self, entry: LedgerEntry) -> Totals:
        """Return the totals with an entry's rows and costs, without a check of its digests.

        LedgerError if it gives back more than was paid and not drawn: sums that an entry lowers
        are lowered here alone.
        """
        after = self.snapshot()
        try:
            check_form(entry, self.levels)
            after._check_paid(entry)
            after._add(entry)
            after._check_refundable(entry)
        except ValueError as error:
            raise LedgerError(
                f"entry {entry.sequence} {error}, which no version records; restore the ledger "
                "from a copy"
            ) from None
        return after

    def or_later(self, stored: Totals | None) -> Totals:
        """Return the sums that were stored with a checkpoint, if there are any, with the limits."""
        return self if stored is None else replace(stored, levels=self.levels)

    def _check_refundable(self, entry: LedgerEntry) -> None:
        """Refuse a payment of which some may come back, unless all that its account paid fits.

        From a larger sum the difference would lose what others have paid to rounding.
        """
        if entry.is_refundable:
            account = entry.child.account if entry.child else ""
            levels = self.children[account].grant.levels if account else self.levels
            check_limits(levels, self._account(account).charges)

    def _check_paid(self, entry: LedgerEntry) -> None:
        """Refuse what an entry draws, grants or gives back beyond what was paid for."""
        if entry.reservation is not None:
            id = entry.reservation.id
            self.reservations[id] = ReservationTotals.after(self.reservations.get(id), entry)
        if entry.child is not None:
            check_child(entry, entry.child, self.children.get(entry.child.name))

    def _add(self, entry: LedgerEntry) -> None:
        self.sequence = entry.sequence
        self.n_rows += entry.n_rows
        if entry.is_release:
            self.n_releases += 1
        if entry.is_move:
            self.place = json.loads(entry.mechanism)["place"]
        cap = entry.scope_epsilon
        # A copy: a caller may change the dict of its scope.
        before = ScopeTotals(dict(cap) if isinstance(cap, Mapping) else cap, {})
        if entry.scope_id is not None:
            before = self.scopes.get(entry.scope_id, before)
        after = dict(before.charges)
        account = entry.child.account if entry.child else ""
        charges = dict(self._account(account).charges)
        change = _give_back if entry.is_refund else _accumulate
        for group, cost in entry.charges.items():
            change(after, group, cost)
            if not split_group(group)[1]:
                change(charges, group, cost)
        for level in {split_group(group)[0] for group in entry.charges}:
            parts_before, parts_after = parts_cost(before.charges, level), parts_cost(after, level)
            if parts_after is not None:
                difference = parts_after
                if entry.is_refund:
                    assert parts_before is not None
                    difference = parts_before.refund_after(parts_after)
                elif parts_before:
                    difference = parts_after.without(parts_before)
                change(charges, level, difference)
        self._set_charges(account, charges, entry)
        if entry.child is not None and entry.child.event != "spend":
            self._change_child(entry.child, entry.scope_id)
        if entry.scope_id is not None and after:
            self.scopes[entry.scope_id] = ScopeTotals(before.epsilon, after)
            self.touched.add(entry.scope_id)

    def _account(self, name: str) -> Totals | ChildTotals:
        """Return the sums of a child, or of the whole budget."""
        return self.children[name] if name else self

    def _set_charges(self, name: str, charges: dict[str, Cost], entry: LedgerEntry) -> None:
        if not name:
            self.charges = charges
            return
        child = self.children[name]
        self.children[name] = replace(
            child,
            charges=charges,
            n_releases=child.n_releases + entry.is_release,
            n_rows=child.n_rows + entry.n_rows,
        )

    def _change_child(self, child: Child, scope: str | None) -> None:
        """Make or close a child."""
        new_child = None if child.grant is None else ChildTotals(child.grant, scope)
        self.children[child.name] = (new_child or self.children[child.name]).after(child.event)

    def of_child(self, name: str) -> Totals:
        """Return the totals of a child budget."""
        child = self.children.get(name)
        if child is None:
            return replace(self, charges={}, n_releases=0, n_rows=0)
        return replace(
            self, charges=dict(child.charges), n_releases=child.n_releases, n_rows=child.n_rows
        )

    def check(self, entry: LedgerEntry) -> None:
        """Check the digest of the totals that an entry carries."""
        if entry.checkpoint != self.sums_digest():
            raise LedgerError(
                f"the totals that were stored with entry {entry.sequence} are not the sums of the "
                "entries up to it; restore the ledger from a copy"
            )

    def sums_digest(self) -> str:
        """Compute the digest of the totals and of the scopes since the last checkpoint."""
        touched = [(scope, self.scopes[scope]) for scope in sorted(self.touched)]
        scopes = [[id, cap_digits(s.epsilon), charge_digits(s.charges)] for id, s in touched]
        counted = [self.sequence, self.n_releases, self.n_rows, self.place]
        children = [child.digits(name) for name, child in sorted(self.children.items())]
        charges = charge_digits(self.charges)
        return digest_of(["secretballot checkpoint", counted, charges, scopes, children])

    def charges_with_parts(self, scope: str | None) -> Costs:
        """Return the charges per group, with the parts of levels in one scope as groups.

        Their share is taken out of the sum of their level: `level_cost` adds it again.
        """
        if scope is None or scope not in self.scopes:
            return self.charges
        charges, within = dict(self.charges), self.scopes[scope].charges
        for level in self.charges:
            paid = parts_cost(within, level)
            if paid is not None:
                charges[level] = charges[level].without(paid)
        parts = {group: cost for group, cost in within.items() if split_group(group)[1]}
        return {**charges, **parts}

    def snapshot(self) -> Totals:
        """Return a copy that further entries leave alone."""
        return replace(
            self,
            charges=dict(self.charges),
            scopes=dict(self.scopes),
            touched=set(self.touched),
            children=dict(self.children),
            reservations=dict(self.reservations),
        )

    def forget(self) -> None:
        """Drop the sums of scopes and reservations that can be read from the file again."""
        self.reservations = {}
        self.scopes = {scope: self.scopes[scope] for scope in self.touched}


def _accumulate(sums: dict[str, Cost], group: str, cost: Cost) -> None:
    sums[group] = sums[group] + cost if group in sums else cost


def _give_back(sums: dict[str, Cost], group: str, cost: Cost) -> None:
    if group not in sums:
        raise ValueError(f"gives something back to {group!r}, who paid nothing")
    sums[group] = sums[group].without(cost)
