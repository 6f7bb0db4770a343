"""Budgets of basic composition: rows pay pairs (epsilon, delta) one by one."""

import math

import numpy as np
import pytest
from tests._fakes import Pure

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.mechanisms import ExponentialTopK, GNMax, LimitedDomainTopK


def budget(epsilon=4.0, delta=1e-5, **options):
    return PrivacyAccountant(epsilon, delta, order=math.inf, **options)


def votes(n_rows):
    return np.full((n_rows, 2), 125.0)


def test_rows_are_charged_one_by_one():
    accountant = budget()
    assert len(accountant.release(Pure(epsilon=0.25), votes(10))) == 10
    assert accountant.spent().amount == pytest.approx(2.5)
    assert len(accountant.release(Pure(epsilon=0.25), votes(30))) == 6
    assert "priced" not in accountant.entries()[0].note


def test_deltas_of_rows_add_up_beside_their_epsilons():
    accountant = budget(epsilon=40.0)
    mechanism = LimitedDomainTopK(k=1, k_max=1, epsilon=1.0, delta_t=3e-6)
    assert len(accountant.release(mechanism, votes(9))) == 3
    with pytest.raises(BudgetExceededError, match="smaller delta_t"):
        accountant.release(mechanism, votes(1))
    assert len(accountant.release(ExponentialTopK(k=1, epsilon=1.0), votes(9))) == 9


@pytest.mark.parametrize(
    "ask",
    [
        lambda accountant: accountant.release(GNMax(sigma=400.0), votes(3)),
        lambda accountant: accountant.reserve(GNMax(sigma=400.0), 3, n_columns=2),
        lambda accountant: accountant.price(GNMax(sigma=400.0), 3, n_columns=2),
        lambda accountant: accountant.calibrate(GNMax, 3, n_columns=2),
    ],
    ids=["release", "reserve", "price", "calibrate"],
)
def test_gaussian_noise_is_refused_with_a_remedy(ask):
    accountant = budget()
    with pytest.raises(BudgetExceededError, match="leave order as it is when the budget is opened"):
        ask(accountant)
    assert not accountant.entries()


@pytest.mark.parametrize("levels", [{"strict": 1.0}, {"strict": 1.0, "generous": 1.0, "lax": 1.0}])
def test_every_level_is_charged_and_no_other(levels):
    accountant = budget({"strict": 0.5, "generous": 1.5})
    with pytest.raises(ValueError, match="charges (nothing to )?the level '(generous|lax)'"):
        accountant.release(ExponentialTopK(k=1, epsilon=0.1, weight=levels), votes(3))
    assert not accountant.entries()
