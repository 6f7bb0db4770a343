"""Privacy groups that a cost is charged to: everyone, a level of a budget, a part of a level.

A *division* splits the people of a level into disjoint parts, ``"level/division/part"``. Within one
scope (a fit) its parts compose in parallel: the largest counts, amount by amount. Divisions
overlap, so they compose sequentially with each other, with divisions of other scopes, and with the
level's own charges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from operator import add

from secretballot.costs._cost import Cost, GaussianCost, RenyiCost
from secretballot.costs._orders import GAUSSIAN, Order

#: Group of a cost that all levels of a budget pay alike: a name in charges, not a level. (A budget
#: with one epsilon has one level, whose name is `secretballot.ledger.ONLY_LEVEL`.)
EVERYONE = "*"

#: Separator between level, division and part in the name of a group.
GROUP_SEPARATOR = "/"

#: Charges of groups, in one currency.
Costs = Mapping[str, Cost]


def split_group(group: str) -> tuple[str, str]:
    """Split the name of a group into its level and its part; ``""`` for the level itself."""
    level, _, part = group.partition(GROUP_SEPARATOR)
    return level, part


def part_name(level: str, division: str, part: object) -> str:
    """Name the group of one part of a division of a level."""
    return GROUP_SEPARATOR.join((level, division, str(part)))


def group_division(group: str) -> str:
    """Return the division in the name of a part; ``""`` if there is none."""
    return split_group(group)[1].rpartition(GROUP_SEPARATOR)[0]


def check_groups(groups: Iterable[str], levels: Collection[str], source: str) -> None:
    """Refuse charges of unknown levels, of two divisions of one level, or that omit a level."""
    names = list(groups)
    charged = {split_group(group)[0] for group in names}
    if any(is_part(group, EVERYONE) for group in names):
        raise ValueError(
            f"{source} charges a part of {EVERYONE!r}, which stands for all levels alike; only a "
            "level has parts."
        )
    for group in names:
        if "\0" in group:
            raise ValueError(f"{source} charges {group!r}: a name must not hold NUL.")
    unknown = sorted(charged - {EVERYONE, *levels})
    if unknown:
        raise ValueError(
            f"{source} charges the level {unknown[0]!r}, which this budget does not have; its "
            f"levels are {', '.join(map(repr, levels))}."
        )
    divisions = {
        (split_group(group)[0], group_division(group)) for group in names if split_group(group)[1]
    }
    for group in names:
        if split_group(group)[1] and not group_division(group):
            raise ValueError(
                f"{source} charges {group!r}, a part without a division; call it "
                f"'level{GROUP_SEPARATOR}division{GROUP_SEPARATOR}part'."
            )
    for level in levels:
        if sum(divided == level for divided, _ in divisions) > 1:
            raise ValueError(
                f"{source} charges parts of two divisions of {level!r}; release them one after "
                "the other."
            )
    omitted = [level for level in levels if level not in charged]
    if omitted and EVERYONE not in charged:
        raise ValueError(
            f"{source} charges nothing to the level {omitted[0]!r} of this budget; a mechanism "
            f"has to charge every level ({EVERYONE!r} stands for all alike)."
        )


def check_overlap(groups: Collection[str]) -> None:
    """Refuse groups of a plan that hold the same people twice."""
    for group in groups:
        level, part = split_group(group)
        if (part and level in groups) or (group != EVERYONE and EVERYONE in groups):
            raise ValueError(
                f"the groups {', '.join(map(repr, groups))} overlap: a plan is priced per level, "
                "or for everyone, not for both at once."
            )


def zero_cost(order: Order) -> Cost:
    return GaussianCost.zero() if order == GAUSSIAN else RenyiCost.zero()


def level_cost(charges: Costs, level: str, order: Order) -> Cost:
    """Compute the cost of a level in one fit: charges of everyone, of itself, and of its parts."""
    total = zero_cost(order)
    for group in (EVERYONE, level):
        if group in charges:
            total = total + charges[group]
    parts = parts_cost(charges, level)
    return total if parts is None else total + parts


def parts_cost(charges: Costs, level: str) -> Cost | None:
    """Sum the costs of a level's divisions; None if no part of it is charged."""
    divisions: dict[str, Cost] = {}
    for group, cost in charges.items():
        if is_part(group, level):
            division = group_division(group)
            largest = divisions.get(division)
            divisions[division] = cost if largest is None else largest.parallel(cost)
    return reduce(add, divisions.values()) if divisions else None


def is_part(group: str, level: str) -> bool:
    owner, part = split_group(group)
    return owner == level and bool(part)
