"""Fits within a StackingClassifier, which needs several fits for one model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils.validation import has_fit_parameter

from secretballot._errors import BudgetExceededError
from secretballot.screening._public_rows_check import CheckedEstimator, by_level, price_of_all

#: Rounding of the charges of fits that use their epsilon up.
_ROUNDING = 1 + 1e-6


def check_stacked(estimator: CheckedEstimator) -> None:
    """Raise an error if a StackingClassifier would spend budget and fail afterwards.

    It fits a model once on all rows, and once for each fold, and is lost if one of these fits
    fails. It is found on the call stack, so only with ``n_jobs=None``.
    """
    stack, arguments = _calling_stack()
    if stack is None or stack.cv == "prefit":
        return
    last = LogisticRegression() if stack.final_estimator is None else stack.final_estimator
    if "X_public" in arguments and not has_fit_parameter(last, "X_public"):
        raise ValueError(
            f"X_public: StackingClassifier passes it to final_estimator={last!r} as well, which "
            "does not take it and would fail after the budget is spent. Nothing was released or "
            "spent. Fit the model first, and stack it with cv='prefit'."
        )
    n_fits = 1 + check_cv(stack.cv, classifier=True).get_n_splits()
    accountant, epsilon = estimator.accountant, estimator.epsilon
    if epsilon is not None:
        scope = accountant.scope(epsilon)
        price, remaining = price_of_all(accountant, scope), by_level(accountant.remaining())
        if all(n_fits * price[level] <= remaining[level].share * _ROUNDING for level in price):
            return
    raise BudgetExceededError(
        f"epsilon={epsilon!r}, and StackingClassifier fits {n_fits} times: once on all rows, and "
        "once for each fold. The budget would end before the last, with nothing to show. Nothing "
        "was released or spent. Pass an epsilon= of which so many fit what is left of the budget, "
        "or cv='prefit' with a model that is fitted."
    )


def _calling_stack() -> tuple[Any, Mapping[str, Any]]:
    """Return the StackingClassifier whose `fit` is running, and its fit parameters."""
    kind = getattr(sys.modules.get("sklearn.ensemble"), "StackingClassifier", None)
    frame: FrameType | None = sys._getframe()
    if kind is None:
        return None, {}  # nobody has imported one
    while frame is not None and (frame := frame.f_back) is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, kind) and frame.f_code.co_name == "fit":
            return caller, frame.f_locals.get("fit_params", {})
    return None, {}
