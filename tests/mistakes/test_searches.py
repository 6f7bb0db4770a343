"""Mistakes in searches, cross-validation and other estimators around a model."""

from functools import partial

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
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
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, RegressorChain
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

from secretballot.scoring import score_private

GRID = {"n_bins": [2, 3]}
THREE = np.arange(N) % 3
TWO = np.column_stack([LABELS, 1 - LABELS])


def small(accountant):
    return accountant.epsilon_per_fit(6, share=0.8)


def paid(model, X, y):
    return model.score_private(X, y, share=0.05).accuracy


def unpaid(model, X, y, weight=1.0):
    return weight * model.score(X, y)


def piped(accountant, scoring="accuracy", make=logistic, **settings):
    """Search with a pipeline whose fits leave a part of the budget."""
    model = make(accountant, epsilon=small(accountant), bounds=(-9, 9), **settings)
    pipeline = make_pipeline(FunctionTransformer(), model)
    grid = {f"{type(model).__name__.lower()}__n_bins": [2, 3]}
    return GridSearchCV(pipeline, grid, cv=2, scoring=scoring, error_score="raise").fit(X, LABELS)


def two(kind, accountant, **settings):
    models = [
        ("one", declared(accountant, epsilon=2.0)),
        ("two", declared(accountant, epsilon=2.5)),
    ]
    return kind(models, **settings).fit(X, LABELS)


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
        "a function that scores for nothing",
        "GridSearchCV scores with held-out.*model.score_private.X, y, share=0.01..accuracy",
        lambda a: search(
            logistic(a, epsilon=small(a)), scoring=lambda model, X, y: model.score(X, y)
        ),
    ),
    Mistake(
        "a part of a function that scores for nothing",
        "GridSearchCV scores with held-out.*score_private",
        lambda a: search(logistic(a, epsilon=small(a)), scoring=partial(unpaid, weight=2.0)),
    ),
    Mistake(
        "scores of a pipeline",
        r"pay for each .*scoring.score_private\(accountant, y, model.predict\(X\), share=0.01\)",
        piped,
    ),
    Mistake(
        "paid scores without an amount",
        r"private score without the amount.*Use .*model.score_private\(X, y, share=0.01\)",
        lambda a: search(
            logistic(a, epsilon=small(a)),
            scoring=lambda model, X, y: model.score_private(X, y).accuracy,
        ),
    ),
    Mistake(
        "paid scores of a pipeline without an amount",
        r"private score without the amount.*Use .*model.predict\(X\), share=0.01\)",
        lambda a: piped(a, lambda model, X, y: score_private(a, y, model.predict(X)).accuracy),
    ),
    Mistake(
        "a method that a pipeline has not",
        r"scoring calls score_private of Pipeline, which has none.* Use .*model.predict\(X\)",
        lambda a: piped(a, paid),
    ),
    Mistake(
        "scores of a pipeline of numbers",
        r"regression_score_private\(accountant, y, model.predict\(X\), target_bounds=",
        lambda a: piped(a, "r2", numbers),
    ),
    Mistake(
        "scores of numbers",
        r"model.score_private\(X, y, share=0.01\).r2",
        lambda a: scored(numbers(a, epsilon=small(a))),
    ),
    Mistake(
        "a halving search that takes all",
        "HalvingGridSearchCV fits 7 times.*epsilon_per_fit.7, share=0.8",
        lambda a: search(
            logistic(a), HalvingGridSearchCV, {"n_bins": [2, 3]}, scoring=paid, factor=2
        ),
    ),
    Mistake(
        "a halving search at random with two workers",
        "HalvingRandomSearchCV fits 9 times.*epsilon_per_fit",
        lambda a: search(
            logistic(a),
            HalvingRandomSearchCV,
            {"n_bins": [2, 3, 4, 5]},
            n_candidates=3,
            scoring=paid,
            n_jobs=2,
        ),
    ),
    Mistake(
        "a halving search with scores that nobody pays for",
        "HalvingGridSearchCV scores with held-out",
        lambda a: search(logistic(a, epsilon=a.epsilon_per_fit(8)), HalvingGridSearchCV),
    ),
    Mistake(
        "a cross-validated search",
        "cross_validate around GridSearchCV fits 15 times.*epsilon_per_fit.15, share=0.8",
        lambda a: scored(GridSearchCV(logistic(a), GRID, cv=2, scoring=paid)),
    ),
    Mistake(
        "a cross-validated search with two workers",
        "cross_validate around GridSearchCV fits 15 times",
        lambda a: scored(GridSearchCV(logistic(a), GRID, cv=2, scoring=paid), n_jobs=2),
    ),
    Mistake(
        "a cross-validated search that has two workers",
        "cross_validate around GridSearchCV fits 15 times",
        lambda a: scored(GridSearchCV(logistic(a), GRID, cv=2, scoring=paid, n_jobs=2)),
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
        "a bag that draws rows twice",
        "bootstrap=True: BaggingClassifier .* copies .*bootstrap=False",
        around(lambda model: BaggingClassifier(model, 2), epsilon=1.0),
    ),
    Mistake(
        "a bag with workers",
        "n_jobs: BaggingClassifier.* with several workers.*n_jobs=1",
        around(lambda model: BaggingClassifier(model, 2, n_jobs=2), epsilon=1.0),
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
        around(MultiOutputClassifier, TWO),
    ),
    Mistake(
        "one against the rest, of a model of three classes",
        r"classes=\[0, 1, 2\], and OneVsRestClassifier .* without OneVsRestClassifier",
        around(OneVsRestClassifier, THREE, classes=[0, 1, 2], epsilon=0.5),
    ),
    Mistake(
        "one against one, of a model of three classes",
        r"classes=\[0, 1, 2\], and OneVsOneClassifier .* Fit the model itself",
        around(OneVsOneClassifier, THREE, classes=[0, 1, 2], epsilon=0.5),
    ),
    Mistake(
        "one against the rest with workers",
        "n_jobs: OneVsRestClassifier.*n_jobs=1",
        around(lambda model: OneVsRestClassifier(model, n_jobs=2), THREE),
    ),
    Mistake(
        "a model for each label with workers",
        "n_jobs: MultiOutputClassifier.*n_jobs=1",
        around(lambda model: MultiOutputClassifier(model, n_jobs=2), TWO),
    ),
    Mistake(
        "a chain of labels",
        "ClassifierChain gives each model .*PrivateLogisticRegression the matrix",
        around(ClassifierChain, TWO, epsilon=0.5),
    ),
    Mistake(
        "a chain of numbers",
        "RegressorChain gives each model .*MultiOutputRegressor",
        lambda a: RegressorChain(numbers(a, bounds=(-9, 9), epsilon=0.5)).fit(X, TWO),
    ),
    *(
        Mistake(
            f"columns chosen by {kind.__name__}, {settings}",
            "(RFE|Select|Sequential).* chooses columns .*Nothing was released or spent",
            around(partial(kind, **settings), epsilon=0.2),
        )
        for kind in (RFE, RFECV, SelectFromModel, SequentialFeatureSelector)
        for settings in ({}, {"n_jobs": 2})
        if not settings or kind in (RFECV, SequentialFeatureSelector)
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
    Mistake(
        "a stack of two models of one budget",
        "StackingClassifier fits 6 times.*epsilon_per_fit.6.",
        lambda a: two(StackingClassifier, a, cv=2),
    ),
    Mistake(
        "a vote of two models, each with most of the budget",
        "VotingClassifier fits 2 times.*epsilon_per_fit.2.",
        lambda a: VotingClassifier(
            [("one", declared(a, epsilon=3.0)), ("two", declared(a, epsilon=3.5))]
        ).fit(X, LABELS),
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_searches(mistake, make):
    check(mistake, make)
