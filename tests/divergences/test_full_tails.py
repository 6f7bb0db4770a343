"""Exponential, Gumbel and Laplace noise: the laws, and tails without an end."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

from secretballot.costs import draw_exponential, draw_gumbel, draw_laplace, draw_uniform
from secretballot.mechanisms import BestOfCounts, ExponentialTopK, LaplaceProportions, StableTopK

UPPER = 2**63  # of the word that says on which side of 1/2 a number is


class Bits:
    """Generator of prescribed words: a list of words for each number."""

    def __init__(self, *numbers):
        self.words = np.array(numbers, dtype=np.uint64).T
        self.further = []

    def integers(self, low, high, size, dtype):
        """Return the prescribed words, then further ones."""
        assert (low, high, dtype) == (0, 2**64, np.uint64)
        if self.words is None:
            return np.full(size, self.further.pop(0), dtype=np.uint64)
        words, self.words = self.words, None
        return words.reshape(size)


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (draw_uniform, stats.uniform),
        (draw_exponential, stats.expon),
        (draw_gumbel, stats.gumbel_r),
        (draw_laplace, stats.laplace),
    ],
)
def test_the_law(draw, law):
    drawn = draw((400, 500), np.random.default_rng(0))
    assert drawn.shape == (400, 500)
    # Kolmogorov's statistic of 200,000 numbers: beyond 3 / sqrt(n) once in 30 million.
    assert stats.ks_1samp(drawn.ravel(), law.cdf).statistic < 3 / drawn.size**0.5


@pytest.mark.parametrize("words", [(2**62, 1), (2**64 - 1, 5), (1, 0), (1, 2**63), (12345, 9)])
@pytest.mark.parametrize("side", [0, UPPER])
def test_each_number_is_exact(words, side):
    (number,) = draw_exponential(1, Bits((*words, side)))
    with mpmath.workdps(60):
        half = (words[0] + mpmath.mpf(words[1]) / 2**64) / 2**65
        exact = -mpmath.log(half if side else 1 - half)
        assert number == pytest.approx(float(exact), rel=1e-15)


def test_words_of_zeros_are_followed_by_more():
    bits = Bits((0, 0))
    bits.further = [0, 0, 1, 0]
    # Five words are used up before one that is not zero.
    assert draw_uniform(1, bits)[0] == pytest.approx(2.0 ** -(64 * 4), rel=1e-12)


FAR = [(2**63, 0, UPPER), (0, 1, 0)]  # an even chance, and one of 2^-129


@pytest.mark.parametrize(
    "mechanism",
    [BestOfCounts(scale=1.0), ExponentialTopK(k=1, epsilon=2.0)],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_candidate_far_behind_may_win(mechanism):
    # Of 53 bits no noise differs by more than 40.4 scales.
    bits = Bits(*FAR)
    bits.further = [1]
    outcome = mechanism.sample(np.array([[80.0, 0.0]]), bits)
    assert np.atleast_2d(outcome)[0, -1] == 1


def test_a_gap_far_too_small_may_pass():
    mechanism = StableTopK(k=1, epsilon=1.0, delta_t=1e-36, test="laplace", regularizer=np.inf)
    test = mechanism._gap_test
    bits = Bits((0, 1, UPPER))
    bits.further = [1]
    assert test.height > 80 * test.scale
    assert test.passes(np.zeros(1), bits)[0]


def test_labels_far_from_the_truth_may_be_released():
    mechanism = LaplaceProportions(scale=1.0)
    bits = Bits((0, 1, UPPER))
    bits.further = [1]
    assert abs(mechanism.move().draw_noise((1,), bits)[0]) > 80
