"""Posterior of the coefficients, given the released sums and their known errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from secretballot._base._matrices import cholesky_root, gram, inverse, product, solve
from secretballot.linear._design import Floats, PriorGroup
from secretballot.linear._reference_rows import ReferenceRows

Groups = Sequence[PriorGroup]

#: Initial prior variance of the coefficients of a column, and of a pair of columns.
_INITIAL_VARIANCE, _INITIAL_PAIR_VARIANCE = 0.5, 0.1
#: Weight of the hyperprior of a group's variance, in coefficients, and the smallest variance as a
#: part of its mean.
_HYPERPRIOR_WEIGHT, _LEAST_PART = 0.1, 5e-4
#: Prior precision of the intercept, which is almost free.
_INTERCEPT_PRECISION = 1e-2

#: Passes that compute errors and prior variances anew, Gauss-Newton steps of a pass, updates of
#: the prior variances in a pass, and halvings of a step.
_PASSES, _STEPS, _VARIANCE_UPDATES, _HALVINGS = 5, 2, 2, 8
#: Factor of the steps of the prior variances' logarithms. Those of expectation maximisation are
#: short; below 2 longer ones don't oscillate.
_RELAXATION = 1.5
#: Largest changes of a coefficient: in the last pass, with the same slopes, and by a step.
_CONVERGED_STEP, _CURVED_STEP, _LARGEST_STEP = 0.05, 0.5, 3.0
#: Largest change of a coefficient by updates of the prior variances in a pass. Where probabilities
#: are near 0 or 1 the model's linear form holds for small changes only.
_LARGEST_SHIFT = 1.0
#: Share of the variance of a score that counts as its distance from the score asked at, and the
#: largest variance.
_VARIANCE_SHARE, _LARGEST_SCORE_VARIANCE = 0.3, 4.0


class Hyperprior(NamedTuple):
    """Hyperprior: law of the prior variance of a group's coefficients."""

    mean: float
    largest: float
    # Weight of the mean for the effect of missing cells, as a number of coefficients.
    missing_weight: float = _HYPERPRIOR_WEIGHT
    # Largest variance of dense features, which may be short: their coefficients are then large.
    largest_dense: float = 1e4

    def scaled(self, variance: float) -> Hyperprior:
        return self._replace(
            mean=self.mean * variance,
            largest=self.largest * variance,
            largest_dense=self.largest_dense * variance,
        )


_LOG_ODDS = Hyperprior(mean=0.2, largest=10.0)


@dataclass(frozen=True)
class ReleasedRound:
    """Noisy mean of gain * (target - expected) * features over the private rows."""

    # (n_released,): means of the first features: those of pairs are added in later rounds.
    mean: Floats
    # (n_rows, 1): probabilities of the reference rows from which the residuals were taken.
    expected: Floats
    gain: Floats  # (n_rows,): factor of the residuals, which bounds their length
    noise: float  # standard deviation of the noise on each number


@dataclass(frozen=True)
class Posterior:
    """Normal approximation of the coefficients' posterior."""

    # Coefficients, variances: (1 + n_features, n_columns), the intercept first.
    coefficients: Floats
    variances: Floats
    # (1 + n_features, n_columns): variances of coefficients less the mean of their column, which is
    # known much less well.
    centred_variances: Floats
    prior_variances: Floats  # (n_groups,): estimated mean square of each group's coefficients
    # (1 + n_features, 1 + n_features): covariance of the coefficients of a column, up to a factor;
    # None before anything is released.
    covariance: Floats | None = None

    @classmethod
    def initial(
        cls, n_features: int, n_columns: int, n_groups: int, variance: float = _INITIAL_VARIANCE
    ) -> Posterior:
        """Return coefficients of 0 with this prior variance, before anything is released."""
        zeros = np.zeros((1 + n_features, n_columns))
        return cls(zeros, zeros, zeros, np.full(n_groups, variance))

    def scaled(self, factor: float) -> Posterior:
        return replace(
            self,
            coefficients=factor * self.coefficients,
            variances=factor**2 * self.variances,
            centred_variances=factor**2 * self.centred_variances,
            covariance=None if self.covariance is None else factor**2 * self.covariance,
        )

    def padded(self, sizes: Sequence[int], scale: float = 1.0) -> Posterior:
        """Return the posterior with more groups of these sizes; `scale` is a target's variance."""
        zeros = np.zeros((sum(sizes), self.coefficients.shape[1]))
        return Posterior(
            np.concatenate([self.coefficients, zeros]),
            np.concatenate([self.variances, zeros]),
            np.concatenate([self.centred_variances, zeros]),
            np.append(self.prior_variances, np.full(len(sizes), _INITIAL_PAIR_VARIANCE * scale)),
        )


class WhitenedRounds:
    """Released rounds in units of their errors, as functions of the coefficients of two classes.

    Results are lists with an array for each round.

    The errors of a round are the noise, the sampling of private classes, and the difference between
    reference and private rows. The errors of different rounds are taken as independent: see "How
    the posterior is computed" in `docs/theory/logistic-regression.md`. The sizes of the errors are
    computed by `p` and `variances`, probabilities and variances of the scores of the reference
    rows.
    """

    def __init__(
        self,
        rounds: Sequence[ReleasedRound],
        reference: ReferenceRows,
        n_people: float,
        p: Floats,
        variances: Floats,
    ) -> None:
        self.reference = reference
        self.released = [round_.mean for round_ in rounds]
        self.expected = np.concatenate([round_.expected for round_ in rounds], axis=1)
        self.gains = np.stack([round_.gain for round_ in rounds], axis=1)
        noises = [round_.noise for round_ in rounds]
        errors = self._error_covariances(noises, n_people, p, variances)
        self._roots = [
            # By columns, as LAPACK reads it: of a symmetric matrix that is its transpose.
            cholesky(error[: len(mean), : len(mean)].T, overwrite_a=True, check_finite=False)
            for error, mean in zip(errors, self.released, strict=True)
        ]

    def _error_covariances(
        self, noises: Sequence[float], n_people: float, p: Floats, variances: Floats
    ) -> Floats:
        mismatch = 1 / self.reference.effective_size + 1 / n_people
        gaps = self.gains * (p - self.expected)
        # All rounds have the same sampling error: each counts it in full as many times.
        sampling = self.gains**2 * p * (1 - p) * (len(noises) / n_people)
        spread = np.minimum(variances, _LARGEST_SCORE_VARIANCE)[:, None]
        squares = gaps**2 + _VARIANCE_SHARE * spread * (self.gains * p * (1 - p)) ** 2
        covariances = self.reference.products(sampling + squares * mismatch)
        for covariance, gap, noise in zip(
            covariances, self.reference.means(gaps).T, noises, strict=True
        ):
            covariance -= mismatch * np.outer(gap, gap)
            np.einsum("ii->i", covariance)[:] += noise**2
        return covariances

    def residuals(self, coefficients: Floats) -> list[Floats]:
        """Compute released less expected means: (n_released,)."""
        gaps = self.gains * (self.reference.probabilities(coefficients) - self.expected)
        means = self.reference.means(gaps).T
        return self._whiten(
            [
                mean - expected[: len(mean)]
                for mean, expected in zip(self.released, means, strict=True)
            ]
        )

    def slopes(self, coefficients: Floats) -> list[Floats]:
        """Compute the expected means' derivatives: (n_released, 1 + n_features)."""
        p = self.reference.probabilities(coefficients)
        weights = self.gains * (p * (1 - p))
        sums, products = self.reference.means(weights), self.reference.products(weights)
        return self._whiten(
            [
                # Joined by columns too: the square is symmetric.
                np.concatenate([sums[: len(mean), [index]].T, square[:, : len(mean)]]).T
                for index, (mean, square) in enumerate(zip(self.released, products, strict=True))
            ]
        )

    def _whiten(self, values: Sequence[Floats]) -> list[Floats]:
        return [
            solve_triangular(root, value, trans="T", overwrite_b=True, check_finite=False)
            for root, value in zip(self._roots, values, strict=True)
        ]


def fit_posterior(
    rounds: Sequence[ReleasedRound],
    reference: ReferenceRows,
    groups: Groups,
    start: Posterior,
    n_people: float,
) -> Posterior:
    """Fit the coefficients of two classes to all released rounds by generalised least squares.

    Each group of coefficients has a normal prior, whose variance maximises the evidence.
    """
    values, prior_variances = start.coefficients, start.prior_variances
    prior = prior_precision(groups, prior_variances, len(values))
    covariance = inverse(prior) if start.covariance is None else start.covariance
    p = reference.probabilities(values)
    for _ in range(_PASSES):
        # A mean over passes: errors at the last coefficients alone would be too small and too large
        # in turns, as coefficients that follow the rounds closely are far from those asked at.
        p = (p + reference.probabilities(values)) / 2
        variances = reference.variances(covariance)
        whitened = WhitenedRounds(rounds, reference, n_people, p, variances)
        minimum, precision, moved = _minimise(whitened, prior, values)
        target = product(precision + prior, minimum[:, 0])
        for _ in range(_VARIANCE_UPDATES):
            covariance = inverse(precision + prior)
            shift = product(covariance, target)[:, None] - minimum
            values = minimum + _shortened(shift, _LARGEST_SHIFT)
            prior_variances = updated_variances(
                groups, values[:, 0], covariance, _LOG_ODDS, prior_variances
            )
            prior = prior_precision(groups, prior_variances, len(values))
        if moved < _CONVERGED_STEP:
            break
    return Posterior(
        values,
        np.diag(covariance)[:, None].copy(),
        centred_variances(groups, covariance)[:, None],
        prior_variances,
        covariance,
    )


def _minimise(
    whitened: WhitenedRounds, prior: Floats, values: Floats
) -> tuple[Floats, Floats, float]:
    """Minimise the sum of squares and the prior's by Gauss-Newton steps that never raise it.

    Returns the coefficients, the precision without the prior at the last slopes, and the largest
    change of a coefficient in a step.
    """
    furthest, moved = 0.0, np.inf
    residuals = whitened.residuals(values)
    objective = _objective(residuals, prior, values)
    for _ in range(_STEPS):
        if moved > _CURVED_STEP:
            slopes = whitened.slopes(values)
            precision = gram(*slopes)
            root = cholesky_root(precision + prior)
        gradient = -product(prior, values[:, 0])
        for slope, residual in zip(slopes, residuals, strict=True):
            gradient += product(slope.T, residual)
        step = _shortened(solve(root, gradient)[:, None], _LARGEST_STEP)
        for halvings in range(_HALVINGS):
            candidate = values + step * 0.5**halvings
            residuals_there = whitened.residuals(candidate)
            lower = _objective(residuals_there, prior, candidate)
            if lower < objective:
                break
        else:
            break
        moved = float(np.abs(candidate - values).max())
        values, residuals, objective = candidate, residuals_there, lower
        furthest = max(furthest, moved)
        if moved < _CONVERGED_STEP:
            break
    return values, precision, furthest


def _shortened(step: Floats, longest: float) -> Floats:
    """Scale a step so that no coefficient moves further than `longest`."""
    return step * min(1.0, longest / max(float(np.abs(step).max()), 1e-12))


def _objective(residuals: Sequence[Floats], prior: Floats, values: Floats) -> float:
    squares = sum(residual @ residual for residual in residuals)
    return float(squares + values[:, 0] @ product(prior, values[:, 0]))


def prior_precision(groups: Groups, prior_variances: Floats, n_coefficients: int) -> Floats:
    """Compute the precision of all coefficients' prior, the intercept's first."""
    prior = np.zeros((n_coefficients, n_coefficients))
    prior[0, 0] = _INTERCEPT_PRECISION
    for group, variance in zip(groups, prior_variances, strict=True):
        prior[1:, 1:][group.place, group.place] = group.precision / variance
    return prior


def updated_variances(
    groups: Groups,
    values: Floats,
    covariance: Floats,
    hyperprior: Hyperprior,
    present: Floats | None = None,
) -> Floats:
    """Estimate the mean square of each group's coefficients, in the prior's metric."""
    effects, errors = values[1:], covariance[1:, 1:]
    variances, limits = [], []
    for group in groups:
        limits.append(hyperprior.largest if group.is_column else hyperprior.largest_dense)
        place, precision = group.place, group.precision
        square = effects[place] @ precision @ effects[place]
        square += np.sum(precision * errors[place, place])
        weight = _HYPERPRIOR_WEIGHT if group.centre is None else hyperprior.missing_weight
        variances.append((square + weight * hyperprior.mean) / (len(precision) + weight))
    updated = np.array(variances)
    if present is not None:
        updated = present * (updated / present) ** _RELAXATION
    return np.clip(updated, _LEAST_PART * hyperprior.mean, limits)


def centred_coefficients(groups: Groups, coefficients: Floats) -> Floats:
    """Return coefficients less the mean on which their group is centred, without the intercept."""
    centred = coefficients[1:].copy()
    for group in groups:
        centred[group.place] -= coefficients[1:][group.centred_on].mean()
    return centred


def centred_variances(groups: Groups, covariance: Floats) -> Floats:
    """Compute the variances of coefficients less the mean on which they are centred."""
    variances, errors = np.diag(covariance).copy(), covariance[1:, 1:]
    for group in groups:
        place, centre = group.place, group.centred_on
        mean = errors[centre, centre].mean()
        variances[1:][place] += mean - 2 * errors[centre, place].mean(axis=0)
    return variances
