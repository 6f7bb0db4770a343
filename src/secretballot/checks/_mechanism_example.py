"""Example of a mechanism for the common checks, and budgets for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import PrivacyAccountant, PrivacySpent
from secretballot.audit import Neighbours
from secretballot.checks._contract import quietly
from secretballot.divergences import EVERYONE, Costs, level_cost, split_group
from secretballot.mechanisms import Mechanism

_LARGE_EPSILON = 1e9
#: Part of the delta of a budget for mechanisms with a delta of their own.
_APPROXIMATION_DELTA = 0.09
ROUNDING = 1 + 1e-9


@dataclass(frozen=True, kw_only=True)
class MechanismExample:
    """A mechanism with counts to run it on.

    Parameters
    ----------
    mechanism : Mechanism
        With little noise: an audit of a few thousand draws can only tell large epsilons apart.
    counts : ndarray of shape (n_rows, ...)
        A few different rows.
    neighbours : tuple of Neighbours or of ndarray
        Pairs of neighbouring data sets, as telling as possible; an array is a pair of data sets of
        one row, shape (2, 1, ...). The audits run on these.
    tightness : float, default=0.7
        Share of the claimed epsilon that the audit has to find spent on one of the pairs, at delta
        0.01. Lower where a bound is known not to be tight; say why beside it.
    """

    mechanism: Mechanism
    counts: NDArray[Any]
    neighbours: tuple[Neighbours | NDArray[Any], ...]
    tightness: float = 0.7


def mechanism_counts(example: MechanismExample) -> NDArray[Any]:
    """Return the example's counts as the mechanism takes them."""
    return example.mechanism.check_counts(example.counts)


def charges_known(mechanism: Mechanism, counts: NDArray[Any]) -> bool:
    """Check that a mechanism can be charged for known votes, not only in the worst case."""
    try:
        mechanism.state(counts)
    except ValueError:
        return False
    return True


def count_columns(counts: NDArray[Any]) -> int | None:
    """Count the columns of counts, as the accountant does."""
    return counts.shape[1] if counts.ndim > 1 and counts.dtype.names is None else None


def own_delta(example: MechanismExample) -> float:
    """Compute the delta that one row of the mechanism has of its own."""
    return max(float(cost.delta) for cost in example.mechanism.max_cost().values())


def budget_of(
    example: MechanismExample, epsilon: float = _LARGE_EPSILON, **options: Any
) -> PrivacyAccountant:
    """Open a budget with the levels that the mechanism charges, which adds up its costs."""
    levels = {split_group(group)[0] for group in example.mechanism.max_cost()} - {EVERYONE}
    if own_delta(example):
        options.setdefault("delta", 0.1)
        if options.get("order") != np.inf:
            options.setdefault("approximation_delta", _APPROXIMATION_DELTA)
    return quietly(
        PrivacyAccountant,
        epsilon=dict.fromkeys(sorted(levels), epsilon) if levels else epsilon,
        relation=max(example.mechanism.relations),  # replacement, if it is proven for both
        **{"order": "renyi", "delta": 1e-5, **options},
    )


def fits(accountant: PrivacyAccountant, costs: Costs) -> bool:
    """Check that costs fit every level of an unspent budget, but for rounding."""
    for level in accountant.levels:
        cost = level_cost(costs, level.name, level.order)
        if cost.at(level.order) > level.amount * ROUNDING:
            return False
        if cost.delta > level.approximation_delta * ROUNDING:
            return False
    return True


def rows_that_fit(example: MechanismExample, n_rows: int) -> int:
    """Return a number of rows, or fewer if the delta of `budget_of` has no room for as many."""
    delta = own_delta(example)
    return min(n_rows, max(int(_APPROXIMATION_DELTA / delta / ROUNDING), 1)) if delta else n_rows


def epsilon_for_rows(example: MechanismExample, n_rows: int) -> float:
    """Find the epsilon of a budget in which about `n_rows` rows fit, each at its most."""
    most = example.mechanism.max_cost(count_columns(mechanism_counts(example)))
    n_rows = rows_that_fit(example, n_rows)
    costs = {group: n_rows * cost for group, cost in most.items()}
    epsilon = 1.0
    while not fits(budget_of(example, epsilon), costs):
        assert epsilon < _LARGE_EPSILON, f"{n_rows} rows fit no budget; give the example more noise"
        epsilon *= 1.5
    return epsilon


def pay(
    accountant: PrivacyAccountant,
    example: MechanismExample,
    counts: NDArray[Any],
    seed: int | np.random.Generator | None = 0,
) -> NDArray[Any]:
    """Release the mechanism's outcome on counts, without warnings."""
    return quietly(accountant.release, example.mechanism, counts, random_state=seed)


def spent_by_level(accountant: PrivacyAccountant) -> dict[str, PrivacySpent]:
    """Look up the spending of each level."""
    spent = accountant.spent()
    return spent if isinstance(spent, dict) else {accountant.levels[0].name: spent}


def some_level(accountant: PrivacyAccountant) -> PrivacySpent:
    """Look up the spending of one level: releases and rows are counted alike for all."""
    return next(iter(spent_by_level(accountant).values()))
