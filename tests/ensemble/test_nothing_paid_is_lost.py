"""What a fit has paid for is never lost: to a second fit, to Ctrl-C, or to a student's whim."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.accounting import BudgetExceededError
from secretballot.mechanisms import GNMax, VectorSum

X, y = make_blobs(1_300, centers=[[-3.0, 0.0], [3.0, 0.0]], random_state=0)
X, POOL, y = X[:1_240], X[1_240:], y[:1_240]


def budget(epsilon=8.0):
    return PrivacyAccountant(epsilon, 1e-5)


def ensemble(**options):
    options = {"student": LogisticRegression(), "classes": [0, 1], **options}
    learner = options.pop("estimator", LogisticRegression())
    return PrivateTeacherEnsemble(learner, options.pop("n_teachers", 10), **options)


def models():
    yield PrivateLogisticRegression(classes=[0, 1], accountant=budget())
    yield PrivateLinearRegression(target_bounds=(0, 1), accountant=budget())
    yield ensemble(accountant=budget())


@pytest.mark.parametrize("place", range(3))
def test_a_fit_cell_that_is_run_twice_keeps_what_was_paid(place):
    model = list(models())[place]
    model.fit(X, y, X_public=PublicData(POOL))
    before = vars(model).copy()
    expected = model.predict(POOL)
    with pytest.raises(BudgetExceededError):
        model.fit(X, y, X_public=PublicData(POOL))
    assert vars(model) == before
    assert np.array_equal(model.predict(POOL), expected)
    assert model.score(POOL, expected) == 1.0
    other = pd.DataFrame(X, columns=["a", "b"])
    with pytest.raises((BudgetExceededError, ValueError)):
        model.fit(other, y, X_public=PublicData(pd.DataFrame(POOL, columns=["a", "c"])))
    assert vars(model) == before


@pytest.mark.parametrize("place", range(3))
def test_a_first_fit_that_is_refused_leaves_an_unfitted_estimator(place):
    model = list(models())[place]
    model.accountant.release(GNMax(sigma=1.0), [[30, 0]] * 2)
    model.set_params(epsilon=7.99)
    before = vars(model).copy()
    with pytest.raises((BudgetExceededError, ValueError)):
        model.fit(X, y[:-1], X_public=PublicData(POOL))
    with pytest.raises((BudgetExceededError, ValueError)):
        model.fit(X, y, X_public=PublicData(POOL[:0]))
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(POOL)


class Interrupted(PrivacyAccountant):
    """Accountant whose third sum of vectors is interrupted."""

    def release(self, mechanism, counts, **options):
        if isinstance(mechanism, VectorSum):
            self.n_sums = getattr(self, "n_sums", 0) + 1
            if self.n_sums == 3:
                raise KeyboardInterrupt
        return super().release(mechanism, counts, **options)


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearRegression])
def test_an_interrupted_fit_is_refunded_what_was_not_drawn(kind):
    options = {"target_bounds": (0, 1)} if kind is PrivateLinearRegression else {"classes": [0, 1]}
    spent = []
    for accountant in (Interrupted(8.0, 1e-5), budget()):
        model = kind(accountant=accountant, rounds=9, epsilon=4.0, **options)
        try:
            model.fit(X, y, X_public=PublicData(POOL))
        except KeyboardInterrupt:
            assert not hasattr(model, "coef_")
        spent.append(accountant.spent().share)
    assert spent[0] < 0.5 * spent[1]


class OnlyPositions(ClassifierMixin, BaseEstimator):
    """Learner that takes the classes 0, 1, 2 and so on, all of them, as boosting libraries do."""

    def __init__(self, n_needed=2):
        self.n_needed = n_needed

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.classes_.tolist() != list(range(len(self.classes_))):
            raise ValueError(f"Invalid classes inferred from unique values of `y`: {self.classes_}")
        if len(self.classes_) < self.n_needed:
            raise ValueError("too few classes")
        self.model_ = KNeighborsClassifier(1).fit(X, y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def test_learners_of_positions_are_teachers_and_students():
    names = np.array(["low", "mid", "high"])
    labels = names[np.where(X[:, 1] > 2.5, 2, np.where(X[:, 0] > 0, 1, 0))]
    model = ensemble(
        estimator=OnlyPositions(),
        student=OnlyPositions(),
        classes=[*names, "never"],
        n_teachers=60,
        mechanism=GNMax(sigma=2.0),
        accountant=budget(60.0),
    )
    model.fit(X, labels, X_public=POOL)  # a teacher that can't be trained would warn
    assert set(model.predict(POOL)) <= set(names)
    assert np.mean(model.predict(X) == labels) > 0.8
    assert model.predict_proba(POOL).shape == (len(POOL), 4)


def test_labels_that_a_student_cannot_learn_are_kept():
    accountant = budget(60.0)
    needs_three = OnlyPositions(n_needed=3)
    model = ensemble(
        student=needs_three,
        classes=[0, 1, 2],
        mechanism=GNMax(sigma=2.0),
        accountant=accountant,
    )
    with pytest.warns(
        UserWarning, match=r"there is no student_.*fit_student.*error: too few classes"
    ):
        model.fit(X, y, X_public=POOL)
    assert len(model.pool_labels_.labels) == len(POOL)
    with pytest.raises(NotFittedError, match="fit_student"):
        model.predict(POOL)
    spent = accountant.spent().share
    assert model.fit_student(LogisticRegression()) is model
    assert np.mean(model.predict(X) == y) > 0.9
    assert np.mean(model.to_student().predict(X) == y) > 0.9
    with pytest.raises(ValueError, match="too few classes"):
        model.fit_student()
    assert np.mean(model.predict(X) == y) > 0.9
    assert accountant.spent().share == spent
    assert len(model.predict_private(POOL[:3]).labels) == 3


def test_a_fit_without_a_student_gets_one_later():
    model = ensemble(student=None, accountant=budget(60.0)).fit(X, y, X_public=POOL)
    with pytest.raises(AttributeError, match="fit_student"):
        model.predict(POOL)
    assert np.mean(model.fit_student(LogisticRegression()).predict(X) == y) > 0.9
    with pytest.raises(NotFittedError, match="X_public"):
        ensemble(accountant=budget()).fit(X, y).fit_student(LogisticRegression())


def test_trained_teachers_are_a_result():
    model = ensemble(accountant=budget(), n_teachers=10, epsilon=1e-4)
    with pytest.raises(BudgetExceededError):
        model.fit(X, y, X_public=POOL)
    fitted = ensemble(accountant=budget()).fit(X, y)
    assert len(fitted.predict_private(POOL[:3]).labels) == 3
    with pytest.raises(NotFittedError, match="fit_student"):
        fitted.predict(POOL)


def test_a_fit_without_public_rows_does_not_drop_paid_labels_in_silence():
    model = ensemble(accountant=budget(60.0), epsilon=20.0).fit(X, y, X_public=POOL)
    before = vars(model).copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"labels were paid for.*fit another one"):
            model.fit(X, y)
    assert vars(model) == before
    model.fit(X, y, X_public=POOL)
    with pytest.warns(UserWarning, match="pool_labels_ and student_ are gone"):
        model.fit(X, y)
    model.fit(X, y)


def test_logarithms_of_probabilities():
    linear = PrivateLogisticRegression(classes=[0, 1], accountant=budget())
    linear.fit(X, y, X_public=PublicData(POOL))
    voted = ensemble(accountant=budget(60.0)).fit(X, y, X_public=POOL)
    for model in (linear, voted, voted.to_student()):
        assert np.array_equal(model.predict_log_proba(POOL), np.log(model.predict_proba(POOL)))
    never = ensemble(
        classes=[0, 1, 2],
        mechanism=GNMax(sigma=2.0),
        accountant=PrivacyAccountant(1e4, 1e-5, order="renyi"),
    ).fit(X, y, X_public=POOL)
    assert (never.predict_log_proba(POOL)[:, 2] == -np.inf).all()
    without = ensemble(student=RidgeClassifier(), accountant=budget(60.0))
    assert not hasattr(without.fit(X, y, X_public=POOL), "predict_log_proba")


def test_share_of_a_budget_with_levels():
    accountant = PrivacyAccountant({"strict": 1.0, "loose": 3.0}, 1e-5)
    assert accountant.remaining().share == 1.0
    accountant.release(GNMax(sigma=20.0), [[30, 0]])
    by_level = accountant.remaining()
    assert by_level.share == by_level["strict"].share < by_level["loose"].share
    assert accountant.spent().share == accountant.spent()["strict"].share
