"""Privacy groups that a cost is charged to: everyone, a level of a budget, a part of a level.

The rule for parts. A *division* divides the people of a level into parts that exclude each other,
and has a name: ``"level/division/part"``. In one scope (a fit) the parts of one division cost the
most of them, amount by amount. Different divisions may put the same people together in any way, so
what divisions cost adds up, and adds to the level's own charges. The same holds for divisions of
different scopes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import reduce

from secretballot.divergences._cost import Cost, RenyiCost
from secretballot.divergences._gaussian_cost import GaussianCost
from secretballot.divergences._orders import GAUSSIAN, Order

#: The group of a cost that every level of a budget pays alike.
EVERYONE = "*"

#: Between a level, a division and a part in the name of a group.
GROUP_SEPARATOR = "/"

#: What groups are charged, in one currency.
Costs = Mapping[str, Cost]


def split_group(group: str) -> tuple[str, str]:
    """Return the level of a group and its member, ``""`` for the level itself."""
    level, _, member = group.partition(GROUP_SEPARATOR)
    return level, member


def part_name(level: str, division: str, part: object) -> str:
    """Return the group of one part of a division of a level."""
    return GROUP_SEPARATOR.join((level, division, str(part)))


def group_division(group: str) -> str:
    """Return the division of a part of a level; ``""`` if its name holds none."""
    return split_group(group)[1].rpartition(GROUP_SEPARATOR)[0]


def check_groups(groups: Iterable[str], levels: Collection[str], source: str) -> None:
    """Refuse costs of levels that the budget doesn't have, or that forget one it has.

    Parts are of one division in each level.
    """
    named = list(groups)
    charged = {split_group(group)[0] for group in named}
    if any(is_part(group, EVERYONE) for group in named):
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
    parts = [group for group in named if split_group(group)[1]]
    for group in parts:
        if not group_division(group):
            raise ValueError(
                f"{source} charges {group!r}, a part that doesn't say of which division; call it "
                f"'level{GROUP_SEPARATOR}division{GROUP_SEPARATOR}part'."
            )
    divisions = {(split_group(group)[0], group_division(group)) for group in parts}
    for level in levels:
        if sum(each == level for each, _ in divisions) > 1:
            raise ValueError(
                f"{source} charges parts of two divisions of {level!r}; release them one after "
                "the other."
            )
    left_out = [level for level in levels if level not in charged]
    if left_out and EVERYONE not in charged:
        raise ValueError(
            f"{source} charges nothing to the level {left_out[0]!r} of this budget; a mechanism "
            f"has to say what every level pays ({EVERYONE!r} stands for all alike)."
        )


def zero_cost(order: Order) -> Cost:
    """Return the cost of releasing nothing, in the currency of an order."""
    return GaussianCost.zero() if order == GAUSSIAN else RenyiCost.zero()


def level_cost(charges: Costs, level: str, order: Order) -> Cost:
    """Return what a level pays in one fit: everyone's charges, its own, and those of its parts.

    Fits add up: a part is other people in each of them. `order` says in which currency nothing is
    nothing.
    """
    total = zero_cost(order)
    for group in (EVERYONE, level):
        if group in charges:
            total = total + charges[group]
    parts = parts_cost(charges, level)
    return total if parts is None else total + parts


def parts_cost(charges: Costs, level: str) -> Cost | None:
    """Return what the parts of a level cost, the sum over its divisions; None if it has no part."""
    divisions: dict[str, Cost] = {}
    for group, cost in charges.items():
        if is_part(group, level):
            division = group_division(group)
            known = divisions.get(division)
            divisions[division] = cost if known is None else known.parallel(cost)
    return reduce(lambda one, other: one + other, divisions.values()) if divisions else None


def is_part(group: str, level: str) -> bool:
    owner, member = split_group(group)
    return owner == level and bool(member)
