"""Divergences of noisy counts, against their integrals."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from secretballot.accounting import ORDERS
from secretballot.costs._noise import gaussian_delta, laplace_delta, laplace_renyi


def hockey_stick_of_losses(densities, epsilon):
    """E[(1 - e^(epsilon - loss))_+] for the sum of independent losses given on a common grid."""
    grid, total = densities[0]
    for _, density in densities[1:]:
        total = np.convolve(total, density)
    losses = np.linspace(grid[0] * len(densities), grid[-1] * len(densities), len(total))
    return float((total * np.maximum(0, 1 - np.exp(epsilon - losses))).sum())


def laplace_losses(ratio, n=4001):
    grid = np.linspace(-ratio, ratio, n)
    edges = np.concatenate([[-ratio], (grid[1:] + grid[:-1]) / 2, [ratio]])
    mass = np.diff(np.exp((edges - ratio) / 2) / 2)
    mass[0] += np.exp(-ratio) / 2
    mass[-1] += 1 / 2
    assert mass.sum() == pytest.approx(1)
    return grid, mass


@given(st.floats(0.05, 3), st.floats(0.01, 3), st.sampled_from([1, 2]))
@settings(max_examples=40)
def test_laplace_delta_against_its_losses(ratio, epsilon, n_counts):
    exact = hockey_stick_of_losses([laplace_losses(ratio)] * n_counts, epsilon)
    assert laplace_delta(ratio, epsilon, n_counts) == pytest.approx(exact, abs=2e-4 * ratio)


def test_laplace_delta_on_two_counts_by_a_double_integral():
    # No formula in common with the code: the two densities themselves, on a grid.
    ratio, epsilon = 0.7, 0.4
    x = (np.arange(-1500, 1500) + 0.5) / 100
    p, q = (np.exp(-np.abs(x - at)) / 2 for at in (0, ratio))
    excess = np.maximum(np.outer(p, p) - np.exp(epsilon) * np.outer(q, q), 0)
    exact = excess.sum() / 100**2
    assert laplace_delta(ratio, epsilon, 2) == pytest.approx(exact, rel=1e-4)


def test_laplace_noise_of_the_pure_scale_has_no_delta():
    for epsilon in (0.05, 0.1, 1 / 3, 7.0):
        assert laplace_delta(1 / (2 / epsilon), epsilon, 2) == 0
        assert laplace_delta(1 / (1 / epsilon), epsilon, 1) == 0
        assert laplace_delta(1.001 / (2 / epsilon), epsilon, 2) > 0


@given(st.floats(0.05, 4), st.floats(0.01, 4))
@settings(max_examples=40)
def test_gaussian_delta_against_the_integral(ratio, epsilon):
    def excess(x):
        return max(norm.pdf(x - ratio) - np.exp(epsilon) * norm.pdf(x), 0.0)

    start = epsilon / ratio + ratio / 2
    exact = quad(excess, start, max(start, ratio) + 12, limit=200)[0]
    assert gaussian_delta(ratio, epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-12)


def test_gaussian_delta_far_out():
    assert gaussian_delta(0.01, 5.0) > 0  # rounded up, where it underflows
    assert 0 < gaussian_delta(1.0, 800.0) < 1e-200  # and where e^epsilon overflows
    assert gaussian_delta(200.0, 1.0) == pytest.approx(1)


@given(st.floats(0.01, 3), st.sampled_from([1.01, 1.5, 2.0, 8.0, 50.0]))
@settings(max_examples=30)
def test_laplace_renyi_against_the_integral(ratio, order):
    def moment(x):
        return np.exp(-order * np.abs(x) - (1 - order) * np.abs(x - ratio)) / 2

    cuts = (-60, 0, ratio, 60 + ratio)
    total = sum(quad(moment, a, b, limit=200)[0] for a, b in pairwise(cuts))
    exact = np.log(total) / (order - 1)
    for n_counts in (1, 2):
        ours = laplace_renyi(ratio, n_counts, np.array([order]))[0]
        assert ours == pytest.approx(n_counts * exact, rel=1e-6, abs=1e-9)


def test_laplace_renyi_grows_to_pure_privacy():
    curve = laplace_renyi(0.3, 2)
    assert np.all(np.diff(curve) >= 0)
    assert curve[ORDERS == np.inf] == pytest.approx(0.6)
    assert np.all(np.isfinite(laplace_renyi(900.0, 2)))
