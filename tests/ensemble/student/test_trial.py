"""Students that can't learn are found out before anything is trained or spent."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeRegressor

from secretballot.ensemble.student import try_student
from secretballot.mechanisms import GNMax


class Binary(ClassifierMixin, BaseEstimator):
    """Learns two classes only."""

    def fit(self, X, y):
        if not set(y) <= {0, 1}:
            raise ValueError("I know of two classes")
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Guessing(Binary):
    """Predicts what it was not taught, or not in the right number."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return np.repeat(self.answer, len(X) - 1 if self.answer == 0 else len(X))


GAP = np.where(np.arange(60).reshape(30, 2) == 31, np.nan, 0.0)


@pytest.mark.parametrize(
    ("parameters", "pool", "message"),
    [
        ({"student": LinearRegression()}, None, r"student=.* is a regressor"),
        ({"student": make_pipeline(DecisionTreeRegressor())}, None, "is a regressor"),
        ({"student": Binary(), "classes": [0, 1, 2]}, None, "made-up labels .*I know of two"),
        ({"student": Binary(), "unanswered": "mark"}, None, r"labels \[-1, 0, 1\].*I know of two"),
        ({"student": Guessing("yes")}, None, "predicts other ones"),
        ({"student": Guessing(0.5)}, None, "predicts other ones"),
        ({"student": Guessing(0)}, None, r"of shape \(29,\) for 30 rows"),
        ({"student": LogisticRegression(), "unanswered": "mark"}, None, "takes -1 for a class"),
        ({"student": KNeighborsClassifier(1), "unanswered": "mark"}, None, "takes -1 for a class"),
        ({"student": FrozenEstimator(Guessing(0))}, None, "is fitted already and learns nothing"),
        (
            {"student": make_pipeline(FunctionTransformer(), FrozenEstimator(Guessing(0)))},
            None,
            "is fitted already and learns nothing",
        ),
        ({"student": LogisticRegression(C=-1)}, None, "InvalidParameterError: The 'C' parameter"),
        ({"student": LogisticRegression()}, GAP, "which the student learns from. contains NaN"),
        (
            {"student": make_pipeline(FunctionTransformer(np.sqrt), LogisticRegression())},
            GAP,
            "student=.* could not be fitted on 30 rows.* Nothing was trained.*NaN",
        ),
    ],
    ids=lambda value: repr(value.get("student"))[:40] if isinstance(value, dict) else None,
)
def test_bad_students_are_refused_before_payment(
    ensemble, private, public, parameters, pool, message
):
    ensemble.set_params(estimator=Binary(), **parameters)
    if pool is not None:  # which the teachers take
        ensemble.set_params(
            estimator=make_pipeline(FunctionTransformer(np.nan_to_num), LogisticRegression())
        )
    with pytest.raises(ValueError, match=f"(?s){message}"):
        ensemble.fit(*private, X_public=public[0] if pool is None else pool)
    assert ensemble.accountant.spent().n_releases == 0
    assert not hasattr(ensemble, "_teachers")


def test_the_trial_includes_rows_with_missing_values(ensemble, private):
    pool = np.zeros((1000, 2))
    pool[617, 1] = np.nan
    careful = make_pipeline(FunctionTransformer(np.nan_to_num), LogisticRegression())
    careless = make_pipeline(FunctionTransformer(), LogisticRegression())
    ensemble.set_params(estimator=careful, student=careless, mechanism=GNMax(sigma=3))
    with pytest.raises(ValueError, match=r"could not be fitted on 1000 rows(.|\n)*contains NaN"):
        ensemble.fit(*private, X_public=pool)
    assert ensemble.accountant.spent().n_releases == 0


@pytest.mark.parametrize(
    "student",
    [KNeighborsClassifier(120), make_pipeline(PCA(105), LogisticRegression())],
    ids=["neighbours", "components"],
)
def test_a_student_that_needs_more_rows_than_a_sample_has(student):
    pool = np.random.default_rng(0).normal(size=(130, 110))
    try_student(student, pool, np.arange(2), "drop")
    with pytest.raises(ValueError, match="could not be fitted on 100 rows"):
        try_student(student, pool[:100], np.arange(2), "drop")


@pytest.mark.filterwarnings("ignore:y contains no unlabeled samples")
@pytest.mark.parametrize(
    ("student", "unanswered"),
    [
        (CalibratedClassifierCV(LogisticRegression(), cv=3), "drop"),
        (KNeighborsClassifier(5), "drop"),
        (SelfTrainingClassifier(LogisticRegression()), "mark"),
        # It has no predict before it is fitted.
        (StackingClassifier([("one", LogisticRegression())], cv=2), "drop"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_students_that_need_some_of_each_class(ensemble, private, public, student, unanswered):
    ensemble.set_params(student=student, unanswered=unanswered)
    assert ensemble.fit(*private, X_public=public[0]).score(*public) > 0.8
    assert ensemble.predict_proba(public[0]).shape == (30, 2)


def test_a_trial_leaves_no_trace(ensemble, private, public):
    state = np.random.RandomState(0)
    ensemble.set_params(student=LogisticRegression(random_state=state)).fit(
        *private, X_public=public[0]
    )
    assert state.randint(100) == np.random.RandomState(0).randint(100)
    assert not hasattr(ensemble.student, "coef_")
