"""Posterior of the coefficients, given the released sums and their known errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.special import expit

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
#: Most Gauss-Newton steps of a pass, and most halvings of a step.
_STEPS, _HALVINGS = 2, 8
#: Slopes are computed anew after a step that moved a coefficient by more than this.
_CURVED_STEP = 0.5
#: Largest change of a coefficient in a step.
_LARGEST_STEP = 3.0


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


class Link(NamedTuple):
    """Expected target of a row as a function of its score, and how coefficients are fitted to it.

    The target is the number itself, or the indicator of the second class.
    """

    is_linear: bool  # whether scores are expected targets: else they are log-odds
    hyperprior: Hyperprior
    # Passes that compute errors anew, updates of the prior variances in each, and the change of a
    # coefficient at which passes end.
    n_passes: int
    n_updates: int
    converged: float
    # Largest change of a coefficient by updates of the prior variances in a pass.
    longest_shift: float
    # Power of the change of prior variances in an update.
    relaxation: float
    # Errors are computed from a moving average of expected targets: weight of the earlier passes.
    earlier_weight: float
    # Share of a score's posterior variance that is added to its squared distance from the score at
    # the release, and the largest variance that counts.
    variance_share: float
    largest_score_variance: float
    # Largest mean square of a round's deviations from the model, in units of their errors, at which
    # reference rows are trusted.
    largest_misfit: float
    intercept_precision: float = _INTERCEPT_PRECISION

    def expected(self, scores: Floats) -> Floats:
        return scores if self.is_linear else np.asarray(expit(scores))

    def slopes(self, expected: Floats) -> Floats:
        return np.ones_like(expected) if self.is_linear else expected * (1 - expected)


#: Link of two classes. `longest_shift`: near probabilities of 0 and 1 the linear form holds for
#: small changes only. `relaxation`: updates of prior variances don't oscillate below a power of 2.
#: `earlier_weight`: errors computed from the last coefficients alone would be too small and too
#: large in turns, because coefficients that follow the rounds closely are far from those at the
#: releases.
LOG_ODDS = Link(
    is_linear=False,
    hyperprior=Hyperprior(mean=0.2, largest=10.0),
    n_passes=5,
    n_updates=2,
    converged=0.05,
    longest_shift=1.0,
    relaxation=1.5,
    earlier_weight=0.5,
    variance_share=0.3,
    largest_score_variance=4.0,
    largest_misfit=np.inf,
)


def number_link(variance: float) -> Link:
    """Return the link of numbers with this variance.

    No effect varies more than the target: a wider prior would fit noise. The effect of missing
    cells has a stronger hyperprior: if few cells are missing, or none, the fit would take noise of
    the first round for this effect, and later rounds could not correct it. The misfit is about .8
    if reference rows are like the private rows.
    """
    hyperprior = Hyperprior(mean=0.02, largest=1.0, missing_weight=3.0)
    return Link(
        is_linear=True,
        hyperprior=hyperprior.scaled(variance),
        n_passes=8,
        n_updates=3,
        converged=1e-3 * variance**0.5,
        longest_shift=np.inf,
        relaxation=1.0,
        earlier_weight=0.0,
        variance_share=1.0,
        largest_score_variance=np.inf,
        largest_misfit=1.6,
        intercept_precision=_INTERCEPT_PRECISION / variance,
    )


@dataclass(frozen=True)
class ReleasedRound:
    """Noisy mean of gain * (target - expected) * features over the private rows."""

    # (n_released,): means of the first features: those of pairs are added in later rounds.
    mean: Floats
    # (n_rows, 1): expected targets of the reference rows from which the residuals were taken.
    expected: Floats
    gain: Floats  # (n_rows,): factor of the residuals, which bounds their length
    noise: float | Floats  # standard deviation of the noise on each number
    variance: float | None = None  # of a row's residual times the gain; None: that of its class


@dataclass(frozen=True)
class Posterior:
    """Normal approximation of the coefficients' posterior."""

    # Coefficients, variances: (1 + n_features, n_outputs), the intercept first.
    coefficients: Floats
    variances: Floats
    # (1 + n_features, n_outputs): variances of coefficients less the mean on which their group is
    # centred, which is known much less well.
    centred_variances: Floats
    prior_variances: Floats  # (n_groups,): estimated mean square of each group's coefficients
    # (1 + n_features, 1 + n_features): covariance of the coefficients of an output, up to a factor;
    # None before anything is released.
    covariance: Floats | None = None

    @classmethod
    def initial(
        cls, n_features: int, n_outputs: int, n_groups: int, variance: float = _INITIAL_VARIANCE
    ) -> Posterior:
        """Return coefficients of 0 with this prior variance, before anything is released."""
        zeros = np.zeros((1 + n_features, n_outputs))
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
        """Add groups of these sizes, with coefficients of 0; `scale` is the target's variance."""
        zeros = np.zeros((sum(sizes), self.coefficients.shape[1]))
        return Posterior(
            np.concatenate([self.coefficients, zeros]),
            np.concatenate([self.variances, zeros]),
            np.concatenate([self.centred_variances, zeros]),
            np.append(self.prior_variances, np.full(len(sizes), _INITIAL_PAIR_VARIANCE * scale)),
        )


class WhitenedRounds:
    """Released rounds in units of their errors, as functions of the coefficients.

    Results are lists with an array for each round.

    The errors of a round are the noise, the sampling of private rows, and the difference between
    reference and private rows. The errors of different rounds are taken as independent: see "How
    the posterior is computed" in `docs/theory/logistic-regression.md`. The sizes of the errors are
    computed from `expected`, the expected targets of the reference rows, and the `covariance` of
    the coefficients. `unit_slopes` are the slopes of mean scores, if the link is linear.
    """

    def __init__(
        self,
        rounds: Sequence[ReleasedRound],
        reference: ReferenceRows,
        link: Link,
        n_people: float,
        expected: Floats,
        covariance: Floats,
        unit_slopes: Floats | None = None,
    ) -> None:
        self.reference, self.link, self._unit_slopes = reference, link, unit_slopes
        self.released = [round_.mean for round_ in rounds]
        self.expected_at_release = np.concatenate([round_.expected for round_ in rounds], axis=1)
        self.gains = np.stack([round_.gain for round_ in rounds], axis=1)
        errors = self._error_covariances(rounds, n_people, expected, covariance)
        self._roots = [
            # By columns, as LAPACK reads it: of a symmetric matrix that is its transpose.
            cholesky(error[: len(mean), : len(mean)].T, overwrite_a=True, check_finite=False)
            for error, mean in zip(errors, self.released, strict=True)
        ]

    def _error_covariances(
        self,
        rounds: Sequence[ReleasedRound],
        n_people: float,
        expected: Floats,
        covariance: Floats,
    ) -> Floats:
        reference, link = self.reference, self.link
        mismatch = 1 / reference.effective_size + 1 / n_people
        gaps, slopes = self.gains * (expected - self.expected_at_release), link.slopes(expected)
        residuals = self.gains**2 * slopes  # the slope of two classes is the variance of one
        for residual, round_ in zip(residuals.T, rounds, strict=True):
            if round_.variance is not None:
                residual[:] = round_.variance
        # All rounds share one sampling error. They are taken as independent, so each counts it
        # multiplied by the number of rounds.
        sampling = residuals * (len(rounds) / n_people)
        variances = reference.design.quadratic(covariance)
        unknown = np.minimum(variances, link.largest_score_variance)[:, None]
        squares = gaps**2 + link.variance_share * unknown * (self.gains * slopes) ** 2
        errors = reference.products(sampling + squares * mismatch)
        unit = self._unit_slopes
        spread = None if unit is None else product(product(unit, covariance), unit.T)
        for error, gap, gain, round_ in zip(
            errors, reference.means(gaps).T, self.gains[0], rounds, strict=True
        ):
            error -= mismatch * np.outer(gap, gap)
            if spread is not None:
                error -= mismatch * gain**2 * spread
            np.einsum("ii->i", error)[: len(round_.mean)] += round_.noise**2
        return errors

    def residuals(self, coefficients: Floats) -> list[Floats]:
        """Compute released less expected means: (n_released,)."""
        expected = self.link.expected(self.reference.scores(coefficients))
        means = self.reference.means(self.gains * (expected - self.expected_at_release)).T
        return self._whiten(
            [mean - gap[: len(mean)] for mean, gap in zip(self.released, means, strict=True)]
        )

    def slopes(self, coefficients: Floats) -> list[Floats]:
        """Compute the expected means' derivatives: (n_released, 1 + n_features)."""
        unit = self._unit_slopes
        if unit is not None:
            return self._whiten(
                [
                    gain * unit[: len(mean)]
                    for mean, gain in zip(self.released, self.gains[0], strict=True)
                ]
            )
        p = self.link.expected(self.reference.scores(coefficients))
        weights = self.gains * self.link.slopes(p)
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
    link: Link = LOG_ODDS,
) -> Posterior:
    """Fit the coefficients of one score to all released rounds by generalised least squares.

    Each group of coefficients has a normal prior, whose variance maximises the evidence. Where a
    round deviates by far more than its errors, reference rows count as fewer.
    """
    values, prior_variances = start.coefficients, start.prior_variances
    prior = prior_precision(groups, prior_variances, len(values), link)
    unit_slopes, trusted = None, reference
    if link.is_linear:
        unit_slopes = reference.unit_slopes()
        covariance = np.zeros_like(prior)  # errors of the first pass are those of known scores
    else:
        covariance = inverse(prior) if start.covariance is None else start.covariance
    expected = link.expected(reference.scores(values))
    for pass_ in range(link.n_passes):
        present = link.expected(reference.scores(values))
        expected = link.earlier_weight * expected + (1 - link.earlier_weight) * present
        whitened = WhitenedRounds(
            rounds, trusted, link, n_people, expected, covariance, unit_slopes
        )
        before = values
        minimum, precision, moved = _minimise(whitened, prior, values)
        target = product(precision + prior, minimum[:, 0])
        for _ in range(link.n_updates):
            covariance = inverse(precision + prior)
            shift = product(covariance, target)[:, None] - minimum
            values = minimum + _shortened(shift, link.longest_shift)
            prior_variances = updated_variances(
                groups, values[:, 0], covariance, link, prior_variances
            )
            prior = prior_precision(groups, prior_variances, len(values), link)
        if link.is_linear:
            deviations = whitened.residuals(values)
            misfit = max(float(np.mean(deviation**2)) for deviation in deviations)
            if misfit > link.largest_misfit or trusted.effective_size < reference.effective_size:
                size = min(trusted.effective_size / misfit, reference.effective_size)
                trusted = replace(trusted, effective_size=size)
            # The first pass takes scores as known: its change is no sign of convergence.
            moved = float(np.abs(values - before).max()) if pass_ else np.inf
        if moved < link.converged:
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
    """Minimise the penalised sum of squares by Gauss-Newton steps that never raise it.

    Returns the coefficients, the precision without the prior at the last slopes, and the largest
    change of a coefficient in a step. One step finds the minimum of a linear link.
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
        step = solve(root, gradient)[:, None]
        if whitened.link.is_linear:
            return values + step, precision, float(np.abs(step).max())
        step = _shortened(step, _LARGEST_STEP)
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
        if moved < whitened.link.converged:
            break
    return values, precision, furthest


def _shortened(step: Floats, longest: float) -> Floats:
    """Scale a step so that no coefficient moves further than `longest`."""
    return step * min(1.0, longest / max(float(np.abs(step).max()), 1e-12))


def _objective(residuals: Sequence[Floats], prior: Floats, values: Floats) -> float:
    squares = sum(residual @ residual for residual in residuals)
    return float(squares + values[:, 0] @ product(prior, values[:, 0]))


def prior_precision(
    groups: Groups, prior_variances: Floats, n_coefficients: int, link: Link = LOG_ODDS
) -> Floats:
    """Compute the prior precision of all coefficients, the intercept first."""
    prior = np.zeros((n_coefficients, n_coefficients))
    prior[0, 0] = link.intercept_precision
    for group, variance in zip(groups, prior_variances, strict=True):
        prior[1:, 1:][group.place, group.place] = group.precision / variance
    return prior


def updated_variances(
    groups: Groups,
    values: Floats,
    covariance: Floats,
    link: Link,
    present: Floats,
) -> Floats:
    """Estimate the mean square of each group's coefficients, in the prior's metric."""
    effects, errors, hyperprior = values[1:], covariance[1:, 1:], link.hyperprior
    variances, limits = [], []
    for group in groups:
        limits.append(hyperprior.largest if group.is_column else hyperprior.largest_dense)
        place, precision = group.place, group.precision
        square = effects[place] @ precision @ effects[place]
        square += np.sum(precision * errors[place, place])
        weight = _HYPERPRIOR_WEIGHT if group.centre is None else hyperprior.missing_weight
        variances.append((square + weight * hyperprior.mean) / (len(precision) + weight))
    updated = present * (np.array(variances) / present) ** link.relaxation
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


#: Most iterations of non-negative least squares for each relation.
_ITERATIONS = 30
#: Ridge that makes multipliers unique: without it those of a pair of two ordered columns are not.
_RIDGE = 1e-6
#: Binary places of rounded coefficients, below the largest coefficient.
_BITS = 32


def monotone_posterior(posterior: Posterior, relations: NDArray[np.intp]) -> Posterior:
    """Move the coefficients to the most probable ordered ones; variances stay as they are."""
    if not len(relations):
        return posterior
    assert posterior.covariance is not None
    columns = [
        ordered_coefficients(values, posterior.covariance, 1 + relations)
        for values in posterior.coefficients.T
    ]
    return replace(posterior, coefficients=np.stack(columns, axis=1))


def ordered_coefficients(values: Floats, covariance: Floats, relations: NDArray[np.intp]) -> Floats:
    """Return the closest coefficients in a given order, in the metric of a normal law.

    They minimise (b - values)' covariance^-1 (b - values) subject to b[i] <= b[j] for all relations
    (i, j).
    """
    related, places = np.unique(relations, return_inverse=True)
    lower, upper = places.reshape(relations.shape).T
    root = cholesky(covariance[np.ix_(related, related)], lower=True)
    ordered = _in_order(_project(values[related], root, lower, upper), lower, upper)
    moved = cho_solve((root, True), ordered - values[related])
    # All other coefficients have their mean given these.
    result = values + covariance[:, related] @ moved
    result[related] = ordered
    return result


def _project(
    values: Floats, root: Floats, lower: NDArray[np.intp], upper: NDArray[np.intp]
) -> Floats:
    """Solve the quadratic program, up to rounding, by non-negative least squares on its dual."""
    # The solution is root @ (start + slopes' multipliers).
    start = solve_triangular(root, values, lower=True)
    slopes = root[upper] - root[lower]
    slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
    n_relations = len(slopes)
    stacked = np.concatenate([slopes.T, _RIDGE * np.eye(n_relations)])
    target = np.concatenate([-start, np.zeros(n_relations)])
    try:
        multipliers, _ = nnls(stacked, target, maxiter=_ITERATIONS * n_relations)
    except RuntimeError:  # too many iterations: the budget is spent, so an answer is needed
        multipliers = np.zeros(n_relations)
    return np.asarray(root @ (start + slopes.T @ multipliers))


def _in_order(values: Floats, lower: NDArray[np.intp], upper: NDArray[np.intp]) -> Floats:
    """Remove remaining violations: take the mean of running maxima and running minima."""
    largest, smallest = values.copy(), values.copy()
    while (largest[lower] > largest[upper]).any():
        np.maximum.at(largest, upper, largest[lower])
    while (smallest[lower] > smallest[upper]).any():
        np.minimum.at(smallest, lower, smallest[upper])
    return (largest + smallest) / 2


def rounded_coefficients(values: Floats) -> Floats:
    """Round coefficients so that their sums times weights of knots are exact, and so in order."""
    exponent = int(np.frexp(np.abs(values).max())[1]) - _BITS
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent))
