"""Posterior of the coefficients: against simulation, and against known coefficients."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2

from secretballot.linear._classes import class_indicators, residual_gains
from secretballot.linear._design import Design, PriorGroup
from secretballot.linear._posterior import (
    LOG_ODDS,
    Posterior,
    ReleasedRound,
    WhitenedRounds,
    fit_posterior,
    number_link,
)
from secretballot.linear._reference_rows import ReferenceRows, probabilities

WEIGHTS = np.array([0.3, 1.0, -0.7, 0.0, 0.6])


def rows(n, rng):
    """Return correlated features, a constant among them."""
    X = rng.normal(size=(n, len(WEIGHTS)))
    X[:, 1] += 0.5 * X[:, 2]
    X[:, 0] = 1.0
    return X


def reference_rows(public):
    return ReferenceRows(Design(public), np.full(len(public), 1 / len(public)), len(public))


def labels(X, rng):
    return (rng.random(len(X)) < expit(X @ WEIGHTS)).astype(np.intp)


def released(X, y, reference, coefficients, noise, rng):
    """Return a round of residuals as it would be released."""
    p = probabilities(X @ coefficients[1:] + coefficients[:1])
    mean = X.T @ (residual_gains(p)[:, None] * (class_indicators(y, 2) - p)) / len(X)
    expected = reference.probabilities(coefficients)
    noisy = mean[:, 0] + noise * rng.normal(size=len(mean))
    return ReleasedRound(noisy, expected, residual_gains(expected), noise)


def numbers(X, rng):
    return X @ WEIGHTS + rng.normal(size=len(X))


def released_numbers(X, y, reference, coefficients, noise, rng):
    """Return a round of residuals of numbers, half of them lost to clipping at random."""
    kept = rng.random(len(X)) < 0.5
    residuals = kept * (y - X @ coefficients[1:, 0] - coefficients[0])
    noisy = X.T @ residuals / len(X) + noise * rng.normal(size=X.shape[1])
    expected = reference.scores(coefficients)
    return ReleasedRound(noisy, expected, np.full(len(expected), 0.5), noise, 0.5)


LINKS = {
    "classes": (LOG_ODDS, labels, released),
    "numbers": (number_link(3.0), numbers, released_numbers),
}


def groups():
    return [PriorGroup(slice(0, 1), np.eye(1)), PriorGroup(slice(1, 5), np.eye(4))]


def fitted(X, y, reference, n_rounds, noise, rng):
    posterior, rounds = Posterior.initial(5, 1, 2), []
    for _ in range(n_rounds):
        rounds.append(released(X, y, reference, posterior.coefficients, noise, rng))
        posterior = fit_posterior(rounds, reference, groups(), posterior, len(X))
    return posterior


def test_coefficients_without_noise():
    rng = np.random.default_rng(0)
    X, reference = rows(100_000, rng), reference_rows(rows(1000, rng))
    posterior = fitted(X, labels(X, rng), reference, 4, 1e-9, rng)
    together = posterior.coefficients[1:, 0].copy()
    together[0] += posterior.coefficients[0, 0]  # the constant and the intercept are one
    np.testing.assert_allclose(together, WEIGHTS, atol=0.03)


@pytest.mark.parametrize("name", LINKS)
def test_slopes_against_finite_differences(name):
    rng = np.random.default_rng(6)
    link, targets, release = LINKS[name]
    X, reference = rows(500, rng), reference_rows(rows(100, rng))
    y, beta = targets(X, rng), rng.normal(size=(6, 1))
    rounds = [release(X, y, reference, scale * beta, 0.02, rng) for scale in (0.0, 0.7)]
    whitened = whiten(rounds, reference, link, 500, beta)
    slopes = np.concatenate(whitened.slopes(beta))
    for index in range(6):
        change = np.zeros((6, 1))
        change[index] = 1e-6
        ahead, behind = (
            np.concatenate(whitened.residuals(beta + sign * change)) for sign in (1, -1)
        )
        # Residuals are released less expected, so they fall where the expectation rises.
        np.testing.assert_allclose((behind - ahead) / 2e-6, slopes[:, index], atol=1e-5)


def whiten(rounds, reference, link, n_people, coefficients):
    """Return rounds in units of their errors at these coefficients."""
    expected, known = link.expected(reference.scores(coefficients)), np.zeros((6, 6))
    unit = reference.unit_slopes() if link.is_linear else None
    return WhitenedRounds(rounds, reference, link, n_people, expected, known, unit)


@pytest.mark.parametrize("omitted", [None, "noise", "sample", "rows"])
def test_error_covariance_against_simulation(omitted):
    # Squared errors in units of their covariance are chi-squared variables, unless a part of the
    # covariance is omitted.
    rng = np.random.default_rng(1)
    n, n_public, noise, times = 400, 300, 0.03, 250
    truth = np.concatenate([[0.0], WEIGHTS])[:, None]
    many = rows(20_000, rng)
    weights = np.full(len(many), 1 / len(many))
    theory = ReferenceRows(Design(many), weights, 1e12 if omitted == "rows" else n_public)
    asked = -0.5 * truth
    round_ = released(many[:2], np.zeros(2, np.intp), theory, asked, noise, rng)
    p = theory.probabilities(truth)
    whitened = whiten([round_], theory, LOG_ODDS, n, truth)
    covariance = whitened._roots[0].T @ whitened._roots[0]
    if omitted == "noise":
        covariance -= noise**2 * np.eye(5)
    if omitted == "sample":
        covariance -= theory.products(round_.gain[:, None] ** 2 * p * (1 - p))[0] / n
    inverse, total = np.linalg.inv(covariance), 0.0
    for _ in range(times):
        X, reference = rows(n, rng), reference_rows(rows(n_public, rng))
        drawn = released(X, labels(X, rng), reference, asked, noise, rng)
        gap = drawn.gain[:, None] * (reference.probabilities(truth) - drawn.expected)
        error = drawn.mean - reference.means(gap)[:, 0]
        total += error @ inverse @ error
    low, high = chi2.ppf([1e-7, 1 - 1e-7], 5 * times)
    assert (0.95 * low < total < 1.05 * high) == (omitted is None)


@pytest.mark.parametrize("omitted", [None, "noise", "sample", "rows"])
def test_error_covariance_of_numbers_against_simulation(omitted):
    # The coefficients have errors of their own, which are part of the difference of the rows.
    rng = np.random.default_rng(1)
    n, n_public, noise, times, link = 400, 100, 0.05, 250, number_link(3.0)
    centre, known = np.concatenate([[0.0], WEIGHTS])[:, None], 0.01 * np.eye(6)
    many = rows(20_000, rng)
    weights = np.full(len(many), 1 / len(many))
    theory = ReferenceRows(Design(many), weights, 1e12 if omitted == "rows" else n_public)
    asked = 0.7 * centre
    round_ = ReleasedRound(
        np.zeros(5),
        theory.scores(asked),
        np.ones(len(many)),
        0.0 if omitted == "noise" else noise,
        1e-9 if omitted == "sample" else 1.0,
    )
    unit = theory.unit_slopes()
    whitened = WhitenedRounds([round_], theory, link, n, theory.scores(centre), known, unit)
    covariance = whitened._roots[0].T @ whitened._roots[0]
    inverse, total = np.linalg.inv(covariance), 0.0
    for _ in range(times):
        X, public = rows(n, rng), rows(n_public, rng)
        truth = centre + 0.1 * rng.normal(size=centre.shape)
        change = truth - asked
        means = X.T @ (X @ change[1:] + change[0] + rng.normal(size=(n, 1))) / n
        gap = public.T @ (public @ change[1:] + change[0]) / n_public
        error = (means - gap)[:, 0] + noise * rng.normal(size=5)
        total += error @ inverse @ error
    low, high = chi2.ppf([1e-7, 1 - 1e-7], 5 * times)
    assert (0.95 * low < total < 1.05 * high) == (omitted is None)


def test_rows_that_are_alike_differ_in_nothing():
    # The mean residual of constant features is known, whatever the coefficients are.
    alike = reference_rows(np.tile([1.0, 2.0], (50, 1)))
    round_ = ReleasedRound(np.zeros(2), np.ones((50, 1)), np.full(50, 0.5), 0.1, 0.0)
    known, link = np.diag([0.5, 2.0, 3.0]), number_link(1.0)
    whitened = WhitenedRounds(
        [round_], alike, link, 100, np.zeros((50, 1)), known, alike.unit_slopes()
    )
    covariance = whitened._roots[0].T @ whitened._roots[0]
    np.testing.assert_allclose(covariance, 0.1**2 * np.eye(2), atol=1e-12)


def test_numbers_without_noise():
    rng = np.random.default_rng(0)
    X, reference = rows(100_000, rng), reference_rows(rows(1000, rng))
    y, rounds, posterior = numbers(X, rng), [], Posterior.initial(5, 1, 2, 0.3)
    for _ in range(4):
        rounds.append(released_numbers(X, y, reference, posterior.coefficients, 1e-9, rng))
        posterior = fit_posterior(rounds, reference, groups(), posterior, len(X), number_link(3.0))
    together = posterior.coefficients[1:, 0].copy()
    together[0] += posterior.coefficients[0, 0]
    np.testing.assert_allclose(together, WEIGHTS, atol=0.03)


def test_reference_rows_unlike_private_ones_count_less():
    # Private rows vary by three times as much as the reference rows, which two rounds tell.
    rng = np.random.default_rng(7)
    X, reference = rows(50_000, rng), reference_rows(rows(5_000, rng) / 3)
    y, start = numbers(X, rng), Posterior.initial(5, 1, 2, 0.3)
    truth = np.append(0.0, WEIGHTS)[:, None]
    rounds = [released_numbers(X, y, reference, scale * truth, 1e-4, rng) for scale in (0.0, 1.0)]
    link = number_link(3.0)
    trusting = link._replace(largest_misfit=np.inf)
    known, doubted = (
        fit_posterior(rounds, reference, groups(), start, len(X), each).variances
        for each in (trusting, link)
    )
    assert (doubted[2:] > 2 * known[2:]).all()


def test_noise_averages_out_over_rounds():
    rng = np.random.default_rng(2)
    X, reference = rows(5_000, rng), reference_rows(rows(500, rng))
    y, squares = labels(X, rng), {}
    for n_rounds in (1, 6):
        errors = [
            fitted(X, y, reference, n_rounds, 0.05, rng).coefficients[2:, 0] - WEIGHTS[1:]
            for _ in range(8)
        ]
        squares[n_rounds] = np.mean(np.square(errors))
    assert squares[6] < squares[1] / 2


def test_coefficients_of_pure_noise_are_shrunk_to_zero():
    rng = np.random.default_rng(3)
    reference = reference_rows(rows(2000, rng))
    drowned = ReleasedRound(
        3.0 * rng.normal(size=5), np.full((2000, 1), 0.5), np.full(2000, 2.0), 3.0
    )
    posterior = fit_posterior([drowned], reference, groups(), Posterior.initial(5, 1, 2), 10_000)
    assert np.abs(posterior.coefficients[2:]).max() < 0.2


def test_standard_errors_match_actual_errors():
    rng = np.random.default_rng(4)
    scores = []
    for _ in range(25):
        X, reference = rows(2_000, rng), reference_rows(rows(300, rng))
        posterior = fitted(X, labels(X, rng), reference, 3, 0.02, rng)
        errors = posterior.coefficients[2:, 0] - WEIGHTS[1:]
        scores.append(errors / np.sqrt(posterior.variances[2:, 0]))
    assert 0.6 < np.mean(np.square(scores)) < 1.6


def test_swapped_classes_change_the_signs_of_coefficients():
    X = rows(5_000, np.random.default_rng(5))
    y = labels(X, np.random.default_rng(5))
    reference = reference_rows(X[:500])
    first, swapped = (
        fitted(X, codes, reference, 3, 1e-12, np.random.default_rng(5)).coefficients
        for codes in (y, 1 - y)
    )
    np.testing.assert_allclose(first, -swapped, atol=1e-6)


COPIES = [PriorGroup(slice(first, first + 8), np.eye(8)) for first in (0, 8, 16)]


def noisy_copies(n, share, rng):
    """Return a column of eight categories, the first with a share, and three noisy copies of it."""
    codes = np.where(rng.random(n) < share, 0, rng.integers(1, 8, n))
    copies = [np.where(rng.random(n) < 0.25, rng.permutation(codes), codes) for _ in COPIES]
    return codes, np.concatenate([np.eye(8)[copy] for copy in copies], axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_a_category_that_public_rows_hold_too_rarely_keeps_a_small_effect(seed):
    # Twice as many private rows as public ones have the first category, and none of them the
    # second class, so the released mean is beyond what any coefficient explains. Updates of the
    # prior variances then moved the coefficient to -33.
    rng = np.random.default_rng(seed)
    codes, X = noisy_copies(100_000, 0.02, rng)
    y = (rng.random(len(X)) < np.where(codes == 0, 0.0, 0.3)).astype(np.intp)
    reference = reference_rows(noisy_copies(300, 0.01, rng)[1])
    start = Posterior.initial(24, 1, 3)
    round_ = released(X, y, reference, start.coefficients, 1e-4, rng)
    posterior = fit_posterior([round_], reference, COPIES, start, len(X))
    assert np.abs(posterior.coefficients[1:]).max() < 3


@pytest.mark.parametrize("seed", [3, 4])
def test_a_fit_has_converged(seed):
    # By errors at the last coefficients, passes were too near to the rounds and too far from them
    # in turns: a second fit moved scores by 1.2.
    rng = np.random.default_rng(seed)
    codes, X = noisy_copies(100_000, 0.02, rng)
    shares = np.where(codes == 0, 0.05, 0.2 + 0.08 * (codes % 4))
    y = (rng.random(len(X)) < shares).astype(np.intp)
    reference = reference_rows(noisy_copies(300, 0.01, rng)[1])
    posterior, rounds = Posterior.initial(24, 1, 3), []
    for _ in range(3):
        rounds.append(released(X, y, reference, posterior.coefficients, 1e-4, rng))
        posterior = fit_posterior(rounds, reference, COPIES, posterior, len(X))
        again = fit_posterior(rounds, reference, COPIES, posterior, len(X))
        change = again.coefficients[:, 0] - posterior.coefficients[:, 0]
        assert np.abs(reference.scores(change)).max() < 0.15
