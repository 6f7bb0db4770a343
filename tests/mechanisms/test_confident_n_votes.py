"""Confident GNMax where the number of votes is public: a row of two classes is one outcome."""

from dataclasses import replace

import numpy as np
import pytest

from secretballot import PrivacyAccountant
from secretballot.accounting import EVERYONE, ORDERS, plan_rows, price_plan
from secretballot.mechanisms import UNANSWERED, ConfidentGNMax

FINITE = ORDERS[:-1]
QUARTER = ConfidentGNMax(sigma=20, sigma_threshold=100, threshold=150)
SMALL = ConfidentGNMax(sigma=3.0, sigma_threshold=4.0, threshold=8.0)
OUTCOMES = np.array([UNANSWERED, 0, 1])


def test_every_outcome_pays_the_same_and_less_than_its_steps():
    whole, steps = replace(SMALL, n_votes=11), SMALL
    votes = np.tile([7.0, 4.0], (3, 1))
    for counts in ((), (votes,)):
        one = whole.cost(OUTCOMES, *counts, n_columns=2)[EVERYONE].curve[:, :-1]
        two = steps.cost(OUTCOMES, *counts, n_columns=2)[EVERYONE].curve[:, :-1]
        assert np.all(one == one[0])
        assert np.all(one[1] <= two[1] * (1 + 1e-9))  # an answered row
    most = whole.max_cost(2)[EVERYONE].curve
    assert np.all(most <= whole.max_cost()[EVERYONE].curve)
    assert np.all(most <= steps.max_cost(2)[EVERYONE].curve)
    np.testing.assert_array_equal(whole.cost(OUTCOMES, n_columns=2)[EVERYONE].curve[0], most)


def test_steps_are_still_charged_by_outcome():
    # Without n_votes; and with it for three classes.
    votes = np.tile([6.0, 4.0, 1.0], (3, 1))
    for plain, columns, counts in (
        (SMALL, 3, (votes,)),
        (SMALL, 3, ()),
        (SMALL, None, ()),
    ):
        with_n_votes = replace(plain, n_votes=11)
        costs = [
            each.cost(OUTCOMES, *counts, n_columns=columns)[EVERYONE]
            for each in (plain, with_n_votes)
        ]
        np.testing.assert_array_equal(costs[0].curve, costs[1].curve)
        assert costs[0].curve[0, 40] < costs[0].curve[1, 40]


def test_number_of_rows_for_an_epsilon_of_log_two():
    # One of some five tied rows passes, and none more rarely: four times as many rows.
    epsilon, whole = np.log(2), replace(QUARTER, n_votes=125)
    row = whole.max_cost(2)[EVERYONE]
    assert (row * 35).epsilon(1e-5) <= epsilon < (row * 36).epsilon(1e-5)
    assert plan_rows(whole, 60, epsilon, 1e-5, n_columns=2) == 42
    assert plan_rows(QUARTER, 60, epsilon, 1e-5, n_columns=2) == 10


def test_answers_can_be_counted():
    whole = replace(SMALL, n_votes=11)
    few, every = (price_plan(whole, 10, n_columns=2, n_answers=k).delta(0.8) for k in (2, 10))
    assert 0 < few < 0.6 * every
    assert every == pytest.approx(price_plan(whole, 10, n_columns=2).delta(0.8), rel=1e-6)


def test_rows_must_sum_to_n_votes():
    whole = replace(SMALL, n_votes=11)
    with pytest.raises(ValueError, match=r"counts has 10 votes in row 1, and n_votes=11"):
        whole.check_counts([[7, 4], [6, 4]])
    with pytest.raises(ValueError, match="counts holds 6.5, which is no whole number of ballots"):
        whole.check_counts([[6.5, 4.5]])
    accountant = PrivacyAccountant(epsilon=50, delta=1e-5, order="renyi")
    with pytest.raises(ValueError, match="n_votes=11"):
        accountant.release(whole, [[7, 5]])
    assert accountant.release(whole, [[7, 4], [2, 9]]).shape == (2,)
    assert whole.describe()["n_votes"] == 11
    # Weighted ballots sum up to rounding errors.
    levels = ConfidentGNMax(
        sigma=3, sigma_threshold=4, threshold=8, weight={"a": 0.7, "b": 1.3}, n_votes=11
    )
    assert levels.check_counts([[0.1 + 0.2 + 6.7, 4.0]]).shape == (1, 2)
    assert levels.scaled(2).n_votes == 22


@pytest.mark.parametrize("n_votes", [0, 0.5, -3, np.inf, "many"])
def test_bad_n_votes(n_votes):
    with pytest.raises(ValueError, match="n_votes"):
        replace(SMALL, n_votes=n_votes)


def test_fractional_ballots_are_refused():
    with pytest.raises(ValueError, match="n_votes is 11, which is no whole number of ballots"):
        replace(SMALL, n_votes=11, weight=2.0)
    assert replace(SMALL, n_votes=12, weight=2.0).check_counts([[8, 4]]).shape == (1, 2)
