"""Sentences of a privacy statement about child budgets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from secretballot.ledger._child import Grant


def recorded_children(
    child_name: str, grants: Mapping[str, Grant], closed: Collection[str]
) -> Iterator[str]:
    """Yield what the ledger records of a budget's parent and children.

    Parameters
    ----------
    child_name : str
        Name of the budget; "" for the whole one.
    grants : mapping of str to Grant
        Parts of the budget that its children got.
    closed : collection of str
        Children that were closed.
    """
    if child_name:
        yield (
            f"THIS IS A PART OF A BUDGET: the child {child_name!r} of the ledger. Its epsilon "
            "bounds what was released from it. What was released from the rest of the budget and "
            "from other children adds to that; the statement of the whole ledger bounds all of it."
        )
    if grants:
        parts = [
            f"{name!r} ({_grant_text(grant, name in closed)})" for name, grant in grants.items()
        ]
        yield (
            "Of this budget parts were given to children, and are charged in full from then on; a "
            f"child that is closed gives back what it did not spend: {', '.join(parts)}."
        )


def _grant_text(grant: Grant, is_closed: bool) -> str:
    epsilons = {level.name: f"{level.epsilon:g}" for level in grant.levels}
    values = list(epsilons.values())
    text = f"epsilon {values[0]}"
    if len(values) > 1:
        text = "epsilon " + ", ".join(f"{level}: {value}" for level, value in epsilons.items())
    return text + ", closed" * is_closed
