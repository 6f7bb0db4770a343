"""Intervals hold what they are for as often as they say: simulated, with the noise and without."""

import numpy as np
import pytest

from secretballot.measures._intervals import (
    mean_interval,
    population_interval,
    recall_interval,
    sample_interval,
)

#: Of 1,500 intervals of level .95, fewer than .92 hold: 5.3 standard errors, 6e-8 for each test.
N, LEAST = 1500, 0.92


def holds(truth, interval):
    return interval[0] <= truth <= interval[1]


@pytest.mark.parametrize(
    ("n", "accuracy"), [(30, 0.5), (30, 0.9), (5000, 0.03), (5000, 0.5), (5000, 0.995)]
)
@pytest.mark.parametrize("noise", [0.02, 0.25, 3.0])  # times the square root of n
def test_coverage_of_accuracy_intervals(n, accuracy, noise):
    rng, sigma = np.random.default_rng(n), noise * np.sqrt(n)
    right = rng.binomial(n, accuracy, N)
    counts = right + rng.normal(scale=sigma, size=N)
    population = [population_interval(count, n, sigma, 0.95) for count in counts]
    assert np.mean([holds(accuracy, each) for each in population]) > LEAST
    rows = [sample_interval(count, n, sigma, 0.95) for count in counts]
    held = [holds(of / n, each) for of, each in zip(right, rows, strict=True)]
    assert np.mean(held) > LEAST
    if noise < 1 and 0.1 < accuracy < 0.9:  # and no wider than they need be
        assert np.mean([high - low for low, high in population]) < 2.3 * np.hypot(0.5, noise) * (
            1.96 / np.sqrt(n)
        )


@pytest.mark.parametrize(("n", "share", "sigma"), [(100, 0.5, 2.0), (5000, 0.02, 18.0)])
@pytest.mark.parametrize("recall", [(0.9, 0.6), (0.99, 0.05)])
def test_coverage_of_recall_intervals_and_their_mean(n, share, sigma, recall):
    rng = np.random.default_rng(n)
    held, held_mean = [], []
    for _ in range(N):
        of = np.array([0, rng.binomial(n, share)])
        of[0] = n - of[1]
        right = rng.binomial(of, recall)
        noisy = np.array([[right[0], of[0] - right[0]], [of[1] - right[1], right[1]]])
        noisy = noisy + rng.normal(scale=sigma, size=(2, 2))
        cells = [(noisy[at, at], noisy[at].sum()) for at in (0, 1)]
        each = np.array([recall_interval(*cell, sigma, 2, 0.95) for cell in cells])
        shares = np.array([np.clip(a / b, 0, 1) if b > 0 else np.nan for a, b in cells])
        held.append([holds(truth, one) for truth, one in zip(recall, each, strict=True)])
        held_mean.append(holds(np.mean(recall), mean_interval(shares, each)))
    assert np.min(np.mean(held, axis=0)) > LEAST
    assert np.mean(held_mean) > LEAST


def test_counts_of_noise_alone_exclude_nothing():
    assert recall_interval(3.0, -1.0, 5.0, 2, 0.95) == (0.0, 1.0)
    assert recall_interval(3.0, 4.0, 50.0, 2, 0.95) == (0.0, 1.0)
    assert mean_interval(np.array([0.5, np.nan]), np.array([[0, 1], [0, 1]])) == (0.0, 1.0)


@pytest.mark.parametrize("count", [-50.0, 0.0, 100.0, 150.0])
def test_counts_beyond_the_number_of_rows(count):
    low, high = population_interval(count, 100, 10.0, 0.9)
    assert 0 <= low < high <= 1
    low, high = sample_interval(count, 100, 10.0, 0.9)
    assert 0 <= low <= high <= 1


def test_without_noise_the_interval_is_that_of_wilson():
    # Of 80 in 100: (.7112, .8666), as in textbooks.
    assert population_interval(80, 100, 0.0, 0.95) == pytest.approx((0.71117, 0.86663), abs=1e-5)
