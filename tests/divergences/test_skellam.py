"""Skellam noise: its tables and draws, and the divergence of signs and counts."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secretballot.costs import NoisyBit
from secretballot.costs._divergence import renyi_divergence
from secretballot.costs._integer_moves import IntegerBit, IntegerCounts, gaussian_ratio
from secretballot.costs._noise import _tails, draw_skellam, skellam
from secretballot.costs._orders import ORDERS

FINITE = ORDERS[:-1]


def pmf(k, variance):
    """With 40 digits; of much noise by the trapezoid rule, which errs by an alias of k far away."""
    with mpmath.workdps(40):
        if variance < 1000:
            return mpmath.besseli(abs(k), variance) * mpmath.exp(-mpmath.mpf(variance))
        v, n = mpmath.mpf(variance), int(k + 60 * mpmath.sqrt(variance) + 400)
        step = 2 * mpmath.pi / n
        last = min(n // 2 - 1, int(14 / (float(step) * variance**0.5)) + 2)
        terms = (
            mpmath.exp(v * (mpmath.cos(step * j) - 1)) * mpmath.cos(k * step * j)
            for j in range(1, last + 1)
        )
        return (1 + 2 * mpmath.fsum(terms)) / n


def cdf(k, variance):
    """P(N <= k) for small k < 0, from half of what is not between."""
    with mpmath.workdps(40):
        middle = pmf(0, variance) + 2 * mpmath.fsum(pmf(j, variance) for j in range(1, -k))
        return (1 - middle) / 2


def moment(p, q, order):
    with mpmath.workdps(40):
        a = mpmath.mpf(order)
        return float(mpmath.log(sum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True))))


@pytest.mark.parametrize(("variance", "k"), [(0.3, 40), (8.0, 7), (8.0, 300), (2e6, 9000)])
def test_probabilities_keep_their_digits_in_far_tails(variance, k):
    table = skellam(variance, max(2 * k, 50))
    with mpmath.workdps(40):
        assert float(mpmath.log(pmf(k, variance)) - table.pmf_at(-k)) == pytest.approx(0, abs=2e-11)
    assert table.pmf_at(k) == table.pmf_at(-k)


@pytest.mark.parametrize("variance", [0.3, 8.0, 2e6])
def test_tails_are_sums(variance):
    table = skellam(variance, int(40 * variance**0.5) + 100)
    for k in (-1, -4, -9):
        exact = mpmath.log(cdf(k, variance))
        assert float(exact) == pytest.approx(float(table.cdf_at(k)), rel=1e-11)
    total = np.logaddexp(table.cdf_at([-7, 0, 4]), table.cdf_at([6, -1, -5]))
    assert total == pytest.approx(0, abs=1e-11)
    # Where the tables end nothing is missing.
    longer = skellam(variance, 2 * table.reach)
    places = np.arange(-table.reach, 0)
    assert np.allclose(table.cdf_at(places), longer.cdf_at(places), rtol=2e-3, atol=0)
    places = places[len(places) // 10 :]
    assert np.allclose(table.cdf_at(places), longer.cdf_at(places), rtol=1e-9, atol=0)


def test_the_worst_case_is_the_maximum_over_all_gaps():
    # Variance 4 on each count, one ballot.
    bit = IntegerBit.from_variance(8.0, 2)
    assert bit.worst_case((2.0,))[0] == pytest.approx(0.3337846, abs=1e-7)
    with mpmath.workdps(40):
        ps = [mpmath.besseli(abs(k), 8) * mpmath.exp(-8) for k in range(-700, 60)]
        below = [mpmath.mpf(0)]
        for p in ps:
            below.append(below[-1] + p)
        for order in (1.9, 10.0, 41.0):
            values = (
                moment((below[i], 1 - below[i]), (below[i - 2], 1 - below[i - 2]), order)
                for i in range(602, 740)
            )
            worst = bit.worst_case((order,))
            assert worst[0] == pytest.approx(max(values) / (order - 1), rel=1e-9)


@pytest.mark.parametrize("order", [2.0, 8.0])
def test_much_noise_costs_like_gaussian_noise(order):
    # 10,000 voters' worth of it; the worst gap is within a few ballots of a tie.
    variance = 2e6
    (worst,) = IntegerBit.from_variance(variance, 2).worst_case((order,))
    with mpmath.workdps(40):
        values = []
        for gap in (-3 * int(order), -int(order), -int(0.58 * (order - 1) * 2) - 1):
            p, q = cdf(gap, variance), cdf(gap - 2, variance)
            values.append(moment((p, 1 - p), (q, 1 - q), order) / (order - 1))
    assert max(values) <= worst <= max(values) * (1 + 1e-5)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    variance=st.floats(0.05, 500.0),
    moved=st.integers(1, 6),
    gap=st.integers(-40, 40),
    place=st.integers(0, len(FINITE) - 1),
)
def test_no_gap_costs_more(variance, moved, gap, place):
    order = FINITE[place : place + 1]
    table = skellam(variance, 400)
    log_p, log_q = (np.array([table.cdf_at(g), table.cdf_at(-g - 1)]) for g in (gap, gap - moved))
    (worst,) = IntegerBit.from_variance(variance, moved).worst_case(tuple(order))
    (counts,) = IntegerCounts.from_variance(variance, moved).worst_case(tuple(order))
    for p, q in ((log_p, log_q), (log_q, log_p)):
        assert renyi_divergence(p, q, order)[0] <= worst * (1 + 1e-9)
    # One count alone, moved as far, tells more than its sign.
    assert worst <= counts / 2 * (1 + 1e-9)


def test_opened_counts_cost_like_two_moved_integers():
    assert IntegerCounts.from_variance(4.0, 1).worst_case((30.0,))[0] == pytest.approx(
        2.85892, abs=1e-5
    )
    with mpmath.workdps(40):
        ps = [pmf(k, 4) for k in range(-150, 152)]
        for order in (1.9, 30.0, 50.0):
            log = moment(ps[:-1], ps[1:], order)
            cost = IntegerCounts.from_variance(4.0, 1).worst_case((order,))[0]
            assert cost == pytest.approx(2 * log / (order - 1), rel=1e-9)


@pytest.mark.parametrize("variance", [8.0, 200.0, 2e6])
def test_the_gaussian_pair_dominates(variance):
    # Every gap's bit lies in the testing region of a Gaussian one, of the same first probability.
    ratio = gaussian_ratio(variance, 2)
    assert ratio == pytest.approx(2 / variance**0.5 * (1 + 1 / (6 * variance)), rel=0.1 / variance)
    bit, normal = (
        IntegerBit.from_variance(variance, 2).worst_case()[:-1],
        NoisyBit(scale=1.0, shift=ratio).worst_case()[:-1],
    )
    assert (bit <= normal * (1 + 1e-9)).all()
    assert bit[24] >= normal[24] * 0.98  # at order 2: next to it
    # It is more than noise of the same variance: that charge would be too little.
    assert bit[24] > NoisyBit(scale=1.0, shift=2 / variance**0.5).worst_case()[24]


def test_numbers_are_drawn_by_the_law_to_the_last_digits():
    for variance in (8.0, 1e4):
        tails = _tails(variance)
        sizes = np.diff(np.append(tails, 1.0))[::-1]
        exact = np.exp(skellam(variance, 4000).pmf_at(np.arange(len(sizes))))
        exact[1:] *= 2
        near = exact > 1e-30
        assert sizes[near] == pytest.approx(exact[near], rel=1e-11)
    drawn = draw_skellam(8.0, (300, 700), np.random.default_rng(0))
    assert drawn.dtype == np.int64
    # Six standard errors of 210,000 numbers: 1e-8 together.
    assert abs(drawn.mean()) < 6 * (8 / drawn.size) ** 0.5
    assert abs(drawn.var() / 8 - 1) < 6 * ((2 + 1 / 8) / drawn.size) ** 0.5


def test_far_tails_use_all_random_bits():
    class Bits:
        def __init__(self, high, low, sign):
            self.words = np.array([[high], [low], [sign]], dtype=np.uint64)

        def integers(self, *args, **kwargs):
            return self.words

    table = skellam(8.0, 200)
    for high, low, uniform in ((1, 0, 2.0**-64), (0, 2**63, 2.0**-65), (0, 1, 2.0**-128)):
        k = int(draw_skellam(8.0, 1, Bits(high, low, 2**63))[0])
        assert 2 * np.exp(table.cdf_at(-k)) > uniform >= 2 * np.exp(table.cdf_at(-k - 1)) - 1e-60
        assert draw_skellam(8.0, 1, Bits(high, low, 0))[0] == -k
