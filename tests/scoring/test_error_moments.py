"""R^2 and mean squared errors from sums: exact without noise; intervals hold as they say."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error, r2_score

from secretballot.measures._squared_errors import ErrorMoments, ErrorScale

#: Of 400 intervals of level .95, fewer than .89 hold: 5.5 standard errors, 2e-8 for each test.
N_DRAWS, LEAST = 400, 0.89
UNCLIPPED = ErrorScale.between((-1.0, 1.0))


def normal(rng, shape, unexplained=0.5, std=0.25, mean=0.0):
    """Return normal targets, and the best predictions that leave so much unexplained."""
    z = rng.normal(mean, std, shape)
    error = rng.normal(scale=std * math.sqrt(unexplained * (1 - unexplained)), size=shape)
    return z, mean + (1 - unexplained) * (z - mean) + error


def heavy(rng, shape, unexplained=0.9, std=0.2):
    """Return predictions, and targets with errors of a heavy tail."""
    f = rng.normal(scale=std * math.sqrt(1 - unexplained), size=shape)
    return f + std * math.sqrt(unexplained / 3) * rng.standard_t(3, shape), f


def skewed(rng, shape):
    """Return skewed targets far from the centre, with errors that grow with them."""
    g = np.exp(rng.normal(0, 0.7, shape))
    f = -0.8 + 0.1 * g
    return f + 0.1 * rng.normal(size=shape) * np.sqrt(g), f


def exact(scale, targets, predictions):
    """Return the moments of rows without noise."""
    sums = scale.vectors(targets, predictions).sum(axis=0)
    return ErrorMoments.from_sums(scale, sums, 0.0, len(targets))


@pytest.mark.parametrize("centre", [0.0, 0.3])
def test_without_noise_and_clipping_they_are_those_of_scikit_learn(centre):
    z, f = normal(np.random.default_rng(0), 3000, std=0.1)
    moments = exact(replace(UNCLIPPED, centre=centre), z, f)
    assert moments.r2 == pytest.approx(r2_score(z, f), abs=1e-9)
    assert moments.rmse == pytest.approx(math.sqrt(mean_squared_error(z, f)), abs=1e-9)
    # The delta method on the rows themselves.
    rho, variance = 1 - moments.r2, z.var()
    influence = ((z - f) ** 2 - rho * (z - z.mean()) ** 2) / variance
    reach = 1.96 * influence.std() / math.sqrt(len(z))
    low, high = moments.r2_interval(0.95)
    assert (low, high) == pytest.approx((moments.r2 - reach, moments.r2 + reach), abs=reach / 20)
    low, high = moments.rmse_interval(0.95)
    reach = 1.96 * ((z - f) ** 2).std() / math.sqrt(len(z)) / (2 * moments.rmse)
    assert (low, high) == pytest.approx((moments.rmse - reach, moments.rmse + reach), rel=0.001)


def test_clipped_errors_and_deviations_are_what_is_measured():
    z, f = heavy(np.random.default_rng(1), 5000)
    scale = replace(UNCLIPPED, largest_error=0.3, largest_deviation=0.4, centre=0.05)
    moments = exact(scale, z, f)
    z, f = z.clip(-1, 1), f.clip(-1, 1)
    errors = np.minimum((z - f) ** 2, 0.3**2)
    assert moments.rmse == pytest.approx(math.sqrt(errors.mean()))
    variance = np.clip(z - 0.05, -0.4, 0.4).var()
    assert moments.r2 == pytest.approx(1 - errors.mean() / variance)


LAWS = {
    "normal": (normal, {}),
    "far from the centre": (lambda *law: normal(*law, 0.6, 0.2, -0.6), {}),
    "good": (lambda *law: normal(*law, 0.05), {"largest_error": 0.25, "unexplained": 0.05}),
    "heavy": (heavy, {"largest_error": 0.8, "largest_deviation": 0.84, "unexplained": 0.9}),
    "skewed": (skewed, {"centre": -0.65, "largest_deviation": 1.65}),
}


def drawn(law, n, noise, seed):
    """Return the moments of many samples with noise, and those of a large sample without."""
    draw, given = LAWS[law]
    scale, rng = replace(UNCLIPPED, **given), np.random.default_rng(seed)
    truth = exact(scale, *draw(rng, (200_000,)))
    sigma = noise * math.sqrt(n)
    targets, predictions = draw(rng, (N_DRAWS * n,))
    sums = scale.vectors(targets, predictions).reshape(N_DRAWS, n, 8).sum(axis=1)
    sums += rng.normal(scale=sigma, size=sums.shape)
    return [ErrorMoments.from_sums(scale, each, sigma, n) for each in sums], truth


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "noise"), [(300, 0.0), (300, 0.01), (1000, 0.125)])
def test_intervals_hold_noise_and_sampling(law, n, noise):
    samples, truth = drawn(law, n, noise, n)
    ends = np.array([sample.r2_interval(0.95) for sample in samples])
    assert np.mean((ends[:, 0] <= truth.r2) & (truth.r2 <= ends[:, 1])) > LEAST
    ends = np.array([sample.rmse_interval(0.95) for sample in samples])
    assert np.mean((ends[:, 0] <= truth.rmse) & (truth.rmse <= ends[:, 1])) > LEAST


def test_intervals_are_no_wider_than_they_need_be():
    samples, _ = drawn("good", 1000, 0.125, 3)
    widths = [high - low for low, high in (sample.r2_interval(0.95) for sample in samples)]
    assert np.median(widths) < 1.4 * 3.92 * np.std([sample.r2 for sample in samples])
    widths = [high - low for low, high in (sample.rmse_interval(0.95) for sample in samples)]
    assert np.median(widths) < 1.4 * 3.92 * np.std([sample.rmse for sample in samples])


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_expected_widths_are_those_of_normal_targets(noise):
    scale = replace(UNCLIPPED, deviation=0.25)
    samples, _ = drawn("normal", 1000, noise, 4)
    expected = ErrorMoments.expected_half_width(scale, noise / math.sqrt(1000), 1000, 0.95)
    widths = [(high - low) / 2 for low, high in (sample.r2_interval(0.95) for sample in samples)]
    assert expected == pytest.approx(np.median(widths), rel=0.1)


@pytest.mark.parametrize("square", [0.0, -0.2, 0.5])
def test_a_variance_that_the_noise_hides_excludes_nothing(square):
    means = np.array([0.1, 0.5, 0.25 + square, 0, 0, 0, 0, 0])
    moments = ErrorMoments(UNCLIPPED, means, np.full(8, 0.3), 1000)
    assert moments.r2_interval(0.95) == (-math.inf, 1.0)
    assert moments.r2 <= 1 or math.isnan(moments.r2)
    low, high = moments.rmse_interval(0.95)
    assert 0 <= low <= moments.rmse <= high <= 2


@pytest.mark.parametrize("error", [-0.3, 0.0, 1.2])
def test_errors_beyond_their_range(error):
    means = np.array([error, 0.0, 0.1, error, 0, 0, 0, 0.01])
    moments = ErrorMoments(UNCLIPPED, means, np.full(8, 0.001), 1000)
    low, high = moments.r2_interval(0.95)
    assert low <= high <= 1
    assert moments.r2 <= 1
    low, high = moments.rmse_interval(0.95)
    assert 0 <= low <= high <= 2
