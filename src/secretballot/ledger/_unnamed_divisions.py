"""Parts of levels as earlier versions recorded them: without the division they are of."""

from __future__ import annotations

from functools import reduce

import numpy as np

from secretballot.divergences import Cost, Costs, group_division, split_group


def without_unnamed_divisions(charges: Costs, *, is_refund: bool = False) -> Costs:
    """Return charges in which levels pay for parts without a division: the most of them.

    Of a refund, the least of them: whoever paid the most may be given back the least.
    """
    unnamed = [group for group in charges if split_group(group)[1] and not group_division(group)]
    if not unnamed:
        return charges
    kept = {group: cost for group, cost in charges.items() if group not in unnamed}
    for level in {split_group(group)[0] for group in unnamed}:
        costs = [charges[group] for group in unnamed if split_group(group)[0] == level]
        combined = reduce(_least if is_refund else lambda one, other: one.parallel(other), costs)
        kept[level] = kept[level] + combined if level in kept else combined
    return kept


def _least(one: Cost, other: Cost) -> Cost:
    return one.from_curve(np.minimum(one.curve, other.curve), np.minimum(one.delta, other.delta))
