"""Means of residuals: the intercept is where the least clipped rounds estimate that they are 0."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2

from secretballot import PrivacyAccountant, PublicData
from secretballot.linear import PrivateLinearRegression, _numbers
from secretballot.linear._design import Design
from secretballot.linear._numbers import NumberRound, mean_residual, move_intercept
from secretballot.linear._posterior import Posterior
from secretballot.linear._reference_rows import FeatureMeans, ReferenceRows
from secretballot.linear._residual_histogram import N_BINS, ResidualHistogram, residual_bins

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
PLACES = [slice(0, 4), slice(4, 8), slice(8, 12)]
EFFECTS = np.random.default_rng(9).normal(size=12)
COEFFICIENTS = np.append(0.3, EFFECTS)


def one_hot(n_rows, rng):
    """Return rows of three columns with four uneven bins each, the second of which follows the
    first."""
    codes = rng.choice(4, p=[0.1, 0.2, 0.3, 0.4], size=(n_rows, 3))
    codes[:, 1] = np.where(rng.random(n_rows) < 0.5, codes[:, 0], codes[:, 1])
    features = np.zeros((n_rows, 12))
    features[np.arange(n_rows)[:, None], codes + np.array([0, 4, 8])] = 1
    return features


def reference_rows(features):
    weights = np.full(len(features), 1 / len(features))
    return ReferenceRows(Design(csr_array(features)), weights, float(len(features)))


@pytest.mark.parametrize(("noise", "n_public"), [(0.002, 100), (0.01, 400), (0.5, 1_000)])
def test_mean_scores_have_the_stated_error(noise, n_public):
    rng, squares, times = np.random.default_rng(0), 0.0, 200
    many = one_hot(100_000, rng)
    means, truth = many.mean(axis=0), float((many @ EFFECTS).mean() + 0.3)
    for _ in range(times):
        released = FeatureMeans(means + noise * rng.normal(size=12), noise, PLACES)
        public = reference_rows(one_hot(n_public, rng))
        estimate, variance = released.mean_score(public, COEFFICIENTS)
        squares += (estimate - truth) ** 2 / variance
    low, high = chi2.ppf([1e-5, 1 - 1e-5], times)
    assert 0.95 * low < squares < 1.05 * high


def test_scores_that_do_not_vary_have_no_error():
    released = FeatureMeans(np.full(12, 0.25), 0.0, PLACES)
    public = reference_rows(one_hot(50, np.random.default_rng(0)))
    assert released.mean_score(public, np.append(0.7, np.zeros(12))) == pytest.approx((0.7, 0))


def residual_estimates(missing, times=200, noise=0.01, tau=0.005):
    """Return errors of estimated mean residuals, and their stated standard errors.

    Targets are skewed, and cells of the second column are missing at random.
    """
    rng, found = np.random.default_rng(1), []
    for _ in range(times):
        features = one_hot(2_000, rng)
        targets = features @ EFFECTS + rng.exponential(size=2_000)
        features[rng.random(2_000) < missing, 4:8] = 0
        # Rows count as often as they have cells.
        cells = features.sum(axis=1)
        truth = float(cells @ (targets - features @ EFFECTS) / cells.sum()) - COEFFICIENTS[0]
        public = one_hot(500, rng)
        public[rng.random(500) < missing, 4:8] = 0
        scored = NumberRound(
            mean=features.T @ targets / 2_000 + noise * rng.normal(size=12),
            coefficients=np.zeros(13),
            unclipped=1.0,
            variance=1.0,
            scale=1.0,
            noise=noise,
        )
        released = FeatureMeans(features.mean(axis=0) + tau * rng.normal(size=12), tau, PLACES)
        estimate, variance = mean_residual(scored, reference_rows(public), released, COEFFICIENTS)
        found.append((estimate - truth, variance**0.5))
    return np.array(found).T


def test_mean_residuals_have_the_stated_error():
    errors, stated = residual_estimates(0.0)
    low, high = chi2.ppf([1e-5, 1 - 1e-5], len(errors))
    assert 0.9 * low < np.sum((errors / stated) ** 2) < 1.1 * high


def test_missing_cells_leave_mean_residuals_unbiased():
    errors, _ = residual_estimates(0.5)
    assert abs(errors.mean()) < 4 * errors.std() / len(errors) ** 0.5


def test_clipped_rounds_count_less():
    reference = reference_rows(one_hot(500, np.random.default_rng(0)))
    released = FeatureMeans(np.full(12, 0.25), 1e-4, PLACES)
    told = NumberRound(np.full(12, 0.25), np.zeros(13), 1.0, 1.0, 1.0, 1e-3)
    half = NumberRound(np.zeros(12), np.zeros(13), 0.5, 1.0, 0.5, 5e-4)
    start = replace(Posterior.initial(12, 1, 3), covariance=np.eye(13))
    alone, both = (
        move_intercept(start, rounds, reference, released, 1.0).coefficients[0, 0]
        for rounds in ([told], [told, half])
    )
    assert alone == pytest.approx(1.0, abs=1e-3)
    assert 0.99 < both < alone


def test_noise_does_not_move_the_intercept():
    # Moved by all of a noisy estimate, some fits of 1,000 rows had an R^2 of -3.
    reference = reference_rows(one_hot(500, np.random.default_rng(0)))
    released = FeatureMeans(np.full(12, 0.25), 1e-4, PLACES)
    noisy = NumberRound(np.full(12, 0.25), np.zeros(13), 1.0, 1.0, 1.0, 1.0)
    known = replace(Posterior.initial(12, 1, 3), covariance=1e-4 * np.eye(13))
    moved = move_intercept(known, [noisy], reference, released, 0.0).coefficients[0, 0]
    assert 0 < moved < 0.01


def skewed(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rows, 4))
    return X, np.exp(0.5 * X[:, 0] + 1.2 * rng.normal(size=n_rows) - 1)


def fit_skewed(epsilon=0.5):
    X, y = skewed(15_000, 0)
    model = PrivateLinearRegression(
        target_bounds=(0, 20),
        accountant=PrivacyAccountant(epsilon, 1e-5),
        check_public_rows=False,
        random_state=0,
    )
    return model.fit(X, y, X_public=PublicData(skewed(400, 1)[0])), X, y.clip(0, 20)


def test_mean_predictions_of_skewed_targets():
    model, X, y = fit_skewed()
    assert abs(model.predict(X).mean() - y.mean()) < 0.03 * y.std()


def test_intervals_follow_the_intercept():
    model, X, y = fit_skewed()
    low, high = model.predict_interval(X)
    assert 0.88 < np.mean((low <= y) & (y <= high)) < 0.95
    # Were the histogram not moved, intervals would lie higher by as much as the intercept did.
    assert model._residuals.moved > 0
    below = (low - model.predict(X))[low > 0]
    np.testing.assert_allclose(below, model._residuals.quantile(0.05) * 10)


def test_histograms_move_with_predictions():
    rng = np.random.default_rng(0)
    counts = np.bincount(residual_bins(rng.normal(size=10_000) / 4), minlength=N_BINS)
    histogram = ResidualHistogram.from_counts(counts.astype(float), 10_000, 0.5)
    moved = replace(histogram, moved=0.1)
    assert moved.quantile(0.3) == pytest.approx(histogram.quantile(0.3) - 0.1)
    np.testing.assert_allclose(moved.points(), histogram.points() - 0.1)
    assert moved.variance == histogram.variance


@pytest.mark.parametrize("scale", [0.05, 0.2, 0.4])
def test_residuals_at_another_scale(scale):
    residuals = np.random.default_rng(0).laplace(scale=0.1, size=50_000)
    counts = np.bincount(residual_bins(np.clip(residuals / 0.5, -1, 1)), minlength=N_BINS)
    histogram = ResidualHistogram.from_counts(counts.astype(float), 50_000, 0.5)
    share, square = histogram.clipped_at(scale)
    assert share == pytest.approx(np.mean(np.abs(residuals) < scale), abs=0.02)
    assert square == pytest.approx(np.mean(np.clip(residuals, -scale, scale) ** 2), rel=0.05)
    assert histogram.clipped_at(0.7) == (histogram.unclipped, histogram.variance)


def test_pairs_are_asked_at_the_scale_of_the_next_round(monkeypatch):
    pairs, scales, ask = [], [], _numbers.NumberRounds.ask

    def release_pairs(plan, reference, coefficients, residuals, slopes, variances):
        pairs.append((residuals, slopes[0], variances[0]))

    def asked(self, coefficients, scale):
        scales.append(scale)
        return ask(self, coefficients, scale)

    monkeypatch.setattr(_numbers, "release_pairs", release_pairs)
    monkeypatch.setattr(_numbers.NumberRounds, "ask", asked)
    monkeypatch.setattr(ResidualHistogram, "efficient_scale", lambda self, *_: self.scale / 2)
    _, _, y = fit_skewed(1.0)
    ((residuals, slope, variance),) = pairs
    # The first round, at a scale of 1, has a function of its own; pairs are asked after three of
    # six.
    assert scales[:4] == [1 / 2, 1 / 4, 1 / 8, 1 / 16]
    targets = y[:50] / 10 - 1
    values = residuals(targets, np.zeros((50, 1)))[:, 0]
    np.testing.assert_allclose(values, np.clip(targets * 8, -1, 1))
    assert 0.35 / scales[2] <= slope <= 1 / scales[2]
    assert 0 < variance <= 1
