"""Larger epsilon at which a release has less noise, for remedies in messages."""

from __future__ import annotations

import math

from secretballot.accounting._budget_handle import BudgetHandle
from secretballot.costs._cost import best_order, gate_budget, gaussian_budget
from secretballot.costs._orders import GAUSSIAN, Order
from secretballot.ledger._budget import LevelBudget, Scope

#: Factor that covers what calibrations leave over.
_MARGIN = 1.01
#: Steps of bisection within a factor of two.
_STEPS = 12


def epsilon_factor(accountant: BudgetHandle, scope: Scope | None, noise_factor: float) -> float:
    """Compute the factor of epsilon that divides Gaussian noise by `noise_factor`, or more.

    It is rounded up to two digits. The epsilon is that of the scope, or else of the budget.
    """
    factors: list[float] = []
    for level in accountant.levels:
        factors.append(_least_factor(level, level.epsilon, level.order, noise_factor))
        cap = None if scope is None else scope.cap(level.name)
        if cap is not None:  # its order is the best one, as that of its filter
            order = GAUSSIAN if level.order == GAUSSIAN else None
            factors.append(_least_factor(level, cap, order, noise_factor))
    digit = 10.0 ** (math.floor(math.log10(max(factors))) - 1)
    return math.ceil(max(factors) / digit) * digit


def _least_factor(
    level: LevelBudget, epsilon: float, order: Order | None, noise_factor: float
) -> float:
    least = (_MARGIN * noise_factor) ** 2 * _precision(level, epsilon, order)
    high = 1.0
    while _precision(level, epsilon * high, order) < least:
        high *= 2
    low = high / 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_enough = _precision(level, epsilon * middle, order) >= least
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def _precision(level: LevelBudget, epsilon: float, order: Order | None) -> float:
    """Return a number proportional to one over the variance of the noise at an epsilon."""
    if order == GAUSSIAN:
        return gaussian_budget(epsilon, level.delta, level.approximation_delta)
    spare = level.delta - level.approximation_delta
    chosen = best_order(epsilon, spare) if order is None else order
    return gate_budget(epsilon, spare, chosen) / float(chosen)
