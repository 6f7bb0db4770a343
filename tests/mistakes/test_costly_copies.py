"""Copies of a model that take more than an equal part of the budget."""

import warnings

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.mistakes._mistake import LABELS, POOL, TARGETS, X, logistic, numbers, teachers

from secretballot import BudgetExceededError, PrivacyAccountant

ALL = (logistic, numbers, teachers)
EQUAL = r"one of n_fits .*epsilon=accountant.epsilon_per_fit\(n_fits\)"


def fit(model, make):
    return clone(model).fit(X, TARGETS if make is numbers else LABELS, X_public=POOL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("epsilon", [3.0, 4.0, 9.0])
def test_a_copy_that_is_not_affordable_is_told_of_equal_parts(make, epsilon):
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = make(accountant, epsilon=epsilon)
    fit(model, make)
    n_entries = len(accountant.entries())
    with pytest.raises(BudgetExceededError, match=EQUAL) as error:
        fit(model, make)
    assert "for what is left" not in str(error.value)
    assert len(accountant.entries()) == n_entries


@pytest.mark.parametrize("make", ALL)
def test_a_copy_after_which_no_other_is_affordable_warns_before_it_pays(make):
    accountant = PrivacyAccountant(4.0, 1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=f"second one will be refused.*{EQUAL}"):
            fit(make(accountant, epsilon=3.0), make)
    assert accountant.entries() == []


@pytest.mark.filterwarnings("ignore:the last residual is:UserWarning")  # few rows
@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
def test_equal_copies_do_not_warn():
    accountant = PrivacyAccountant(4.0, 1e-5)
    model = logistic(accountant, epsilon=accountant.epsilon_per_fit(5))
    grid = {"n_bins": [2, 3]}
    GridSearchCV(model, grid, cv=2, scoring=lambda *_: 0.0).fit(X, LABELS, X_public=POOL)
    assert accountant.spent().share > 0.99
