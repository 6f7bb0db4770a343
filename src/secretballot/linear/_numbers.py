"""Numbers as the response of a fit: rounds of clipped residuals with a histogram."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.linear._additive_bins import AdditiveBins, PairedBins
from secretballot.linear._design import Floats
from secretballot.linear._pair_rounds import release_pairs
from secretballot.linear._posterior import Posterior, ReleasedRound, fit_posterior, number_link
from secretballot.linear._private_sums import BinnedResiduals, RowSums, Targets, add_cells
from secretballot.linear._reference_rows import FeatureMeans, ReferenceRows, dense_reference_rows
from secretballot.linear._residual_histogram import (
    FIRST_VOTE_LENGTH,
    N_BINS,
    TOP,
    VOTE_LENGTH,
    ResidualHistogram,
    residual_bins,
)
from secretballot.linear._response import FittedRounds, Response, RoundPlan
from secretballot.linear._synthetic_rows import copula_reference_rows
from secretballot.measures._targets import read_targets
from secretballot.tables._row_schema import TARGETS

#: Initial prior variance of a group's coefficients, in units of the target's variance.
INITIAL_VARIANCE = 0.1


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
        """Guess of the mean's bias: clipping shortens residuals of one sign by half the range each.

        It can't be measured: a clipped residual does not show its size.
        """
        return 1 - self.unclipped

    def centred(self, means: Floats, mean_errors: Floats | float, variance: float) -> NumberRound:
        """Return the first round with residuals from the mean target, instead of from 0.

        With targets far from 0, small differences between reference and private rows would be
        large errors.
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

    def released(self, reference: ReferenceRows) -> ReleasedRound:
        """Return the round; the gain of its residuals is the share of those not clipped."""
        expected = reference.scores(self.coefficients[:, None])
        gain = np.full(len(expected), self.unclipped)
        return ReleasedRound(self.mean, expected, gain, self.noise, self.variance)

    def padded(self, n_more: int) -> NumberRound:
        """Return the round with coefficients of 0 for further features, which it does not cover."""
        return replace(self, coefficients=np.append(self.coefficients, np.zeros(n_more)))


#: Binary places of the length of a histogram's vote, so that multiples of it are exact.
_VOTE_BITS = 12
#: Factor of the last round's scale: with less clipping, means of skewed targets have less bias.
_LAST_FACTOR = 1.5
#: Number of standard errors up to which an estimated mean residual may be noise.
_CLEAR_MOVE = 2.0
#: Share of the target's variance that may be lost by a larger scale than the most efficient one.
#: Clipping biases means if the distribution of residuals differs between rows.
_TOLERANCE = 0.0003
#: Absolute value of a scaled target beyond its bounds; a residual is that of the bound.
BEYOND = 2.0
#: Largest share of large residuals at which a histogram shows the scale of its tail.
_KNOWN_TAIL = 0.05


def clipped_residuals(scale: float) -> BinnedResiduals:

    def residuals(targets: Targets, scores: Floats) -> tuple[Floats, NDArray[np.intp]]:
        numbers = np.clip(np.asarray(targets, dtype=np.float64), -1.0, 1.0)
        clipped = np.clip((numbers - scores[:, 0]) / scale, -1.0, 1.0)
        return clipped[:, None], residual_bins(clipped)

    return residuals


def vote_length(norm: float, factor: float) -> float:
    return float(np.floor(np.ldexp(factor * norm, _VOTE_BITS)) * 2.0**-_VOTE_BITS)


class NumberRounds:
    """Releases of one fit of numbers, which are scaled to between -1 and 1."""

    def __init__(self, plan: RoundPlan) -> None:
        self.plan = plan

    def ask(
        self, coefficients: Floats, scale: float
    ) -> tuple[NumberRound, ResidualHistogram, Floats]:
        """Release residuals: their means, histogram, and sums in units of the target."""
        features = self.plan.features
        vote = vote_length(features.norm, VOTE_LENGTH)
        sums_and_votes = self._sums_and_votes(coefficients, scale, vote)
        noisy = self.plan.noisy_sums(sums_and_votes, features.norm)
        histogram = ResidualHistogram.from_counts(noisy[-N_BINS:] / vote, self.plan.total, scale)
        return self._round(noisy, coefficients, histogram), histogram, scale * noisy[:-N_BINS, None]

    def ask_first(
        self,
    ) -> tuple[NumberRound, ResidualHistogram, Floats, ReferenceRows, FeatureMeans | None]:
        """Release the targets; return them with reference rows.

        Means of features are released too, as for classes, with a shorter vote. Means of dense
        features are not.
        """
        features, public = self.plan.features, self.plan.public
        start = np.zeros((1 + features.n_features, 1))
        if not isinstance(features, AdditiveBins):
            assert isinstance(public, np.ndarray)
            return *self.ask(start, 1.0), dense_reference_rows(public), None
        vote = vote_length(features.norm, FIRST_VOTE_LENGTH)
        sums_and_votes = self._sums_and_votes(start, 1.0, vote)
        counts = self.plan.rows.sum(partial(RowSums.feature_sums, norm=features.norm))[:, 0]
        vectors = np.concatenate([sums_and_votes[:-N_BINS], counts, sums_and_votes[-N_BINS:]])
        noisy = self.plan.noisy_sums(vectors, features.norm)
        histogram = ResidualHistogram.from_counts(noisy[-N_BINS:] / vote, self.plan.total, 1.0)
        first = self._round(noisy, start, histogram)
        means = noisy[features.n_features : -N_BINS] / self.plan.total
        reference = copula_reference_rows(self.plan, first.mean[:, None], means)
        released = noisy[: features.n_features, None]
        noise = self.plan.noise(features.norm) / self.plan.total
        return first, histogram, released, reference, FeatureMeans(means, noise, features.places)

    def _sums_and_votes(self, coefficients: Floats, scale: float, vote: float) -> Floats:
        """Sum residuals over the rows, and their votes for the bins of the histogram."""
        counted_sums = partial(
            RowSums.counted_sums,
            coefficients=coefficients,
            norm=self.plan.features.norm,
            residuals=clipped_residuals(scale),
            n_bins=N_BINS,
        )
        sums = self.plan.rows.sum(counted_sums)
        sums[-N_BINS:] *= vote
        return sums

    def ask_pairs(
        self,
        reference: ReferenceRows,
        coefficients: Floats,
        histogram: ResidualHistogram,
        scale: float,
    ) -> PairedBins | None:
        """Release sums of all pairs of columns; return features with those that stand out, or None.

        Residuals are clipped to the smaller of the last round's scale and the next one's: at a
        larger scale noise hides pairs.
        """
        scale = min(scale, histogram.scale)
        unclipped, variance = histogram.clipped_at(scale)
        residuals = clipped_residuals(scale)
        ones = np.ones(len(reference.weights))
        return release_pairs(
            self.plan,
            reference,
            coefficients,
            lambda targets, scores: residuals(targets, scores)[0],
            unclipped / scale * ones,
            variance / scale**2 * ones,
        )

    def add_pairs(self, paired: PairedBins) -> None:
        plan = self.plan
        self.plan = replace(plan, features=paired, rows=add_cells(plan.rows, paired))

    def loss(self, signal: float) -> Callable[[float, float, float, float], float]:
        """Return the expected error of predictions as a function of the scale of a round.

        It adds the error of shrunk coefficients, for uncorrelated columns, and the squared distance
        between the centre of clipped residuals and their mean. `signal` is the target's variance.
        """
        plan = self.plan
        noise = plan.noise(plan.features.norm) / plan.total
        # Columns of a row, and the mean square of a feature.
        n_terms, mass = plan.features.norm**2, plan.features.norm**2 / plan.features.n_features

        def expected(scale: float, slope: float, variance: float, offset: float) -> float:
            error = (scale * noise) ** 2 / plan.n_rounds + variance * mass / plan.n_people
            error *= n_terms / (slope * mass) ** 2
            return error * signal / (error + signal) + offset**2

        return expected

    def _round(
        self, noisy: Floats, coefficients: Floats, histogram: ResidualHistogram
    ) -> NumberRound:
        factor = histogram.scale / self.plan.total
        return NumberRound(
            mean=factor * noisy[: self.plan.features.n_features],
            coefficients=coefficients[:, 0],
            unclipped=histogram.unclipped,
            variance=histogram.variance,
            scale=histogram.scale,
            noise=factor * self.plan.noise(self.plan.features.norm),
        )


def mean_residual(
    round_: NumberRound,
    reference: ReferenceRows,
    means: FeatureMeans,
    coefficients: Floats,
) -> tuple[float, float]:
    """Estimate the mean residual of private rows from one round; return its variance too."""
    n_features, n_columns = len(means.values), len(means.places)
    score, score_variance = means.mean_score(reference, coefficients - round_.coefficients)
    # The weights of a row add to 1 in each column, so each column contains the mean once.
    clipped = float(round_.mean[:n_features].sum()) / n_columns
    present = float(reference.means(np.ones((len(reference.weights), 1)))[:n_features].sum())
    present /= n_columns
    noise = float(np.ravel(round_.noise)[0]) * n_features**0.5 / n_columns
    variance = (noise**2 + round_.clipping_bias**2) / round_.unclipped**2 + score_variance
    return (clipped / round_.unclipped - score) / present, variance / present**2


def move_intercept(
    posterior: Posterior,
    rounds: Sequence[NumberRound],
    reference: ReferenceRows,
    means: FeatureMeans,
    clipping_bias: float,
) -> Posterior:
    """Move the intercept towards the value at which the mean residual is estimated as 0.

    The step is the inverse-variance weighted mean of two estimates: 0, with the variance of the
    posterior's mean score, and the mean residual by these rounds, with its own variance.
    `clipping_bias` is the usual bias of the posterior's mean score, as most rounds clip. An
    estimate that is clearly no noise raises the posterior's variance.
    """
    values = posterior.coefficients[:, 0]
    estimates = [mean_residual(round_, reference, means, values) for round_ in rounds]
    residuals, variances = np.array(estimates).T
    ones = np.ones((len(reference.weights), 1))
    mean_row = np.append(1.0, reference.means(ones))
    assert posterior.covariance is not None
    estimate = float(np.average(residuals, weights=1 / variances))
    variance = 1 / float(np.sum(1 / variances))
    own_variance = float(mean_row @ posterior.covariance @ mean_row) + clipping_bias**2
    own_variance += max(estimate**2 - _CLEAR_MOVE**2 * variance, 0.0)
    coefficients = posterior.coefficients.copy()
    coefficients[0] += own_variance / (own_variance + variance) * estimate
    return replace(posterior, coefficients=coefficients)


def last_scale(wide: ResidualHistogram, histogram: ResidualHistogram) -> float:
    """Choose the scale of the last round, beyond which few residuals lie.

    If the last histogram does not reach so far, the scale is that of the targets (`wide`), times
    the root of the ratio of residuals to targets at a quantile that both histograms show. The root,
    because residuals have longer tails.
    """
    if histogram.large <= _KNOWN_TAIL:
        return histogram.tail_scale()
    levels = 1 - histogram.large
    size = float(np.quantile(np.abs(wide.points() - np.median(wide.points())), levels))
    ratio = TOP * histogram.scale / max(size, TOP * histogram.scale)
    return wide.tail_scale() * float(np.sqrt(ratio))


def run_number_rounds(plan: RoundPlan) -> FittedRounds:
    """Release sums of clipped residuals, each at the posterior of the round before.

    The scale at which residuals are clipped follows from the histogram of the round before: the
    most efficient one, but in the last round one beyond which few residuals lie.
    Half-way sums of all pairs of columns are released, and pairs that stand out join the model. At
    the end the intercept moves towards the mean that the rounds with the least clipping estimate.
    """
    rounds = NumberRounds(plan)
    first, histogram, sums, reference, means = rounds.ask_first()
    first = replace(first, unclipped=1.0)
    variance = float(np.var(histogram.points()))
    done = [first.centred(*reference.private_means(plan.n_people, means), variance)]
    released = [sums]
    n_features, n_groups = plan.features.n_features, len(plan.features.groups)
    posterior = Posterior.initial(n_features, 1, n_groups, INITIAL_VARIANCE * variance)
    wide = histogram
    while True:
        posterior = fit_posterior(
            [round_.released(reference) for round_ in done],
            reference,
            rounds.plan.features.groups,
            posterior,
            plan.n_people,
            number_link(done[0].variance),
        )
        if len(done) == plan.n_rounds:
            break
        scale = histogram.efficient_scale(rounds.loss(variance), _TOLERANCE * variance)
        if plan.n_pairs and len(done) == (plan.n_rounds + 1) // 2:
            paired = rounds.ask_pairs(reference, posterior.coefficients, histogram, scale)
            if paired is not None:
                rounds.add_pairs(paired)
                reference = reference.with_cells(paired)
                sizes = [pair.n_cells for pair in paired.pairs]
                done = [round_.padded(sum(sizes)) for round_ in done]
                first = first.padded(sum(sizes))
                posterior = posterior.padded(sizes, variance)
        if len(done) == plan.n_rounds - 1:
            scale = min(_LAST_FACTOR * last_scale(wide, histogram), 1.0)
        next_round, histogram, sums = rounds.ask(posterior.coefficients, scale)
        done.append(next_round)
        released.append(sums)
    if means is not None:
        # Nothing was clipped in the first round, and little in the last.
        least_clipped = [first, *done[1:][-1:]]
        clipping_bias = float(np.mean([round_.clipping_bias for round_ in done]))
        posterior = move_intercept(posterior, least_clipped, reference, means, clipping_bias)
    change = posterior.coefficients[:, 0] - done[-1].coefficients
    moved = float(reference.weights @ reference.scores(change))
    histogram = replace(histogram, moved=moved)
    counts = None if means is None else plan.total * means.values
    return FittedRounds(
        posterior,
        released,
        rounds.plan.features,
        histogram,
        reference,
        counts,
    )


#: Rounds of residuals after the first. Fewer are worse at every epsilon: the scale of the first
#: round is that of the target's bounds, and later ones follow the residuals.
_N_ROUNDS = 5
#: Least ratio of signal to noise with which pairs are searched by default.
_PAIR_SIGNAL = 300.0


@dataclass(frozen=True)
class NumberResponse(Response):
    """Number of each row, scaled to -1 at the lower bound and 1 at the upper one."""

    bounds: tuple[float, float]  # declared bounds; targets beyond them are clipped

    is_smooth: ClassVar[bool] = True
    #: Larger than that of classes: coefficients of correlated columns diverge where reference rows
    #: are less correlated than the private ones.
    largest_rank_error: ClassVar[float] = 0.3

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def note(self) -> dict[str, object]:
        return {"model": "regression of a number", "learned": "numbers"}

    @property
    def has_pairs(self) -> bool:
        return True

    def asks_pairs(self, signal: float, n_rounds: int) -> bool:
        """Decide if pairs are searched by default: noise hides them if the signal is weak."""
        return signal >= _PAIR_SIGNAL

    def read(self, y: ArrayLike) -> Targets:
        """Scale targets to between -1 and 1, and mark those beyond the bounds by `BEYOND`."""
        targets, (low, high) = read_targets(y), self.bounds
        scaled = (2 * np.clip(targets, low, high) - (low + high)) / (high - low)
        return np.select([targets < low, targets > high], [-BEYOND, BEYOND], scaled)

    @property
    def target_bounds(self) -> tuple[float, float]:
        return self.bounds

    def misfits(self, targets: Targets) -> dict[Hashable, NDArray[np.bool_]]:
        return {TARGETS: np.abs(np.asarray(targets, dtype=np.float64)) == BEYOND}

    def choose_rounds(self, signal: float, n_public: int) -> int:
        return _N_ROUNDS

    def run_rounds(self, plan: RoundPlan) -> FittedRounds:
        return run_number_rounds(plan)
