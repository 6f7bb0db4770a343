"""Copies of an estimator, fitted by tools around it: each needs its own part of the budget."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from secretballot._base._errors import PrivacyLeakWarning, warn

#: Parameters of an estimator that limit the price of a fit: one must be given to a copy.
_AMOUNTS = ("epsilon", "mechanism", "reservation")


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
    warn(
        "a copy of the model was fitted, as tools around a model do. What such a tool itself "
        "learns from private rows, or scores with them (a calibration, a threshold, a choice of "
        "parameters), has no noise, and is outside of the guarantee: see 'Tools around a model' "
        "in the guide.",
        PrivacyLeakWarning,
    )
    return True
