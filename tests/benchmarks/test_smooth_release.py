"""What a number with noise of its smooth sensitivity costs, and the bound that is made of it."""

import mpmath as mp
import numpy as np
import pytest
from benchmarks.publication.smooth_release import (
    SmoothRelease,
    smooth_release_cost,
    smooth_sensitivity,
)

from secretballot.divergences import ORDERS

# Orders, betas and noises, up to the last where 2 a beta is 1.3 and w is .02.
SETTINGS = [
    (1.5, 0.05, 0.5),
    (1.5, 0.4, 2.0),
    (2.0, 0.01, 10.0),
    (2.0, 0.1, 1.0),
    (2.0, 0.3, 5.0),
    (5.0, 0.001, 3.0),
    (5.0, 0.095, 1.0),
    (10.0, 0.02, 4.0),
    (10.0, 0.05, 20.0),
    (25.0, 0.01, 8.0),
    (25.0, 0.02, 30.0),
    (32.0, 0.0155, 60.0),
]


def integrated(order, far, sigma, from_sigma):
    """Renyi divergence of N(far, sigma^2) from N(0, from_sigma^2), integrated with 30 digits."""
    with mp.workdps(30):
        order, far, sigma, from_sigma = map(mp.mpf, (order, far, sigma, from_sigma))
        narrow, wide = order / sigma**2, (1 - order) / from_sigma**2
        middle, spread = far * narrow / (narrow + wide), 1 / mp.sqrt(narrow + wide)

        def integrand(x):
            log_p = -(((x - far) / sigma) ** 2) / 2 - mp.log(sigma)
            log_q = -((x / from_sigma) ** 2) / 2 - mp.log(from_sigma)
            return mp.exp(order * log_p + (1 - order) * log_q) / mp.sqrt(2 * mp.pi)

        ends = [middle + k * spread for k in (-14, -7, 0, 7, 14)]
        return float(mp.log(mp.quad(integrand, ends)) / (order - 1))


def theorem_23(order, beta, sigma):
    """PATE'18's cost of the same release, which is too low."""
    log = np.log(1 - 2 * order * beta) / 2
    return order * np.exp(2 * beta) / sigma**2 + (beta * order - log) / (order - 1)


@pytest.mark.parametrize(("order", "beta", "sigma"), SETTINGS)
def test_cost_against_integration(order, beta, sigma):
    cost = smooth_release_cost(beta, sigma, np.array([order]))[0]
    wider = integrated(order, 1, sigma * mp.exp(beta), sigma)
    # The noise of the larger sensitivity may be the neighbour's, or the same on both.
    narrower = integrated(order, 1, sigma, sigma * mp.exp(beta))
    alike = integrated(order, 1, sigma, sigma)
    assert cost >= max(wider, narrower, alike)
    assert cost == pytest.approx(wider, rel=1e-10)
    if beta > 0.01:
        assert order / (2 * sigma**2) < wider  # beta forgotten


def test_the_published_formula_is_too_low():
    true = integrated(5, 1, mp.exp("0.095"), 1)
    assert true == pytest.approx(15.469, abs=5e-4)
    assert theorem_23(5, 0.095, 1) == pytest.approx(6.539, abs=5e-4)
    assert smooth_release_cost(0.095, 1, np.array([5.0]))[0] >= true > theorem_23(5, 0.095, 1)


def test_orders_too_high_for_beta_are_infinite():
    cost = smooth_release_cost(0.05, 3.0)
    usable = (ORDERS - 1) * np.expm1(0.1) < 1
    np.testing.assert_array_equal(np.isfinite(cost), usable)
    assert 0 < usable.sum() < len(ORDERS) - 1
    assert np.all(np.diff(cost[usable]) > 0)
    np.testing.assert_allclose(smooth_release_cost(0.0, 3.0), ORDERS / 18, rtol=1e-10)


def test_both_numbers_are_charged():
    release = SmoothRelease(beta=0.02, sigma=5.0, sigma_log=0.1)
    expected = smooth_release_cost(0.02, 5.0) + ORDERS * 0.02**2 / (2 * 0.1**2)
    np.testing.assert_allclose(release.cost(), expected, rtol=1e-11)
    assert np.all(release.cost() >= expected)


def test_the_bound_holds_as_often_as_promised():
    release, failure = SmoothRelease(beta=0.1, sigma=2.0, sigma_log=0.8), 0.1
    true, sensitivity, rng = 3.0, 0.4, np.random.default_rng(0)
    number = true + sensitivity * release.sigma * rng.standard_normal(100_000)
    scale = np.log(sensitivity) + release.sigma_log * rng.standard_normal(100_000)
    # A share of 100,000 is within 0.005 of its probability but for 1e-6.
    assert np.mean(release.upper_bound(number, scale, failure) < true) < failure - 0.005
    # The noise's scale taken as if it were known, or without the tail of the number itself.
    forgotten = number - release.sigma * -1.2816 * np.exp(scale)
    assert np.mean(forgotten < true) > failure + 0.005
    assert np.mean(number < true) > failure + 0.005


def test_bad_failures_are_refused():
    release = SmoothRelease(beta=0.1, sigma=2.0, sigma_log=0.8)
    for failure in (0.0, 1.0):
        with pytest.raises(ValueError, match="failure="):
            release.upper_bound(1.0, 0.0, failure)


def test_smooth_sensitivity_is_the_largest_discounted_value():
    assert smooth_sensitivity([1.0, 3.0, 4.0, 4.0], 0.5) == pytest.approx(3 * np.exp(-0.5))
    assert smooth_sensitivity([1.0, 3.0, 4.0, 4.0], 2.0) == 1.0
