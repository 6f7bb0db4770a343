"""Posterior of the coefficients, given the released sums and their known errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.special import expit, softmax

from secretballot.linear._design import Design, Floats

#: Initial, smallest and largest prior variance of a group's coefficients.
_INITIAL_VARIANCE, _LEAST_VARIANCE, _LARGEST_VARIANCE = 0.5, 1e-4, 10.0
#: Hyperprior of a group's variance: its weight in coefficients, and its mean.
_HYPERPRIOR_WEIGHT, _HYPERPRIOR_VARIANCE = 0.1, 0.2
#: Prior precision of the intercept, which is almost free.
_INTERCEPT_PRECISION = 1e-2

_MOST_STEPS, _VARIANCE_STEPS, _CONVERGED_STEP, _LARGEST_STEP = 8, 3, 2e-2, 3.0
#: Steps that compute the errors' covariance again.
_ERROR_STEPS = 2


@dataclass(frozen=True)
class ReleasedRound:
    """Noisy mean of gain * (target - expected) * features over the private rows.

    Attributes
    ----------
    mean : ndarray of shape (n_features, n_columns)
    expected : ndarray of shape (n_public, n_columns)
        Probabilities on the public rows from which the residuals were taken.
    gain : ndarray of shape (n_public,)
        Factor of the residuals, which bounds their length.
    noise : float
        Standard deviation of the noise on each number.
    """

    mean: Floats
    expected: Floats
    gain: Floats
    noise: float


@dataclass(frozen=True)
class Posterior:
    """Normal approximation of the coefficients' posterior.

    Attributes
    ----------
    coefficients, variances : ndarray of shape (1 + n_features, n_columns)
        The intercept first.
    centred_variances : ndarray of shape (1 + n_features, n_columns)
        Variances of coefficients less the mean of their group, which is known much less well.
    prior_variances : ndarray of shape (n_groups,)
        Estimated mean square of each group's coefficients.
    """

    coefficients: Floats
    variances: Floats
    centred_variances: Floats
    prior_variances: Floats

    @classmethod
    def initial(cls, n_features: int, n_columns: int, n_groups: int) -> Posterior:
        """Return coefficients of 0, before anything is released."""
        zeros = np.zeros((1 + n_features, n_columns))
        return cls(zeros, zeros, zeros, np.full(n_groups, _INITIAL_VARIANCE))

    def halfway_to(self, other: Posterior) -> Posterior:
        """Return this posterior with coefficients halfway to those of another."""
        return replace(self, coefficients=(self.coefficients + other.coefficients) / 2)


def probabilities(scores: Floats) -> Floats:
    """Compute probabilities of scores; of a single column those of the second of two classes."""
    return np.asarray(expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1))


def fit_posterior(
    rounds: Sequence[ReleasedRound],
    public: Design,
    groups: Sequence[tuple[slice, Floats]],
    start: Posterior,
    n_people: float,
    *,
    final: bool = True,
) -> Posterior:
    """Fit coefficients to all released rounds by generalised least squares.

    Each group of coefficients has a normal prior, whose variance maximises the evidence. The
    errors of a round are the noise, the sampling of private classes, and the difference between
    public and private rows. Their covariance is known: see "How the posterior is computed" in
    `docs/theory/logistic-regression.md`. All rounds are fitted together, so earlier ones count.

    Several classes are fitted column by column, with the softmax Hessian approximated by one
    number, K/(K-1), for all K classes.

    Parameters
    ----------
    rounds : sequence of ReleasedRound
    public : Design
    groups : sequence of (slice, ndarray)
        Features that share a prior variance, with the inverse correlations of that prior.
    start : Posterior
    n_people : float
        Number of private rows, or owners.
    final : bool, default=True
        Whether this is the last fit; others take half the steps.
    """
    n_columns = start.coefficients.shape[1]
    curvature = 1.0 if n_columns == 1 else n_columns / (n_columns - 1)
    values, prior_variances = start.coefficients.copy(), start.prior_variances.copy()
    variances, centred_variances = np.zeros_like(values), np.zeros_like(values)
    released = np.concatenate([round_.mean for round_ in rounds])
    if n_columns > 1:
        # The residuals of a row sum to 0: the mean over the classes is noise.
        released = released - released.mean(axis=1, keepdims=True)
    roots: list[Floats] = []
    covariances = [np.empty(0)] * n_columns
    for step in range(_MOST_STEPS if final else _MOST_STEPS // 2):
        p = probabilities(public.decision(values[1:], values[:1]))
        class_variance = p * (1 - p)
        means, slopes = _expected_rounds(rounds, public, p, curvature * class_variance)
        if step < _ERROR_STEPS:
            errors = _error_covariances(rounds, public, p, class_variance, n_people)
            roots = [_cholesky_root(error) for error in errors]
        update, systems = np.empty_like(values), []
        for column in range(n_columns):
            slope = slopes[column]
            target = released[:, column] - means[column] + slope @ values[:, column]
            system = np.empty((len(target), len(values) + 1), order="F")
            system[:, :-1], system[:, -1] = slope, target
            whitened = solve_triangular(
                roots[column], system, trans="T", overwrite_b=True, check_finite=False
            )
            products = whitened.T @ whitened
            systems.append((products[:-1, :-1], products[:-1, -1]))
        for _ in range(_VARIANCE_STEPS):
            prior = _prior_precision(groups, prior_variances, len(values))
            squares = np.zeros(len(groups))
            for column, (precision, right) in enumerate(systems):
                covariance = _inverse(precision + prior)
                update[:, column] = covariance @ right
                variances[:, column] = np.diag(covariance)
                covariances[column] = covariance
                squares += _expected_squares(groups, update[:, column], covariance)
            group_sizes = n_columns * np.array([len(precision) for _, precision in groups])
            prior_variances = (squares + _HYPERPRIOR_WEIGHT * _HYPERPRIOR_VARIANCE) / (
                group_sizes + _HYPERPRIOR_WEIGHT
            )
            prior_variances = np.clip(prior_variances, _LEAST_VARIANCE, _LARGEST_VARIANCE)
        if n_columns > 1:
            # A common shift of all classes changes no probability, and no release bounds it.
            update -= update.mean(axis=1, keepdims=True)
        furthest = float(np.abs(update - values).max())
        values = values + (update - values) * min(1.0, _LARGEST_STEP / max(furthest, 1e-300))
        if step >= _ERROR_STEPS and furthest < _CONVERGED_STEP:
            break
    for column, covariance in enumerate(covariances):
        centred_variances[:, column] = _centred_variances(groups, covariance)
    return Posterior(values, variances, centred_variances, prior_variances)


def _expected_rounds(
    rounds: Sequence[ReleasedRound], public: Design, p: Floats, class_variance: Floats
) -> tuple[Floats, Floats]:
    """Compute the expectation of all rounds, and its slope in the coefficients, by column."""
    n_public, n_columns = p.shape
    means = [
        public.sums(round_.gain[:, None] * (p - round_.expected)) / n_public for round_ in rounds
    ]
    weights = (
        np.concatenate([round_.gain[:, None] * class_variance for round_ in rounds], axis=1)
        / n_public
    )
    sums, products = public.sums(weights), public.products(weights)
    n_features = len(sums)
    slopes = np.concatenate([sums.T[:, :, None], products], axis=2)
    slopes = slopes.reshape(len(rounds), n_columns, n_features, 1 + n_features)
    by_column = slopes.transpose(1, 0, 2, 3).reshape(n_columns, -1, 1 + n_features)
    return np.concatenate(means).T, by_column


def _error_covariances(
    rounds: Sequence[ReleasedRound],
    public: Design,
    p: Floats,
    class_variance: Floats,
    n_people: float,
) -> Floats:
    """Compute the covariance of all rounds' errors by column, in the lower triangle."""
    (n_public, n_features), n_columns, n_rounds = public.shape, p.shape[1], len(rounds)
    mismatch = 1 / n_public + 1 / n_people
    gaps = [round_.gain[:, None] * (p - round_.expected) for round_ in rounds]
    means = [public.sums(gap) / n_public for gap in gaps]
    errors = np.zeros((n_columns, n_rounds, n_features, n_rounds, n_features))
    pairs = [(i, j) for i in range(n_rounds) for j in range(i, n_rounds)]
    weights = (
        np.concatenate(
            [
                (rounds[i].gain * rounds[j].gain)[:, None] * class_variance / n_people
                + gaps[i] * gaps[j] * mismatch
                for i, j in pairs
            ],
            axis=1,
        )
        / n_public
    )
    blocks = public.products(weights).reshape(len(pairs), n_columns, n_features, n_features)
    # With few public rows the sample covariance is too small in directions that it has not seen.
    # It is shrunk to its diagonal, and each feature is counted in one more row than it occurs in.
    extra_row = (weights.mean(axis=0) * public.largest**2).reshape(len(pairs), n_columns, 1)
    shrinkage = n_public / (n_public + n_features)
    for (i, j), block, extra in zip(pairs, blocks, extra_row, strict=True):
        block -= mismatch * np.einsum("ik,jk->kij", means[i], means[j])
        variances = np.einsum("kii->ki", block) + extra
        block *= shrinkage
        np.einsum("kii->ki", block)[:] = variances
        if i == j:
            block += rounds[i].noise ** 2 * np.eye(n_features)
        errors[:, j, :, i] = block.transpose(0, 2, 1)
    return errors.reshape(n_columns, n_rounds * n_features, n_rounds * n_features)


def _cholesky_root(lower: Floats) -> Floats:
    """Compute the upper triangular R with R'R a positive definite matrix, overwriting it.

    The lower triangle is read; its transpose is in LAPACK's order, so nothing is copied.
    """
    return np.asarray(cholesky(lower.T, overwrite_a=True, check_finite=False))


def _inverse(matrix: Floats) -> Floats:
    """Invert a positive definite matrix, overwriting it."""
    half, _ = dpotri(_cholesky_root(matrix), overwrite_c=1)  # below the diagonal it is 0
    inverse = half + half.T
    np.einsum("ii->i", inverse)[:] /= 2
    return np.asarray(inverse)


def _prior_precision(
    groups: Sequence[tuple[slice, Floats]], prior_variances: Floats, n_coefficients: int
) -> Floats:
    prior = np.zeros((n_coefficients, n_coefficients))
    prior[0, 0] = _INTERCEPT_PRECISION
    for (place, precision), variance in zip(groups, prior_variances, strict=True):
        block = slice(1 + place.start, 1 + place.stop)
        prior[block, block] = precision / variance
    return prior


def _centred_variances(groups: Sequence[tuple[slice, Floats]], covariance: Floats) -> Floats:
    """Compute the variances of coefficients less the mean of their group."""
    variances = np.diag(covariance).copy()
    for place, _ in groups:
        block = slice(1 + place.start, 1 + place.stop)
        means = covariance[block, block].mean(axis=0)
        variances[block] += means.mean() - 2 * means
    return variances


def _expected_squares(
    groups: Sequence[tuple[slice, Floats]], values: Floats, covariance: Floats
) -> Floats:
    """Compute the expected sum of squares of each group's coefficients, in the prior's metric."""
    squares = []
    for place, precision in groups:
        block = slice(1 + place.start, 1 + place.stop)
        squares.append(
            values[block] @ precision @ values[block] + np.sum(precision * covariance[block, block])
        )
    return np.array(squares)
