"""Part of a budget for a child, from the epsilon that is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from secretballot._base._numbers import as_float, check_number
from secretballot.accounting._largest_epsilon import largest_epsilon
from secretballot.costs._cost import gate_budget, gaussian_budget
from secretballot.costs._orders import GAUSSIAN
from secretballot.ledger._budget import ONLY_LEVEL, Budget, Cap, LevelBudget, check_cap
from secretballot.ledger._child import Grant


def make_grant(budget: Budget, epsilon: Cap, *, approximation_delta: float | None) -> Grant:
    """Convert the epsilon of a child to limits in the currency of its parent.

    The limit is what the epsilon allows at the parent's delta. The part of delta that is for
    approximations is in proportion to it, unless it is given.

    Parameters
    ----------
    budget : Budget
        The parent's.
    epsilon : float or dict of str to float
    approximation_delta : float or None

    Raises
    ------
    ValueError
        If an argument is invalid, or nothing can be certified.
    """
    if epsilon is None:
        raise ValueError("epsilon=None: give the part of epsilon that the child may spend.")
    check_cap(epsilon, budget.names)
    if approximation_delta is not None:
        check_number("approximation_delta", approximation_delta, least=0)
    levels = []
    for level in budget.levels:
        cap = as_float(epsilon if not isinstance(epsilon, dict) else epsilon[level.name])
        levels.append(_child_level(level, cap, approximation_delta))
    return Grant(tuple(levels))


def epsilon_of_share(levels: Iterable[LevelBudget], share: float) -> dict[str, float] | float:
    """Compute the epsilon of a child that gets a part of the whole budget of its parent."""
    caps = {level.name: _cap_of_share(level, share) for level in levels}
    return caps.get(ONLY_LEVEL, caps)


def _cap_of_share(level: LevelBudget, share: float) -> float:
    """Compute the largest epsilon of a child whose limit is at most a part of a level's."""
    return largest_epsilon(level.epsilon, lambda cap: _amount(level, cap) <= share * level.amount)


def _amount(level: LevelBudget, cap: float) -> float:
    """Compute the limit of a child in the currency of its parent."""
    if level.order == GAUSSIAN:
        return gaussian_budget(cap, level.delta, level.approximation_delta)
    return gate_budget(cap, level.delta - level.approximation_delta, level.order)


def _child_level(level: LevelBudget, cap: float, approximation_delta: float | None) -> LevelBudget:
    amount = _amount(level, cap)
    if not amount > 0:
        raise ValueError(
            f"epsilon={cap:g} of a child can't be certified at delta={level.delta:g} in the "
            f"currency of its parent, order={level.order!r}. Give it more, or open budgets that "
            "children share with order='gaussian'."
        )
    share = min(amount / level.amount, 1.0) * level.approximation_delta
    if approximation_delta is not None:
        share = as_float(approximation_delta)
        if share > level.approximation_delta:
            raise ValueError(
                f"approximation_delta={share:g} of a child is more than the budget's "
                f"({level.approximation_delta:g})."
            )
    return replace(level, epsilon=cap, approximation_delta=share, amount=amount)
