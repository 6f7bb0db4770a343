"""Rounds of a fit of three classes and more: preconditioned steps, averaged."""

from __future__ import annotations

import numpy as np

from secretballot.linear.features import FeatureMap, Floats
from secretballot.linear.rounds._class_residuals import ClassResiduals
from secretballot.linear.rounds._class_rounds import release_first_round
from secretballot.linear.rounds._posterior import Posterior, centred_variances
from secretballot.linear.rounds._reference_rows import ReferenceRows
from secretballot.linear.rounds._response import FittedRounds, RoundPlan

#: Length to which the residuals of a row are clipped.
_CLIPPING_NORM = 0.4
#: Damping of the curvature in units of the noise times the features' norm, so that the scale of the
#: features does not matter.
_DAMPING = 10.0
#: Largest step, and its target in units of the step that a quadratic objective would need.
_LARGEST_STEP, _RELATIVE_STEP = 5.0, 1.5
#: Rounds of residuals after the first.
AVERAGED_ROUNDS = 19


def clipping_gains(p: Floats) -> Floats:
    """Return the factor that makes a length of 1 of the clipping norm, for each row."""
    return np.full(len(p), 1 / _CLIPPING_NORM)


def run_averaged_rounds(plan: RoundPlan, residuals: ClassResiduals) -> FittedRounds:
    """Release sums of clipped residuals, and move the coefficients of all classes along each.

    The coefficients are the mean over the second half of the rounds. See "Three classes and more"
    in `docs/theory/logistic-regression.md`.
    """
    rows, features, n_rounds = plan.rows, plan.features, plan.n_rounds
    n_columns = residuals.n_columns
    noise = _CLIPPING_NORM * plan.mechanism.sigma / rows.total
    noisy, reference = release_first_round(plan, residuals, clipping_gains)
    released = [noisy]
    curvature = reference.products(np.ones((len(reference.weights), 1)))[0] / n_columns
    # Axes in which both the curvature and the prior precision are diagonal.
    root = np.linalg.inv(np.linalg.cholesky(_prior_precision(features))).T
    scales, axes = np.linalg.eigh(root.T @ curvature @ root)
    scales, axes = np.maximum(scales, 0.0), root @ axes
    damped = scales + _DAMPING * noise * features.norm
    coefficients = np.zeros((1 + features.n_features, n_columns))
    total, steps = np.zeros_like(coefficients), np.zeros(n_rounds)
    for index in range(n_rounds):
        if index:
            sums = rows.residual_sums(coefficients, features.norm, residuals.times(clipping_gains))
            released.append(plan.release(plan.mechanism, sums))
        steps[index] = _step(reference, coefficients)
        mean = _CLIPPING_NORM * released[-1] / rows.total
        # The residuals of a row sum to 0: the mean over the classes is noise.
        mean = mean - mean.mean(axis=1, keepdims=True)
        coefficients[1:] += steps[index] * (axes / damped) @ (axes.T @ mean)
        if index >= n_rounds // 2:
            total += coefficients
    coefficients = total / (n_rounds - n_rounds // 2)
    variances, centred = np.zeros_like(total), np.zeros_like(total)
    slopes, squares = _clipped_moments(reference, coefficients)
    factors = steps[:, None] / damped
    for column in range(n_columns):
        # One class in the axes of the curvature: each round adds its error, and keeps a part.
        kept = 1 - factors * n_columns * slopes[column] * scales
        responses = factors * _mean_responses(kept)
        sampling = squares[column] * n_columns * scales / rows.total
        errors = noise**2 * (responses**2).sum(axis=0) + sampling * responses.sum(axis=0) ** 2
        covariance = np.zeros((len(total), len(total)))
        covariance[1:, 1:] = (axes * errors) @ axes.T
        variances[:, column] = np.diag(covariance)
        centred[:, column] = centred_variances(features.groups, covariance)
    return FittedRounds(
        Posterior(coefficients, variances, centred, np.empty(0)), released, features
    )


def _step(reference: ReferenceRows, coefficients: Floats) -> float:
    """Choose the factor of a step by the slope of clipped residuals on the reference rows."""
    p = reference.probabilities(coefficients)
    weights = reference.weights[:, None] * (p * _clipping_factors(p)).sum(axis=1, keepdims=True)
    slopes = np.diag((weights * p).sum(axis=0)) - p.T @ (weights * p)
    largest = float(np.linalg.eigvalsh(slopes)[-1]) * p.shape[1]
    return min(_LARGEST_STEP, _RELATIVE_STEP / largest)


def _prior_precision(features: FeatureMap) -> Floats:
    """Return the inverse correlations of all coefficients' prior."""
    precision = np.zeros((features.n_features, features.n_features))
    for place, inverse_correlations in features.groups:
        precision[place, place] = inverse_correlations
    return precision


def _clipping_factors(p: Floats) -> Floats:
    """Compute the factor by which residuals are clipped, for each true class."""
    lengths = np.sqrt((p**2).sum(axis=1, keepdims=True) - 2 * p + 1)
    return np.asarray(_CLIPPING_NORM / np.maximum(lengths, _CLIPPING_NORM))


def _clipped_moments(reference: ReferenceRows, coefficients: Floats) -> tuple[Floats, Floats]:
    """Compute each class's mean slope of clipped residuals, and their mean square."""
    p = reference.probabilities(coefficients)
    factors = _clipping_factors(p)
    slopes = p * (1 - p) * (p * factors).sum(axis=1, keepdims=True)
    own = p * (factors * (1 - p)) ** 2
    others = p**2 * ((p * factors**2).sum(axis=1, keepdims=True) - p * factors**2)
    return reference.weights @ slopes, reference.weights @ (own + others)


def _mean_responses(kept: Floats) -> Floats:
    """Compute the part of each round's error in the mean over the second half of the rounds.

    Parameters
    ----------
    kept : ndarray of shape (n_rounds, n_axes)
        Share of all earlier errors that remains after a round.
    """
    n_rounds = len(kept)
    responses, remaining = np.zeros_like(kept), np.zeros_like(kept)
    for index in range(n_rounds):
        remaining[:index] *= kept[index]
        remaining[index] = 1.0
        if index >= n_rounds // 2:
            responses += remaining
    return responses / (n_rounds - n_rounds // 2)
