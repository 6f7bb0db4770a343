"""Sums of vectors with Gaussian noise: what a person moves, what it costs, planted errors."""

import math
import pickle

import mpmath
import numpy as np
import pytest
from tests._fakes import calibrated
from tests.checks._promises import check_promise
from tests.checks._registry import EXAMPLES

from secretballot.accounting import EVERYONE, BudgetExceededError, PrivacyAccountant, price_plan
from secretballot.mechanisms import NoisyMargin, VectorSum


def gaussian_delta(mu, epsilon):
    """Delta of the Gaussian mechanism, with 30 digits (Balle and Wang, Theorem 8)."""
    with mpmath.workdps(30):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        here = mpmath.ncdf(mu / 2 - epsilon / mu)
        return float(here - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize(
    ("parameters", "change"),
    [
        ({"norm": 3.0}, 6.0),
        ({"norm": 3.0, "diameter": 4.0}, 4.0),
        ({"norm": 3.0, "relation": "add_remove"}, 3.0),
        ({"norm": 3.0, "weight": 0.5}, 3.0),
    ],
)
def test_a_row_is_the_gaussian_mechanism(parameters, change):
    cost = VectorSum(sigma=2.0, **parameters).max_cost()[EVERYONE]
    for order in (2.0, 8.0, 32.0):
        assert float(cost.at(order)) == pytest.approx(order * (change / 2) ** 2 / 2, rel=1e-12)
    assert math.isinf(cost.at(math.inf))


@pytest.mark.parametrize("n_rows", [1, 4])
def test_every_budget_charges_the_gaussian_mechanism(n_rows):
    mechanism = VectorSum(sigma=20.0)
    mu = math.sqrt(n_rows) * 2 / 20
    sums = np.zeros((n_rows, 3))
    budget = PrivacyAccountant(4, 1e-5)
    budget.release(mechanism, sums)
    assert budget.spent().amount == pytest.approx(mu**2, rel=1e-12)
    assert budget.spent().cost.delta == 0
    renyi = PrivacyAccountant(4, 1e-5, order=8.0)
    renyi.release(mechanism, sums)
    assert renyi.spent().amount == pytest.approx(8 * mu**2 / 2, rel=1e-12)


@pytest.mark.parametrize("n_rows", [1, 7, 300])
def test_a_plan_costs_one_vector_of_larger_sensitivity(n_rows):
    price = price_plan(VectorSum(sigma=40.0), n_rows)
    mu = math.sqrt(n_rows) / 20
    for epsilon in (0.0, 0.3, 2.0):
        true = gaussian_delta(mu, epsilon)
        assert true * (1 - 1e-9) <= price.delta(epsilon) <= true * 1.002 + 1e-15


def test_rounds_are_reserved_drawn_and_refunded():
    accountant = PrivacyAccountant(1, 1e-5)
    mechanism = accountant.calibrate(lambda s: VectorSum(sigma=s), n_rows=4)
    reservation = accountant.reserve(mechanism, 4)
    assert accountant.remaining().share < 0.003
    for _ in range(3):
        accountant.release(mechanism, np.zeros((1, 2)), reservation=reservation)
    louder = VectorSum(sigma=mechanism.sigma * 0.999)
    with pytest.raises(ValueError, match="tells more than what was paid for"):
        accountant.release(louder, np.zeros((1, 2)), reservation=reservation)
    accountant.settle(reservation)
    assert accountant.spent().share == pytest.approx(0.75, abs=1e-3)


def test_less_sensitive_vectors_are_drawn_on_a_reservation():
    accountant = PrivacyAccountant(1, 1e-5)
    reservation = accountant.reserve(VectorSum(sigma=40.0), 1)
    with pytest.raises(ValueError, match="was not paid for"):
        accountant.release(NoisyMargin(sigma=40.0), [[3.0]], reservation=reservation)


def test_calibration_uses_the_whole_budget():
    noise = calibrated(VectorSum, epsilon=1, delta=1e-5, n_rows=1).sigma
    assert gaussian_delta(2 / noise, 1.0) == pytest.approx(1e-5, rel=0.02)
    assert gaussian_delta(2 / noise, 1.0) <= 1e-5


def test_levels_pay_for_their_weight():
    cost = VectorSum(sigma=4.0, weight={"low": 0.5, "high": 2.0}).max_cost()
    assert float(cost["high"].at(2.0)) == pytest.approx(16 * float(cost["low"].at(2.0)))


def test_released_sums_are_on_a_grid_with_the_stated_noise():
    accountant = PrivacyAccountant(1e4, 1e-5, order="renyi")
    sums = np.full((4000, 5), -7.3)
    with pytest.warns(UserWarning, match="reproducible"):
        drawn = accountant.release(VectorSum(sigma=5.0), sums, random_state=0)
    assert (drawn * 2**18 % 1 == 0).all()
    error = drawn - sums
    # 20,000 numbers: six standard errors, 1e-8 in all.
    assert abs(error.mean()) < 6 * 5 / np.sqrt(error.size)
    assert abs(error.var() - 25) < 6 * 25 * np.sqrt(2 / error.size)


def half_the_noise(patch):
    sample = VectorSum.sample

    def quiet(self, counts, rng):
        return counts + (sample(self, counts, rng) - counts) / 2

    patch.setattr(VectorSum, "sample", quiet)


def half_the_sensitivity(patch):
    patch.setattr(VectorSum, "sensitivity", property(lambda self: self.norm))


@pytest.mark.parametrize("fault", [half_the_noise, half_the_sensitivity])
def test_planted_errors_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_promise("claim_survives_the_audit", EXAMPLES["VectorSum"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": 1.0, "norm": -1.0}, "norm"),
        ({"sigma": 1.0, "norm": 1.0, "diameter": 2.5}, "twice norm"),
        ({"sigma": 1.0, "weight": {}}, "no level"),
        ({"sigma": 1.0, "weight": {"low": 0.0}}, "weight"),
        ({"sigma": 1.0, "relation": "swap"}, "relation"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        VectorSum(**parameters)


@pytest.mark.parametrize("sums", [[1.0, 2.0], [[np.nan]], [["a"]], np.empty((1, 0)), [[1], [2, 3]]])
def test_bad_sums_cost_nothing(sums):
    accountant = PrivacyAccountant(1, 1e-5)
    with pytest.raises(ValueError, match="counts"):
        accountant.release(VectorSum(sigma=10.0), sums)
    assert not accountant.entries()


def test_nothing_beyond_the_budget():
    accountant = PrivacyAccountant(1, 1e-5)
    with pytest.raises(BudgetExceededError):
        accountant.release(VectorSum(sigma=1.0), np.zeros((1, 2)))
    assert pickle.loads(pickle.dumps(VectorSum(sigma=1.0))) == VectorSum(sigma=1.0)
