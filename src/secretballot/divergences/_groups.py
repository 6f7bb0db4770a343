"""Whom a cost is charged to: everyone, a level of a budget, or a part of a level."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import reduce

from secretballot.divergences._cost import Cost, RenyiCost
from secretballot.divergences._gaussian_cost import GaussianCost
from secretballot.divergences._orders import GAUSSIAN, Order

#: The group of a cost that every level of a budget pays alike.
EVERYONE = "*"

#: Between a level and one of its members in the name of a group.
MEMBER_SEPARATOR = "/"

#: What groups are charged, in one currency.
Costs = Mapping[str, Cost]


def split_group(group: str) -> tuple[str, str]:
    """Return the level of a group and its member, ``""`` for the level itself."""
    level, _, member = group.partition(MEMBER_SEPARATOR)
    return level, member


def check_groups(groups: Iterable[str], levels: Collection[str], source: str) -> None:
    """Refuse costs of levels that the budget doesn't have, or that forget one it has."""
    named = list(groups)
    charged = {split_group(group)[0] for group in named}
    if any(is_member(group, EVERYONE) for group in named):
        raise ValueError(
            f"{source} charges a part of {EVERYONE!r}, which stands for all levels alike; only a "
            "level has parts."
        )
    unknown = sorted(charged - {EVERYONE, *levels})
    if unknown:
        raise ValueError(
            f"{source} charges the level {unknown[0]!r}, which this budget does not have; its "
            f"levels are {', '.join(map(repr, levels))}."
        )
    left_out = [level for level in levels if level not in charged]
    if left_out and EVERYONE not in charged:
        raise ValueError(
            f"{source} charges nothing to the level {left_out[0]!r} of this budget; a mechanism "
            f"has to say what every level pays ({EVERYONE!r} stands for all alike)."
        )


def nothing(order: Order) -> Cost:
    """Return the cost of releasing nothing, in the currency of an order."""
    return GaussianCost.zero() if order == GAUSSIAN else RenyiCost.zero()


def level_cost(charges: Costs, level: str, order: Order) -> Cost:
    """Return what a level pays in one fit: everyone's charges, its own, and its dearest member's.

    Fits add up: a member is other people in each of them. `order` says in which currency nothing is
    nothing.
    """
    total = nothing(order)
    for group in (EVERYONE, level):
        if group in charges:
            total = total + charges[group]
    members = dearest(charges, level)
    return total if members is None else total + members


def dearest(charges: Costs, level: str) -> Cost | None:
    """Return the most, amount by amount, that a member of a level pays; None if it has none."""
    members = [cost for group, cost in charges.items() if is_member(group, level)]
    return reduce(lambda one, other: one.parallel(other), members) if members else None


def is_member(group: str, level: str) -> bool:
    owner, member = split_group(group)
    return owner == level and bool(member)
