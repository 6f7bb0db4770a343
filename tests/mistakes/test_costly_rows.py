"""Calls of `predict_private` for few rows that take all that a fit may spend."""

import re
import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.mistakes._mistake import LABELS, ROWS, X, teachers

from secretballot import PrivacyAccountant, PrivateTeacherEnsemble
from secretballot.accounting import BudgetExceededError
from secretballot.mechanisms import GNMax

COSTLY = r"predict_private takes .* for {} row\(s\).*Pass mechanism=GNMax\(sigma=.*reservation=n"


def fitted(accountant, **settings):
    return teachers(accountant, n_teachers=50, student=None, **settings).fit(X, LABELS)


@pytest.mark.parametrize(("n_rows", "epsilon"), [(1, 1.0), (1, 4.0), (5, 4.0)])
def test_few_rows_that_take_all_warn_before_they_are_paid(n_rows, epsilon):
    accountant = PrivacyAccountant(epsilon, 1e-5)
    ensemble = fitted(accountant)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=COSTLY.format(n_rows)) as warned:
            ensemble.predict_private(ROWS[:n_rows])
    assert accountant.entries() == []
    sigma = float(re.search(r"GNMax\(sigma=([\d.]+)\)", str(warned.value))[1])
    ensemble.set_params(mechanism=GNMax(sigma=sigma)).predict_private(ROWS[:n_rows])
    assert accountant.spent().share < 0.1


def test_a_reservation_is_the_remedy_if_more_rows_follow():
    accountant = PrivacyAccountant(4.0, 1e-5)
    ensemble = fitted(accountant, reservation=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = [ensemble.predict_private(ROWS[[row]]).labels[0] for row in range(40)]
    assert np.mean(np.array(labels) == (ROWS[:40, 0] > 0)) > 0.7


@pytest.mark.parametrize("settings", [{"epsilon": 0.5}, {"mechanism": GNMax(sigma=3.0)}])
def test_a_small_part_or_an_amount_of_noise_gives_no_alarm(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(PrivacyAccountant(4.0, 1e-5), **settings).predict_private(ROWS[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(PrivacyAccountant(4.0, 1e-5)).predict_private(ROWS[:100])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_after_a_fit_are_told_of_a_reservation():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3_000, 3))
    accountant = PrivacyAccountant(8.0, 1e-5)

    def with_pool(**settings):
        return PrivateTeacherEnsemble(
            DecisionTreeClassifier(max_depth=2),
            n_teachers=60,
            classes=[0, 1],
            epsilon=1.0,
            accountant=accountant,
            random_state=0,
            **settings,
        ).fit(rows[:2_800], rows[:2_800, 0] > 0, X_public=rows[2_800:2_900])

    with pytest.raises(BudgetExceededError, match="reservation="):
        with_pool().predict_private(rows[2_900:2_920])
    assert len(with_pool(reservation=20).predict_private(rows[2_900:2_920]).labels) == 20
