"""A neighbour that moves several ballots: the bound on known votes, against brute force."""

from itertools import combinations_with_replacement

import mpmath as mp
import numpy as np
import pytest
from benchmarks.accounting.papernot import papernot
from hypothesis import given, settings
from hypothesis import strategies as st

from secretballot.accounting import ORDERS
from secretballot.costs import NoisyMax
from secretballot.costs._divergence import gaussian_bound, renyi_divergence
from secretballot.costs._exact_max import (
    _bound,
    exact_max,
    max_log_probabilities,
    several_ballots,
)

FINITE = ORDERS[:-1]
SQRT2 = float(np.sqrt(2))


def brute_force(row, sigma, ballots):
    """Largest divergence over all ways to move up to `ballots` ballots, both directions."""
    n_classes = len(row)
    moves = combinations_with_replacement(range(n_classes), ballots)
    moved = np.array([np.bincount(move, minlength=n_classes) for move in moves])
    remaining = np.asarray(row) - moved
    remaining = remaining[(remaining >= 0).all(axis=1)]
    neighbours = np.unique((remaining[:, None] + moved).reshape(-1, n_classes), axis=0)
    logs = max_log_probabilities(np.concatenate([[row], neighbours]), sigma)
    data, neighbour = np.broadcast_to(logs[0], neighbours.shape), logs[1:]
    directions = [
        renyi_divergence(*pair, ORDERS) for pair in ((data, neighbour), (neighbour, data))
    ]
    return np.max(directions, axis=(0, 1))


small_rows = st.integers(2, 4).flatmap(
    lambda c: st.lists(st.integers(0, 25), min_size=c, max_size=c).filter(lambda v: sum(v) > 4)
)


@given(small_rows, st.floats(1.0, 40), st.integers(2, 3))
@settings(max_examples=30)
def test_never_below_brute_force(row, sigma, ballots):
    bound = exact_max(np.array([row], dtype=float), sigma, 1.0, ballots)[0]
    assert np.all(brute_force(row, sigma, ballots) <= bound * (1 + 1e-9) + 1e-14)


@given(small_rows, st.floats(0.5, 15), st.integers(2, 3))
@settings(max_examples=30)
def test_at_worst_ballots_move_together(row, sigma, ballots):
    # The worst case of one ballot that weighs as much covers all ways to move several.
    worst = NoisyMax(sigma=sigma, weight=1.0, ballots=ballots, n_classes=len(row)).worst_case()
    assert np.all(brute_force(row, sigma, ballots) <= worst * (1 + 1e-9))


moves = st.lists(st.floats(-6, 6), min_size=4, max_size=4)


@given(st.lists(st.floats(0, 12), min_size=4, max_size=4), moves, moves, st.floats(1.05, 30))
@settings(max_examples=60)
def test_the_moment_is_convex_in_the_change_of_the_neighbour(row, first, second, order):
    row, first, second = (np.array(counts) for counts in (row, first, second))
    data = max_log_probabilities(row[None], 3.0)[0]

    def moment(move):
        neighbour = max_log_probabilities((row + move)[None], 3.0)[0]
        return np.exp((order - 1) * renyi_divergence(data, neighbour, np.array([order]))[0])

    middle, ends = moment((first + second) / 2), (moment(first) + moment(second)) / 2
    assert middle <= ends * (1 + 1e-9)


def test_the_other_direction_is_not_convex():
    # So that on known votes, where one direction starts at the neighbour, a bound is needed.
    row, order = np.array([6.0, 5.0, 5.0]), np.array([2.0])

    def moment(move):
        logs = max_log_probabilities(np.stack([row + move, row]), 2.0)
        return float(np.exp(renyi_divergence(logs[0], logs[1], order)[0]))

    far = np.array([40.0, -20.0, -20.0])
    assert moment(far / 2) > (moment(far) + moment(0 * far)) / 2


def test_two_classes_are_tight_where_the_ballots_are_there():
    row = [30, 12]
    bound = exact_max(np.array([row], dtype=float), 5.0, 1.0, 3)[0]
    np.testing.assert_allclose(bound, brute_force(row, 5.0, 3), rtol=1e-8)


def test_a_loser_with_one_ballot_can_lose_it():
    # With fewer ballots than a neighbour may move, it can still widen the gap by those it has.
    row = [20, 1]
    bound = exact_max(np.array([row], dtype=float), 2.0, 1.0, 2)[0]
    assert np.all(brute_force(row, 2.0, 2) <= bound * (1 + 1e-9))


def test_confident_votes_cost_less_than_published():
    row = np.array([[230.0, 10, 5, 5]])
    ours = exact_max(row, 40, 1.0, 3)[0]
    published = papernot(row, 40, 3)[0]
    middle = (FINITE > 2) & (FINITE < 20)
    assert np.all(ours[:-1][middle] < published[:-1][middle])
    assert np.all(ours[:-1] <= gaussian_bound(SQRT2 * 3 / 40)[:-1])
    # Within a factor of two of the truth at the orders that budgets gate on.
    at = int(np.argmin(np.abs(ORDERS - 10)))
    assert ours[at] < 2 * brute_force([230, 10, 5, 5], 40, 3)[at]


@given(st.floats(1e-12, 0.9), st.floats(0.01, 2.0), st.floats(1.1, 60), st.floats(0, 1))
@settings(max_examples=100)
def test_the_cells_bound_every_interval(doubt, shift, order, share):
    # The neighbour's law with the atom anywhere, and the rest kept apart, by numerical integration.
    at = doubt * share
    with mp.workdps(30):
        low = mp.erfinv(2 * mp.mpf(at) - 1) * mp.sqrt(2) if at > 0 else -mp.inf
        right = -mp.erfinv(2 * mp.mpf(doubt - at) - 1) * mp.sqrt(2) if at < doubt else mp.inf
        a, m, q = mp.mpf(order), mp.mpf(shift), mp.mpf(doubt)
        mass = mp.ncdf(right + m) - mp.ncdf(low + m)
        worst = mp.mpf(0)
        for power in (a, 1 - a):
            tilt = mp.exp(power * (power - 1) * m**2 / 2)
            tails = tilt * (mp.ncdf(low + power * m) + mp.ncdf(-right - power * m))
            worst = max(worst, tails + (1 - q) ** (1 - power) * mass**power)
        truth = float(mp.log(worst) / (a - 1))
    bound = _bound(np.array([doubt]), shift, np.array([order]))[0, 0]
    assert truth <= bound * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("shift", [0.02, 0.3, 1.5])
def test_a_higher_probability_of_losing_never_costs_less(shift):
    doubts = np.array([1e-40, 1e-9, 1e-3, 0.1, 0.4, 0.8])
    logs = np.stack([np.log1p(-doubts), np.log(doubts / 2), np.log(doubts / 2)], axis=1)
    bound = several_ballots(logs, shift / SQRT2)
    assert np.all(np.diff(bound[:, :-1], axis=0) >= -1e-12)
    low = FINITE * shift <= 6  # higher orders look farther into the tail than this doubt lies
    assert np.all(bound[0, :-1][low] < 1e-6 + 1e-3 * gaussian_bound(shift)[:-1][low])
    assert np.isinf(bound[:, -1]).all()


def test_many_rows_in_blocks_are_the_rows_alone():
    rng = np.random.default_rng(0)
    rows = rng.multinomial(60, [0.7, 0.2, 0.1], size=300).astype(float)
    together = exact_max(rows, 8.0, 1.0, 2)
    for row, cost in zip(rows[::60], together[::60], strict=True):
        np.testing.assert_allclose(exact_max(row[None], 8.0, 1.0, 2)[0], cost, rtol=1e-12)
