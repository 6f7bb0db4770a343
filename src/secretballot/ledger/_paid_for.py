"""Bounds of what an entry draws, grants or gives back: what was paid for before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from secretballot.costs._cost import Cost
from secretballot.costs._groups import Costs, level_cost
from secretballot.ledger._budget import LevelBudget
from secretballot.ledger._child import Child, ChildTotals
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._reserved import Reserved

#: Relative rounding of the sums of a ledger.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ReservationTotals:
    """State of a reservation after its last entry, and who paid what for each of its plans."""

    state: Reserved
    payer: tuple[str, str | None]  # name of the child that pays, and scope
    paid: tuple[Costs, ...]

    @classmethod
    def after(cls, before: ReservationTotals | None, entry: LedgerEntry) -> ReservationTotals:
        """Return the totals after an entry; ValueError if it draws or returns what nobody paid."""
        state = entry.reservation
        assert state is not None
        if not state.follows(before.state if before else None, entry.n_rows):
            raise ValueError("doesn't follow from how its reservation stood before")
        if entry.child is not None and entry.child.event != "spend":
            raise ValueError("is of a reservation and of a child budget at once")
        payer = (entry.child.account if entry.child else "", entry.scope_id)
        if before is None:
            return cls(state, payer, (entry.charges,))
        if state.event == "draw":
            if entry.charges:
                raise ValueError("charges for rows that were paid for before")
            return replace(before, state=state)
        if payer != before.payer:
            raise ValueError("is charged to others than the first of its reservation")
        if state.event == "reserve":
            return replace(before, state=state, paid=(*before.paid, entry.charges))
        _check_refund(entry.charges, before.most_refund())
        return replace(before, state=state)

    def most_refund(self) -> dict[str, Cost]:
        """Compute the most that may come back if the reservation is settled now."""
        most: dict[str, Cost] = {}
        for share, paid in zip(self.state.refund_shares(), self.paid, strict=True):
            for group, cost in paid.items():
                part = share * cost
                most[group] = most[group] + part if group in most else part
        return most


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
        limits = {level.amount: cost.at(level.order), level.approximation_delta: cost.delta}
        if any(spent > limit * (1 + _ROUNDING) for limit, spent in limits.items()):
            raise ValueError(f"reserves more than the budget of {level.name!r} has")


def _check_refund(refund: Costs, most: Costs) -> None:
    """Refuse more than may come back, but for rounding."""
    for group, cost in refund.items():
        if group not in most or not cost.is_at_most(most[group]):
            raise ValueError("gives back more than was paid and not drawn")
