"""Epsilon of equal fits: all of them succeed, and next to nothing is left for another."""

import math
from functools import partial

import numpy as np
import pytest
from tests._fakes import Pure

from secretballot import PrivacyAccountant
from secretballot.accounting import BudgetExceededError
from secretballot.mechanisms import GNMax, NoisyCounts, VectorSum

ORDERS = ("gaussian", "renyi", 8.0)
LEVELS = {"strict": 0.7, "generous": 2.0}


def fit(accountant, epsilon, make=VectorSum, n_rows=3):
    """Release rows with the least noise under a cap, and return the noise."""
    scope = accountant.scope(epsilon)
    mechanism = accountant.calibrate(
        lambda sigma: make(sigma=sigma), n_rows, n_columns=2, scope=scope
    )
    accountant.release(mechanism, np.zeros((n_rows, 2)), scope=scope)
    return mechanism.sigma


def shares_left(accountant):
    remaining = accountant.remaining()
    remaining = remaining if isinstance(remaining, dict) else {"": remaining}
    return [left.share for left in remaining.values()]


@pytest.mark.parametrize(("n_fits", "spent"), [(1, False), (1, True), (2, False), (9, True)])
@pytest.mark.parametrize("order", ORDERS)
def test_all_fits_succeed_and_use_the_budget_up(order, n_fits, spent):
    accountant = PrivacyAccountant(2.0, 1e-5, order=order)
    if spent:
        fit(accountant, 0.9)
    epsilon = accountant.epsilon_per_fit(n_fits)
    noises = [fit(accountant, epsilon) for _ in range(n_fits)]
    assert max(noises) <= min(noises) * (1 + 1e-6)
    assert max(shares_left(accountant)) < 1e-2 / n_fits
    with pytest.raises(BudgetExceededError):
        fit(accountant, epsilon)


@pytest.mark.parametrize("order", ["gaussian", "renyi", 25.0])
def test_each_level_has_an_epsilon(order):
    accountant = PrivacyAccountant(LEVELS, 1e-5, order=order)
    epsilon = accountant.epsilon_per_fit(4)
    assert list(epsilon) == list(LEVELS)
    weights = dict.fromkeys(LEVELS, 1.0)
    for level in LEVELS:
        # So heavy that this level ends first.
        make = partial(VectorSum, weight={**weights, level: 50.0})
        accountant = PrivacyAccountant(LEVELS, 1e-5, order=order)
        for _ in range(4):
            fit(accountant, epsilon, make, n_rows=1)
        assert min(shares_left(accountant)) < 1e-3
        with pytest.raises(BudgetExceededError):
            fit(accountant, epsilon, make, n_rows=1)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_votes_whose_plans_have_a_delta(order):
    accountant = PrivacyAccountant(2.0, 1e-5, order=order)
    fit(accountant, 0.8, GNMax, n_rows=10)
    epsilon = accountant.epsilon_per_fit(3)
    noises = [fit(accountant, epsilon, GNMax, n_rows=10) for _ in range(3)]
    assert max(noises) <= min(noises) * (1 + 1e-3)
    # At a Renyi order votes take less than Gaussian noise, whose divergences epsilon is taken from.
    assert max(shares_left(accountant)) < (0.02 if order == "gaussian" else 0.05)


@pytest.mark.parametrize("order", ORDERS)
def test_a_share_is_left_for_scores(order):
    accountant = PrivacyAccountant(2.0, 1e-5, order=order)
    fit(accountant, 0.9)
    before = shares_left(accountant)[0]
    epsilon = accountant.epsilon_per_fit(4, share=0.75)
    for _ in range(4):
        fit(accountant, epsilon)
    assert shares_left(accountant)[0] == pytest.approx(before / 4, rel=1e-3)
    accountant.release(accountant.calibrate(NoisyCounts, 1, n_columns=1), [[10]])


def test_a_division_of_epsilon_wastes_a_budget_of_mu2():
    accountant = PrivacyAccountant(2.0, 1e-5)
    assert accountant.epsilon_per_fit(9) > 2.5 * 2.0 / 9
    pairs = PrivacyAccountant(2.0, 1e-5, order=math.inf)
    epsilon = pairs.epsilon_per_fit(8)
    assert epsilon == pytest.approx(0.25)
    for _ in range(8):
        pairs.release(Pure(epsilon=epsilon), np.zeros((1, 2)), scope=pairs.scope(epsilon))
    assert shares_left(pairs) == pytest.approx([0.0], abs=1e-6)


def test_nothing_is_spent_or_recorded():
    accountant = PrivacyAccountant(2.0, 1e-5)
    assert accountant.epsilon_per_fit() == pytest.approx(2.0)
    assert (accountant.entries(), accountant.spent().share) == ([], 0.0)


def test_too_many_fits_are_refused_before_the_first():
    accountant = PrivacyAccountant(2.0, 1e-5)
    with pytest.raises(BudgetExceededError, match="0.0025 of the budget.*at most 333 fits"):
        accountant.epsilon_per_fit(400)
    # What is allowed can be calibrated, up to the last fit.
    fit(accountant, accountant.epsilon_per_fit(share=0.969))
    with pytest.raises(BudgetExceededError, match="at most 10 fits"):
        accountant.epsilon_per_fit(11)
    epsilon = accountant.epsilon_per_fit(10)
    for _ in range(10):
        fit(accountant, epsilon)
    with pytest.raises(BudgetExceededError, match="used up"):
        accountant.epsilon_per_fit()


def test_a_budget_that_depends_on_votes_is_divided_before_it_is_spent():
    with pytest.warns(match="data_dependent"):
        accountant = PrivacyAccountant(2.0, 1e-5, accounting="data_dependent")
    assert 0 < accountant.epsilon_per_fit(2) < 2
    fit(accountant, 1.0, GNMax)
    with pytest.raises(ValueError, match="before the first release"):
        accountant.epsilon_per_fit(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_fits": 0}, "n_fits=0 must be an integer of at least 1"),
        ({"n_fits": 2.0}, "n_fits=2.0 must be an integer"),
        ({"share": 0}, "share=0 must be a finite number above 0"),
        ({"share": 1.5}, "share=1.5 must be at most 1"),
    ],
)
def test_invalid_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        PrivacyAccountant(1.0, 1e-5).epsilon_per_fit(**arguments)
