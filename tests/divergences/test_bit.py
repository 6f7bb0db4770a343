"""The noisy bit against closed forms, 30-digit references and brute force."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secretballot.accounting import ORDERS, RenyiCost
from secretballot.costs._divergence import (
    bit_divergence,
    exact_bit,
    gaussian_bound,
    round_up,
    worst_bit,
)

S40 = 40 * np.sqrt(2)
FINITE = ORDERS[:-1]


def reference(g, other, order):
    """Renyi divergence of two noisy bits with 40 digits."""
    with mp.workdps(40):
        p, q = mp.ncdf(mp.mpf(g)), mp.ncdf(mp.mpf(other))
        p_not, q_not = mp.ncdf(-mp.mpf(g)), mp.ncdf(-mp.mpf(other))
        a = mp.mpf(order)
        moment = p**a * q ** (1 - a) + p_not**a * q_not ** (1 - a)
        return float(mp.log(moment) / (a - 1))


@pytest.mark.parametrize(
    ("g", "other", "order", "value"),
    [
        (150, 148, 10, 1.696832039527377782858e-4),
        (150, 152, 10, 3.029288803672627757793e-4),
        (148, 150, 10, 3.27739491968682e-4),
        (152, 150, 10, 1.55644693809609e-4),
        (0, 2, 2, 7.957597721884843105474e-4),
    ],
)
def test_vectors(g, other, order, value):
    got = bit_divergence(g / S40, other / S40, np.array([float(order)]))
    assert got[0] == pytest.approx(value, rel=1e-9)


def test_exact_cost_vector():
    assert exact_bit([150 / S40], 2 / S40)[0, np.flatnonzero(ORDERS == 10)] == pytest.approx(
        3.27739491968682e-4, rel=1e-9
    )


def test_worst_case_vector_and_the_grid_that_misses_it():
    # A grid to 10 standard deviations is far below the supremum at x = 99.
    order = np.array([100.0])
    grid = np.linspace(-10, 10, 2001)
    assert bit_divergence(grid, grid - 1, order).max() == pytest.approx(10.06, abs=0.01)
    assert worst_bit(1.0, (100.0,))[0] == pytest.approx(49.95, abs=0.005)


def test_worst_case_labels_for_log_two():
    # The published 16, the Gaussian 24 and our 38 labels of the design's table.
    budget, delta = np.log(2), 1e-5
    bits, gaussian = RenyiCost(worst_bit(2 / S40)), RenyiCost(ORDERS / 40**2)

    def labels(cost, **conversion):
        n = np.arange(1, 100)
        return int((n * np.ones(99) * 0 + (cost * n).epsilon(delta, **conversion) <= budget).sum())

    assert labels(bits) == 38
    assert labels(gaussian) == 24
    assert labels(gaussian, conversion="mironov", orders=range(2, 51)) == 16


gaps = st.floats(-40, 40)
ratios = st.floats(1e-3, 4)
orders = st.sampled_from(range(len(FINITE)))


@given(gaps, st.floats(-40, 40), orders)
@settings(max_examples=60)
def test_divergence_against_forty_digits(g, other, k):
    got = bit_divergence(g, other, FINITE[[k]])[0]
    expected = reference(g, other, FINITE[k])
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-13)
    assert got >= expected - 1e-13  # rounded up


@given(st.floats(-7, 7), st.floats(-7, -2), orders)
@settings(max_examples=60)
def test_small_shifts_are_rounded_up_by_their_float_error(g, log_ratio, k):
    ratio = 10**log_ratio
    got = bit_divergence(g, g + ratio, FINITE[[k]])[0]
    expected = reference(g, g + ratio, FINITE[k])
    assert expected <= got <= expected * (1 + 2e-10 + 3e-13 / ratio)


@given(gaps, ratios)
@settings(max_examples=100)
def test_exact_is_the_largest_of_all_four(g, ratio):
    # Also the proof that one direction per neighbour is enough.
    pairs = [(g, g - ratio), (g, g + ratio), (g - ratio, g), (g + ratio, g)]
    brute = np.max([bit_divergence(*pair) for pair in pairs], axis=0)
    got = exact_bit([g], ratio)[0]
    # The mirror image of a pair has a rounding of its own, the one that both are rounded up by.
    rounded = round_up(ratio)
    assert np.all(got * rounded >= np.minimum(brute, gaussian_bound(ratio)) - 1e-60)
    assert np.all(got <= brute * rounded + 1e-60)


@given(gaps, st.floats(0.05, 2), st.floats(0, 1))
@settings(max_examples=50)
def test_nearer_neighbours_cost_less(g, ratio, part):
    exact = exact_bit([g], ratio)[0]
    for other in (g + part * ratio, g - part * ratio):
        assert np.all(bit_divergence(g, other) <= exact * (1 + 1e-9) + 1e-15)
        assert np.all(bit_divergence(other, g) <= exact * (1 + 1e-9) + 1e-15)


@given(st.lists(st.floats(-5000, 5000) | st.floats(-40, 40), min_size=8), ratios)
@settings(max_examples=50)
def test_worst_case_is_above_every_exact_cost_and_below_the_gaussian(gaps, ratio):
    worst = worst_bit(ratio)
    assert np.all(worst <= gaussian_bound(ratio))
    assert np.all(exact_bit(gaps, ratio)[:, :-1] <= worst[:-1] * (1 + 1e-10) + 1e-15)


@pytest.mark.parametrize("ratio", [1e-4, 0.035, 0.3, 1.0, 3.0])
def test_worst_case_is_attained(ratio):
    # Tight: at its best gap, found by another optimiser, the bit costs what the bound says.
    from scipy.optimize import minimize_scalar

    for k in (0, 20, 40, 80, 100, 120):
        order = FINITE[[k]]
        low, high = -(order[0] - 1) * ratio - 3, 3.0
        start = np.linspace(low, high, 4001)
        best = start[bit_divergence(start, start - ratio, order)[:, 0].argmax()]
        width = 2 * (high - low) / 4000
        minimum = minimize_scalar(
            lambda x, order=order: -bit_divergence(x, x - ratio, order)[0],
            bounds=(best - width, best + width),
            method="bounded",
            options={"xatol": 1e-9},
        )
        assert worst_bit(ratio)[k] == pytest.approx(-minimum.fun, rel=2e-7)


def test_small_ratio_costs_two_over_pi_of_the_gaussian():
    assert worst_bit(1e-3)[30] / gaussian_bound(1e-3)[30] == pytest.approx(2 / np.pi, rel=1e-4)


def test_unanimous_votes_have_no_wider_neighbour():
    widest = exact_bit([0.5, 0.5], 0.1, can_widen=np.array([True, False]))
    inward = np.maximum(bit_divergence(0.5, 0.4), bit_divergence(0.4, 0.5))
    assert np.all(widest[1] == pytest.approx(np.minimum(inward, gaussian_bound(0.1)), rel=1e-10))
    assert np.any(widest[0] > widest[1])


def test_infinite_order_is_the_largest_log_ratio():
    got = bit_divergence(1.0, 2.0)[-1]
    expected = max(abs(np.log(0.8413447460685429 / 0.9772498680518208)), 0)
    expected = max(-expected, np.log(0.15865525393145707 / 0.022750131948179212))
    assert got == pytest.approx(expected, rel=1e-9)
    assert np.isinf(worst_bit(0.1)[-1])
