"""Mistakes in searches, cross-validation and other estimators around a model."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from tests.mistakes._mistake import (
    LABELS,
    POOL,
    ROWS,
    Mistake,
    N,
    X,
    cases,
    check,
    logistic,
    numbers,
    teachers,
)

GRID = {"n_bins": [2, 3]}
THREE = np.arange(N) % 3


def small(accountant):
    return accountant.epsilon_per_fit(6, share=0.8)


def paid(model, X, y):
    return model.score_private(X, y).accuracy


def declared(accountant, **settings):
    return logistic(accountant, bounds=(-4, 4), **settings)


def search(model, kind=GridSearchCV, grid=GRID, **settings):
    return kind(model, grid, cv=2, error_score="raise", **settings).fit(X, LABELS, X_public=POOL)


def scored(model, function=cross_val_score, **settings):
    settings = {"cv": 3, "params": {"X_public": POOL}, **settings}
    return function(model, X, LABELS, **settings)


def around(make, y=LABELS, **settings):
    """Fit an estimator around a model that would take the whole budget."""
    return lambda a: make(declared(a, **settings)).fit(X, y)


MISTAKES = (
    Mistake("a search that takes all", "per_fit.5.", lambda a: search(logistic(a), scoring=paid)),
    Mistake(
        "epsilon over the number of settings",
        "GridSearchCV fits 5 times: the budget would end before the last",
        lambda a: search(logistic(a, epsilon=2.5), scoring=paid),
    ),
    Mistake(
        "a search at random that takes all",
        "RandomizedSearchCV fits 5 times.*epsilon_per_fit",
        lambda a: search(logistic(a), RandomizedSearchCV, n_iter=2, scoring=paid),
    ),
    Mistake(
        "teachers in a search",
        "epsilon=None, and GridSearchCV fits 5 times.*epsilon_per_fit",
        lambda a: search(teachers(a), grid={"n_teachers": [20, 30]}),
    ),
    Mistake(
        "a search with two workers",
        "GridSearchCV fits 5 times.*epsilon_per_fit.5.",
        lambda a: search(logistic(a), scoring=paid, n_jobs=2),
    ),
    Mistake(
        "scores that nobody pays for",
        "GridSearchCV scores with held-out private rows.*PrivateChoice",
        lambda a: search(logistic(a, epsilon=small(a))),
    ),
    Mistake(
        "scores by name",
        "GridSearchCV scores with held-out private rows.*score_private",
        lambda a: search(logistic(a, epsilon=small(a)), scoring="roc_auc"),
    ),
    Mistake(
        "cross-validation that takes all",
        "cross_validate fits 3 times.*epsilon_per_fit.3.",
        lambda a: scored(logistic(a)),
    ),
    Mistake(
        "cross-validation of numbers",
        "cross_validate fits 3 times.*epsilon_per_fit.3.",
        lambda a: scored(numbers(a), cross_validate),
    ),
    Mistake(
        "cross-validation of teachers",
        "cross_validate fits 3 times.*epsilon_per_fit.3.",
        lambda a: scored(teachers(a)),
    ),
    Mistake(
        "cross-validation with two workers",
        "cross_validate fits 3 times.*epsilon_per_fit.3.",
        lambda a: scored(logistic(a), n_jobs=2),
    ),
    Mistake(
        "cross-validated scores that nobody pays for",
        "cross_validate scores with held-out private rows.*score_private",
        lambda a: scored(logistic(a, epsilon=small(a))),
    ),
    Mistake(
        "cross-validated predictions",
        "cross_val_predict fits 3 times.*epsilon_per_fit.3.",
        lambda a: scored(logistic(a), cross_val_predict),
    ),
    Mistake(
        "a pool that folds would slice",
        r"X_public=PublicData\(",
        lambda a: scored(
            logistic(a, epsilon=small(a)),
            params={"X_public": np.tile(ROWS, (6, 1))[:N]},
            scoring=paid,
            error_score="raise",
        ),
    ),
    Mistake(
        "a learning curve",
        "learning_curve fits 4 times.*epsilon_per_fit",
        lambda a: learning_curve(
            declared(a), X, LABELS, cv=2, train_sizes=[0.5, 1.0], error_score="raise"
        ),
    ),
    Mistake(
        "a validation curve",
        "validation_curve fits 4 times.*epsilon_per_fit",
        lambda a: validation_curve(
            declared(a),
            X,
            LABELS,
            param_name="n_bins",
            param_range=[2, 3],
            cv=2,
            error_score="raise",
        ),
    ),
    Mistake(
        "a permutation test",
        "permutation_test_score fits 12 times.*epsilon_per_fit",
        lambda a: permutation_test_score(declared(a), X, LABELS, cv=2, n_permutations=5),
    ),
    Mistake(
        "a bag of models",
        "BaggingClassifier fits 10 times.*epsilon_per_fit.10.",
        around(BaggingClassifier),
    ),
    Mistake(
        "boosting",
        "doesn't support sample_weight",
        around(AdaBoostClassifier),
    ),
    Mistake(
        "a vote of two models of one budget",
        "VotingClassifier fits 2 times.*epsilon_per_fit",
        lambda a: VotingClassifier([("one", declared(a)), ("two", declared(a))]).fit(X, LABELS),
    ),
    Mistake(
        "one against the rest",
        "OneVsRestClassifier fits 3 times.*epsilon_per_fit",
        around(OneVsRestClassifier, THREE),
    ),
    Mistake(
        "one against one",
        "OneVsOneClassifier fits 3 times.*epsilon_per_fit",
        around(OneVsOneClassifier, THREE),
    ),
    Mistake(
        "a model for each label",
        "MultiOutputClassifier fits 2 times.*epsilon_per_fit",
        around(MultiOutputClassifier, np.column_stack([LABELS, 1 - LABELS])),
    ),
    Mistake(
        "one against the rest with names of classes",
        r"classes=\[0, 1\]",
        around(OneVsRestClassifier, np.array(["n", "y"])[LABELS], classes=["n", "y"]),
    ),
    Mistake(
        "a vote with names of classes",
        r"classes=\[0, 1\]",
        around(
            lambda model: VotingClassifier([("one", model)]),
            np.array(["n", "y"])[LABELS],
            classes=["n", "y"],
        ),
    ),
    Mistake(
        "a calibration by private labels",
        "CalibratedClassifierCV learns the calibration.*FrozenEstimator",
        around(lambda model: CalibratedClassifierCV(model, cv=3), epsilon=1.0),
    ),
    Mistake(
        "a threshold by private labels",
        "TunedThresholdClassifierCV learns the threshold.*FixedThresholdClassifier",
        around(lambda model: TunedThresholdClassifierCV(model, cv=2), epsilon=1.0),
    ),
    Mistake(
        "a stack by private labels",
        "StackingClassifier learns its final estimator",
        around(lambda model: StackingClassifier([("one", model)], cv=2), epsilon=1.0),
    ),
    Mistake(
        "a stack that takes all",
        "StackingClassifier fits 6 times.*epsilon_per_fit",
        around(lambda model: StackingClassifier([("one", model)])),
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_searches(mistake, make):
    check(mistake, make)
