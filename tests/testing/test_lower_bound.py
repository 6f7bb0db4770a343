"""The audit's lower bound: never above the truth, near it, and able to refute."""

import numpy as np
import pytest
from scipy.special import ndtr

from secretballot.testing import epsilon_lower_bound


def bits(p, n, seed):
    return np.random.default_rng(seed).random(n) < p


def true_epsilon(p, q, delta):
    """Exact epsilon of two coins at delta: the worst of four events, both directions."""
    pairs = [(p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)]
    return max(np.log((a - delta) / b) for a, b in pairs if a > delta)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.6), (0.9, 0.97), (0.2, 0.05)])
def test_lower_bound_is_below_the_truth_and_near_it(p, q):
    truth = true_epsilon(p, q, 1e-2)
    bounds = [
        epsilon_lower_bound(bits(p, 400_000, s), bits(q, 400_000, 100 + s), 1e-2) for s in range(8)
    ]
    assert max(bounds) <= truth
    assert min(bounds) >= 0.85 * truth


def test_errors_are_as_rare_as_the_confidence():
    # At 80 % confidence a few of 200 bounds are too high, and not more than a fifth.
    p, q = ndtr(0.2), ndtr(-0.2)
    truth = true_epsilon(p, q, 1e-2)
    high = sum(
        epsilon_lower_bound(bits(p, 400, s), bits(q, 400, 999 + s), 1e-2, confidence=0.8) > truth
        for s in range(200)
    )
    assert high <= 40


def test_outcomes_may_be_rows():
    one, two = np.tile([[0, 1, 1]], (2000, 1)), np.tile([[1, 1, 0]], (2000, 1))
    assert epsilon_lower_bound(one, two, 1e-5) > 4
    assert epsilon_lower_bound(one, one, 1e-5) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1] * 9, [1] * 9, 1.0), r"delta=1\.0 must be"),
        (([1] * 3, [1] * 9, 0.1), "outcomes has 3 draws"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        epsilon_lower_bound(*arguments)
    with pytest.raises(ValueError, match="confidence=1"):
        epsilon_lower_bound([1] * 9, [1] * 9, 0.1, confidence=1)
