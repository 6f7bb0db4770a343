"""Rounds of a fit of three classes and more: preconditioned steps, averaged."""

from __future__ import annotations

import numpy as np

from secretballot.linear.features import FeatureMap, Floats
from secretballot.linear.rounds._class_residuals import ClassResiduals
from secretballot.linear.rounds._class_rounds import release_first_round
from secretballot.linear.rounds._posterior import Posterior, centred_variances
from secretballot.linear.rounds._reference_rows import ReferenceRows
from secretballot.linear.rounds._response import FittedRounds, RoundPlan

#: Length to which the residuals of a row with features of the largest length are clipped.
_CLIPPING_NORM = 0.3
#: Damping of the curvature in units of the noise times the features' norm, so that the scale of the
#: features does not matter.
_DAMPING = 20.0
#: Largest step, and its target in units of the step that a quadratic objective would need.
_LARGEST_STEP, _RELATIVE_STEP = 10.0, 3.0
#: Part of a step that goes on in the next one, and part of the rounds before the mean begins.
_MOMENTUM, _DISCARDED = 0.5, 0.65
#: Rounds of residuals after the first.
AVERAGED_ROUNDS = 39


def clipping_gains(p: Floats) -> Floats:
    """Return the factor that makes a length of 1 of the clipping norm, for each row."""
    return np.full(len(p), 1 / _CLIPPING_NORM)


def run_averaged_rounds(plan: RoundPlan, residuals: ClassResiduals) -> FittedRounds:
    """Release sums of clipped residuals, and move the coefficients of all classes along each.

    The coefficients are the mean over the last third of the rounds. See "Three classes and more"
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
    step, total = np.zeros_like(coefficients[1:]), np.zeros_like(coefficients)
    rates, n_discarded = np.zeros(n_rounds), int(_DISCARDED * n_rounds)
    limits = reference.design.residual_limits(features.norm)
    for index in range(n_rounds):
        if index:
            sums = rows.residual_sums(coefficients, features.norm, residuals.times(clipping_gains))
            released.append(plan.release(plan.mechanism, sums))
        rates[index] = _rate(reference, coefficients, limits)
        mean = _CLIPPING_NORM * released[-1] / rows.total
        # The residuals of a row sum to 0: the mean over the classes is noise.
        mean = mean - mean.mean(axis=1, keepdims=True)
        rate = (1 - _MOMENTUM) * rates[index]
        step = _MOMENTUM * step + rate * (axes / damped) @ (axes.T @ mean)
        coefficients[1:] += step
        if index >= n_discarded:
            total += coefficients
    coefficients = total / (n_rounds - n_discarded)
    variances, centred = np.zeros_like(total), np.zeros_like(total)
    slopes, squares = _clipped_moments(reference, coefficients, limits)
    factors = rates[:, None] / damped
    for column in range(n_columns):
        # One class in the axes of the curvature: each round adds its error, and keeps a part.
        pulls = factors * n_columns * slopes[column] * scales
        responses = factors * _mean_responses(pulls, n_discarded)
        sampling = squares[column] * n_columns * scales / rows.total
        errors = noise**2 * (responses**2).sum(axis=0) + sampling * responses.sum(axis=0) ** 2
        covariance = np.zeros((len(total), len(total)))
        covariance[1:, 1:] = (axes * errors) @ axes.T
        variances[:, column] = np.diag(covariance)
        centred[:, column] = centred_variances(features.groups, covariance)
    return FittedRounds(
        Posterior(coefficients, variances, centred, np.empty(0)), released, features
    )


def _rate(reference: ReferenceRows, coefficients: Floats, limits: Floats) -> float:
    """Choose the factor of a step by the slope of clipped residuals on the reference rows."""
    p = reference.probabilities(coefficients)
    factors = _clipping_factors(p, limits)
    weights = reference.weights[:, None] * (p * factors).sum(axis=1, keepdims=True)
    slopes = np.diag((weights * p).sum(axis=0)) - p.T @ (weights * p)
    largest = float(np.linalg.eigvalsh(slopes)[-1]) * p.shape[1]
    return min(_LARGEST_STEP, _RELATIVE_STEP / largest)


def _prior_precision(features: FeatureMap) -> Floats:
    """Return the inverse correlations of all coefficients' prior."""
    precision = np.zeros((features.n_features, features.n_features))
    for place, inverse_correlations in features.groups:
        precision[place, place] = inverse_correlations
    return precision


def _clipping_factors(p: Floats, limits: Floats) -> Floats:
    """Compute the factor by which residuals are clipped, for each true class.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities.
    limits : ndarray of shape (n_rows, 1)
        Largest lengths of residuals in units of the clipping norm.
    """
    lengths = np.sqrt((p**2).sum(axis=1, keepdims=True) - 2 * p + 1)
    largest = _CLIPPING_NORM * limits
    return np.asarray(largest / np.maximum(lengths, largest))


def _clipped_moments(
    reference: ReferenceRows, coefficients: Floats, limits: Floats
) -> tuple[Floats, Floats]:
    """Compute each class's mean slope of clipped residuals, and their mean square."""
    p = reference.probabilities(coefficients)
    factors = _clipping_factors(p, limits)
    slopes = p * (1 - p) * (p * factors).sum(axis=1, keepdims=True)
    own = p * (factors * (1 - p)) ** 2
    others = p**2 * ((p * factors**2).sum(axis=1, keepdims=True) - p * factors**2)
    return reference.weights @ slopes, reference.weights @ (own + others)


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
