"""Mistakes with a budget, a search, a small set, weights and raw tables: refused, or warned of.

Each is found before anything is spent, with a message that names the remedy.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot import (
    GNMax,
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.ensemble import make_table_pipeline

RNG = np.random.default_rng(0)
X = RNG.normal(size=(650, 8))
Y = (X[:, 0] > 0).astype(int)
POOL = PublicData(RNG.normal(size=(120, 8)))
RAW = pd.DataFrame({"age": X[:, 0], "job": RNG.choice(["clerk", "nurse"], 650)})
RAW_POOL = PublicData(RAW.iloc[:80].assign(age=RNG.normal(size=80)).reset_index(drop=True))
GAPS = PublicData(np.where(RNG.random((120, 8)) < 0.1, np.nan, POOL.X))
GRID = {"n_bins": [2, 3]}


def logistic(accountant, **settings):
    return PrivateLogisticRegression(**{"classes": [0, 1], "accountant": accountant, **settings})


def numbers(accountant, **settings):
    return PrivateLinearRegression(target_bounds=(-4, 4), accountant=accountant, **settings)


def teachers(accountant, **settings):
    learner = settings.pop("learner", LogisticRegression())
    return PrivateTeacherEnsemble(
        learner, student=learner, classes=[0, 1], accountant=accountant, **settings
    )


def search(model, kind=GridSearchCV, grid=GRID, **settings):
    return kind(model, grid, cv=2, error_score="raise", **settings).fit(X, Y, X_public=POOL)


def small(accountant):
    return accountant.epsilon_per_fit(5, share=0.8)


def paid(model, X, y):
    return model.score_private(X, y).accuracy


class Mistake(NamedTuple):
    """One line that somebody wrote, and what the operator reads."""

    name: str
    call: Callable[[PrivacyAccountant], Any]
    message: str
    epsilon: float = 4.0


MISTAKES = (
    # Budgets
    Mistake("more fits than a budget has", lambda a: a.epsilon_per_fit(1_000), "at most 3"),
    Mistake("no fit", lambda a: a.epsilon_per_fit(0), "n_fits=0 must be an integer of at least 1"),
    Mistake("a share in percent", lambda a: a.epsilon_per_fit(2, share=90), "share=90 must be at"),
    Mistake("a price and no budget", lambda a: logistic(None).price_fit(650, POOL), "accountant="),
    Mistake(
        "a price of rows instead of their number",
        lambda a: logistic(a).price_fit(X, POOL),
        "must be an integer",
    ),
    Mistake(
        "a price without public rows or bounds",
        lambda a: logistic(a).price_fit(650),
        "Pass the public rows, or bounds=",
    ),
    Mistake(
        "a price of teachers without public rows",
        lambda a: teachers(a).price_fit(650),
        "X_public=None: a fit without public rows releases nothing",
    ),
    Mistake(
        "levels that the budget does not have",
        lambda a: logistic(a).price_fit({"strict": 650}, POOL),
        "one budget for everyone. Open it with one per level",
    ),
    # Searches
    Mistake("a search that takes all", lambda a: search(logistic(a), scoring=paid), "per_fit.5."),
    Mistake(
        "epsilon over the number of settings",
        lambda a: search(logistic(a, epsilon=2.5), scoring=paid),
        "GridSearchCV fits 5 times: the budget would end before the last",
    ),
    Mistake(
        "a search at random that takes all",
        lambda a: search(logistic(a), RandomizedSearchCV, n_iter=2, scoring=paid),
        "RandomizedSearchCV fits 5 times",
    ),
    Mistake(
        "teachers in a search",
        lambda a: GridSearchCV(
            teachers(a), {"n_teachers": [20, 30]}, cv=2, error_score="raise"
        ).fit(X, Y, X_public=POOL),
        "epsilon=None, and GridSearchCV fits 5 times",
    ),
    Mistake(
        "scores that nobody pays for",
        lambda a: search(logistic(a, epsilon=small(a))),
        "GridSearchCV scores with held-out private rows.*PrivateChoice",
    ),
    Mistake(
        "scores by name",
        lambda a: search(logistic(a, epsilon=small(a)), scoring="roc_auc"),
        "GridSearchCV scores with held-out private rows",
    ),
    # Around a model
    Mistake(
        "a calibration by private labels",
        lambda a: CalibratedClassifierCV(logistic(a, epsilon=small(a)), cv=3).fit(
            X, Y, X_public=POOL
        ),
        "CalibratedClassifierCV learns the calibration.*FrozenEstimator",
    ),
    Mistake(
        "a threshold by private labels",
        lambda a: TunedThresholdClassifierCV(
            logistic(a, epsilon=small(a), bounds=(-4, 4)), cv=2
        ).fit(X, Y),
        "TunedThresholdClassifierCV learns the threshold.*FixedThresholdClassifier",
    ),
    Mistake(
        "a stack by private labels",
        lambda a: StackingClassifier(
            [("one", logistic(a, epsilon=small(a), bounds=(-4, 4)))], cv=2
        ).fit(X, Y),
        "StackingClassifier learns its final estimator",
    ),
    # Small sets
    Mistake(
        "few people and a small epsilon, classes",
        lambda a: logistic(a).fit(X, Y, X_public=POOL),
        "stand out of the noise.*Use more rows, a larger epsilon or fewer",
        0.1,
    ),
    Mistake(
        "few people and a small epsilon, numbers",
        lambda a: numbers(a).fit(X, X[:, 0], X_public=POOL),
        "often worse than the mean",
        0.1,
    ),
    Mistake(
        "too few people",
        lambda a: logistic(a).fit(X[:150], Y[:150], X_public=POOL),
        "would drown what 150 private rows.*Use about",
        0.1,
    ),
    # Weights
    Mistake(
        "a class that does not exist",
        lambda a: logistic(a, class_weight={"yes": 2.0}).fit(X, Y, X_public=POOL),
        r"class_weight names 'yes', which is none of \[0, 1\]",
    ),
    Mistake(
        "balanced labels",
        lambda a: logistic(a, class_weight="balanced", classes=None).fit(
            X, np.column_stack([Y, 1 - Y]), X_public=POOL
        ),
        "label_threshold='rate'",
    ),
    Mistake(
        "weights of rows",
        lambda a: logistic(a).fit(X, Y, X_public=POOL, sample_weight=np.ones(650)),
        "every row casts a vector of the same length.*class_weight=",
    ),
    Mistake(
        "weights of teachers' rows",
        lambda a: teachers(a).fit(X, Y, X_public=POOL, sample_weight=np.ones(650)),
        "every teacher's ballot counts alike.*class_weight=",
    ),
    # Raw tables
    Mistake(
        "texts for teachers",
        lambda a: teachers(a).fit(RAW, Y, X_public=RAW_POOL),
        "take make_table_pipeline.student, X_public.",
    ),
    Mistake(
        "texts for a scaler",
        lambda a: teachers(a, learner=make_pipeline(StandardScaler(), LogisticRegression())).fit(
            RAW, Y, X_public=RAW_POOL
        ),
        "take make_table_pipeline.student, X_public.",
    ),
    Mistake(
        "missing cells for teachers",
        lambda a: teachers(a).fit(X, Y, X_public=GAPS),
        "make_table_pipeline.estimator, X_public.",
    ),
    Mistake(
        "identifiers in an encoder",
        lambda a: make_table_pipeline(
            LogisticRegression(),
            RAW_POOL.X.assign(id=[f"person {row}" for row in range(80)]),
        ),
        "'id': nothing can be learned from these columns",
    ),
    Mistake(
        "an encoder of other columns",
        lambda a: teachers(
            a, learner=make_table_pipeline(LogisticRegression(), RAW_POOL), mechanism=GNMax(sigma=5)
        ).fit(RAW.assign(pay=1.0), Y, X_public=PublicData(RAW_POOL.X.assign(pay=1.0))),
        "feature names should match",
    ),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistakes_are_found_before_anything_is_spent(mistake):
    accountant = PrivacyAccountant(mistake.epsilon, 1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError, RuntimeError, Warning), match=mistake.message):
            mistake.call(accountant)
    assert accountant.entries() == []


def test_no_mistake_is_said_twice():
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) > 25
