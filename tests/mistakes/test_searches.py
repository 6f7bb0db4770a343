"""Mistakes in searches, cross-validation and other estimators around a model."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingRandomSearchCV,
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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
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

from secretballot.accounting import PrivacyLeakWarning

GRID = {"n_bins": [2, 3]}
THREE = np.arange(N) % 3
TWO = np.column_stack([LABELS, 1 - LABELS])
NO_PART = r"pass epsilon=accountant.epsilon_per_fit\(n_fits\): a search, a calibration or a stack"
LEAK = "copy of the model.* outside of the guarantee: see 'Tools around a model'"


def small(accountant):
    return accountant.epsilon_per_fit(6, share=0.8)


def paid(model, X, y):
    return model.score_private(X, y, share=0.05).accuracy


def piped(accountant):
    """Search with a pipeline, whose last step would take all of the budget."""
    pipeline = make_pipeline(FunctionTransformer(), logistic(accountant, bounds=(-9, 9)))
    grid = {"privatelogisticregression__n_bins": [2, 3]}
    return GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, LABELS)


def declared(accountant, **settings):
    return logistic(accountant, bounds=(-4, 4), **settings)


def search(model, kind=GridSearchCV, grid=GRID, **settings):
    return kind(model, grid, cv=2, error_score="raise", **settings).fit(X, LABELS, X_public=POOL)


def scored(model, function=cross_val_score, **settings):
    settings = {"cv": 3, "params": {"X_public": POOL}, "error_score": "raise", **settings}
    if function is cross_val_predict:
        del settings["error_score"]
    return function(model, X, LABELS, **settings)


def curve(function, **settings):
    return lambda a: function(declared(a), X, LABELS, cv=2, **settings)


def silent(call):
    """Do without the warning of copies, which comes first."""

    def quiet(accountant):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            return call(accountant)

    return quiet


def around(make, y=LABELS, **settings):
    """Fit an estimator around a model that would take the whole budget."""
    return lambda a: make(declared(a, **settings)).fit(X, y)


#: Tools that fit copies of a model that names no part of the budget.
TAKES_ALL = {
    "a search": lambda a: search(logistic(a), scoring=paid),
    "a search at random": lambda a: search(logistic(a), RandomizedSearchCV, n_iter=2),
    "teachers in a search": lambda a: search(teachers(a), grid={"n_teachers": [20, 30]}),
    "a search with two workers": lambda a: search(logistic(a), n_jobs=2),
    "a halving search": lambda a: search(logistic(a), HalvingRandomSearchCV, n_candidates=2),
    "a pipeline in a search": piped,
    "a cross-validated search": lambda a: scored(
        GridSearchCV(logistic(a), GRID, cv=2, error_score="raise")
    ),
    "cross-validation": lambda a: scored(logistic(a)),
    "cross-validation of numbers": lambda a: scored(numbers(a), cross_validate),
    "cross-validation of teachers": lambda a: scored(teachers(a)),
    "cross-validated predictions": lambda a: scored(logistic(a), cross_val_predict),
    "a learning curve": curve(learning_curve, train_sizes=[0.5, 1.0], error_score="raise"),
    "a validation curve": curve(
        validation_curve, param_name="n_bins", param_range=[2, 3], error_score="raise"
    ),
    "a permutation test": curve(permutation_test_score, n_permutations=5),
    "a bag of models": around(BaggingClassifier),
    "a vote of two models": lambda a: VotingClassifier(
        [("one", declared(a)), ("two", declared(a))]
    ).fit(X, LABELS),
    "one against the rest": around(OneVsRestClassifier, THREE),
    "one against one": around(OneVsOneClassifier, THREE),
    "a model for each label": around(MultiOutputClassifier, TWO),
    "a calibration": around(lambda model: CalibratedClassifierCV(model, cv=3)),
    "a threshold": around(lambda model: TunedThresholdClassifierCV(model, cv=2)),
    "a stack": around(lambda model: StackingClassifier([("one", model)], cv=2)),
    "a clone": around(clone),
}
#: Tools that learn from private rows, or score with them, without noise.
LEAKS = {
    "scores that nobody pays for": lambda a: search(logistic(a, epsilon=small(a))),
    "cross-validated scores": lambda a: scored(logistic(a, epsilon=small(a))),
    "a calibration": around(lambda model: CalibratedClassifierCV(model, cv=3), epsilon=1.0),
    "a threshold": around(lambda model: TunedThresholdClassifierCV(model, cv=2), epsilon=1.0),
    "a stack": around(lambda model: StackingClassifier([("one", model)], cv=2), epsilon=1.0),
}
MISTAKES = (
    *(Mistake(f"{name} that takes all", NO_PART, call) for name, call in TAKES_ALL.items()),
    *(Mistake(f"{name} by private labels", LEAK, call) for name, call in LEAKS.items()),
    Mistake(
        "a pool that folds would slice",
        r"X_public=PublicData\(",
        silent(
            lambda a: scored(
                teachers(a, epsilon=small(a)), params={"X_public": np.tile(ROWS, (6, 1))[:N]}
            )
        ),
    ),
    Mistake("boosting", "doesn't support sample_weight", around(AdaBoostClassifier)),
    Mistake(
        "one against the rest with names of classes",
        r"classes=\[0, 1\]",
        silent(
            around(
                *(OneVsRestClassifier, np.array(["n", "y"])[LABELS]),
                classes=["n", "y"],
                epsilon=0.5,
            )
        ),
    ),
    Mistake(
        "a vote with names of classes",
        r"classes=\[0, 1\]",
        silent(
            around(
                lambda model: VotingClassifier([("one", model)]),
                np.array(["n", "y"])[LABELS],
                classes=["n", "y"],
                epsilon=0.5,
            )
        ),
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_searches(mistake, make):
    check(mistake, make)
