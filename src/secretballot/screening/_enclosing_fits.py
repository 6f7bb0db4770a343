"""Fits within estimators that fit a model several times, or learn from private labels."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from joblib import effective_n_jobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.validation import has_fit_parameter

from secretballot._errors import BudgetExceededError, PrivacyLeakWarning, warn
from secretballot.scoring import by_level, price_of_all
from secretballot.screening._public_rows_check import CheckedEstimator

#: Rounding of the charges of fits that use their epsilon up.
_ROUNDING = 1 + 1e-6

#: Parameters that decide what a fit costs: where a search varies them, fits are not alike.
_COST_PARAMETERS = ("accountant", "epsilon", "mechanism", "reservation")

_LEAK = (
    "{name} learns {what} from labels of private rows, without noise. The guarantee does not "
    "cover that, and the budget does not pay for it. {remedy}"
)


@dataclass(frozen=True)
class Enclosing:
    """Kind of estimator around a model.

    Attributes
    ----------
    module : str
        Its public module.
    count_fits : callable
        Function from the estimator, and the variables of its running `fit`, to the number of fits
        of the model; None if it is not known.
    learns : str
        Part that it learns from private labels; empty if there is none.
    remedy : str
    """

    module: str
    count_fits: Callable[[Any, Mapping[str, Any]], int | None]
    learns: str = ""
    remedy: str = ""


def _n_folds(estimator: Any) -> int | None:
    try:
        return int(check_cv(estimator.cv, classifier=True).get_n_splits())
    except (TypeError, ValueError):  # folds that depend on rows
        return None


def _and_one(n_fits: int | None) -> int | None:
    return None if n_fits is None else n_fits + 1


def _fits_of_stack(stack: Any, fit: Mapping[str, Any]) -> int | None:
    return 1 if stack.cv == "prefit" else _and_one(_n_folds(stack))


def _fits_of_calibration(calibration: Any, fit: Mapping[str, Any]) -> int | None:
    n_folds = _n_folds(calibration)
    return _and_one(n_folds) if calibration.ensemble is False else n_folds


def _fits_of_threshold(tuned: Any, fit: Mapping[str, Any]) -> int | None:
    single = isinstance(tuned.cv, float)
    # Without a refit the model is fitted to the one part twice.
    return _and_one(1 if single else _n_folds(tuned))


def _fits_of_search(search: Any, fit: Mapping[str, Any]) -> int | None:
    is_grid = hasattr(search, "param_grid")
    grids = search.param_grid if is_grid else search.param_distributions
    names = {name for each in (grids if isinstance(grids, list) else [grids]) for name in each}
    if any(name.split("__")[-1] in _COST_PARAMETERS for name in names):
        return None
    # Older versions of scikit-learn have a variable, later ones an attribute.
    n_splits = fit.get("n_splits", getattr(search, "n_splits_", None))
    n_candidates = len(ParameterGrid(grids)) if is_grid else search.n_iter
    return None if n_splits is None else n_candidates * int(n_splits) + bool(search.refit)


_STACK = Enclosing(
    "sklearn.ensemble",
    _fits_of_stack,
    "its final estimator",
    "Average models instead, or stack models of public rows.",
)
_SEARCH = Enclosing("sklearn.model_selection", _fits_of_search)

ENCLOSING = {
    "StackingClassifier": _STACK,
    "StackingRegressor": _STACK,
    "CalibratedClassifierCV": Enclosing(
        "sklearn.calibration",
        _fits_of_calibration,
        "the calibration",
        "Probabilities of PrivateLogisticRegression need none. Calibrate a fitted model with "
        "labelled public rows, CalibratedClassifierCV(FrozenEstimator(model)), or the student "
        "within an ensemble.",
    ),
    "TunedThresholdClassifierCV": Enclosing(
        "sklearn.model_selection",
        _fits_of_threshold,
        "the threshold",
        "Choose it by public facts, FixedThresholdClassifier(model, threshold=), or use "
        "class_weight='balanced' of PrivateLogisticRegression.",
    ),
    "GridSearchCV": _SEARCH,
    "RandomizedSearchCV": _SEARCH,
}


@dataclass
class _CheckedFit:
    """Running fit of an enclosing estimator, whose first fit of the model was checked."""

    frame_id: int
    refusal: Callable[[], Exception] | None  # no traceback, which would keep private rows
    n_left: int | None  # fits of the model; None if not known


_checked_fits: WeakKeyDictionary[Any, _CheckedFit] = WeakKeyDictionary()


def check_enclosing_fits(estimator: CheckedEstimator) -> None:
    """Refuse a fit if those of the estimators around it can't all be paid, and warn of leaks.

    The first fit decides for all, before anything is spent. The estimators are found on the call
    stack. With several workers only a refit would be, which is not the first.
    """
    found = _running_fits()
    if not found or any(effective_n_jobs(each.n_jobs) > 1 for _, each, _ in found):
        return
    _, outermost, frame = found[-1]
    checked = _checked_fits.get(outermost)
    if checked is None or checked.frame_id != id(frame) or checked.n_left == 0:
        checked = _CheckedFit(id(frame), None, _count_fits(found))
        _checked_fits[outermost] = checked
        try:
            _check(estimator, found, checked.n_left)
        except (BudgetExceededError, ValueError, Warning) as error:
            checked.refusal = partial(type(error), str(error))
    if checked.n_left is not None:
        checked.n_left -= 1
    if checked.refusal is not None:
        raise checked.refusal()


def _count_fits(found: list[tuple[str, Any, FrameType]]) -> int | None:
    """Return the number of fits that the estimators around a model make together, if known."""
    counts = [ENCLOSING[name].count_fits(each, frame.f_locals) for name, each, frame in found]
    known = [count for count in counts if count is not None]
    return math.prod(known) if len(known) == len(counts) else None


def _check(
    estimator: CheckedEstimator, found: list[tuple[str, Any, FrameType]], n_fits: int | None
) -> None:
    """Check the estimators around a model, from the inside to the outside."""
    for name, enclosing, frame in found:
        if ENCLOSING[name] is _STACK and enclosing.cv != "prefit":
            _check_final_estimator(name, enclosing, frame.f_locals.get("fit_params", {}))
    if n_fits is not None and n_fits > 1:
        _check_budget(estimator, n_fits, " around ".join(name for name, *_ in reversed(found)))
    for name, enclosing, _ in found:
        kind = ENCLOSING[name]
        if kind.learns:
            message = _LEAK.format(name=name, what=kind.learns, remedy=kind.remedy)
            warn(message, PrivacyLeakWarning)
        elif not callable(enclosing.scoring):
            warn(
                f"{name} scores with held-out private rows, without noise. The guarantee covers "
                "neither these scores nor a choice by them. Let a student be chosen by "
                "PrivateChoice, or pay for each score: scoring=lambda model, X, y: "
                "model.score_private(X, y).accuracy.",
                PrivacyLeakWarning,
            )


def _check_final_estimator(name: str, stack: Any, arguments: Mapping[str, Any]) -> None:
    last = LogisticRegression() if stack.final_estimator is None else stack.final_estimator
    if "X_public" in arguments and not has_fit_parameter(last, "X_public"):
        raise ValueError(
            f"X_public: {name} passes it to final_estimator={last!r} as well, which "
            "does not take it and would fail after the budget is spent. Nothing was released or "
            "spent. Fit the model first, and stack it with cv='prefit'."
        )


def _check_budget(estimator: CheckedEstimator, n_fits: int, name: str) -> None:
    """Refuse the first of several fits that can't all be paid."""
    accountant, epsilon = estimator.accountant, estimator.epsilon
    if epsilon is not None:
        price = price_of_all(accountant, accountant.scope(epsilon))
        remaining = by_level(accountant.remaining())
        if all(n_fits * price[level] <= remaining[level].share * _ROUNDING for level in price):
            return
    elif any(getattr(estimator, cost, None) is not None for cost in ("mechanism", "reservation")):
        return  # its noise, or what it pays with, is fixed
    raise BudgetExceededError(
        f"epsilon={epsilon!r}, and {name} fits {n_fits} times: the budget would end before the "
        "last of these fits, with nothing to show. Nothing was released or spent. Pass "
        f"epsilon=accountant.epsilon_per_fit({n_fits}), at which all of them fit what is left."
    )


def _running_fits() -> list[tuple[str, Any, FrameType]]:
    """Return the name, the estimator and the frame of each fit around this one, inside first."""
    kinds = {
        name: getattr(sys.modules[each.module], name)
        for name, each in ENCLOSING.items()
        if each.module in sys.modules
    }
    found: list[tuple[str, Any, FrameType]] = []
    frame: FrameType | None = sys._getframe()
    while frame is not None and (frame := frame.f_back) is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
        # A subclass may call `fit` of one estimator in several frames.
        if not any(caller is other for _, other, _ in found):
            names = [name for name, kind in kinds.items() if isinstance(caller, kind)]
            found += [(name, caller, frame) for name in names]
    return found
