"""Sentences of a privacy statement about child budgets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from secretballot.ledger import Grant


def recorded_children(
    path: str, grants: Mapping[str, Grant], closed: Collection[str]
) -> Iterator[str]:
    """Yield what the ledger records of a budget's parent and children.

    Parameters
    ----------
    path : str
        Path of the budget; "" for the whole one.
    grants : mapping of str to Grant
        Parts of the budget that its children got.
    closed : collection of str
        Children that were closed.
    """
    if path:
        yield (
            f"THIS IS A PART OF A BUDGET: the child {path!r} of the ledger. Its epsilon bounds "
            "what was released from it. What was released from its parents and from other children "
            "adds to that; the statement of the whole ledger bounds all of it."
        )
    if grants:
        parts = [
            f"{name!r} ({_grant_text(grant, name in closed)})" for name, grant in grants.items()
        ]
        yield (
            "Of this budget parts were given to children, and are charged in full from then on; a "
            f"child that is closed gives back what it did not spend: {', '.join(parts)}."
        )


def assumed_of_children(grants: Mapping[str, Grant]) -> Iterator[str]:
    """Yield what rests on somebody's word about the children of a budget."""
    for name, grant in grants.items():
        if grant.is_sealed:
            level = grant.levels[0]
            yield (
                f"The releases of the sealed child {name!r} were made elsewhere, and together are "
                f"({level.epsilon:g}, {level.delta:g})-differentially private."
            )
        if grant.group is not None:
            division, group = grant.group
            yield (
                f"Releases of the child {name!r} are of the people of the group {group!r} alone. "
                f"Who is in which group of {division!r} is public, fixed, and one group each."
            )


def _grant_text(grant: Grant, is_closed: bool) -> str:
    epsilons = {level.name: f"{level.epsilon:g}" for level in grant.levels}
    values = list(epsilons.values())
    text = f"epsilon {values[0]}"
    if len(values) > 1:
        text = "epsilon " + ", ".join(f"{level}: {value}" for level, value in epsilons.items())
    return text + ", closed" * is_closed
