"""Divergences of a Dirichlet draw: reference values, mpmath, and the integral itself."""

from itertools import permutations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

from secretballot.accounting import ORDERS
from secretballot.costs._noise import dirichlet_delta, dirichlet_renyi, dirichlet_tail
from secretballot.costs._threshold_search import find_sharpness
from secretballot.mechanisms import LaplaceProportions


def test_reference_values():
    s, epsilon = 0.5, 0.05
    near = {"rtol": 1e-9}
    np.testing.assert_allclose(dirichlet_delta(25, 25, s, epsilon), 0.0362111940845447, **near)
    # The dearer direction starts at (49, 51) and moves a label to the first class.
    np.testing.assert_allclose(dirichlet_delta(25.5, 24.5, s, epsilon), 0.0362296196701277, **near)
    np.testing.assert_allclose(dirichlet_tail(25, 25, s, epsilon), 0.389752381992636, **near)
    at = np.array([8.0])
    for pair, value in {
        (25, 25): 0.0818667876645097,
        (25.5, 24.5): 0.0820391160562556,
        (25.5, 25): 0.0811102794320614,
    }.items():
        np.testing.assert_allclose(dirichlet_renyi(*pair, s, at), value, **near)


def by_mpmath(x, y, s, epsilon):
    with mp.workdps(40):
        x, y, s, epsilon = map(mp.mpf, (x, y, s, epsilon))
        loss = mp.loggamma(x - s) + mp.loggamma(y + s) - mp.loggamma(x) - mp.loggamma(y)
        log_quotient = (epsilon - loss) / s

        def above(a, b):
            if log_quotient > 0:
                return mp.betainc(b, a, 0, 1 / (1 + mp.exp(log_quotient)), regularized=True)
            return 1 - mp.betainc(a, b, 0, 1 / (1 + mp.exp(-log_quotient)), regularized=True)

        return float(above(x, y) - mp.exp(epsilon) * above(x - s, y + s)), float(above(x, y))


@pytest.mark.parametrize(
    ("x", "y", "s", "epsilon"),
    [
        (1.93, 0.0066, 0.00206, 1.28),  # mass where the quotient overflows
        (27.9, 0.3, 0.00615, 9.25),
        (0.0049, 0.302, 0.00195, 0.0374),
        (51.0, 50.0, 1.0, 0.2),
        (3.0, 900.0, 2.5, 0.5),
        (250.0, 4.0, 1.5, 3.0),
        (0.02, 0.01, 0.01, 4.0),
    ],
)
def test_delta_is_rounded_up_and_no_further(x, y, s, epsilon):
    exact, tail = by_mpmath(x, y, s, epsilon)
    ours = float(dirichlet_delta(x, y, s, epsilon))
    assert max(exact, 0.0) <= ours <= max(exact, 0.0) + 2e-11 * tail + 1e-299
    assert ours <= dirichlet_tail(x, y, s, epsilon) * (1 + 1e-9)


LOG_ODDS = np.linspace(-80, 80, 160_001)
LOG_SHARES = -np.logaddexp(0, -LOG_ODDS), -np.logaddexp(0, LOG_ODDS)


def by_integration(x, y, s, epsilon):
    """Integral of (p - e^epsilon q)_+ over the first coordinate's share, on its log odds."""

    def density(a, b):
        return np.exp(a * LOG_SHARES[0] + b * LOG_SHARES[1] - betaln(a, b))

    excess = density(x, y) - np.exp(epsilon) * density(x - s, y + s)
    return np.maximum(excess, 0).sum() * (LOG_ODDS[1] - LOG_ODDS[0])


counts = st.lists(st.integers(0, 12), min_size=3, max_size=4).filter(lambda n: sum(n) > 0)


@given(counts, st.floats(0.1, 2), st.floats(0.5, 3), st.floats(0.01, 2))
@settings(max_examples=15)
def test_delta_against_integration_for_all_pairs_and_directions(n, s, pseudo, epsilon):
    for i, j in permutations(range(len(n)), 2):
        if not n[i]:
            continue
        x, y = s * n[i] + pseudo, s * n[j] + pseudo
        for pair in ((x, y), (y + s, x - s)):
            exact = by_integration(*pair, s, epsilon)
            assert dirichlet_delta(*pair, s, epsilon) == pytest.approx(exact, abs=1e-6)


@given(st.floats(0.2, 30), st.floats(0.2, 30), st.floats(0.05, 2), st.floats(1.05, 20))
@settings(max_examples=200)
def test_renyi_against_its_integral(x, y, s, order):
    x += s  # what the neighbour has left is positive
    ours = float(dirichlet_renyi(x, y, s, np.array([order]))[0])
    if y <= (order - 1) * s:
        assert ours == np.inf
        return
    # The moment is the normalising constant of another Beta law, here from 30 digits.
    with mp.workdps(30):
        x, y, s, a = map(mp.mpf, (x, y, s, order))
        tilted = mp.log(mp.beta(a * x + (1 - a) * (x - s), a * y + (1 - a) * (y + s)))
        log_beta, moved = mp.log(mp.beta(x, y)), mp.log(mp.beta(x - s, y + s))
        exact = float((tilted - a * log_beta - (1 - a) * moved) / (a - 1))
    assert exact <= ours <= exact * (1 + 1e-9) + 1e-10


def test_renyi_is_infinite_exactly_where_the_moment_diverges():
    # Under a promise of 3 labels and no pseudo-counts: orders below 4.
    curve = dirichlet_renyi(4.0, 3.0, 1.0)
    np.testing.assert_array_equal(np.isfinite(curve), ORDERS < 4)
    assert np.all(np.diff(curve[np.isfinite(curve)]) > 0)


def test_a_probability_that_underflows_is_not_zero():
    assert dirichlet_delta(2000.0, 2000.0, 0.001, 5.0) > 0


def test_the_sharpness_is_the_largest_that_meets_its_condition():
    def delta_of(sharpness):
        return float(dirichlet_delta(51 * sharpness, 50 * sharpness, sharpness, 0.5))

    sharpness = find_sharpness(delta_of, 1e-5)
    assert delta_of(sharpness) <= 1e-5 < delta_of(sharpness * (1 + 1e-6))
    with pytest.raises(ValueError, match=r"delta=1e-05 can't be reached by any"):
        find_sharpness(lambda sharpness: 1.0, 1e-5)
    assert find_sharpness(lambda sharpness: 0.0, 1e-5) >= 1e12


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (0, 0.1, "epsilon=0 must be a finite number above 0"),
        (float("inf"), 0.1, "epsilon=inf must be"),
        ("1", 0.1, "epsilon='1' must be"),
        (1, 1, "delta=1 must be"),
        (1, -0.1, "delta=-0.1 must be"),
        (1, float("nan"), "delta=nan must be"),
    ],
)
def test_bad_pairs(epsilon, delta, message):
    with pytest.raises(ValueError, match=message):
        LaplaceProportions.calibrated(epsilon, delta, n_classes=2)
