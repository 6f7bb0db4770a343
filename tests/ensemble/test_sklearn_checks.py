"""scikit-learn's own checks, with no expected failure."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.mechanisms import GNMax

LEARNERS = [LogisticRegression(), DecisionTreeClassifier()]


class PrivateOnItself(PrivateTeacherEnsemble):
    """For tests only: labels the private rows themselves, so that ``fit(X, y)`` is a whole fit."""

    def fit(self, X, y):
        """Fit, with the private rows in the place of public ones."""
        pool = None if X is None else PublicData(X, may_be_private=True)
        return super().fit(X, y, X_public=pool)


def checks():
    for learner in LEARNERS:
        yield from estimator_checks_generator(PrivateTeacherEnsemble(learner, n_teachers=3))
        yield from estimator_checks_generator(
            PrivateOnItself(
                learner,
                n_teachers=3,
                student=learner,
                # Almost no noise, and a budget for thousands of such fits.
                mechanism=GNMax(sigma=0.1),
                accountant=PrivacyAccountant(epsilon=1e12, delta=1e-5),
            )
        )


# The checks give no classes, and seed what can be seeded: both warn, and rightly so. Some teachers
# meet one class only, and one row of data must not end in an error.
@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore:all .* answered rows have the label")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(checks()),
    ids=lambda value: (
        f"{type(value).__name__}({type(value.estimator).__name__})"
        if isinstance(value, PrivateTeacherEnsemble)
        else getattr(value, "func", value).__name__
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)
