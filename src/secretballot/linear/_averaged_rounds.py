"""Rounds of a fit of several classes or labels: preconditioned steps, averaged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._design import Design, Floats
from secretballot.linear._posterior import Groups, Posterior
from secretballot.linear._private_sums import Residuals, RowSums
from secretballot.linear._reference_rows import ReferenceRows
from secretballot.linear._response import FittedRounds, RoundPlan
from secretballot.linear._synthetic_rows import release_first_round


class ClippedResponse(ABC):
    """Response whose residuals are clipped to a public length."""

    @property
    @abstractmethod
    def first_scores(self) -> Floats:
        """Scores of the first round: (n_outputs,)."""

    @property
    @abstractmethod
    def clipping_norm(self) -> float:
        """Length to which residuals of a row with features of the largest length are clipped."""

    @property
    @abstractmethod
    def inverse_slope(self) -> float:
        """Inverse of the mean slope of probabilities by which the curvature is scaled."""

    @property
    @abstractmethod
    def scaled_residuals(self) -> Residuals:
        """Residuals in units of the clipping norm; they are clipped where they are summed."""

    @property
    def has_score_factor(self) -> bool:
        """True if `corrected` keeps the expectation of clipped residuals: scores get too large."""
        return False

    @abstractmethod
    def corrected(
        self, mean: Floats, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, float]:
        """Return a released mean less its expectation under the model, and its largest slope.

        `limits` (n_reference_rows, 1) are the largest lengths of residuals, in units of the
        clipping norm. The slope is the largest over the outputs, in units of the slope that scales
        the curvature.
        """

    @abstractmethod
    def moments(
        self, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, Floats]:
        """Compute the mean slope of clipped residuals, and their mean square, for each output."""

    def score_products(self, p: Floats, limits: Floats, scores: Floats) -> Floats:
        """Compute the products of clipped residuals and scores, for each true class."""
        raise NotImplementedError


#: Smallest and largest factor of scores.
_BOUNDS = (0.05, 2.0)
#: Prior standard deviation of the factor's logarithm, below and above 0: noise may hide the factor
#: of a small fit. Noise and clipping may make scores many times too large, and nothing makes them
#: many times too small.
_SHRINKING, _GROWING = 1.0, 0.25
#: Distance by which the factor's logarithm is shrunk towards 0: residuals do not follow the model
#: exactly, even without noise.
_MODEL_ERROR = 0.05


@dataclass(frozen=True)
class ScoreEquation:
    """Released mean product of residuals and scores, and its expectation under a factor.

    The product of a row is the sum, over the classes, of its clipped residuals times the scores of
    a direction, averaged over rounds. See "The factor of scores" in
    `docs/theory/logistic-regression.md`.
    """

    released: float  # mean product over the private rows, less its bias by noise
    variance: float  # variance of its noise
    products: Floats  # (n_rows, n_classes): product of each reference row, for each true class
    # (n_rows, n_classes): scores of the reference rows, to be multiplied by the factor.
    scores: Floats
    weights: Floats  # (n_rows,): weights of the reference rows; their sum is 1
    effective_size: float  # number of public rows with which the expectation would be as accurate

    @classmethod
    def of_rounds(
        cls,
        plan: RoundPlan,
        reference: ReferenceRows,
        response: ClippedResponse,
        rounds: Sequence[Floats],
        coefficients: Floats,
        direction: Floats,
        *,
        released: float,
        variance: float,
    ) -> ScoreEquation:
        """Compute the products of reference rows, averaged over rounds.

        With dense features only public rows are used: synthetic rows with permuted columns have
        scores of another size. `rounds` are the coefficients at which residuals were released.
        """
        if not isinstance(plan.features, AdditiveBins):
            assert isinstance(plan.public, np.ndarray)
            n_public = len(plan.public)
            weights = np.full(n_public, 1 / n_public)
            reference = ReferenceRows(Design(plan.public), weights, float(n_public))
        limits = reference.design.residual_limits(plan.features.norm)
        direction_scores = reference.design.decision(direction, 0.0)
        products = [
            response.score_products(reference.probabilities(at_release), limits, direction_scores)
            for at_release in rounds
        ]
        return cls(
            released,
            variance,
            np.mean(products, axis=0),
            reference.scores(coefficients),
            reference.weights,
            reference.effective_size,
        )

    def factor(self) -> float:
        """Compute the factor that solves the equation, shrunk towards 1 by the errors."""
        p = softmax(self.scores, axis=1)
        products = (p * self.products).sum(axis=1)
        spread = float(self.weights @ (products - self.weights @ products) ** 2)
        variance = self.variance + spread / self.effective_size

        def loss(logarithm: float) -> float:
            # The mean product if the true classes follow the scores times the factor.
            p = softmax(float(np.exp(logarithm)) * self.scores, axis=1)
            gap = self.released - float(self.weights @ (p * self.products).sum(axis=1))
            deviation = _GROWING if logarithm > 0 else _SHRINKING
            return gap**2 + variance * (logarithm / deviation) ** 2

        minimum = minimize_scalar(loss, bounds=np.log(_BOUNDS), method="bounded")
        size = max(abs(float(minimum.x)) - _MODEL_ERROR, 0.0)
        return float(np.exp(np.copysign(size, minimum.x)))


#: Damping of the curvature in units of the noise times the features' norm, so that the scale of the
#: features does not matter.
_DAMPING = 20.0
#: Largest learning rate, and its target in units of 1 / slope.
_LARGEST_STEP, _RELATIVE_STEP = 10.0, 3.0
#: Momentum of the steps, and part of the rounds that is left out of the mean.
_MOMENTUM, _DISCARDED = 0.5, 0.65
#: Damping of the models that are compared after a few rounds, in units of the noise of their mean.
_PILOT_DAMPING = 2.0
#: Part of the rounds that is not used for the factor of scores: their scores are far from the final
#: ones, and errors of the reference rows count more.
_FACTOR_DISCARDED = 0.15
#: Curvature, in the units of the damping, below which coefficients are mostly noise and contribute
#: little to scores: their weight in the equation of the factor is small.
_LEAST_CURVATURE = 0.05
#: Rounds of residuals after the first.
AVERAGED_ROUNDS = 39


def run_averaged_rounds(plan: RoundPlan, response: ClippedResponse) -> FittedRounds:
    """Release sums of clipped residuals, and move the coefficients of all outputs along each.

    Coefficients are averaged over the last third of the rounds; for classes, times a factor. See
    "Three classes and more" in `docs/theory/logistic-regression.md`.
    """
    return AveragedRounds(plan, response).finish(plan.n_rounds)


class AveragedRounds:
    """Rounds of one fit: `advance` takes some of them, and `finish` all that remain."""

    def __init__(self, plan: RoundPlan, response: ClippedResponse) -> None:
        features, start = plan.features, response.first_scores
        self.plan, self.response = plan, response
        self._noise = response.clipping_norm * plan.noise(features.norm) / plan.total
        first, self._counts, self._reference = release_first_round(
            plan, response.scaled_residuals, start
        )
        self._released, self._rates = [first], list[float]()
        self._coefficients_at_release = list[Floats]()
        weights = np.ones((len(self._reference.weights), 1))
        curvature = self._reference.products(weights)[0]
        # Axes in which both the curvature and the prior precision are diagonal.
        self._precision = np.zeros((features.n_features, features.n_features))
        for group in features.groups:
            self._precision[group.place, group.place] = group.precision
        root = np.linalg.inv(np.linalg.cholesky(self._precision)).T
        scales, axes = np.linalg.eigh(root.T @ (curvature / response.inverse_slope) @ root)
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
        """Take steps, and return the mean of their coefficients; for 0 steps the present ones."""
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
        scale = self.response.clipping_norm / self.plan.total
        coefficients = np.mean(self._coefficients_at_release, axis=0)
        slopes, _ = self.response.moments(self._reference, self._limits, coefficients)
        noise = self._noise / np.sqrt(self.n_done) * self.plan.features.norm
        damped = (self._scales + _PILOT_DAMPING * noise)[:, None]
        mean = scale * np.mean(self._released, axis=0)
        mean -= mean.mean(axis=1, keepdims=True)
        inverse_slopes = 1 / (self.response.inverse_slope * slopes)
        coefficients[1:] += inverse_slopes * (self._axes @ (self._axes.T @ mean / damped))
        norm = self.plan.features.norm
        right_sum = partial(RowSums.right_sum, coefficients=coefficients, norm=norm)
        return self.plan.rows.sum(right_sum)

    def finish(self, n_rounds: int) -> FittedRounds:
        """Take the remaining steps of `n_rounds` in total, and compute the posterior."""
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
        if self.response.has_score_factor:
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
        response, norm = self.response, self.plan.features.norm
        if self._rates:
            residual_sums = partial(
                RowSums.residual_sums,
                coefficients=self._coefficients,
                norm=norm,
                residuals=response.scaled_residuals,
            )
            self._released.append(self.plan.noisy_sums(self.plan.rows.sum(residual_sums), norm))
        self._coefficients_at_release.append(self._coefficients.copy())
        scale = response.clipping_norm / self.plan.total
        mean, slope = response.corrected(
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
        """Compute each round's part of the final error: (n_outputs, n_rounds, n_axes)."""
        slopes, _ = self.response.moments(self._reference, self._limits, coefficients)
        factors = np.array(self._rates)[:, None] / self._damped
        pulls = factors * self.response.inverse_slope * self._scales
        return np.stack([factors * _mean_responses(slope * pulls, n_discarded) for slope in slopes])

    def _errors(self, coefficients: Floats, responses: Floats) -> Floats:
        """Compute the variances of the mean coefficients along the axes: (n_axes, n_outputs)."""
        _, squares = self.response.moments(self._reference, self._limits, coefficients)
        sampling = self.response.inverse_slope * self._scales / self.plan.total
        noise = self._noise**2 * (responses**2).sum(axis=1)
        return np.asarray((noise + np.outer(squares, sampling) * responses.sum(axis=1) ** 2).T)

    def _score_factor(self, coefficients: Floats, responses: Floats) -> float:
        """Estimate the factor of all scores from the released sums along the coefficients."""
        first = int(_FACTOR_DISCARDED * len(self._rates))
        least = _LEAST_CURVATURE * self._noise * self.plan.features.norm
        shares = self._scales / (self._scales + least)
        along_axes = self._axes.T @ (self._precision @ coefficients[1:])
        direction = self._axes @ (shares[:, None] * along_axes)
        scale = self.response.clipping_norm / self.plan.total
        products = [scale * (direction * sums).sum() for sums in self._released[first:]]
        # The coefficients contain the noise of the rounds, so their product with it is not 0 on
        # average. It is centred over the classes.
        n_classes = coefficients.shape[1]
        overlaps = responses[:, first:].mean(axis=1) @ (shares * (self._axes**2).sum(axis=0))
        overlap = self._noise**2 * (1 - 1 / n_classes) * float(overlaps.sum())
        return ScoreEquation.of_rounds(
            self.plan,
            self._reference,
            self.response,
            self._coefficients_at_release[first:],
            coefficients,
            direction,
            released=float(np.mean(products)) - overlap,
            variance=self._noise**2 * float((direction**2).sum()) / len(products),
        ).factor()


def _variances(axes: Floats, errors: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """Compute the variances of coefficients, also less the mean on which they are centred.

    `errors` are variances along the axes. The intercept has no error here: its variances are 0.
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

    `pulls` is the share of all earlier errors that a round, without momentum, corrects.
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
