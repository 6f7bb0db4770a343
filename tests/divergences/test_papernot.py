"""The published bound against a plain evaluation of the paper's formulas."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secretballot.accounting import ORDERS
from secretballot.costs import NoisyMax
from secretballot.costs._orders import order_index

INTEGERS = np.arange(2.0, 51.0)


def published(rows, sigma, weight=1.0):
    """Cost of known votes by the published bound, shape (n_rows, n_orders)."""
    return NoisyMax(sigma=sigma, weight=weight, bound="papernot").exact(np.asarray(rows, float))


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
    got = published([votes], sigma)[0, order_index(order)]
    assert got == pytest.approx(plainly(votes, sigma, order), rel=1e-7, abs=1e-15)


def test_both_branches_are_met():
    got = published([[240, 10], [125, 125]], 40)[:, np.isin(ORDERS, INTEGERS)]
    assert np.any(got[0] < INTEGERS / 40**2 * 0.9)
    np.testing.assert_array_equal(got[1], INTEGERS / 40**2)


def test_weighted_ballots_are_rescaled():
    rows = np.array([[200.0, 30.0, 20.0]])
    np.testing.assert_allclose(published(rows, 40, weight=2.0), published(rows / 2, 20), rtol=1e-13)


def test_votes_so_clear_that_q_underflows():
    got = published([[5000, 0]], 40.0)
    low = ORDERS <= 50
    assert np.all(got[0, low] < 1e-100)
    assert math.isinf(got[0, -1])
