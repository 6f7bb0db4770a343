"""The noisy maximum: probabilities, exact costs and the certified worst case."""

from itertools import permutations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from secretballot.accounting import ORDERS
from secretballot.costs import NoisyBit
from secretballot.costs._divergence import cell_bound, log_moments, renyi_divergence
from secretballot.costs._exact_max import exact_max, max_log_probabilities
from secretballot.costs._worst_max import (
    RATIOS,
    _slope,
    _table,
    searched_shares,
    searched_worst_max,
    three_way_logs,
    worst_max,
)

FINITE = ORDERS[:-1]
SQRT2 = float(np.sqrt(2))


def at(order):
    return int(np.flatnonzero(ORDERS == order)[0])


def log_integral(integrand, peak, low=-mp.inf):
    """Log of an integral of a log-concave function around its peak, with 25 digits."""
    with mp.workdps(25):
        scale = integrand(mp.mpf(peak))  # quad() judges its error in absolute terms
        offsets = [-10, -5, -2.5, -1.2, -0.6, -0.3, -0.1, 0, 0.1, 0.3, 0.6, 1.2, 2.5, 5, 10]
        points = sorted({mp.mpf(max(peak + d, low)) for d in offsets})
        return float(mp.log(scale) + mp.log(mp.quad(lambda x: integrand(x) / scale, points)))


def log_win_probability(counts, sigma, k):
    """Log probability that class k wins, by another quadrature."""
    scaled = [mp.mpf(int(n)) / mp.mpf(sigma) for n in counts]

    def integrand(y):
        value = mp.npdf(y - scaled[k])
        for i, n in enumerate(scaled):
            if i != k:
                value *= mp.ncdf(y - n)
        return value

    z = np.array(counts) / sigma
    y = np.linspace(z.min(), z.max() + 3, 400)
    logs = log_ndtr(y[:, None] - np.delete(z, k)).sum(axis=1) - (y - z[k]) ** 2 / 2
    return log_integral(integrand, float(y[logs.argmax()]))


def brute_force(row, sigma, weight=1.0):
    """Exact cost of a row of votes by enumeration of neighbours and directions."""
    ballot = np.eye(len(row)) * weight
    pairs = permutations(range(len(row)), 2)
    neighbours = np.array([row - ballot[i] + ballot[j] for i, j in pairs if row[i] >= weight])
    logs = max_log_probabilities(np.concatenate([[row], neighbours]), sigma)
    data, neighbour = np.broadcast_to(logs[0], neighbours.shape), logs[1:]
    directions = [
        renyi_divergence(*pair, ORDERS) for pair in ((data, neighbour), (neighbour, data))
    ]
    return np.max(directions, axis=(0, 1))


def test_probability_vector():
    got = np.exp(max_log_probabilities(np.array([[150, 50, 20, 10]]), 40))[0]
    expected = [0.949998882015389, 0.0365624220855843, 0.00851535362640797, 0.00492334227261888]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("counts", "sigma"), [((150, 50, 20, 10), 40), ((30, 0, 0), 2), ((9, 9, 9, 9, 9, 0), 1.5)]
)
def test_probabilities_against_thirty_digits(counts, sigma):
    got = max_log_probabilities(np.array([counts]), sigma)[0]
    for count in set(counts):
        k = np.flatnonzero(np.array(counts) == count)  # as likely to win, all of them
        expected = log_win_probability(counts, sigma, k[0])
        np.testing.assert_allclose(got[k], expected, rtol=1e-12, atol=1e-11)


def test_cost_vectors():
    votes = np.array([[150, 50, 20, 10]])
    assert exact_max(votes, 40)[0, at(10)] == pytest.approx(1.58759885654718e-3, rel=1e-9)
    data = max_log_probabilities(votes, 40.0)
    forth = max_log_probabilities(np.array([[151, 49, 20, 10]]), 40.0)
    back = max_log_probabilities(np.array([[149, 51, 20, 10]]), 40.0)
    order = np.array([10.0])
    assert renyi_divergence(data, forth, order)[0, 0] == pytest.approx(
        1.51895534902155e-3, rel=1e-9
    )
    assert renyi_divergence(back, data, order)[0, 0] == pytest.approx(1.58759885654718e-3, rel=1e-9)
    # The quadrature trap: Gauss-Hermite says 31.69.
    data = max_log_probabilities(np.array([[100, 60, 50]]), 1.0)
    neighbour = max_log_probabilities(np.array([[99, 61, 50]]), 1.0)
    assert renyi_divergence(neighbour, data, np.array([30.0]))[0, 0] == pytest.approx(
        26.458, abs=5e-4
    )


votes = st.integers(2, 5).flatmap(
    lambda c: st.lists(st.integers(0, 30), min_size=c, max_size=c).filter(lambda v: sum(v) > 0)
)


@given(votes, st.floats(0.7, 60))
@settings(max_examples=40)
def test_exact_cost_is_brute_force_over_all_neighbours(row, sigma):
    got, brute = exact_max(np.array([row]), sigma)[0], brute_force(row, sigma)
    np.testing.assert_allclose(got, brute, rtol=1e-8, atol=1e-14)


@given(votes, st.floats(1.0, 30), st.floats(0.3, 4))
@settings(max_examples=25)
def test_weighted_ballots_against_brute_force(row, sigma, weight):
    if max(row) < weight:
        return
    got, brute = exact_max(np.array([row]), sigma, weight)[0], brute_force(row, sigma, weight)
    np.testing.assert_allclose(got, brute, rtol=1e-8, atol=1e-14)


def test_ten_classes_against_brute_force():
    rng = np.random.default_rng(0)
    rows = rng.multinomial(60, rng.dirichlet(np.ones(10) * 0.4, size=3))
    got = exact_max(rows, 8.0)
    for row, cost in zip(rows, got, strict=True):
        np.testing.assert_allclose(cost, brute_force(row, 8.0), rtol=1e-8)


def test_equal_rows_in_any_order_cost_the_same():
    rows = np.array([[5, 3, 1], [1, 5, 3], [3, 1, 5], [4, 4, 1]])
    cost = exact_max(rows, 2.0)
    np.testing.assert_array_equal(cost[0], cost[1])
    np.testing.assert_array_equal(cost[0], cost[2])
    assert np.any(cost[3] != cost[0])


def test_votes_too_far_apart_are_charged_the_worst_case():
    cost = exact_max(np.array([[5000.0, 0.0, 0.0]]), 0.2)[0]
    np.testing.assert_array_equal(cost[:-1], worst_max(5.0)[:-1])


WORST_RATIOS = [1 / 40, 0.3, 2.0]


@pytest.mark.parametrize("ratio", WORST_RATIOS)
@given(data=st.data())
@settings(max_examples=12)
def test_worst_case_is_above_exact_costs(ratio, data):
    n_classes = data.draw(st.integers(3, 6))
    votes = st.floats(0, 12 + 8 * ratio)
    row = st.lists(votes, min_size=n_classes, max_size=n_classes)
    scaled = np.array(data.draw(st.lists(row, min_size=4, max_size=8)))
    scaled += ratio  # every class has a ballot to lose
    assert np.all(exact_max(scaled, 1.0, ratio)[:, :-1] <= worst_max(ratio)[:-1])


@pytest.mark.parametrize("ratio", WORST_RATIOS)
@given(u=st.floats(-60, 60), v=st.floats(-60, 60))
@settings(max_examples=150)
def test_worst_case_is_above_every_three_outcome_divergence(ratio, u, v):
    p = three_way_logs(np.array([u]), np.array([v]))
    q = three_way_logs(np.array([u - ratio]), np.array([v + ratio]))
    # Where a bound is attained at infinity, float error of the divergence itself shows.
    assert np.all(renyi_divergence(p, q, FINITE) <= worst_max(ratio)[:-1] * (1 + 1e-9))


@pytest.mark.parametrize("ratio", WORST_RATIOS)
def test_worst_case_lies_between_two_classes_and_the_gaussian(ratio):
    worst, pair = worst_max(ratio)[:-1], NoisyBit(scale=1.0, shift=SQRT2 * ratio).worst_case()[:-1]
    assert np.all(worst >= pair * (1 - 1e-12))
    assert np.all(worst <= FINITE * ratio**2 * (1 + 1e-12))
    assert np.all(worst <= pair * 1.06)


@pytest.mark.parametrize("ratio", [0.0213, 0.7])
def test_the_table_is_hardly_above_the_search(ratio):
    # Half-way between two ratios of the table, where a chord is highest above a convex curve.
    upper = np.searchsorted(RATIOS, ratio)
    middle = float(RATIOS[upper - 1 : upper + 1].mean())
    orders_tested = tuple(ORDERS[[3, 40, 70, 100]])
    searched, table = searched_worst_max(middle, orders_tested), worst_max(middle, orders_tested)
    # The search itself is certified from above, to a relative 1e-3 (1e-2 at tilts above 1).
    assert np.all((searched / 1.01 <= table) & (table <= searched * 1.002))
    np.testing.assert_array_equal(table, worst_max(middle)[[3, 40, 70, 100]])


@pytest.mark.parametrize(
    "row", [150, 253, *(pytest.param(row, marks=pytest.mark.slow) for row in range(0, 253, 20))]
)
def test_the_table_holds_the_results_of_the_search(row):
    np.testing.assert_array_equal(_table()[row], searched_shares(float(RATIOS[row])))


def test_outside_the_table_the_worst_case_is_searched():
    for ratio, orders in ((30.0, (2.0,)), (0.5, (2.1,))):
        assert worst_max(ratio, orders) == searched_worst_max(ratio, orders)
    assert worst_max(0.0, (2.0,)) == 0


def test_small_cost_supremum_is_half_a_per_cent_above_two_classes():
    ratio = 1e-3
    worst = worst_max(ratio, (2.0, 10.0))
    np.testing.assert_allclose(worst / (np.array([2.0, 10.0]) * ratio**2), 0.640, atol=1e-3)
    pair = NoisyBit(scale=1.0, shift=SQRT2 * ratio).worst_case((2.0, 10.0))
    assert np.all((worst / pair > 1.0050) & (worst / pair < 1.0053 + 1.1e-3))


def test_worst_case_is_attained_by_votes():
    # The supremum is not an artefact of the three-outcome bound: three classes come within 1 %.
    ratio, k = 1 / 40, at(24)
    grid = np.stack(np.meshgrid(np.linspace(0, 3, 31), np.linspace(0, 3, 31)), axis=-1)
    rows = np.concatenate([grid.reshape(-1, 2), np.zeros((961, 1))], axis=1) + 1
    assert exact_max(rows, 1.0, ratio)[:, k].max() > 0.99 * worst_max(ratio)[k]


@given(st.floats(-60, 60), st.floats(-60, 60))
@settings(max_examples=100)
def test_three_outcomes_sum_to_one(u, v):
    logs = three_way_logs(np.array([u]), np.array([v]))[0]
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("u", "v"), [(0, 0), (3, 1), (-2, 4), (-11, 0), (0.5, -25), (-30, -28), (5, 20), (20, 5)]
)
def test_three_outcomes_against_25_digits(u, v):
    logs = three_way_logs(np.array([u], float), np.array([v], float))[0]
    peak = max(u, (u + v) / 2, 0.0)
    expected = log_integral(lambda x: mp.npdf(x - u) * mp.ncdf(x - v), peak, low=0.0)
    assert logs[0] == pytest.approx(expected, abs=1e-9)


def test_slopes_are_gradients_of_the_log_probabilities():
    u, v = np.random.default_rng(0).normal(size=(2, 50)) * 4
    h = 1e-5
    du = (three_way_logs(u + h, v) - three_way_logs(u - h, v)) / (2 * h)
    dv = (three_way_logs(u, v + h) - three_way_logs(u, v - h)) / (2 * h)
    np.testing.assert_allclose(
        _slope(u, v, three_way_logs(u, v)), np.hypot(du, dv), rtol=1e-5, atol=1e-9
    )


@given(st.floats(-6, 6), st.floats(-6, 6), st.floats(0.02, 0.5), st.floats(0.005, 0.6), st.data())
@settings(max_examples=120)
def test_no_point_of_a_cell_exceeds_its_bound(u, v, step, ratio, data):
    # The interval argument itself: the bound is computed from corners and centre only.
    orders_tested = FINITE[[0, 24, 45, 75, 105]]

    def logs(u, v):
        return three_way_logs(u, v), three_way_logs(u - ratio, v + ratio)

    corner_u, corner_v = u + step * np.array([0, 0, 1, 1]), v + step * np.array([0, 1, 0, 1])
    p, q = logs(corner_u, corner_v)
    corners = log_moments(p[:, None], q[:, None], orders_tested).max(axis=0)
    centre = np.array([u + step / 2]), np.array([v + step / 2])
    p, q = logs(*centre)
    slope = _slope(centre[0] - ratio, centre[1] + ratio, q)
    bound = cell_bound(
        corners, p[:, None], q[:, None], slope[:, None], orders_tested,
        shift=SQRT2 * ratio, step=step, dimension=2,
    )[0]  # fmt: skip
    inside = data.draw(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=5))
    part = np.array(inside)
    p, q = logs(u + step * part[:, 0], v + step * part[:, 1])
    assert np.all(log_moments(p[:, None], q[:, None], orders_tested) <= bound * (1 + 1e-9) + 1e-13)
