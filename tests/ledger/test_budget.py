"""What a budget allows: its gate order and its levels."""

import math

import numpy as np
import pytest
from tests._fakes import gaussian

from secretballot.accounting import EVERYONE, ORDERS, BudgetExceededError, PrivacyAccountant
from secretballot.costs._cost import best_order, renyi_budget
from secretballot.ledger._budget import budget_levels
from secretballot.mechanisms import GaussianProportions


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(math.log(2), 1e-5), (1, 1e-5), (4, 1e-6), (20, 1e-2), (0.05, 1e-9)]
)
def test_the_gate_order_is_where_a_gaussian_total_converts_best(epsilon, delta):
    order = best_order(epsilon, delta)
    (level,) = budget_levels(epsilon, delta, order="renyi")
    assert level.order == order
    used_up = gaussian(level.amount / order)
    # No other order certifies less for that total, so nothing was lost by fixing this one.
    assert float(used_up.epsilon(delta)) == pytest.approx(epsilon, rel=1e-9)
    assert float(used_up.epsilon(delta)) <= epsilon
    for other in ORDERS[:-1]:
        allowed = float(renyi_budget(epsilon, delta, other))
        assert allowed / other <= level.amount / order


def test_an_approximation_delta_is_taken_from_the_conversion():
    (plain,) = budget_levels(1.0, 1e-5, order="renyi")
    (shared,) = budget_levels(1.0, 1e-5, approximation_delta=5e-6, order="renyi")
    (halved,) = budget_levels(1.0, 5e-6, order="renyi")
    assert shared.amount == halved.amount < plain.amount
    assert (shared.delta, shared.approximation_delta) == (1e-5, 5e-6)
    (basic,) = budget_levels(1.0, 1e-5, order=math.inf)
    assert (basic.amount, basic.approximation_delta) == (1.0, 1e-5)


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, math.nan, True, "1", None, np.array([1.0])])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match="epsilon=.*finite number above 0"):
        budget_levels(epsilon, 1e-5, order="renyi")
    with pytest.raises(ValueError, match="level 'strict'.*finite number above 0"):
        budget_levels({"strict": epsilon}, 1e-5, order="renyi")


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, 2.0, math.nan, None, "1e-5"])
def test_delta_out_of_range(delta):
    named = r"delta=None: give the probability" if delta is None else "delta=.*between 0 and 1"
    with pytest.raises(ValueError, match=named):
        budget_levels(1.0, delta, order="renyi")


def test_delta_zero_needs_basic_composition():
    assert budget_levels(1.0, 0.0, order=math.inf)[0].delta == 0
    with pytest.raises(ValueError, match="order=inf"):
        budget_levels(1.0, 0.0, order="renyi")


@pytest.mark.parametrize("name", ["", "a/b", EVERYONE, 3])
def test_names_of_levels(name):
    with pytest.raises(ValueError, match="a level called"):
        budget_levels({name: 1.0}, 1e-5, order="renyi")


def test_other_bad_budgets():
    with pytest.raises(ValueError, match="no level"):
        budget_levels({}, 1e-5, order="renyi")
    with pytest.raises(ValueError, match="order=3.14 is not one of"):
        budget_levels(1.0, 1e-5, order=3.14)
    with pytest.raises(ValueError, match="order='two' must be"):
        budget_levels(1.0, 1e-5, order="two")
    with pytest.raises(ValueError, match=r"order=2 can't certify .* orders from 9\.5 to 4096"):
        budget_levels(1.0, 1e-5, order=2)
    with pytest.raises(ValueError, match=r"can't be certified at delta=1e-05.*order=inf"):
        budget_levels(1e-6, 1e-5, order="renyi")
    with pytest.raises(ValueError, match="approximation_delta=1e-05 must be"):
        budget_levels(1.0, 1e-5, approximation_delta=1e-5, order="renyi")
    with pytest.raises(ValueError, match="no meaning at order=inf"):
        budget_levels(1.0, 1e-5, order=math.inf, approximation_delta=1e-6)


def test_a_given_order_is_kept_for_every_level():
    levels = budget_levels({"strict": 1, "generous": 3}, 1e-5, order=20)
    assert [(level.name, level.order) for level in levels] == [("strict", 20), ("generous", 20)]
    assert levels[0].amount < levels[1].amount


def test_noise_can_not_repair_an_infinite_cost():
    accountant = PrivacyAccountant(1.0, 1e-5, order=math.inf)
    with pytest.raises(BudgetExceededError, match="No amount of noise .* leave order as it is"):
        accountant.release(GaussianProportions(sigma=40.0), [[20, 10]])


@pytest.mark.parametrize("order", ["gaussian", "renyi", math.inf])
def test_a_delta_that_promises_nothing_is_refused(order):
    with pytest.raises(ValueError, match=r"delta=0\.99 is more than 0\.1, and promises nothing"):
        PrivacyAccountant(1e-6, 0.99, order=order)
    assert PrivacyAccountant(1.0, 0.1, order=order).spent().share == 0
