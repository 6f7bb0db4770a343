"""Checks of the arguments, the settings and the budget of a fit, before anything is paid."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from secretballot._base._errors import BudgetExceededError, PrivacyLeakWarning, warn
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._limits import EQUAL_FITS
from secretballot.ledger._budget import Scope, by_level
from secretballot.mechanisms._noisy_counts import NoisyCounts
from secretballot.tables._levels import Levels

#: Share of the whole budget that only one copy can take.
_ONE_COPY = 0.501


class CopiedMixin:
    """Mixin of estimators whose clones know that they are clones."""

    _is_copy = False

    def __sklearn_clone__(self) -> Any:
        clone = super().__sklearn_clone__()  # type: ignore[misc]
        clone._is_copy = True
        return clone


def check_copy(
    is_copy: bool,
    accountant: PrivacyAccountant,
    epsilon: float | dict[str, float] | None,
    *,
    has_amount: bool = False,
) -> bool:
    """Return True for a copy, with a warning; ValueError if it names no part of the budget.

    `epsilon` names one, and so does whatever else the estimator has.

    A copy does not know how many others there are. The warning is about the tool that made it,
    which may use private rows without noise.
    """
    if not is_copy:
        return False
    if epsilon is None and not has_amount:
        with suppress(ValueError):  # what is left is withheld
            accountant.epsilon_per_fit()  # raises an error if nothing is left
        raise ValueError(
            "pass epsilon=accountant.epsilon_per_fit(n_fits): a search, a calibration or a stack "
            "fits copies, and each needs its own part."
        )
    _warn_share(accountant, epsilon)
    warn(
        "a copy of the model was fitted, as tools around a model do. What such a tool itself "
        "learns from private rows, or scores with them (a calibration, a threshold, a choice of "
        "parameters), has no noise, and is outside of the guarantee: see 'Tools around a model' "
        "in the guide.",
        PrivacyLeakWarning,
    )
    return True


def _warn_share(accountant: PrivacyAccountant, epsilon: float | dict[str, float] | None) -> None:
    """Warn, before it is paid, of a copy after which no other one is affordable."""
    if epsilon is None or accountant.accounting == "data_dependent":
        return
    try:
        share = max(price_of_all(accountant, accountant.scope(epsilon)).values())
    except BudgetExceededError:
        return  # refused with the fit's own error
    if share > _ONE_COPY:
        warn(
            f"epsilon={epsilon!r}: this copy of the model takes {share:.0%} of the whole budget, "
            f"and a second one will be refused. {EQUAL_FITS}"
        )


def price_of_all(accountant: PrivacyAccountant, scope: Scope | None) -> dict[str, float]:
    """Compute the price of a release that takes all that is left, as shares of the budget."""
    full_release = accountant.calibrate(NoisyCounts, 1, n_columns=1, scope=scope)
    return by_level(accountant.price(full_release, n_columns=1, scope=scope))


def refuse_arguments(unsupported: Mapping[str, object], weights: str) -> None:
    """Refuse unknown arguments of `fit`; `weights` explains why it takes no `sample_weight`."""
    for name in unsupported:
        raise TypeError(
            f"fit() got an unexpected keyword argument 'sample_weight': {weights}"
            if name == "sample_weight"
            else f"fit() got an unexpected keyword argument {name!r}; it takes X, y, X_public, "
            "owners and budgets."
        )


def warn_settings(
    accountant: PrivacyAccountant,
    epsilon: float | Mapping[str, float] | None,
    levels: Levels | None,
    n_people: int | None,
) -> None:
    """Warn, before anything is spent, of settings that protect or buy less than they seem to."""
    budget = accountant.levels
    if len(budget) > 1 and levels is None and n_people is not None:
        names = ", ".join(repr(level.name) for level in budget)
        warn(
            f"the accountant has the levels {names}, but budgets was not given: all rows pay "
            "alike, and what may be spent ends with the strictest budget. Pass fit(..., budgets=) "
            "the level of each row."
        )
    if epsilon is not None and all(
        (epsilon[level.name] if isinstance(epsilon, Mapping) else epsilon) > level.epsilon
        for level in budget
    ):
        warn(
            f"epsilon={epsilon!r} is more than the accountant's budget of {accountant.epsilon!r}, "
            "which therefore decides alone. Use a smaller epsilon to cap one fit, or None."
        )
    if n_people and accountant.delta > 1 / n_people:
        warn(
            f"the accountant's delta={accountant.delta:g} is above 1/n = {1 / n_people:.2g} for "
            f"n={n_people}: publishing somebody's whole record would satisfy it. Use a delta well "
            "below that, such as 1e-5."
        )
