"""Copies of an estimator, fitted by tools around it: each needs its own part of the budget."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from secretballot._base._errors import BudgetExceededError, PrivacyLeakWarning, warn
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.accounting._limits import EQUAL_FITS
from secretballot.tables._level_prices import price_of_all

#: Parameters of an estimator that limit the price of a fit: one must be given to a copy.
_AMOUNTS = ("epsilon", "mechanism", "reservation")
#: Share of the whole budget that only one copy can take.
_ONE_COPY = 0.501


class CopiedMixin:
    """Mixin of estimators whose clones know that they are clones."""

    _is_copy = False

    def __sklearn_clone__(self) -> Any:
        clone = super().__sklearn_clone__()  # type: ignore[misc]
        clone._is_copy = True
        return clone


def check_copy(estimator: Any) -> bool:
    """Return True for a copy, with a warning; ValueError if it names no part of the budget.

    A copy does not know how many others there are. The warning is of the tool itself, which may
    look at private rows without noise.
    """
    if not estimator._is_copy:
        return False
    if all(getattr(estimator, amount, None) is None for amount in _AMOUNTS):
        if estimator.accountant is not None:
            with suppress(ValueError):  # what is left is withheld
                estimator.accountant.epsilon_per_fit()  # its error, if nothing is left
        raise ValueError(
            "pass epsilon=accountant.epsilon_per_fit(n_fits): a search, a calibration or a stack "
            "fits copies, and each needs its own part."
        )
    _warn_share(estimator.accountant, estimator.epsilon)
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
