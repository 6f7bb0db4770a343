"""Fits within estimators and functions that fit a model several times, or learn from labels."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import sklearn.model_selection
from joblib import effective_n_jobs
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from secretballot._errors import BudgetExceededError, PrivacyLeakWarning, warn
from secretballot.scoring import by_level, price_of_all
from secretballot.screening._enclosing_kinds import (
    ENCLOSING,
    FUNCTIONS,
    STACK,
    WORKER_FUNCTIONS,
    Enclosing,
)
from secretballot.screening._pipeline_steps import learned_steps
from secretballot.screening._public_rows_check import CheckedEstimator
from secretballot.screening._score_costs import scores_remedy, share_of_scores

#: Rounding of the charges of fits that use their epsilon up.
_ROUNDING = 1 + 1e-6

#: Function of `sklearn.base` that copies an estimator.
_COPY = "_clone_parametrized"

_NOTHING_SPENT = "Nothing was released or spent."
_SPENT_BEFORE = "This fit released and spent nothing; what earlier ones spent stays spent."


class _Around(NamedTuple):
    """Running fit of an estimator, or call of a function, around the fit of a model."""

    name: str
    kind: Enclosing
    estimator: Any  # for a function the one that it was given
    frame: FrameType
    is_running: bool = True  # otherwise a copy is made of it

    @property
    def n_fits(self) -> int | None:
        return self.kind.count_fits(self.estimator, self.frame.f_locals)

    def setting(self, name: str) -> object:
        """Return a parameter of the estimator, or an argument of the function."""
        if self.name in ENCLOSING:
            return getattr(self.estimator, name, None)
        return self.frame.f_locals.get(name)

    @property
    def leak(self) -> str:
        """Describe what it learns or scores without noise; empty if there is nothing."""
        return self.kind.leak(self.name, self.setting)

    @property
    def note(self) -> str:
        """Return its name, for the note of releases."""
        return self.name + " (copies of rows in a fit)" * self.kind.repeats

    @property
    def parts(self) -> list[Any]:
        """Return its private models, where it has several."""
        return [] if self.name in FUNCTIONS else self.kind.parts(self.estimator)

    @property
    def is_parallel(self) -> bool:
        return bool(effective_n_jobs(self.setting("n_jobs")) > 1)


@dataclass
class _CheckedFit:
    """Running fit of an enclosing estimator, whose first fit of the model was checked."""

    frame_id: int
    refusal: Callable[[], Exception] | None  # no traceback, which would keep private rows
    n_left: int | None  # fits of the model; None if not known


_checked_fits: WeakKeyDictionary[Any, _CheckedFit] = WeakKeyDictionary()


#: Frames of running fits with several workers, whose first copy of a model was checked.
_checked_clones: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


class CheckedCloneMixin:
    """Mixin of models whose copies for several workers are checked together, before they fit."""

    #: What around the fit of this copy learns without noise: workers don't see the call stack.
    _leaks_around: list[str]

    def __sklearn_clone__(self) -> Any:
        leaks = check_enclosing_clones(self)  # type: ignore[arg-type]
        leaks = leaks or getattr(self, "_leaks_around", [])
        clone = super().__sklearn_clone__()  # type: ignore[misc]
        if leaks:
            clone._leaks_around = leaks
        return clone


def check_enclosing_clones(estimator: CheckedEstimator) -> list[str]:
    """Refuse copies of a model for several workers if all their fits can't be paid.

    Returns
    -------
    list of str
        What around the fits of the copies learns, or scores, without noise.
    """
    fits_around = _fits_around()
    if (
        estimator.accountant is None
        or not any(around.is_parallel for around in fits_around)
        or not fits_around[-1].is_running
    ):
        return []
    _check_kinds(estimator, fits_around)
    outermost, leaks = fits_around[-1], [around.note for around in fits_around if around.leak]
    if _checked_clones.get(outermost.estimator) == id(outermost.frame):
        return leaks
    try:
        n_fits = _count_fits(fits_around)
    except (AttributeError, KeyError):  # a copy that is made before the folds are known
        return []
    if n_fits is None and not all(around.is_running for around in fits_around):
        return leaks
    _checked_clones[outermost.estimator] = id(outermost.frame)
    _check(estimator, fits_around, n_fits)
    return leaks


def check_enclosing_fits(estimator: CheckedEstimator) -> list[str]:
    """Refuse a fit if those of the estimators around it can't all be paid, and warn of leaks.

    The first fit decides for all, before anything is spent. The estimators are found on the call
    stack. With several workers only a refit would be, which is not the first: there
    `check_enclosing_clones` decides.

    Returns
    -------
    list of str
        What around the fit learns, or scores, without noise; for the note of its releases.
    """
    fits_around, steps = [each for each in _fits_around() if each.is_running], learned_steps()
    _check_workers({around.name for around in fits_around})
    leaks = [around.note for around in fits_around if around.leak]
    leaks += vars(estimator).pop("_leaks_around", [])
    leaks = list(dict.fromkeys([*leaks, *(step.name for step in steps)]))
    if any(around.is_parallel for around in fits_around):
        _checked_clones.pop(fits_around[-1].estimator, None)
        return leaks
    if not fits_around:
        _warn_leaks([step.warning for step in steps])
        return leaks
    outermost = fits_around[-1]
    checked = _checked_fits.get(outermost.estimator)
    known = checked is not None and checked.frame_id == id(outermost.frame)
    if checked is None or not known or checked.n_left == 0:
        checked = _CheckedFit(id(outermost.frame), None, _count_fits(fits_around))
        _checked_fits[outermost.estimator] = checked
        try:
            spent = _SPENT_BEFORE if known else _NOTHING_SPENT
            _check(estimator, fits_around, checked.n_left, spent)
        except (BudgetExceededError, ValueError, Warning) as error:
            checked.refusal = partial(type(error), str(error))
    if checked.n_left is not None:
        checked.n_left -= 1
    if checked.refusal is not None:
        raise checked.refusal()
    return leaks


def _count_fits(fits_around: list[_Around]) -> int | None:
    """Return the number of fits that the estimators around a model make together, if known."""
    known = [count for around in fits_around if (count := around.n_fits) is not None]
    return math.prod(known) if len(known) == len(fits_around) else None


def _check(
    estimator: CheckedEstimator,
    fits_around: list[_Around],
    n_fits: int | None,
    spent: str = _NOTHING_SPENT,
) -> None:
    """Check the estimators around a model, from the inside to the outside."""
    _check_kinds(estimator, fits_around, spent)
    for around in fits_around:
        if around.kind is STACK and around.estimator.cv != "prefit":
            arguments = around.frame.f_locals.get("fit_params", {})
            _check_final_estimator(around.name, around.estimator, arguments, spent)
    if n_fits is not None and n_fits > 1:
        _check_budget(estimator, n_fits, fits_around, spent)
    leaks = [around.leak for around in fits_around]
    _warn_leaks([*leaks, *(step.warning for step in learned_steps())])


def _check_kinds(
    estimator: CheckedEstimator, fits_around: list[_Around], spent: str = _NOTHING_SPENT
) -> None:
    for around in fits_around:
        refusal = around.kind.refusal(around.name, estimator, around.setting)
        if refusal:
            raise ValueError(f"{refusal} {spent}")


def _check_workers(names_around: set[str]) -> None:
    """Refuse a fit in a worker that can't see which fits there are besides."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and (frame := frame.f_back) is not None:
        function = (frame.f_globals.get("__name__", ""), frame.f_code.co_name)
        callers = WORKER_FUNCTIONS.get(function, ())
        if callers and names_around.isdisjoint(callers):
            raise ValueError(
                f"n_jobs: {' or '.join(callers)} with several workers, none of which can tell "
                "whether the budget pays for the fits of all. This fit released and spent nothing. "
                "Use n_jobs=1 there."
            )


def _warn_leaks(warnings: list[str]) -> None:
    for warning in filter(None, warnings):
        warn(warning, PrivacyLeakWarning)


def _check_final_estimator(name: str, stack: Any, arguments: Mapping[str, Any], spent: str) -> None:
    last = LogisticRegression() if stack.final_estimator is None else stack.final_estimator
    if "X_public" in arguments and not has_fit_parameter(last, "X_public"):
        raise ValueError(
            f"X_public: {name} passes it to final_estimator={last!r} as well, which "
            f"does not take it and would fail after the budget is spent. {spent} Average "
            "models instead. Or fit them first, and stack them on labelled public rows: "
            f"{name}(..., cv='prefit') learns from the rows of its own fit, without noise, and "
            "nobody notices if these are private."
        )


def _check_budget(
    estimator: CheckedEstimator, n_fits: int, fits_around: list[_Around], spent: str
) -> None:
    """Refuse the first of several fits that can't all be paid."""
    accountant = estimator.accountant
    models = next((parts for around in fits_around if (parts := around.parts)), [estimator])
    epsilons = [model.epsilon for model in models]
    if None not in epsilons:
        prices = [price_of_all(accountant, accountant.scope(epsilon)) for epsilon in epsilons]
        remaining = by_level(accountant.remaining())
        of_fits = {
            level: n_fits / len(models) * sum(price[level] for price in prices)
            for level in prices[0]
        }
        if all(of_fits[level] <= remaining[level].share * _ROUNDING for level in of_fits):
            _check_scores(estimator, n_fits, fits_around, of_fits, spent)
            return
    elif any(getattr(estimator, cost, None) is not None for cost in ("mechanism", "reservation")):
        return  # its noise, or what it pays with, is fixed
    name = " around ".join(around.name for around in reversed(fits_around))
    remedy = f"epsilon_per_fit({n_fits}), at which all of them fit what is left"
    if any(around.kind.pays_scores(around.setting) for around in fits_around):
        remedy = f"epsilon_per_fit({n_fits}, share=0.8), which leaves a fifth for the scores"
    raise BudgetExceededError(
        f"epsilon={estimator.epsilon!r}, and {name} fits {n_fits} times: the budget would end "
        f"before the last of these fits, with nothing to show. {spent} Pass "
        f"epsilon=accountant.{remedy}."
    )


def _check_scores(
    estimator: CheckedEstimator,
    n_fits: int,
    fits_around: list[_Around],
    of_fits: Mapping[str, float],
    spent: str,
) -> None:
    """Refuse fits that leave too little for the scores between them, where these are known."""
    (around, *others), accountant = fits_around, estimator.accountant
    if others or not around.kind.pays_scores(around.setting):
        return
    n_scores = n_fits - bool(around.setting("refit"))
    of_scores = share_of_scores(around.setting, n_scores)
    remaining = by_level(accountant.remaining())
    if of_scores and any(
        of_fit + of_scores > remaining[level].share * _ROUNDING for level, of_fit in of_fits.items()
    ):
        least = min(report.share for report in remaining.values())
        raise BudgetExceededError(
            f"{around.name} fits {n_fits} times and scores {n_scores} times, which together takes "
            f"more than what is left of the budget. {spent} "
            f"{scores_remedy(n_fits, n_scores, of_scores, least)}"
        )


def _fits_around() -> list[_Around]:
    """Return the fits, functions and copies around this fit or copy of a model, inside first."""
    # Some of them exist only after an import of `sklearn.experimental`.
    kinds = {
        name: vars(sys.modules[kind.module])[name]
        for name, kind in ENCLOSING.items()
        if kind.module in sys.modules and name in vars(sys.modules[kind.module])
    }
    codes = _function_codes()
    found: list[_Around] = []
    frame: FrameType | None = sys._getframe()
    while frame is not None and (frame := frame.f_back) is not None:
        function = frame.f_code.co_name
        if codes.get(function) is frame.f_code:
            given = frame.f_locals["estimator"]
            found.append(_Around(function, FUNCTIONS[function], given, frame))
        caller = frame.f_locals.get("self") if function == "fit" else None
        if function == _COPY and frame.f_globals.get("__name__") == "sklearn.base":
            caller = frame.f_locals["estimator"]
        # A subclass may call `fit` of one estimator in several frames.
        if caller is None or any(caller is each.estimator for each in found):
            continue
        name = next((name for name, kind in kinds.items() if isinstance(caller, kind)), "")
        if not name:
            continue
        if found and found[-1].name in FUNCTIONS and ENCLOSING[name].folds:
            found.pop()  # a part of that fit, which counts its calls
        found.append(_Around(name, ENCLOSING[name], caller, frame, function == "fit"))
    return found


@cache
def _function_codes() -> dict[str, CodeType]:
    """Return the code of each function that fits an estimator."""
    functions = {name: getattr(sklearn.model_selection, name) for name in FUNCTIONS}
    return {name: inspect.unwrap(function).__code__ for name, function in functions.items()}
