"""Mistakes in pipelines, and with the estimators inside of a private one."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from tests.mistakes._mistake import (
    JOBS,
    LABELS,
    LINEAR,
    POOL,
    PUBLIC_JOBS,
    ROWS,
    TARGETS,
    Mistake,
    X,
    cases,
    check,
    logistic,
    numbers,
    teachers,
)

from secretballot import GNMax, PrivacyAccountant, PublicData

LEARNED = "of the Pipeline .* was fitted to all private rows.*Put it inside"


def before(step, rows=X):
    """Fit a pipeline of a step and a model with declared columns."""
    return lambda a: make_pipeline(step, logistic(a, bounds=(-9, 9))).fit(rows, LABELS)


def inside(name, message, learner=None, **settings):
    given = settings if learner is None else {"learner": learner, **settings}
    return Mistake(name, message, settings=given, models=(teachers,))


MISTAKES = (
    Mistake("a scaler before a model", f"'standardscaler' {LEARNED}", before(StandardScaler())),
    Mistake("components before a model", f"'pca' {LEARNED}", before(PCA(2))),
    Mistake("columns chosen by labels", f"'selectkbest' {LEARNED}", before(SelectKBest(k=2))),
    Mistake("an imputer before a model", f"'simpleimputer' {LEARNED}", before(SimpleImputer())),
    Mistake(
        "categories of private rows",
        f"'onehotencoder' {LEARNED}",
        before(OneHotEncoder(sparse_output=False), JOBS[["job"]]),
    ),
    Mistake(
        "frequent categories of private rows",
        f"'ordinalencoder' {LEARNED}",
        before(OrdinalEncoder(categories=[["clerk", "nurse"]], min_frequency=2), JOBS[["job"]]),
    ),
    Mistake(
        "a scaler in a transformer of columns",
        r"'columntransformer' of the Pipeline \(StandardScaler\).*Put it inside",
        before(ColumnTransformer([("age", StandardScaler(), [0])], remainder="passthrough")),
    ),
    Mistake(
        "a scaler in a pipeline in a pipeline",
        f"'pipeline' {LEARNED}",
        before(make_pipeline(FunctionTransformer(), StandardScaler())),
    ),
    Mistake(
        "a scaler before teachers",
        f"'standardscaler' {LEARNED}",
        lambda a: make_pipeline(StandardScaler(), teachers(a)).fit(
            X, LABELS, privateteacherensemble__X_public=POOL
        ),
    ),
    Mistake(
        "targets scaled by private targets",
        "transformer=StandardScaler .*fitted to all private targets.*Give func=",
        lambda a: TransformedTargetRegressor(numbers(a), transformer=StandardScaler()).fit(
            X, TARGETS, X_public=POOL
        ),
    ),
    Mistake(
        "public rows without the step's name",
        "stepname__parameter",
        lambda a: make_pipeline(FunctionTransformer(), logistic(a)).fit(X, LABELS, X_public=POOL),
    ),
    Mistake(
        "public rows sent through the steps",
        "can only be set if metadata routing is enabled",
        lambda a: Pipeline(
            [("scale", StandardScaler()), ("fit", logistic(a))], transform_input=["X_public"]
        ).fit(X, LABELS, X_public=POOL),
    ),
    Mistake(
        "the class of a transformer",
        "features=StandardScaler is a class; give an instance",
        settings={"features": StandardScaler},
        models=LINEAR,
    ),
    Mistake(
        "unknown features",
        "'features' .* must be a str among .*Got 'rbf'",
        settings={"features": "rbf"},
        models=LINEAR,
    ),
    Mistake("no bins", "'n_bins' .* Got 0", settings={"n_bins": 0}, models=LINEAR),
    inside("a class for teachers", "is a class; give an instance", LogisticRegression),
    inside("a name for teachers", "'estimator' .* Got 'lr'", "lr", student=None),
    inside("a regression for teachers", "is a regressor.*give a classifier", LinearRegression()),
    inside("the class of a mechanism", "'mechanism' .* must be an instance", mechanism=GNMax),
    inside(
        "the class of a student",
        "student=LogisticRegression is a class",
        student=LogisticRegression,
    ),
    inside("a text for the number of teachers", "'n_teachers' .* Got 'auto'", n_teachers="auto"),
    Mistake(
        "texts for a scaler",
        "take make_table_pipeline.student, X_public.",
        data={"X": JOBS, "X_public": PublicData(PUBLIC_JOBS)},
        settings={"learner": make_pipeline(StandardScaler(), LogisticRegression())},
        models=(teachers,),
    ),
)


@pytest.mark.parametrize(("mistake", "make"), cases(MISTAKES))
def test_pipelines(mistake, make):
    check(mistake, make)


COLUMNS_STEP = ColumnTransformer([("age", StandardScaler(), [0])], remainder="passthrough")
CODES = [[-1.0, 0.0, 1.0]] * 4


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "step",
    [
        FunctionTransformer(np.abs),
        FunctionTransformer(np.abs, validate=True),
        "passthrough",
        PolynomialFeatures(2, include_bias=False),
        OneHotEncoder(categories=CODES, handle_unknown="ignore", sparse_output=False),
        OrdinalEncoder(categories=CODES),
        make_pipeline(FunctionTransformer(), PolynomialFeatures(1, include_bias=False)),
        FrozenEstimator(COLUMNS_STEP.fit(ROWS)),
        FrozenEstimator(make_pipeline(StandardScaler(), PCA(2)).fit(ROWS)),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_that_learn_nothing_are_silent(step):
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = logistic(accountant, bounds=(-99, 99), rounds=0, interactions=0)
    make_pipeline(step, model).fit(np.sign(X), LABELS)
    assert "NOT PROTECTED" not in str(accountant.statement())
