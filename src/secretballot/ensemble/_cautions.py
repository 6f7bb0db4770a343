"""Settings that protect less, or buy less, than whoever chose them may think; told, not refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from secretballot._errors import warn
from secretballot.ensemble.individual import Levels


def warn_one_teacher(n_teachers: int) -> None:
    """Warn that one teacher hides nothing."""
    if n_teachers == 1:
        warn(
            "there is one teacher only: noise that hides its one ballot hides every answer. Use "
            "many teachers (n_teachers=100)."
        )


def warn_settings(estimator: Any, levels: Levels | None, n_people: int | None) -> None:
    """Warn, before anything is spent, of what only looks like a choice.

    Parameters
    ----------
    estimator : PrivateTeacherEnsemble or PrivateLogisticRegression
    levels : Levels or None
        Whose level is which, if that was said.
    n_people : int or None
        How many rows, or owners, the budget protects; None where nobody knows.
    """
    accountant, cap = estimator.accountant, estimator.epsilon
    budget = {level.name: level.epsilon for level in accountant.levels}
    if len(budget) > 1 and levels is None and n_people is not None:
        warn(
            f"the accountant has the levels {', '.join(map(repr, budget))}, but budgets was not "
            "given: all rows pay alike, and what may be spent ends with the strictest budget. Pass "
            "fit(..., budgets=) the level of each row."
        )
    caps = cap if isinstance(cap, Mapping) else dict.fromkeys(budget, cap)
    if cap is not None and all(caps[level] > epsilon for level, epsilon in budget.items()):
        warn(
            f"epsilon={cap!r} is more than the accountant's budget of {accountant.epsilon!r}, "
            "which therefore decides alone. Use a smaller epsilon to cap one fit, or None."
        )
    if n_people and accountant.delta > 1 / n_people:
        warn(
            f"the accountant's delta={accountant.delta:g} is above 1/n = {1 / n_people:.2g} for "
            f"n={n_people}: publishing somebody's whole record would satisfy it. Use a delta well "
            "below that, such as 1e-5."
        )
