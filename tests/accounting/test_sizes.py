"""Budgets, rows and columns beyond what floats and memory hold are refused, by name."""

from __future__ import annotations

import math

import mpmath
import pytest

from secretballot.accounting import PrivacyAccountant
from secretballot.costs._cost import gaussian_budget
from secretballot.mechanisms import GNMax, VectorSum


@pytest.mark.parametrize("order", ["gaussian", "renyi", math.inf])
@pytest.mark.parametrize("epsilon", [1e300, 1.1e12, {"low": 1.0, "high": 1e13}])
def test_budgets_beyond_the_range_of_floats(order, epsilon):
    with pytest.raises(ValueError, match=r"^epsilon=.* must be a finite number above 0 and of at"):
        PrivacyAccountant(epsilon, 1e-5, order=order)
    accountant = PrivacyAccountant({"low": 1.0, "high": 3.0}, 1e-5, order=order)
    with pytest.raises(ValueError, match=r"^epsilon="):
        accountant.scope(epsilon)


@pytest.mark.parametrize("epsilon", [1.0, 1e4, 1e8, 1e12])
def test_the_largest_budgets_are_right(epsilon):
    mu2 = gaussian_budget(epsilon, 1e-5, 0.0)
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mu2)
        delta = mpmath.ncdf(mu / 2 - epsilon / mu)
        delta -= mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
        assert delta <= mpmath.mpf("1e-5")
        assert delta > mpmath.mpf("0.99e-5")


@pytest.mark.parametrize("n_rows", [0, 2.0, True, "3", 2**63, 10**400])
def test_rows(n_rows):
    accountant = PrivacyAccountant(1.0, 1e-5)
    mechanism = VectorSum(sigma=1e6)
    for ask in (accountant.reserve, accountant.price):
        with pytest.raises(ValueError, match=r"^n_rows=.* must be an integer"):
            ask(mechanism, n_rows)
    with pytest.raises(ValueError, match=r"^n_rows=.* must be an integer"):
        accountant.calibrate(VectorSum, n_rows)
    assert not accountant.entries()


@pytest.mark.parametrize("n_columns", [0, -1, 2.5, True, "a", 10**400])
def test_columns(n_columns):
    accountant = PrivacyAccountant(1.0, 1e-5)
    for ask in (accountant.reserve, accountant.price):
        with pytest.raises(ValueError, match=r"^n_columns=.* must be an integer"):
            ask(GNMax(sigma=40), 3, n_columns=n_columns)
    with pytest.raises(ValueError, match=r"^n_columns=.* must be an integer"):
        accountant.calibrate(GNMax, 3, n_columns=n_columns)
    assert not accountant.entries()
