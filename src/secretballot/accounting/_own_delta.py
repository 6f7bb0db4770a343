"""Rows with a delta of their own: whether there is room for it, which no amount of noise makes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from secretballot.accounting._protocol import ReleaseMechanism
from secretballot.divergences import EVERYONE, split_group


def own_deltas(mechanism: ReleaseMechanism, n_rows: int, n_columns: int | None) -> dict[str, float]:
    """Return the delta that rows have of their own, for each group."""
    times = 1 if mechanism.rows == "parallel" else n_rows
    turns = {group: int(rows.sum()) for group, rows in mechanism.participation(times).items()}
    most = mechanism.max_cost(n_columns, order=2.0)
    return {
        group: turns.get(group, times) * float(np.max(cost.delta)) for group, cost in most.items()
    }


def own_delta_fault(
    mechanism: ReleaseMechanism, n_rows: int, n_columns: int | None, left: Mapping[str, float]
) -> str:
    """Say that the rows' own deltas are more than what is left for them; nothing if they are not.

    Parameters
    ----------
    mechanism : mechanism
    n_rows : int
    n_columns : int or None
    left : mapping of str to float
        For each level, or part of one.
    """
    times = "one" if n_rows == 1 else n_rows
    for group, own in own_deltas(mechanism, n_rows, n_columns).items():
        for name, room in left.items():
            concerned = group == EVERYONE or split_group(group)[0] == split_group(name)[0]
            if concerned and own > room:
                return (
                    f"Rows have a delta of their own, {own:.3g} for {times}, and of what is left "
                    f"to {name!r} only {max(room, 0):.3g} may go to that. Ask for fewer rows, use "
                    "a smaller delta_t, or open the budget with a larger approximation_delta (or "
                    "delta, where there is none)."
                )
    return ""
