"""Pairs of neighbouring data sets, and the cost that a mechanism claims for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from secretballot.accounting import RenyiCost
from secretballot.divergences import EVERYONE, split_group

if TYPE_CHECKING:
    from secretballot.mechanisms import Mechanism


class Neighbours(NamedTuple):
    """Two data sets that differ in one unit.

    Attributes
    ----------
    data, neighbour : object
        As the mechanism, or the function that draws, takes them. For a mechanism: counts of shape
        (n_rows, ...); several rows are audited together, as one release.
    group : str, default="*"
        Level, or ``"level/division/part"``, to which the mechanism charges the replaced unit; by
        default everyone.
    """

    data: Any
    neighbour: Any
    group: str = EVERYONE


def claimed_cost(
    mechanism: Mechanism, *, n_rows: int = 1, n_columns: int | None = None, group: str = EVERYONE
) -> RenyiCost:
    """Compute the most that a mechanism charges one group for a release fixed in advance.

    Parameters
    ----------
    mechanism : mechanism
    n_rows : int, default=1
    n_columns : int, default=None
        Columns of the counts; a bound for any number if None.
    group : str, default="*"
        A level of the budget, or ``"level/division/part"``.

    Returns
    -------
    RenyiCost

    Examples
    --------
    >>> from secretballot.audit import claimed_cost
    >>> from secretballot.mechanisms import GNMax
    >>> cost = claimed_cost(GNMax(sigma=40), n_rows=10, n_columns=2)
    >>> round(cost.epsilon(delta=1e-5), 3)
    0.34
    """
    costs = mechanism.max_cost(n_columns)
    times = 1 if mechanism.rows == "parallel" else n_rows
    participation = mechanism.participation(times)
    total = RenyiCost.zero()
    for name in groups_paid(group, costs):
        n_times = participation[name].sum() if name in participation else times
        total = total + n_times * costs[name]
    return total


def groups_paid(group: str, charged: Collection[str]) -> list[str]:
    """Select the charged groups that one group belongs to, and pays for."""
    paid = [name for name in charged if name in {EVERYONE, split_group(group)[0], group}]
    if not paid:
        raise ValueError(
            f"group={group!r} is charged nothing by the mechanism, which names "
            f"{', '.join(map(repr, charged))}; name the group of the replaced unit: "
            "Neighbours(data, neighbour, group=...)."
        )
    return paid


def as_neighbours(pair: Iterable[Any]) -> Neighbours:
    """Convert a plain sequence of two data sets."""
    if isinstance(pair, Neighbours):
        return pair
    try:
        data, neighbour = pair
    except (TypeError, ValueError):
        raise ValueError(
            f"neighbours holds {pair!r}; give pairs (data, neighbour), or "
            "Neighbours(data, neighbour, group)."
        ) from None
    if isinstance(data, np.ndarray) and data.shape != getattr(neighbour, "shape", None):
        raise ValueError(
            f"neighbours holds a pair of shapes {data.shape} and {np.shape(neighbour)}; "
            "neighbouring data sets have the same shape."
        )
    return Neighbours(data, neighbour)
