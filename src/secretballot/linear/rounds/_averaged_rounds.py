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
_DAMPING = 20.0
#: Largest step, and its target in units of the step that a quadratic objective would need.
_LARGEST_STEP, _RELATIVE_STEP = 10.0, 3.0
#: Part of a step that goes on in the next one, and part of the rounds before the mean begins.
_MOMENTUM, _DISCARDED = 0.5, 0.65
#: Rounds of residuals after the first.
AVERAGED_ROUNDS = 39


def run_averaged_rounds(plan: RoundPlan, residuals: ClippedResiduals) -> FittedRounds:
    """Release sums of clipped residuals, and move the coefficients of all columns along each.

    The coefficients are the mean over the last third of the rounds. See "Three classes and more"
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
    step, total = np.zeros_like(coefficients[1:]), np.zeros_like(coefficients)
    rates, n_discarded, released = np.zeros(n_rounds), int(_DISCARDED * n_rounds), [first]
    limits = reference.design.residual_limits(features.norm)
    for index in range(n_rounds):
        if index:
            sums = rows.residual_sums(coefficients, features.norm, residuals.scaled)
            released.append(plan.release(plan.mechanism, sums))
        scale = residuals.clipping_norm / rows.total
        mean, slope = residuals.read(scale * released[-1], reference, limits, coefficients)
        if index:
            released[-1] = mean / scale
        rates[index] = min(_LARGEST_STEP, _RELATIVE_STEP / slope)
        rate = (1 - _MOMENTUM) * rates[index]
        step = _MOMENTUM * step + rate * (axes / damped) @ (axes.T @ mean)
        coefficients[1:] += step
        if index >= n_discarded:
            total += coefficients
    coefficients = total / (n_rounds - n_discarded)
    # One column in the axes of the curvature: each round adds its error, and keeps a part.
    slopes, squares = residuals.moments(reference, limits, coefficients)
    factors = rates[:, None] / damped
    errors = np.empty((len(scales), len(slopes)))
    for column, (slope, square) in enumerate(zip(slopes, squares, strict=True)):
        pulls = factors * residuals.inverse_slope * slope * scales
        responses = factors * _mean_responses(pulls, n_discarded)
        sampling = square * residuals.inverse_slope * scales / rows.total
        errors[:, column] = (
            noise**2 * (responses**2).sum(axis=0) + sampling * responses.sum(axis=0) ** 2
        )
    variances, centred = _variances(axes, errors, features.groups)
    # The metric of the damped objective, which the steps descend.
    covariance = np.zeros((len(coefficients),) * 2)
    covariance[1:, 1:] = (axes / damped) @ axes.T
    posterior = Posterior(coefficients, variances, centred, np.empty(0), covariance)
    return FittedRounds(posterior, released, features, reference=reference)


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


def _mean_responses(pulls: Floats, n_discarded: int) -> Floats:
    """Compute the part of each round's error in the mean over the last rounds.

    Parameters
    ----------
    pulls : ndarray of shape (n_rounds, n_axes)
        Share of all earlier errors that a round, without momentum, takes back.
    n_discarded : int
        Number of rounds before the mean begins.
    """
    n_rounds = len(pulls)
    responses, errors, steps = (np.zeros_like(pulls) for _ in range(3))
    for index in range(n_rounds):
        moved = -pulls[index] * errors
        moved[index] = 1.0
        steps = _MOMENTUM * steps + (1 - _MOMENTUM) * moved
        errors = errors + steps
        if index >= n_discarded:
            responses += errors
    return responses / (n_rounds - n_discarded)
