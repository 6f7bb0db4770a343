"""Sums over the entries of a ledger, and the refusal of entries that could not be added up."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real

from secretballot._base._errors import LedgerError
from secretballot.costs._cost import Cost, GaussianCost, RenyiCost
from secretballot.costs._groups import EVERYONE, Costs, is_part, level_cost, parts_cost, split_group
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._budget import CHILD_SCOPE, Cap, LevelBudget, is_text
from secretballot.ledger._entry import (
    Child,
    ChildTotals,
    LedgerEntry,
    Reserved,
    cap_digits,
    charge_digits,
    digest_of,
    is_child_name,
)

#: Most rows of an entry: so the sums of a ledger are numbers that every store can hold.
_MOST_ROWS = 10**12


def check_form(entry: LedgerEntry, levels: Sequence[LevelBudget]) -> None:
    """Refuse an entry, by a ValueError, that could not be added up, stored or read again."""
    if type(entry.n_rows) is not int or not 0 <= entry.n_rows <= _MOST_ROWS:
        raise ValueError("has no number of rows")
    scope, cap = entry.scope_id, entry.scope_epsilon
    if scope is not None and (not is_text(scope) or scope.startswith(CHILD_SCOPE)):
        raise ValueError("has no name of a scope")
    if isinstance(cap, Mapping):
        is_cap = all(_is_number(amount) and amount < math.inf for amount in cap.values())
    else:
        is_cap = cap is None or _is_number(cap)
    if not is_cap:
        raise ValueError("has no cap of a scope")
    if entry.is_move and not isinstance(json.loads(entry.mechanism)["place"], str):
        raise ValueError("names no place")
    child = entry.child
    if child is not None and not is_child_name(child.name):
        raise ValueError("has no name of a child")
    orders = {level.name: level.order for level in levels}
    kind = GaussianCost if levels[0].order == GAUSSIAN else RenyiCost
    for group, cost in entry.charges.items():
        name = split_group(group)[0]
        if name not in (EVERYONE, *orders) or is_part(group, EVERYONE) or "\0" in group:
            raise ValueError(f"charges {group!r}, which is no level of the budget")
        if type(cost) is not kind:
            raise ValueError(f"charges {group!r} in another currency than the budget's")
    if child is not None and child.grant is not None:
        granted = [(level.name, level.order) for level in child.grant.levels]
        if granted != list(orders.items()):
            raise ValueError("makes a child with other levels or orders than the budget has")


def _is_number(amount: object) -> bool:
    return isinstance(amount, Real) and not (isinstance(amount, bool) or math.isnan(amount))


#: Relative rounding of the sums of a ledger.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ReservationTotals:
    """State of a reservation after its last entry, and the entries that paid for its plans."""

    state: Reserved
    payments: tuple[LedgerEntry, ...]

    @classmethod
    def after(cls, before: ReservationTotals | None, entry: LedgerEntry) -> ReservationTotals:
        """Return the totals after an entry; ValueError if it draws or returns what nobody paid."""
        state = entry.reservation
        assert state is not None
        if not state.follows(before.state if before else None, entry.n_rows):
            raise ValueError("doesn't follow from how its reservation stood before")
        if entry.child is not None and entry.child.event != "spend":
            raise ValueError("is of a reservation and of a child budget at once")
        if before is None:
            return cls(state, (entry,))
        if state.event == "draw":
            if entry.charges:
                raise ValueError("charges for rows that were paid for before")
            return replace(before, state=state)
        first = before.payments[0]
        if (entry.account, entry.scope_id) != (first.account, first.scope_id):
            raise ValueError("is charged to others than the first of its reservation")
        if state.event == "reserve":
            return cls(state, (*before.payments, entry))
        # The most that may come back.
        most: dict[str, Cost] = {}
        for share, payment in zip(state.refund_shares(), before.payments, strict=True):
            for group, cost in payment.charges.items():
                _add_cost(most, group, share * cost)
        _check_refund(entry.charges, most)
        return replace(before, state=state)


def check_child(entry: LedgerEntry, child: Child, before: ChildTotals | None) -> None:
    """Refuse an entry that makes a child for less than its limits, or returns more than is left."""
    if (child.event == "carve") != (child.grant is not None and before is None):
        raise ValueError(f"can't {child.event} the child {child.name!r} as it stands")
    if child.grant is not None:
        costs = child.grant.costs()
        is_paid = costs.keys() == entry.charges.keys() and all(
            cost.is_at_most(entry.charges[group]) for group, cost in costs.items()
        )
        if not is_paid:
            raise ValueError(f"charges another price for the child {child.name!r} than its limits'")
        return
    if before is None or before.is_closed or child.event not in ("spend", "close"):
        raise ValueError(f"can't {child.event} the child {child.name!r} as it stands")
    if child.event == "close":
        if entry.scope_id != before.scope:
            raise ValueError("gives back to others than those who paid for the child")
        _check_refund(entry.charges, before.grant.refund(before))


def check_limits(levels: Iterable[LevelBudget], charges: Costs) -> None:
    """Refuse sums that exceed the limit of a level, but for rounding."""
    for level in levels:
        cost = level_cost(charges, level.name, level.order)
        amount, delta = level.amount * (1 + _ROUNDING), level.approximation_delta * (1 + _ROUNDING)
        if cost.at(level.order) > amount or cost.delta > delta:
            raise ValueError(f"reserves more than the budget of {level.name!r} has")


def _check_refund(refund: Costs, most: Costs) -> None:
    """Refuse more than may come back, but for rounding."""
    for group, cost in refund.items():
        if group not in most or not cost.is_at_most(most[group]):
            raise ValueError("gives back more than was paid and not drawn")


#: Entries from one checkpoint to the next: what has to be read again to go on with a ledger.
CHECKPOINT_EVERY = 64


@dataclass(frozen=True)
class ScopeTotals:
    epsilon: Cap
    charges: Costs


@dataclass
class Totals:
    """Sums over a ledger's entries so far, and the head of its chain.

    Sums per part are kept within a scope only: elsewhere a part is other people. A level has paid
    its own charges, and in each scope and division the largest charge of a part (`costs._groups`
    has the rule). An entry without a scope is a scope of its own.
    """

    digest: str
    levels: tuple[LevelBudget, ...] = ()  # limits of the whole budget
    sequence: int = 0
    n_releases: int = 0
    n_rows: int = 0
    place: str | None = None
    checkpoint: int = 0
    # Of everyone and of each level, its parts included.
    charges: dict[str, Cost] = field(default_factory=dict)
    # Those in `touched` (of entries since the last checkpoint) at least. Other scopes, and
    # reservations of earlier entries, are read from the file when needed.
    scopes: dict[str, ScopeTotals] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    # What is charged to a child is not in `charges`, which has the charge for the child itself.
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
        after, state, child = self.snapshot(), entry.reservation, entry.child
        try:
            check_form(entry, self.levels)
            if state is not None:
                before = self.reservations.get(state.id)
                after.reservations[state.id] = ReservationTotals.after(before, entry)
            if child is not None:
                check_child(entry, child, self.children.get(child.name))
            after._add(entry)
            # Of what may be given back, a refund from a larger sum than the limits would lose what
            # others have paid to rounding.
            if (child and child.event == "carve") or (state and state.event == "reserve"):
                payer = after.children[entry.account] if entry.account else None
                levels = payer.grant.levels if payer else self.levels
                check_limits(levels, (payer or after).charges)
        except ValueError as error:
            raise LedgerError(
                f"entry {entry.sequence} {error}, which no version records; restore the ledger "
                "from a copy"
            ) from None
        return after

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
        account = entry.account
        payer: Totals | ChildTotals = self.children[account] if account else self
        charges = dict(payer.charges)
        change = _give_back if entry.is_refund else _add_cost
        levels = set()
        for group, cost in entry.charges.items():
            level, part = split_group(group)
            levels.add(level)
            change(after, group, cost)
            if not part:
                change(charges, group, cost)
        for level in levels:
            parts_before, parts_after = parts_cost(before.charges, level), parts_cost(after, level)
            if parts_after is not None:
                difference = parts_after
                if entry.is_refund:
                    assert parts_before is not None
                    difference = parts_before.refund_after(parts_after)
                elif parts_before:
                    difference = parts_after.without(parts_before)
                change(charges, level, difference)
        if isinstance(payer, ChildTotals):
            self.children[account] = replace(
                payer,
                charges=charges,
                n_releases=payer.n_releases + entry.is_release,
                n_rows=payer.n_rows + entry.n_rows,
            )
        else:
            self.charges = charges
        child = entry.child
        if child is not None and child.event != "spend":
            carved = ChildTotals(child.grant, entry.scope_id) if child.grant else None
            self.children[child.name] = (carved or self.children[child.name]).after(child.event)
        if entry.scope_id is not None and after:
            self.scopes[entry.scope_id] = ScopeTotals(before.epsilon, after)
            self.touched.add(entry.scope_id)

    def check_open(self, child: str) -> None:
        """Refuse a child budget that was closed; the whole budget, "", never is."""
        if child and (child not in self.children or self.children[child].is_closed):
            raise ValueError(
                f"the child budget {child!r} was closed, and what was left of it given back. "
                "Nothing was released or recorded."
            )

    def of_child(self, name: str) -> Totals:
        child = self.children.get(name)
        if child is None:
            return replace(self, charges={}, n_releases=0, n_rows=0)
        return replace(
            self, charges=dict(child.charges), n_releases=child.n_releases, n_rows=child.n_rows
        )

    def check(self, entry: LedgerEntry) -> None:
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
        for group, cost in within.items():
            if split_group(group)[1]:
                charges[group] = cost
        return charges

    def snapshot(self) -> Totals:
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


def _add_cost(sums: dict[str, Cost], group: str, cost: Cost) -> None:
    sums[group] = sums[group] + cost if group in sums else cost


def _give_back(sums: dict[str, Cost], group: str, cost: Cost) -> None:
    if group not in sums:
        raise ValueError(f"gives something back to {group!r}, who paid nothing")
    sums[group] = sums[group].without(cost)
