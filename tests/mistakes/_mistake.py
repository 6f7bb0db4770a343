"""A mistake as one line of a table, small data that all tables share, and the test of a line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)

N, N_PUBLIC, COLUMNS = 650, 120, ["age", "pay", "hours", "visits"]
_RNG = np.random.default_rng(0)
X, ROWS = _RNG.normal(size=(N, 4)), _RNG.normal(size=(N_PUBLIC, 4))
LABELS, TARGETS = (X[:, 0] > 0).astype(int), X[:, 0] + X[:, 1] / 2
POOL = PublicData(ROWS)
TABLE, PUBLIC_TABLE = pd.DataFrame(X, columns=COLUMNS), pd.DataFrame(ROWS, columns=COLUMNS)
JOBS = TABLE.assign(job=_RNG.choice(["clerk", "nurse"], N))
PUBLIC_JOBS = PUBLIC_TABLE.assign(job=_RNG.choice(["clerk", "nurse"], N_PUBLIC))


def logistic(accountant, **settings):
    return PrivateLogisticRegression(**{"classes": [0, 1], "accountant": accountant, **settings})


def numbers(accountant, **settings):
    return PrivateLinearRegression(
        **{"target_bounds": (-6, 6), "accountant": accountant, **settings}
    )


def teachers(accountant, **settings):
    learner = settings.pop("learner", LogisticRegression())
    given = {"n_teachers": 20, "student": learner, "classes": [0, 1], "accountant": accountant}
    return PrivateTeacherEnsemble(learner, **{**given, **settings})


CLASSIFIERS, LINEAR = (logistic, teachers), (logistic, numbers)
ALL = (logistic, teachers, numbers)


class Mistake(NamedTuple):
    """A line that somebody wrote: arguments of `fit`, or a call of its own."""

    name: str
    #: Regular expression of what the operator reads; it includes the remedy.
    message: str
    #: Function of the accountant; None for a fit.
    call: Callable[[PrivacyAccountant], object] | None = None
    #: Arguments of `fit` that differ from those of an honest one.
    data: Mapping[str, Any] = {}
    #: Parameters of the estimator.
    settings: Mapping[str, Any] = {}
    #: The estimators that are fitted.
    models: tuple[Callable[..., Any], ...] = ALL
    #: "before" anything is spent; "for 1 %" by the noisy check of public rows or declared columns;
    #: "in fit" by what was released.
    found: str = "before"
    epsilon: float | Mapping[str, float] = 4.0
    budget: Mapping[str, Any] = {}


def _suffix(make: Callable[..., Any] | None) -> str:
    return "" if make is None else f", {make.__name__}"


def cases(mistakes: Sequence[Mistake]) -> list[object]:
    """Return the parameters of a test: each mistake, with each of its estimators."""
    return [
        pytest.param(mistake, make, id=f"{mistake.name}{_suffix(make)}")
        for mistake in mistakes
        for make in (mistake.models if mistake.call is None else (None,))
    ]


def check(mistake: Mistake, make: Callable[..., Any] | None) -> None:
    """Make a mistake: it is found in time, and the message has the remedy."""
    accountant = PrivacyAccountant(mistake.epsilon, 1e-5, **mistake.budget)

    def call() -> None:
        if make is None:
            assert mistake.call is not None
            mistake.call(accountant)
        else:
            y = TARGETS if make is numbers else LABELS
            settings = {"accountant": accountant, **mistake.settings}
            model = make(settings.pop("accountant"), **settings)
            model.fit(**{"X": X, "y": y, "X_public": POOL, **mistake.data})

    if mistake.found == "in fit":
        with pytest.warns(UserWarning, match=mistake.message):
            call()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError, RuntimeError, Warning), match=mistake.message):
            call()
    if mistake.found == "before":
        assert accountant.entries() == []
    else:
        assert sum(entry.is_release for entry in accountant.entries()) == 1
        assert accountant.spent().share <= 0.01
