"""Mistakes with parts of a budget: shares that are too small or used up, and closed children."""

import math

import numpy as np
import pytest

from secretballot import BudgetExceededError, PrivacyAccountant
from secretballot.quantification import publish_proportions

BAGS = [np.repeat([0, 1], sizes) for sizes in ([3000, 2000], [1000, 2000])]


def label_budget(**settings):
    return PrivacyAccountant(1.0, 1e-6, unit="label", **settings)


@pytest.fixture
def without_delta():
    """Budget with half of epsilon left, and no delta but for rounding."""
    accountant = label_budget(order=math.inf)
    publish_proportions(BAGS, [0, 1], 0.5, 1e-6, mechanism="gaussian", accountant=accountant)
    return accountant


def test_a_share_of_a_budget_without_delta_is_laplace_noise(without_delta):
    for share, epsilon in ((0.05, 0.05), ("rest", 0.45)):
        published = publish_proportions(BAGS, [0, 1], accountant=without_delta, share=share)
        assert published.mechanism.epsilon == pytest.approx(epsilon)
    assert without_delta.spent().amount == pytest.approx(1.0)
    n_entries = len(without_delta.entries())
    for share in ("rest", 0.05):
        with pytest.raises(BudgetExceededError, match="[Tt]his budget is used up"):
            publish_proportions(BAGS, [0, 1], accountant=without_delta, share=share)
    assert len(without_delta.entries()) == n_entries


@pytest.mark.parametrize("mechanism", ["gaussian", "dirichlet"])
def test_noise_that_takes_a_delta_is_refused_when_none_is_left(without_delta, mechanism):
    def publish(mechanism):
        return publish_proportions(
            BAGS, [0, 1], mechanism=mechanism, accountant=without_delta, share=0.05
        )

    with pytest.raises(BudgetExceededError, match="none is left.*mechanism='laplace'"):
        publish(mechanism)
    assert publish("laplace").mechanism.epsilon == pytest.approx(0.05)


def test_what_is_left_of_delta_does_not_reduce_the_share_of_epsilon():
    accountant = label_budget(order=math.inf)
    publish_proportions(BAGS, [0, 1], 0.1, 9e-7, mechanism="gaussian", accountant=accountant)
    published = publish_proportions(
        BAGS, [0, 1], mechanism="gaussian", accountant=accountant, share=0.5
    )
    assert published.mechanism.epsilon == pytest.approx(0.5)
    assert float(accountant.spent().cost.delta) <= 1e-6


@pytest.mark.parametrize("order", ["gaussian", math.inf])
def test_a_share_of_a_fresh_budget_that_is_too_small_is_called_so(order):
    accountant = label_budget(order=order)
    with pytest.raises(BudgetExceededError, match=r"share=0.002 is too small.*larger") as error:
        publish_proportions(BAGS, [0, 1], accountant=accountant, share=0.002)
    assert "n_fits" not in str(error.value)


@pytest.mark.parametrize(("n_fits", "share"), [(1, 0.004), (5, 0.016)])
def test_the_share_that_is_named_is_enough(n_fits, share):
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(BudgetExceededError, match=f"pass a share of {share} or more") as error:
        accountant.epsilon_per_fit(n_fits, share=0.001)
    assert "n_fits" not in str(error.value)
    assert "used up" not in str(error.value)
    assert accountant.epsilon_per_fit(n_fits, share=share) > 0


def test_a_share_too_small_for_too_many_fits_names_how_many_are_possible():
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(BudgetExceededError, match="at most 333 fits"):
        accountant.epsilon_per_fit(400, share=0.001)
    assert accountant.epsilon_per_fit(333) > 0


def test_the_name_of_a_closed_child_is_taken_for_good():
    accountant = PrivacyAccountant(1.0, 1e-5)
    accountant.child("x", epsilon=0.3).close()
    with pytest.raises(ValueError, match="was closed, for good: take another name"):
        accountant.child("x", epsilon=0.2)
    assert accountant.child("y", epsilon=0.2).epsilon == 0.2
