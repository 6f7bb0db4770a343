"""Scoring functions of users: which ones pay for what they read of private rows."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from sklearn.base import is_regressor

from secretballot._numbers import as_float

#: Names of what pays for a score, by an amount.
_SCORES = frozenset({"score_private", "confusion_private", "regression_score_private"})
_AMOUNTS = frozenset({"epsilon", "share", "sigma"})
#: Names of what pays.
_PAYING = _SCORES | {"release"}
#: Functions that a function calls are read, and those that they call.
_DEPTH = 2


def pays(scoring: object) -> bool:
    """Return True for functions of a user that pay for scores, or read no private rows.

    They are read, not called: one of the names that pay has to occur in their code, or in that of
    functions that they name. Names of metrics and scorers of scikit-learn never pay.
    """
    if isinstance(scoring, Mapping):
        return all(map(pays, scoring.values()))
    if not callable(scoring) or type(scoring).__module__.startswith("sklearn."):
        return False
    return _names_payment(scoring, _DEPTH) or not _reads_rows(scoring)


def scoring_of(scoring: object, estimator: object) -> object:
    """Return the scoring that is used: that of a search within, where none is given."""
    if isinstance(scoring, Mapping):
        return {name: scoring_of(each, estimator) for name, each in scoring.items()}
    if scoring is None or type(scoring).__name__ == "_PassthroughScorer":
        if hasattr(estimator, "scoring"):
            return scoring_of(estimator.scoring, getattr(estimator, "estimator", None))
        return None
    return scoring


def failing_scores(name: str, scoring: object, estimator: object) -> str:
    """Describe a function whose scores would fail after a fit; or nothing."""
    if isinstance(scoring, Mapping):
        return next(
            filter(None, (failing_scores(name, s, estimator) for s in scoring.values())), ""
        )
    if not hasattr(estimator, "score_private") and _calls_method(scoring):
        return (
            f"scoring calls score_private of {type(estimator).__name__}, which has none: each "
            f"score within {name} would fail after its fit is paid. Use scoring=lambda model, X, "
            f"y: {_paid_score(estimator)}."
        )
    if _lacks_amount(scoring):
        return (
            f"scoring asks for a private score without the amount that it may take: each score "
            f"within {name} would fail after its fit is paid. Use scoring=lambda model, X, y: "
            f"{_paid_score(estimator)}, a part of the whole budget for each score."
        )
    return ""


def unpaid_scores(name: str, estimator: object) -> str:
    """Describe scores without noise of an estimator, and how to pay for them."""
    return (
        f"{name} scores with held-out private rows, without noise. The guarantee covers neither "
        "these scores nor a choice by them. Let a student be chosen by PrivateChoice, or pay for "
        f"each score: scoring=lambda model, X, y: {_paid_score(estimator)}."
    )


def _paid_score(estimator: object) -> str:
    """Return the expression of a score of a model that is paid for."""
    if hasattr(estimator, "score_private"):
        score = "r2" if is_regressor(estimator) else "accuracy"
        return f"model.score_private(X, y, share=0.01).{score}"
    if is_regressor(estimator):
        return (
            "secretballot.scoring.regression_score_private(accountant, y, model.predict(X), "
            "target_bounds=(low, high), share=0.01).r2"
        )
    return (
        "secretballot.scoring.score_private(accountant, y, model.predict(X), share=0.01).accuracy"
    )


def constant_share(scoring: object) -> float:
    """Return the share of the budget that a function asks for each score; 0 if it is not known."""
    steps = _straight_steps(scoring)
    for place, step in enumerate(steps):
        names = _argument_names(scoring, step)
        values = steps[place - len(names) : place]
        if "share" in names and all(
            value.opname in ("LOAD_CONST", "LOAD_SMALL_INT") for value in values
        ):
            share = as_float(values[names.index("share")].argval)
            return share if 0 < share <= 1 else 0.0
    return 0.0


def _lacks_amount(scoring: object) -> bool:
    """Return whether a function calls for a private score without an amount."""
    steps = _straight_steps(scoring)
    variables = getattr(scoring, "__globals__", {})
    asks = _calls_method(scoring) or any(
        step.opname == "LOAD_GLOBAL"
        and step.argval in _SCORES
        and getattr(variables.get(step.argval), "__module__", "").startswith("secretballot.")
        for step in steps
    )
    named = {name for step in steps for name in _argument_names(scoring, step)}
    is_unpacked = any(step.opname == "CALL_FUNCTION_EX" for step in steps)
    return asks and not is_unpacked and named.isdisjoint(_AMOUNTS)


def _argument_names(scoring: Any, step: dis.Instruction) -> tuple[str, ...]:
    """Return the names of the last arguments of a call, if a step loads them."""
    value = step.argval
    if step.opname == "KW_NAMES":  # of Python 3.11 and 3.12
        assert step.arg is not None
        value = scoring.__code__.co_consts[step.arg]
    return value if isinstance(value, tuple) and all(isinstance(v, str) for v in value) else ()


def _calls_method(scoring: object) -> bool:
    """Return whether a function calls the method of its model, whatever the model is."""
    return any(
        before.opname.startswith("LOAD_FAST")
        and before.argval == scoring.__code__.co_varnames[0]  # type: ignore[attr-defined]
        and after.argval == "score_private"
        for before, after in pairwise(_straight_steps(scoring))
    )


def _straight_steps(scoring: object) -> list[dis.Instruction]:
    """Return the instructions of a function of a model; none if they depend on a condition."""
    if not isinstance(scoring, FunctionType) or not scoring.__code__.co_argcount:
        return []
    steps = list(dis.get_instructions(scoring))
    is_straight = not any("JUMP" in step.opname for step in steps)
    return steps if is_straight and not scoring.__code__.co_exceptiontable else []


def _function(scoring: object) -> FunctionType | None:
    """Return the function, with code, that a call runs; None if there is none."""
    while isinstance(scoring, partial | MethodType):
        scoring = scoring.func if isinstance(scoring, partial) else scoring.__func__
    if callable(scoring) and not isinstance(scoring, FunctionType):
        scoring = type(scoring).__call__
    return scoring if isinstance(scoring, FunctionType) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names_payment(scoring: object, depth: int) -> bool:
    if getattr(scoring, "__name__", "") in _PAYING:
        return True
    function = _function(scoring)
    if function is None:
        return False
    codes = list(_codes(function.__code__))
    names = {name for code in codes for name in code.co_names}
    if names & _PAYING:
        return True
    if not depth:
        return False
    owner = getattr(scoring, "__self__", scoring)
    called = [function.__globals__.get(name) for name in names]
    called += [getattr(owner, name, None) for name in names]
    called += [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    return any(callable(each) and _names_payment(each, depth - 1) for each in called)


def _reads_rows(scoring: object) -> bool:
    """Return whether a function reads its rows or labels, the arguments after the model."""
    function = _function(scoring)
    if function is None or isinstance(scoring, partial):
        return True
    code, bound = function.__code__, scoring is not function
    n_named = code.co_argcount + code.co_kwonlyargcount
    n_arguments = n_named + sum(bool(code.co_flags & flag) for flag in (4, 8))
    n_before = min(1 + bound, code.co_argcount)
    rows = set(code.co_varnames[n_before:n_arguments])
    for each in dis.get_instructions(code):
        if each.opname.startswith("LOAD_"):
            loaded = each.argval if isinstance(each.argval, tuple) else (each.argval,)
            if not rows.isdisjoint(loaded):
                return True
    return False
