"""scikit-learn's own checks of all estimators, with no expected failure and no skip of ours."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
)
from secretballot.testing import for_sklearn


def teachers(learner, student=None):
    return PrivateTeacherEnsemble(learner, n_teachers=3, student=student)


ESTIMATORS = {
    "classes": PrivateLogisticRegression(n_bins=4, rounds=0),
    "classes, bounds": PrivateLogisticRegression(n_bins=4, rounds=0, bounds=(-110, 110)),
    "numbers": PrivateLinearRegression(n_bins=4, rounds=0),
    "numbers, rounds": PrivateLinearRegression(n_bins=4, rounds=1),
    "numbers, bounds": PrivateLinearRegression(n_bins=4, rounds=1, bounds=(-110, 110)),
    "teachers": teachers(LogisticRegression()),
    "teachers, student": teachers(LogisticRegression(), LogisticRegression()),
    "trees": teachers(DecisionTreeClassifier()),
    "trees, student": teachers(DecisionTreeClassifier(), DecisionTreeClassifier()),
}
#: Each kind of fit is checked by `make test`; these are further settings of the same.
SLOW = ("classes, bounds", "numbers, rounds", "numbers, bounds", "trees", "trees, student")


def cases():
    return [
        pytest.param(
            checked,
            check,
            id=f"{name}-{getattr(check, 'func', check).__name__}",
            marks=[pytest.mark.slow] if name in SLOW else [],
        )
        for name, estimator in ESTIMATORS.items()
        for checked, check in estimator_checks_generator(for_sklearn(estimator), mark="skip")
    ]


# The checks give no classes, and seed what can be seeded: both warn, and rightly so. Some teachers
# meet one class only, one row of data must not end in an error, and the bounds of targets are wide.
@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore:all .* answered rows have the label")
@pytest.mark.filterwarnings("ignore:target_bounds=")
@pytest.mark.parametrize(("estimator", "check"), cases())
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_results_are_repeated_so_that_no_check_is_skipped(name):
    assert not get_tags(for_sklearn(ESTIMATORS[name])).non_deterministic


def test_parameters_that_are_set_are_kept():
    checked = for_sklearn(PrivateLogisticRegression(epsilon=3.0, random_state=7))
    assert checked.epsilon == 3.0
    assert checked.random_state == 7
    assert clone(checked).accountant is checked.accountant is not None
    assert ESTIMATORS["classes"].accountant is None


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
def test_nothing_is_spent_of_the_budget_of_a_model():
    accountant = PrivacyAccountant(1.0, 1e-5, unit="owner")
    model = PrivateLogisticRegression(classes=[0, 1], rounds=0, accountant=accountant)
    X = np.random.default_rng(0).normal(size=(60, 2))
    for_sklearn(model).fit(X, (X[:, 0] > 0).astype(int))
    assert model.accountant is accountant
    assert accountant.entries() == []


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
def test_the_copy_is_pickled():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = for_sklearn(PrivateLogisticRegression(classes=[0, 1], n_bins=4, rounds=0))
    model.fit(X, (X[:, 0] > 0).astype(int))
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is type(model)
    assert (again.predict(X) == model.predict(X)).all()
    assert model.score(X, (X[:, 0] > 0).astype(int)) > 0.9
