"""Scope of one release with an epsilon of its own."""

from __future__ import annotations

from secretballot._errors import BudgetExceededError
from secretballot.accounting import PrivacyAccountant, Scope


def release_scope(
    accountant: PrivacyAccountant, epsilon: float | dict[str, float] | None
) -> Scope | None:
    """Open the scope of a release; refuse an epsilon that exceeds what is left. None: no scope."""
    if epsilon is None:
        return None
    scope = accountant.scope(epsilon)
    for level in accountant.levels:
        cap = scope.cap(level.name)
        if cap is not None and cap > level.epsilon:
            raise BudgetExceededError(
                f"epsilon={epsilon!r} is more than the accountant's budget of "
                f"{accountant.epsilon!r}. Nothing was released or spent. Pass "
                "epsilon=accountant.epsilon_per_fit() for what is left, or epsilon=None."
            )
    accountant.check_left(scope)
    return scope
