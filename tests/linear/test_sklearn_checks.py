"""scikit-learn's own checks, with no expected failure."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PublicData
from secretballot.linear import PrivateLogisticRegression


class PrivateOnItself(PrivateLogisticRegression):
    """For tests only: takes the private rows for public ones, so that ``fit(X, y)`` is enough."""

    def fit(self, X, y):
        """Fit, with the private rows in the place of public ones."""
        pool = None if X is None else PublicData(X, may_be_private=True)
        return super().fit(X, y, X_public=pool)


def checks():
    for model in (
        # Almost no noise in each fit, and a budget for thousands of them. (Other features differ
        # in what they make of checked columns, not in how input is checked.)
        PrivateLogisticRegression(bounds=(-3, 3), epsilon=1e5, n_bins=4, rounds=0),
        PrivateOnItself(epsilon=1e5, n_bins=4, rounds=0),
    ):
        budget = PrivacyAccountant(epsilon=1e12, delta=1e-5)
        yield from estimator_checks_generator(
            model.set_params(accountant=budget),
            mark="skip",
        )


# The checks give no classes, and seed what can be seeded: both warn, and rightly so.
@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(checks()),
    ids=lambda value: (
        type(value).__name__
        if isinstance(value, PrivateLogisticRegression)
        else getattr(value, "func", value).__name__
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
