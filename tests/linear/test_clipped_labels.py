"""Clipped residuals of labels: their expectation, standard errors, and averaged rounds."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit

from secretballot.linear._averaged_rounds import run_averaged_rounds
from secretballot.linear._columns import public_columns
from secretballot.linear._dense_features import ScaledColumns
from secretballot.linear._labels import LabelResponse
from secretballot.linear._private_sums import RowSums
from secretballot.linear._reference_rows import ReferenceRows
from secretballot.linear._response import RoundPlan
from secretballot.tables._private_rows import PrivateRows


def clip(residuals, norm):
    lengths = np.linalg.norm(residuals, axis=1, keepdims=True)
    return residuals / np.maximum(lengths / norm, 1)


@pytest.mark.parametrize(
    ("n_labels", "rate", "tolerance"),
    [(1, 0.2, 0.05), (6, 0.05, 0.05), (6, 0.3, 0.1), (40, 0.02, 0.1)],
)
def test_expectation_and_slope_of_clipped_residuals(n_labels, rate, tolerance):
    rng = np.random.default_rng(0)
    public = np.column_stack([np.ones(50), rng.normal(size=(50, 2))])
    reference = ReferenceRows.from_rows(public, public[:1], 1e-9)
    coefficients = rng.normal(scale=0.5, size=(4, n_labels))
    coefficients[0] = np.log(rate / (1 - rate))
    residuals = LabelResponse(np.full(n_labels, rate))
    X = np.repeat(public, 60_000 // n_labels, axis=0)
    p = expit(coefficients[0] + X @ coefficients[1:])
    targets = rng.random(p.shape) < p
    clipped = clip(targets - p, residuals.clipping_norm)
    linear = (targets - p)[:, :, None] * X[:, None]
    shortened = np.abs(linear).mean() - np.abs(clipped[:, :, None] * X[:, None]).mean()
    assert shortened > 0  # some rows are clipped
    limits = np.ones((len(reference.weights), 1))
    corrected, _ = residuals.corrected(X.T @ clipped / len(X), reference, limits, coefficients)
    offset = X.T @ clipped / len(X) - corrected
    error = np.sqrt((corrected**2).sum() / (offset**2).sum())
    assert error < tolerance
    slopes, squares = residuals.moments(reference, limits, coefficients)
    np.testing.assert_allclose(squares, (clipped**2).mean(axis=0), rtol=0.01 + 2 * tolerance)
    # The derivative of the mean residual by the log odds of a label, whose other labels are fixed.
    first = targets.copy()
    first[:, 0], without = 1, targets.copy()
    without[:, 0] = 0
    rise = clip(first - p, residuals.clipping_norm) - clip(without - p, residuals.clipping_norm)
    slope = (p[:, 0] * (1 - p[:, 0]) * rise[:, 0]).mean()
    assert slopes[0] == pytest.approx(slope, rel=0.01 + tolerance)


def posterior(noise, targets=None, seed=0, n_rows=4_000):
    """Fit three labels with noise on each mean; return the posterior and the law's effects."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_rows, 3))
    effects = np.array([[-2.0, -1.0, 0.0], [1.0, 0.0, -1.0], [0.0, 0.5, 0.0], [0.3, 0.0, 0.5]])
    labels = rng.random((n_rows, 3)) < expit(effects[0] + X @ effects[1:])
    features = ScaledColumns(public_columns(X[:500], {}), {})
    transformed = features.transform(X)
    noises = np.random.default_rng(seed)
    rows = RowSums(
        transform=lambda block: transformed[block],
        targets=csr_array(labels.astype(float)),
        shares=np.ones(n_rows),
        total=float(n_rows),
        n_numbers=4,
    )
    private = PrivateRows(n_rows, "row", None, lambda _: rows)
    sigma = noise * n_rows / features.norm

    def release(_, sums):
        return sums + sigma * noises.normal(size=sums.shape)

    plan = RoundPlan(
        private, float(n_rows), features, transformed[:500], release, sigma, 20, n_rows, 1.0
    )
    residuals = LabelResponse(np.full(3, 0.5))
    fitted = run_averaged_rounds(plan, residuals)
    return (
        fitted.posterior,
        expit(
            fitted.reference.design.decision(
                fitted.posterior.coefficients[1:], fitted.posterior.coefficients[:1]
            )
        ),
        labels,
    )


def test_standard_errors_cover_the_noise():
    drawn = [posterior(0.02, seed=seed)[0] for seed in range(12)]
    spread = np.std([each.coefficients for each in drawn], axis=0)[1:]
    stated = np.sqrt(np.mean([each.variances for each in drawn], axis=0))[1:]
    # The private rows are the same in all, so their sampling error is not in the spread.
    assert 0.5 < np.sqrt(np.mean((spread / stated) ** 2)) < 1.2


def rate_error():
    _, p, labels = posterior(1e-6)
    return np.abs(p[:500].mean(axis=0) / labels.mean(axis=0) - 1).max()


def test_rates_of_labels_are_right_though_residuals_are_clipped(monkeypatch):
    assert rate_error() < 0.07
    monkeypatch.setattr(LabelResponse, "corrected", lambda self, mean, *_: (mean, 1.0))
    assert rate_error() > 0.1  # the planted error: no expectation is subtracted
