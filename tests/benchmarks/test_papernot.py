"""Published accounting, which the benchmarks compare with, and the paper's formulas."""

import math

import mpmath as mp
import numpy as np
import pytest
from benchmarks.accounting.papernot import papernot, published
from hypothesis import given, settings
from hypothesis import strategies as st

from secretballot.accounting import EVERYONE, ORDERS
from secretballot.costs import NoisyMax
from secretballot.costs._orders import order_index
from secretballot.mechanisms import (
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    PowersetVoting,
    RoundRobin,
    TauVoting,
    count_ballots,
)

FINITE = ORDERS[:-1]
INTEGERS = np.arange(2.0, 51.0)


def plainly(votes, sigma, a):
    """PATE'18 Proposition 7 and Theorem 6, with 40 digits, one row and order at a time."""
    with mp.workdps(40):
        top = max(range(len(votes)), key=lambda k: votes[k])
        s = mp.mpf(sigma)
        q = sum(mp.erfc((votes[top] - n) / (2 * s)) / 2 for k, n in enumerate(votes) if k != top)
        plain = a / s**2
        if not 0 < q < 1:
            return float(plain)
        mu2 = s * mp.sqrt(mp.log(1 / q))
        mu1 = mu2 + 1
        e1, e2 = mu1 / s**2, mu2 / s**2
        if not (a <= mu1 and mu2 > 1):
            return float(plain)
        limit = (mu2 - 1) * e2 - mu2 * (mp.log(mu1 / (mu1 - 1)) + mp.log(mu2 / (mu2 - 1)))
        if not (mp.log(q) <= limit and -mp.log(q) > e2):
            return float(plain)
        big_a = (1 - q) / (1 - (q * mp.e**e2) ** ((mu2 - 1) / mu2))
        big_b = mp.e**e1 / q ** (1 / (mu1 - 1))
        bound = mp.log((1 - q) * big_a ** (a - 1) + q * big_b ** (a - 1)) / (a - 1)
        return float(min(bound, plain))


@given(
    st.lists(st.integers(0, 250), min_size=2, max_size=6).filter(lambda v: sum(v) > 0),
    st.floats(1, 60),
    st.sampled_from([2, 3, 7, 20, 50]),
)
@settings(max_examples=150)
def test_against_the_papers_formulas(votes, sigma, order):
    got = papernot([votes], sigma)[0, order_index(order)]
    assert got == pytest.approx(plainly(votes, sigma, order), rel=1e-7, abs=1e-15)


def test_both_branches_are_met():
    got = papernot([[240, 10], [125, 125]], 40)[:, np.isin(ORDERS, INTEGERS)]
    assert np.any(got[0] < INTEGERS / 40**2 * 0.9)
    np.testing.assert_array_equal(got[1], INTEGERS / 40**2)


def test_weighted_ballots_are_rescaled():
    rows = np.array([[200.0, 30.0, 20.0]])
    np.testing.assert_allclose(papernot(rows, 40, weight=2.0), papernot(rows / 2, 20), rtol=1e-13)


def test_votes_so_clear_that_q_underflows():
    got = papernot([[5000, 0]], 40.0)
    low = ORDERS <= 50
    assert np.all(got[0, low] < 1e-100)
    assert math.isinf(got[0, -1])


@pytest.mark.parametrize("n_classes", [3, 10])
def test_gaps_of_three_and_more_classes_are_charged_the_bound_in_both_directions(n_classes):
    votes = np.zeros((250, n_classes))
    votes[:, 0] = np.arange(250)
    one_way = papernot(votes, 40.0)
    both = np.maximum(one_way[2:], one_way[:-2])
    costs = NoisyMax(sigma=40.0, weight=1.0, n_classes=n_classes).gap_costs(249)
    np.testing.assert_allclose(costs[2:], both, rtol=1e-12)
    assert (both > one_way[2:]).any()


#: Votes, and their worst case at order a over a: half the mu^2 of what is noisy.
VOTES = {
    "plain": (GNMax(sigma=4.0), 3, 1 / 4**2),
    "weights": (GNMax(sigma=4.0, weight=2.0, ballots=2), 3, 4**2 / 4**2),
    "threshold": (ConfidentGNMax(sigma=4, sigma_threshold=3, threshold=8), 2, 1 / 16 + 1 / 18),
    "labels": (BinaryVoting(sigma=4.0, n_votes=12), 3, 3 / 16),
    "clipped": (TauVoting(sigma=4.0, n_votes=12, tau=1.0), 3, 2 / 16),
    "sets": (PowersetVoting(sigma=4.0, n_labels=3), None, 1 / 16),
}


@pytest.mark.parametrize("name", VOTES)
def test_the_worst_case_is_that_of_the_noisy_counts(name):
    mechanism, n_columns, per_order = VOTES[name]
    worst = published(mechanism).max_cost(n_columns)[EVERYONE].curve[:-1]
    np.testing.assert_allclose(worst, FINITE * per_order, rtol=1e-12)
    exact = mechanism.max_cost(n_columns)[EVERYONE].curve[:-1]
    assert np.all(exact <= worst * (1 + 1e-9))
    assert isinstance(published(mechanism), type(mechanism))


@pytest.mark.parametrize("name", [name for name in VOTES if name != "sets"])
def test_known_votes_cost_no_more_and_agreement_little(name):
    mechanism, n_columns, _ = VOTES[name]
    charged, votes = published(mechanism), np.zeros((2, n_columns))
    votes[:, 0] = 12, 6
    votes[1, 1] = 6
    if name == "weights":
        votes *= 20
    cost = charged.max_cost(counts=votes)[EVERYONE].curve[:, :-1]
    assert np.all(cost <= charged.max_cost(n_columns)[EVERYONE].curve[:-1] * (1 + 1e-9))
    at = order_index(2.0)
    assert cost[0, at] < cost[1, at]


def test_every_set_of_labels_counts():
    votes = np.array([[30.0, 0, 4, 0, 0, 0, 1, 0], [12, 12, 0, 0, 0, 0, 0, 0]])
    sets = np.unpackbits(np.arange(8, dtype=np.uint8)[:, None], axis=1)[:, 5:]
    ballots = np.broadcast_to(sets, (2, 8, 3))
    powerset = published(PowersetVoting(sigma=4.0, n_labels=3))
    ours = powerset.max_cost(counts=count_ballots(ballots, votes))[EVERYONE].curve
    np.testing.assert_allclose(ours, papernot(votes, 4.0), rtol=1e-12)
    assert (ours[0] < ours[1]).any()


def test_unanswered_rows_pay_for_their_threshold_and_turns_are_kept():
    charged = published(ConfidentGNMax(sigma=40, sigma_threshold=200, threshold=300))
    cost = charged.cost(np.array([-1, 0]), [[200.0, 50.0]] * 2)[EVERYONE].curve[:, :-1]
    np.testing.assert_allclose(cost[0], FINITE / (2 * 200**2), rtol=1e-12)
    np.testing.assert_allclose(
        cost[1] - cost[0], papernot([[200.0, 50.0]], 40.0)[0, :-1], rtol=1e-9, atol=1e-15
    )
    turns = RoundRobin(mechanism=published(GNMax(sigma=2.0)), turns={"a": (1, 2)})
    for worst in turns.max_cost(3).values():
        np.testing.assert_allclose(worst.curve[:-1], FINITE / 4, rtol=1e-12)
