"""Posterior of the coefficients of numbers, given the released means and their known errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from secretballot._base._matrices import gram, inverse, product
from secretballot.linear.features import Floats
from secretballot.linear.rounds._posterior import (
    Groups,
    Hyperprior,
    Posterior,
    centred_variances,
    prior_precision,
    updated_variances,
)
from secretballot.linear.rounds._reference_rows import ReferenceRows

#: Passes that compute the errors anew, updates of the prior variances in each, and the change of
#: a prediction, in standard deviations of the target, at which passes end.
_PASSES, _VARIANCE_UPDATES, _CONVERGED = 8, 3, 1e-3
#: Largest mean square of a round's deviations from the model, in units of their errors, at which
#: reference rows are trusted. It is some .8 where they are like the private rows.
_LARGEST_MISFIT = 1.6
#: Initial prior variance of a group's coefficients, in units of the target's variance.
INITIAL_VARIANCE = 0.1
#: In the same units. No effect varies more than the target: a wider prior would fit noise. The
#: effect of missing cells has a variance of its own: where few cells are missing, or none, noise of
#: the first round would be taken for it, and later rounds could not correct it.
_HYPERPRIOR = Hyperprior(mean=0.02, largest=1.0, missing_weight=3.0)


@dataclass(frozen=True)
class NumberRound:
    """Noisy mean of clipped residuals times features over the private rows."""

    # (n_released,): means of the first features, in units of the target: those of pairs are added
    # in later rounds.
    mean: Floats
    coefficients: Floats  # (1 + n_features,): coefficients from which the residuals were taken
    # Share of residuals that were not clipped, by which means move with the coefficients.
    unclipped: float
    variance: float  # mean square of the clipped residuals
    scale: float  # size at which residuals were clipped
    noise: float | Floats  # (n_released,): standard deviation of the noise on each mean

    @property
    def clipping_bias(self) -> float:
        """Bias of the mean if clipped residuals had one sign, and were half the range longer.

        Rare targets far from the others are clipped to a scale that says nothing of their size.
        """
        return 1 - self.unclipped

    def centred(self, means: Floats, mean_errors: Floats | float, variance: float) -> NumberRound:
        """Return the first round with residuals from the mean target, instead of from 0.

        Targets far from 0 would make the difference of reference and private rows a large error.
        """
        centre = float(self.mean @ means / (means @ means))
        coefficients = self.coefficients.copy()
        coefficients[0] += centre
        return replace(
            self,
            mean=self.mean - centre * means,
            coefficients=coefficients,
            variance=variance,
            noise=np.hypot(self.noise, centre * mean_errors),
        )

    def padded(self, n_more: int) -> NumberRound:
        """Return the round with coefficients of more features, of which it says nothing."""
        return replace(self, coefficients=np.append(self.coefficients, np.zeros(n_more)))


def fit_number_posterior(
    rounds: Sequence[NumberRound],
    reference: ReferenceRows,
    groups: Groups,
    start: Posterior,
    n_people: float,
) -> Posterior:
    """Fit the coefficients to all released rounds by generalised least squares.

    The errors of a round are the noise, the sampling of private rows, and the difference between
    reference and private rows, which follows from the coefficients' own posterior. Where a round
    deviates by far more than its errors, reference rows count as fewer.
    """
    values, prior_variances = start.coefficients[:, 0], start.prior_variances
    scale = rounds[0].variance
    hyperprior = _HYPERPRIOR.scaled(scale)
    ones = np.ones((len(reference.weights), 1))
    sums, products = reference.means(ones), reference.products(ones)[0]
    slopes = np.concatenate([sums, products], axis=1)
    covariance = np.zeros((len(values), len(values)))
    trusted = reference
    for pass_ in range(_PASSES):
        precision, target, equations = np.zeros_like(covariance), np.zeros(len(values)), []
        errors = _error_covariances(rounds, trusted, values, covariance, slopes, n_people)
        for round_, error in zip(rounds, errors, strict=True):
            root = cholesky(error, overwrite_a=True, check_finite=False)
            released_slopes = slopes[: len(round_.mean)]
            moved = round_.mean + round_.unclipped * product(released_slopes, round_.coefficients)
            stacked = np.column_stack([round_.unclipped * released_slopes, moved])
            white = solve_triangular(root, stacked, trans="T", check_finite=False)
            joint = gram(white)  # its last row is of the means
            precision += joint[:-1, :-1]
            target += joint[-1, :-1]
            equations.append(white)
        before = values
        for _ in range(_VARIANCE_UPDATES):
            prior = prior_precision(groups, prior_variances, len(values))
            prior[0, 0] /= scale
            covariance = inverse(precision + prior)
            values = product(covariance, target)
            prior_variances = updated_variances(groups, values, covariance, hyperprior)
        deviations = [product(white, np.append(-values, 1.0)) for white in equations]
        misfit = max(float(np.mean(deviation**2)) for deviation in deviations)
        if misfit > _LARGEST_MISFIT or trusted.effective_size < reference.effective_size:
            size = min(trusted.effective_size / misfit, reference.effective_size)
            trusted = replace(trusted, effective_size=size)
        if pass_ and np.abs(values - before).max() < _CONVERGED * scale**0.5:
            break
    return Posterior(
        values[:, None],
        np.diag(covariance)[:, None].copy(),
        centred_variances(groups, covariance)[:, None],
        prior_variances,
        covariance,
    )


def _error_covariances(
    rounds: Sequence[NumberRound],
    reference: ReferenceRows,
    values: Floats,
    covariance: Floats,
    slopes: Floats,
    n_people: float,
) -> list[Floats]:
    mismatch = 1 / reference.effective_size + 1 / n_people
    gaps = np.column_stack(
        [round_.unclipped * reference.scores(values - round_.coefficients) for round_ in rounds]
    )
    shares = np.array([round_.unclipped for round_ in rounds])
    unknown = reference.variances(covariance)[:, None] * shares**2
    # All rounds have the same sampling error: each counts it in full as many times.
    sampling = np.array([round_.variance for round_ in rounds]) * (len(rounds) / n_people)
    products = reference.products(sampling + (gaps**2 + unknown) * mismatch)
    spread = product(product(slopes, covariance), slopes.T)
    errors = []
    for error, gap, share, round_ in zip(
        products, reference.means(gaps).T, shares, rounds, strict=True
    ):
        error -= mismatch * (np.outer(gap, gap) + share**2 * spread)
        error = error[: len(round_.mean), : len(round_.mean)]
        np.einsum("ii->i", error)[:] += round_.noise**2
        errors.append(error)
    return errors
