"""Posterior of the coefficients: against simulation, and against known coefficients."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2

from secretballot.linear._design import Design
from secretballot.linear._posterior import (
    Posterior,
    ReleasedRound,
    _error_covariances,
    fit_posterior,
    probabilities,
)
from secretballot.linear._private_sums import class_indicators, residual_gains

WEIGHTS = np.array([0.3, 1.0, -0.7, 0.0, 0.6])


def rows(n, rng):
    """Return features, a constant among them, of rows that hang together."""
    X = rng.normal(size=(n, len(WEIGHTS)))
    X[:, 1] += 0.5 * X[:, 2]
    X[:, 0] = 1.0
    return X


def labels(X, rng):
    return (rng.random(len(X)) < expit(X @ WEIGHTS)).astype(np.intp)


def released(X, y, public, coefficients, noise, rng):
    """Return a round of residuals as it would be released."""

    def decided(Z):
        return probabilities(Z @ coefficients[1:] + coefficients[:1])

    p = decided(X)
    mean = X.T @ (residual_gains(p)[:, None] * (class_indicators(y, 2) - p)) / len(X)
    expected = decided(public)
    return ReleasedRound(
        mean + noise * rng.normal(size=mean.shape), expected, residual_gains(expected), noise
    )


def groups():
    return [(slice(0, 1), np.eye(1)), (slice(1, 5), np.eye(4))]


def test_coefficients_without_noise():
    rng = np.random.default_rng(0)
    X, public = rows(200_000, rng), rows(2000, rng)
    y, found = labels(X, rng), []
    posterior = Posterior.initial(5, 1, 2)
    for _ in range(4):
        found.append(released(X, y, public, posterior.coefficients, 1e-9, rng))
        posterior = fit_posterior(found, Design(public), groups(), posterior, len(X))
    together = posterior.coefficients[1:, 0].copy()
    together[0] += posterior.coefficients[0, 0]  # the constant and the intercept are one
    np.testing.assert_allclose(together, WEIGHTS, atol=0.03)


@pytest.mark.parametrize("forgotten", [None, "noise", "sample", "rows"])
def test_error_covariance_against_simulation(forgotten):
    # The covariance of two rounds' errors, by which releases are weighed: what is left, measured in
    # it, is a chi-squared variable of ten degrees of freedom. Not if a part is forgotten.
    rng = np.random.default_rng(1)
    n, n_public, noise = 400, 300, 0.03
    truth = np.concatenate([[0.0], WEIGHTS])[:, None]
    beliefs = [np.zeros((6, 1)), 0.8 * truth]
    many = rows(20_000, rng)
    p = probabilities(many @ truth[1:])
    theory = [
        ReleasedRound(
            np.zeros((5, 1)), (s := probabilities(many @ b[1:] + b[:1])), residual_gains(s), noise
        )
        for b in beliefs
    ]
    # As many public rows as there were, without the part that makes up for few of them.
    spread = p * (1 - p) * (forgotten != "sample")
    rows_seen = n if forgotten != "rows" else 1e12
    lower = np.tril(_error_covariances(theory, Design(many), p, spread, n)[0])
    covariance = lower + np.tril(lower, -1).T
    scale = 1 / n_public + 1 / n
    gaps = np.concatenate([many * (each.gain[:, None] * (p - each.expected)) for each in theory], 1)
    mismatch = np.cov(gaps.T, bias=True) * (scale - 1 / len(many) - 1 / n)
    covariance = covariance + mismatch * (rows_seen == n)
    if forgotten == "noise":
        covariance -= noise**2 * np.eye(10)
    if forgotten == "rows":
        covariance -= np.cov(gaps.T, bias=True) * (1 / len(many) + 1 / n)
    inverse, total, times = np.linalg.inv(covariance), 0.0, 400
    for _ in range(times):
        X, public = rows(n, rng), rows(n_public, rng)
        y = labels(X, rng)
        error = []
        for posterior in beliefs:
            each = released(X, y, public, posterior, noise, rng)
            expected = probabilities(public @ truth[1:])
            gap = each.gain[:, None] * (expected - each.expected)
            error.append(each.mean - public.T @ gap / n_public)
        whole = np.concatenate(error)[:, 0]
        total += whole @ inverse @ whole
    low, high = chi2.ppf([1e-7, 1 - 1e-7], 10 * times)
    # The gain of a row is taken at public rows in theory: a few per cent.
    inside = 0.95 * low < total < 1.05 * high
    assert inside == (forgotten is None)


def test_noise_averages_out_over_rounds():
    rng = np.random.default_rng(2)
    X, public = rows(50_000, rng), rows(5000, rng)
    y, squares = labels(X, rng), {1: [], 6: []}
    for n_rounds, found in squares.items():
        for _ in range(12):
            posterior, releases = Posterior.initial(5, 1, 2), []
            for _ in range(n_rounds):
                releases.append(released(X, y, public, posterior.coefficients, 0.05, rng))
                posterior = fit_posterior(releases, Design(public), groups(), posterior, len(X))
            found.append(((posterior.coefficients[2:, 0] - WEIGHTS[1:]) ** 2).mean())
    assert np.mean(squares[6]) < np.mean(squares[1]) / 2


def test_coefficients_of_pure_noise_are_shrunk_to_zero():
    rng = np.random.default_rng(3)
    public = rows(2000, rng)
    drowned = ReleasedRound(
        np.zeros((5, 1)) + 3.0 * rng.normal(size=(5, 1)),
        np.full((2000, 1), 0.5),
        np.full(2000, 2.0),
        3.0,
    )
    posterior = fit_posterior(
        [drowned], Design(public), groups(), Posterior.initial(5, 1, 2), 10_000
    )
    assert np.abs(posterior.coefficients[2:]).max() < 0.2


def test_standard_errors_match_actual_errors():
    rng = np.random.default_rng(4)
    X, public = rows(20_000, rng), rows(2000, rng)
    z = []
    for _ in range(40):
        y, posterior, releases = labels(X, rng), Posterior.initial(5, 1, 2), []
        for _ in range(3):
            releases.append(released(X, y, public, posterior.coefficients, 0.02, rng))
            posterior = fit_posterior(releases, Design(public), groups(), posterior, len(X))
        z.append(
            (posterior.coefficients[2:, 0] - WEIGHTS[1:]) / np.sqrt(posterior.variances[2:, 0])
        )
    assert 0.6 < np.mean(np.square(z)) < 1.6


def test_coefficients_are_equivariant_to_the_order_of_classes():
    rng = np.random.default_rng(5)
    X, public = rows(60_000, rng), rows(3000, rng)
    scores = np.stack([X @ WEIGHTS, X @ WEIGHTS[::-1], np.zeros(len(X))], axis=1)
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    for order in ([0, 1, 2], [2, 0, 1]):
        posterior, releases = Posterior.initial(5, 3, 2), []
        classes = np.argsort(order)[y]
        for _ in range(3):
            b = posterior.coefficients
            p = probabilities(X @ b[1:] + b[:1])
            expected = probabilities(public @ b[1:] + b[:1])
            mean = X.T @ (residual_gains(p)[:, None] * (class_indicators(classes, 3) - p)) / len(X)
            releases.append(ReleasedRound(mean, expected, residual_gains(expected), 1e-4))
            posterior = fit_posterior(releases, Design(public), groups(), posterior, len(X))
        found = posterior.coefficients[:, np.argsort(order)]
        found = found - found[:, [2]]
        np.testing.assert_allclose(found[2:, 0], WEIGHTS[1:], atol=0.08)
        np.testing.assert_allclose(found[2:, 1], WEIGHTS[::-1][1:], atol=0.08)
