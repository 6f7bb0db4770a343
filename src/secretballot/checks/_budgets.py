"""Budgets for the checks, and what a mechanism spends of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from secretballot.accounting import PrivacyAccountant, PrivacySpent, RenyiCost
from secretballot.checks._contract import quietly
from secretballot.checks._mechanism_example import MechanismExample
from secretballot.divergences import EVERYONE, level_cost, split_group

_PLENTY = 1e9
ROUNDING = 1 + 1e-9


def mechanism_counts(example: MechanismExample) -> Any:
    """Return the example's counts as the mechanism takes them."""
    return example.mechanism.check_counts(example.counts)


def charges_known(mechanism: Any, counts: Any) -> bool:
    """Whether a mechanism can be charged for votes that are known, and not only at its worst."""
    try:
        mechanism.state(counts)
    except ValueError:
        return False
    return True


def columns_of(counts: Any) -> int | None:
    """Columns of counts, as the accountant counts them."""
    return counts.shape[1] if counts.ndim > 1 and counts.dtype.names is None else None


def relation_of(example: MechanismExample) -> str:
    """Return the relation that the mechanism is proven for; replacement if there are two."""
    return min(example.mechanism.relations, key=["replace", "add_remove"].index)


def own_delta(example: MechanismExample) -> float:
    """Return the delta that one row of the mechanism has of its own."""
    return max(float(cost.delta) for cost in example.mechanism.max_cost().values())


def budget_of(
    example: MechanismExample, epsilon: float = _PLENTY, **options: Any
) -> PrivacyAccountant:
    """Return a budget with the levels that the mechanism charges, one that adds up its costs."""
    levels = {split_group(group)[0] for group in example.mechanism.max_cost()} - {EVERYONE}
    delta = 1e-5
    if own_delta(example):
        delta = 0.5
        if options.get("order") != np.inf:
            options = {"approximation_delta": 0.49, **options}
    options = {"order": "renyi", "delta": delta, **options}
    return PrivacyAccountant(
        epsilon=dict.fromkeys(sorted(levels), epsilon) if levels else epsilon,
        relation=relation_of(example),
        **options,
    )


def epsilon_for_rows(example: MechanismExample, n_rows: int) -> float:
    """Return the epsilon of a budget in which about `n_rows` rows fit, each at its most."""
    columns = columns_of(mechanism_counts(example))
    most = example.mechanism.max_cost(columns)
    epsilon = 1.0
    while True:
        accountant = budget_of(example, epsilon)
        if all(
            n_rows * level_cost(most, level.name, level.order).at(level.order) <= level.amount
            and n_rows * level_cost(most, level.name, level.order).delta
            <= level.approximation_delta
            for level in accountant.levels
        ):
            return epsilon
        assert epsilon < _PLENTY, f"{n_rows} rows fit no budget; give the example more noise"
        epsilon *= 1.5


def pay(
    accountant: PrivacyAccountant, example: MechanismExample, counts: Any, seed: Any = 0
) -> Any:
    """Release without warnings of seeded noise, or of nothing if the seed is None."""
    return quietly(accountant.release, example.mechanism, counts, random_state=seed)


def spent_by_level(accountant: PrivacyAccountant) -> dict[str, PrivacySpent]:
    """Return what each level has spent."""
    spent = accountant.spent()
    return spent if isinstance(spent, dict) else {accountant.levels[0].name: spent}


def some_level(accountant: PrivacyAccountant) -> PrivacySpent:
    """Return what one level has spent: releases and rows are counted alike for all."""
    return next(iter(spent_by_level(accountant).values()))


def below(cost: RenyiCost, most: RenyiCost) -> bool:
    """Whether a cost is nowhere above another, but for rounding."""
    return bool((cost.curve <= most.curve * ROUNDING).all() and (cost.delta <= most.delta).all())


def same_cost(one: RenyiCost, two: RenyiCost, promise: str) -> None:
    """AssertionError, naming the promise, if two costs differ at the finite orders."""
    finite = slice(0, -1)
    assert np.allclose(one.curve[..., finite], two.curve[..., finite], rtol=1e-9, atol=0), promise
    assert np.allclose(one.delta, two.delta, rtol=1e-9, atol=0), promise
