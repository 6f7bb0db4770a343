"""Rounds of a fit of several classes or labels: preconditioned steps, averaged."""

from __future__ import annotations

import numpy as np

from secretballot.linear.features import FeatureMap, Floats
from secretballot.linear.rounds._class_rounds import release_first_round
from secretballot.linear.rounds._clipped_residuals import ClippedResiduals
from secretballot.linear.rounds._posterior import Groups, Posterior
from secretballot.linear.rounds._response import FittedRounds, RoundPlan

#: Damping of the curvature in units of the noise times the features' norm, so that the scale of the
#: features does not matter.
_DAMPING = 10.0
#: Largest step, and its target in units of the step that a quadratic objective would need.
_LARGEST_STEP, _RELATIVE_STEP = 5.0, 1.5
#: Rounds of residuals after the first.
AVERAGED_ROUNDS = 19


def run_averaged_rounds(plan: RoundPlan, residuals: ClippedResiduals) -> FittedRounds:
    """Release sums of clipped residuals, and move the coefficients of all columns along each.

    The coefficients are the mean over the second half of the rounds. See "Three classes and more"
    in `docs/theory/logistic-regression.md`.
    """
    rows, features, n_rounds = plan.rows, plan.features, plan.n_rounds
    noise = residuals.clipping_norm * plan.mechanism.sigma / rows.total
    first, reference = release_first_round(plan, residuals.scaled, residuals.start)
    curvature = reference.products(np.ones((len(reference.weights), 1)))[0]
    # Axes in which both the curvature and the prior precision are diagonal.
    root = np.linalg.inv(np.linalg.cholesky(_prior_precision(features))).T
    scales, axes = np.linalg.eigh(root.T @ (curvature / residuals.inverse_slope) @ root)
    scales, axes = np.maximum(scales, 0.0), root @ axes
    damped = scales + _DAMPING * noise * features.norm
    coefficients = np.zeros((1 + features.n_features, len(residuals.start)))
    coefficients[0] = residuals.start
    total, steps, released = np.zeros_like(coefficients), np.zeros(n_rounds), [first]
    for index in range(n_rounds):
        if index:
            sums = rows.residual_sums(coefficients, features.norm, residuals.scaled)
            released.append(plan.release(plan.mechanism, sums))
        scale = residuals.clipping_norm / rows.total
        mean, slope = residuals.read(scale * released[-1], reference, coefficients)
        if index:
            released[-1] = mean / scale
        steps[index] = min(_LARGEST_STEP, _RELATIVE_STEP / slope)
        coefficients[1:] += steps[index] * (axes / damped) @ (axes.T @ mean)
        if index >= n_rounds // 2:
            total += coefficients
    coefficients = total / (n_rounds - n_rounds // 2)
    # One column in the axes of the curvature: each round adds its error, and keeps a part.
    slopes, squares = residuals.moments(reference, coefficients)
    factors = steps[:, None] / damped
    errors = np.empty((len(scales), len(slopes)))
    for column, (slope, square) in enumerate(zip(slopes, squares, strict=True)):
        kept = 1 - factors * residuals.inverse_slope * slope * scales
        responses = factors * _mean_responses(kept)
        sampling = square * residuals.inverse_slope * scales / rows.total
        errors[:, column] = (
            noise**2 * (responses**2).sum(axis=0) + sampling * responses.sum(axis=0) ** 2
        )
    variances, centred = _variances(axes, errors, features.groups)
    posterior = Posterior(coefficients, variances, centred, np.empty(0))
    return FittedRounds(posterior, released, features, reference)


def _prior_precision(features: FeatureMap) -> Floats:
    """Return the inverse correlations of all coefficients' prior."""
    precision = np.zeros((features.n_features, features.n_features))
    for place, inverse_correlations in features.groups:
        precision[place, place] = inverse_correlations
    return precision


def _variances(axes: Floats, errors: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """Compute the variances of coefficients, also less the mean of their group.

    Parameters
    ----------
    axes : ndarray of shape (n_features, n_axes)
    errors : ndarray of shape (n_axes, n_columns)
        Variances along the axes.
    groups : sequence of (slice, ndarray)

    Returns
    -------
    variances, centred : ndarray of shape (1 + n_features, n_columns)
        Those of the intercept, which has no error here, are 0.
    """
    means = np.empty_like(axes)
    for place, _ in groups:
        means[place] = axes[place].mean(axis=0)
    intercept = np.zeros((1, errors.shape[1]))
    return (
        np.concatenate([intercept, axes**2 @ errors]),
        np.concatenate([intercept, (axes - means) ** 2 @ errors]),
    )


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
