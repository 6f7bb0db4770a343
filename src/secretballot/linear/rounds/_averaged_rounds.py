"""Rounds of a fit of several classes or labels: preconditioned steps, averaged."""

from __future__ import annotations

import numpy as np

from secretballot.linear.features import Floats
from secretballot.linear.rounds._clipped_residuals import ClippedResiduals
from secretballot.linear.rounds._posterior import Groups, Posterior
from secretballot.linear.rounds._response import FittedRounds, RoundPlan
from secretballot.linear.rounds._score_factor import ScoreEquation
from secretballot.linear.rounds._synthetic_rows import release_first_round

#: Damping of the curvature in units of the noise times the features' norm, so that the scale of the
#: features does not matter.
_DAMPING = 20.0
#: Largest step, and its target in units of the step that a quadratic objective would need.
_LARGEST_STEP, _RELATIVE_STEP = 10.0, 3.0
#: Part of a step that goes on in the next one, and part of the rounds before the mean begins.
_MOMENTUM, _DISCARDED = 0.5, 0.65
#: Damping of the models that are compared after a few rounds, in units of the noise of their mean.
_PILOT_DAMPING = 2.0
#: Part of the rounds that say nothing of the factor of scores: their scores are far from the final
#: ones, and errors of the reference rows count more.
_FACTOR_DISCARDED = 0.15
#: Curvature, in the units of the damping, below which coefficients are mostly noise and have little
#: part in scores: they hardly count in the equation of the factor.
_LEAST_CURVATURE = 0.05
#: Rounds of residuals after the first.
AVERAGED_ROUNDS = 39


def run_averaged_rounds(plan: RoundPlan, residuals: ClippedResiduals) -> FittedRounds:
    """Release sums of clipped residuals, and move the coefficients of all columns along each.

    The coefficients are the mean over the last third of the rounds; of classes, times a factor. See
    "Three classes and more" in `docs/theory/logistic-regression.md`.
    """
    return AveragedRounds(plan, residuals).finish(plan.n_rounds)


class AveragedRounds:
    """Rounds of one fit, which may be interrupted."""

    def __init__(self, plan: RoundPlan, residuals: ClippedResiduals) -> None:
        features, start = plan.features, residuals.start
        self.plan, self.residuals = plan, residuals
        self._noise = residuals.clipping_norm * plan.noise(features.norm) / plan.rows.total
        first, self._counts, self._reference = release_first_round(plan, residuals.scaled, start)
        self._released, self._rates = [first], list[float]()
        self._asked_coefficients = list[Floats]()
        weights = np.ones((len(self._reference.weights), 1))
        curvature = self._reference.products(weights)[0]
        # Axes in which both the curvature and the prior precision are diagonal.
        self._precision = np.zeros((features.n_features, features.n_features))
        for group in features.groups:
            self._precision[group.place, group.place] = group.precision
        root = np.linalg.inv(np.linalg.cholesky(self._precision)).T
        scales, axes = np.linalg.eigh(root.T @ (curvature / residuals.inverse_slope) @ root)
        self._scales, self._axes = np.maximum(scales, 0.0), root @ axes
        self._damped = self._scales + _DAMPING * self._noise * features.norm
        self._coefficients = np.zeros((1 + features.n_features, len(start)))
        self._coefficients[0] = start
        self._step = np.zeros_like(self._coefficients[1:])
        self._limits = self._reference.design.residual_limits(features.norm)

    @property
    def n_done(self) -> int:
        return len(self._rates)

    def advance(self, n_rounds: int) -> Floats:
        """Take steps, and return the mean of their coefficients; the present ones of no steps."""
        total = np.zeros_like(self._coefficients)
        for _ in range(n_rounds):
            self._take_step()
            total += self._coefficients
        return total / n_rounds if n_rounds else self._coefficients

    def right_sum(self) -> Floats:
        """Sum the shares of the private rows that the steps so far predict right: (1,).

        After few steps coefficients are far from their end. So a Newton step by the mean of all
        released sums, damped by its noise, is added to the mean of the coefficients.
        """
        scale = self.residuals.clipping_norm / self.plan.rows.total
        coefficients = np.mean(self._asked_coefficients, axis=0)
        slopes, _ = self.residuals.moments(self._reference, self._limits, coefficients)
        noise = self._noise / np.sqrt(self.n_done) * self.plan.features.norm
        damped = (self._scales + _PILOT_DAMPING * noise)[:, None]
        mean = scale * np.mean(self._released, axis=0)
        mean -= mean.mean(axis=1, keepdims=True)
        inverse_slopes = 1 / (self.residuals.inverse_slope * slopes)
        coefficients[1:] += inverse_slopes * (self._axes @ (self._axes.T @ mean / damped))
        return self.plan.rows.right_sum(coefficients, self.plan.features.norm)

    def finish(self, n_rounds: int) -> FittedRounds:
        """Take all steps that remain of some rounds, and return the mean coefficients."""
        n_discarded = max(int(_DISCARDED * n_rounds), self.n_done)
        self.advance(n_discarded - self.n_done)
        coefficients = self.advance(n_rounds - n_discarded)
        responses = self._responses(coefficients, n_discarded)
        errors = self._errors(coefficients, responses)
        variances, centred = _variances(self._axes, errors, self.plan.features.groups)
        # The metric of the damped objective, which the steps descend.
        covariance = np.zeros((len(coefficients),) * 2)
        covariance[1:, 1:] = (self._axes / self._damped) @ self._axes.T
        posterior = Posterior(coefficients, variances, centred, np.empty(0), covariance)
        if self.residuals.has_score_factor:
            posterior = posterior.scaled(self._score_factor(coefficients, responses))
        return FittedRounds(
            posterior,
            self._released,
            self.plan.features,
            reference=self._reference,
            counts=self._counts,
        )

    def _take_step(self) -> None:
        """Move the coefficients along one released mean; the first was released before."""
        rows, residuals = self.plan.rows, self.residuals
        if self._rates:
            sums = rows.residual_sums(self._coefficients, self.plan.features.norm, residuals.scaled)
            self._released.append(self.plan.noisy_sums(sums, self.plan.features.norm))
        self._asked_coefficients.append(self._coefficients.copy())
        scale = residuals.clipping_norm / rows.total
        mean, slope = residuals.read(
            scale * self._released[-1], self._reference, self._limits, self._coefficients
        )
        if self._rates:
            self._released[-1] = mean / scale
        self._rates.append(min(_LARGEST_STEP, _RELATIVE_STEP / slope))
        rate = (1 - _MOMENTUM) * self._rates[-1]
        scaled_axes = rate * (self._axes / self._damped)
        self._step = _MOMENTUM * self._step + scaled_axes @ (self._axes.T @ mean)
        self._coefficients[1:] += self._step

    def _responses(self, coefficients: Floats, n_discarded: int) -> Floats:
        """Compute each round's part of the final error: (n_columns, n_rounds, n_axes)."""
        slopes, _ = self.residuals.moments(self._reference, self._limits, coefficients)
        factors = np.array(self._rates)[:, None] / self._damped
        pulls = factors * self.residuals.inverse_slope * self._scales
        return np.stack([factors * _mean_responses(slope * pulls, n_discarded) for slope in slopes])

    def _errors(self, coefficients: Floats, responses: Floats) -> Floats:
        """Compute the variances of the mean coefficients along the axes: (n_axes, n_columns)."""
        _, squares = self.residuals.moments(self._reference, self._limits, coefficients)
        sampling = self.residuals.inverse_slope * self._scales / self.plan.rows.total
        noise = self._noise**2 * (responses**2).sum(axis=1)
        return np.asarray((noise + np.outer(squares, sampling) * responses.sum(axis=1) ** 2).T)

    def _score_factor(self, coefficients: Floats, responses: Floats) -> float:
        """Estimate the factor of all scores from the released sums along the coefficients."""
        first = int(_FACTOR_DISCARDED * len(self._rates))
        least = _LEAST_CURVATURE * self._noise * self.plan.features.norm
        shares = self._scales / (self._scales + least)
        along_axes = self._axes.T @ (self._precision @ coefficients[1:])
        direction = self._axes @ (shares[:, None] * along_axes)
        scale = self.residuals.clipping_norm / self.plan.rows.total
        products = [scale * (direction * sums).sum() for sums in self._released[first:]]
        # The noise of a round is a part of the coefficients. It is centred over the classes.
        n_classes = coefficients.shape[1]
        overlaps = responses[:, first:].mean(axis=1) @ (shares * (self._axes**2).sum(axis=0))
        overlap = self._noise**2 * (1 - 1 / n_classes) * float(overlaps.sum())
        return ScoreEquation.of_rounds(
            self.plan,
            self._reference,
            self.residuals,
            self._asked_coefficients[first:],
            coefficients,
            direction,
            released=float(np.mean(products)) - overlap,
            variance=self._noise**2 * float((direction**2).sum()) / len(products),
        ).factor()


def _variances(axes: Floats, errors: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """Compute the variances of coefficients, also less the mean on which they are centred.

    `errors` are variances along the axes. Those of the intercept, which has no error here, are 0.
    """
    means = np.empty_like(axes)
    for group in groups:
        means[group.place] = axes[group.centred_on].mean(axis=0)
    intercept = np.zeros((1, errors.shape[1]))
    return (
        np.concatenate([intercept, axes**2 @ errors]),
        np.concatenate([intercept, (axes - means) ** 2 @ errors]),
    )


def _mean_responses(pulls: Floats, n_discarded: int) -> Floats:
    """Compute the part of each round's error in the mean over the last rounds.

    `pulls` are the share of all earlier errors that a round, without momentum, takes back.
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
