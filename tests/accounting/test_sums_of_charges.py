"""Sums of charges: none is lost in a larger one, and equal parts of a budget fit."""

import contextlib
import math
from fractions import Fraction

import numpy as np
import pytest
from tests._fakes import Pure, votes

from secretballot import PrivacyAccountant
from secretballot.accounting import ORDERS, BudgetExceededError, GaussianCost, RenyiCost
from secretballot.costs._cost import gate_budget
from secretballot.mechanisms import GNMax, VectorSum

TINY = 2e-18


def tiny_sum():
    return VectorSum(sigma=1 / math.sqrt(TINY), norm=0.5, diameter=1.0)


@pytest.mark.parametrize("order", ["gaussian", 16.0])
def test_small_charges_beside_a_large_one_are_not_lost(order):
    accountant = PrivacyAccountant(4.0, 1e-5, order=order)
    child = accountant.child("team", epsilon=3.0)
    scope = accountant.scope()
    for budget, within in ((accountant, None), (accountant, scope), (child, None)):
        budget.release(VectorSum(sigma=9.0, norm=0.5, diameter=1.0), [[0.0]], scope=within)
        before = budget.spent().amount
        for _ in range(20):
            budget.release(tiny_sum(), [[0.0]], scope=within)
        # In exact numbers: what is counted is not less than what was charged.
        charged = 20 * Fraction(tiny_sum_cost(order))
        assert Fraction(budget.spent().amount) - Fraction(before) >= charged
    assert accountant.entries()


def tiny_sum_cost(order):
    alone = PrivacyAccountant(4.0, 1e-5, order=order)
    alone.release(tiny_sum(), [[0.0]])
    return alone.spent().amount


@pytest.mark.parametrize("kind", [GaussianCost, RenyiCost])
def test_costs_add_up_to_no_less_than_their_sum(kind):
    rng = np.random.default_rng(3)
    n = 1 if kind is GaussianCost else len(ORDERS)
    amounts = 10.0 ** rng.uniform(-20, 0, (50, n))
    deltas = 10.0 ** rng.uniform(-30, -6, 50)
    costs = kind.from_curve(amounts, deltas)
    one_by_one = kind.zero()
    for i in range(50):
        one_by_one = one_by_one + costs[i]
    for total in (one_by_one, costs.sum()):
        for at in range(n):
            exact = sum(map(Fraction, amounts[:, at].tolist()))
            assert exact <= Fraction(float(total.curve[at])) <= exact * Fraction(1 + 1e-14)
        assert Fraction(float(total.delta)) >= sum(map(Fraction, deltas.tolist()))
    # What is left of a sum is rounded up, what comes back of a payment down.
    rest = one_by_one.without(costs[0])
    back = one_by_one.refund_after(costs[0])
    for at in range(n):
        exact = Fraction(float(one_by_one.curve[at])) - Fraction(float(amounts[0, at]))
        assert Fraction(float(back.curve[at])) <= exact <= Fraction(float(rest.curve[at]))


def test_sums_that_are_exact_and_infinite_ones_stay():
    half = GaussianCost(0.5, 1e-6)
    assert (half + half).mu2 == 1.0
    assert (half + half).without(half).mu2 == 0.5
    infinite = RenyiCost(np.full(len(ORDERS), np.inf))
    assert np.isinf((infinite + infinite).curve).all()
    assert np.isinf(infinite.without(infinite).curve).all()


def equal_parts(order, n):
    """Return a budget and the epsilon of a child that gets one of n equal parts of it."""
    accountant = PrivacyAccountant(4.0, 1e-5, order=order)
    (level,) = accountant.levels
    if math.isinf(level.order):
        return accountant, 4.0 / n
    low, high = 0.0, 4.0
    for _ in range(200):
        middle = (low + high) / 2
        fits = gate_budget(middle, 1e-5, level.order) <= level.amount / n
        low, high = (middle, high) if fits else (low, middle)
    return accountant, low


@pytest.mark.parametrize("order", ["renyi", 4.0, 16.0, math.inf])
@pytest.mark.parametrize("n", [2, 5, 6, 7, 9, 19, 30])
def test_equal_children_of_a_renyi_budget_fit(order, n):
    accountant, epsilon = equal_parts(order, n)
    for number in range(n):
        accountant.child(str(number), epsilon=epsilon)
    with pytest.raises(BudgetExceededError):
        accountant.child("one more", epsilon=epsilon)


@pytest.mark.parametrize("n_steps", [1, 40])
def test_budgets_of_pairs_have_next_to_nothing_to_spare(n_steps):
    """They have 2^-41 of themselves, in all: for rounding, and for no charge."""
    accountant = PrivacyAccountant(1.0, 1e-5, order=math.inf)
    accountant.release(Pure(epsilon=1.0, delta=1e-5), votes(1))
    for charge in (Pure(epsilon=2.0**-40), Pure(epsilon=0.0, delta=1e-5 * 2.0**-40)):
        for spend in (
            lambda charge=charge: accountant.release(charge, votes(1)),
            lambda charge=charge: accountant.reserve(charge, 1),
        ):
            with pytest.raises(BudgetExceededError):
                spend()
    for _ in range(n_steps):
        with contextlib.suppress(BudgetExceededError):
            accountant.release(Pure(epsilon=2.0**-44), votes(1))
    assert accountant.spent().amount <= 1 + 2.0**-41
    with pytest.raises(BudgetExceededError):
        accountant.child("team", epsilon=2.0**-40)


def test_many_rows_are_charged_no_less_than_each_of_them():
    accountant = PrivacyAccountant(2.0, 1e-5, order=8.0)
    accountant.release(GNMax(sigma=1e9), np.tile([9, 1], (1_000, 1)))
    alone = PrivacyAccountant(2.0, 1e-5, order=8.0)
    alone.release(GNMax(sigma=1e9), [[9, 1]])
    assert Fraction(accountant.spent().amount) >= 1_000 * Fraction(alone.spent().amount)
