"""R^2 and root mean squared error of a public model on private rows, released with noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from secretballot._base._errors import warn
from secretballot._base._numbers import check_number
from secretballot._base._view import Bar, Cell, Prose, Shown, Table, View
from secretballot.accounting._answers import Share
from secretballot.accounting._protocol import RandomState
from secretballot.measures._intervals import Interval
from secretballot.measures._measure import (
    Counted,
    Epsilon,
    Floats,
    NoiseChoice,
    PriceOfScore,
    ScoreMeasure,
    price_of,
    release_score,
)
from secretballot.measures._scored_rows import ScoredRows, check_order_of_labels
from secretballot.measures._squared_errors import ErrorMoments, ErrorScale
from secretballot.measures._targets import check_target_bounds, read_predictions, read_targets
from secretballot.mechanisms._noisy_counts import VectorSum
from secretballot.tables._people import People

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant

#: Function from the noise of a mean over people, sigma / n, to the scale of errors.
ScaleChoice = Callable[[float], ErrorScale]

#: Default noise, in square roots of the number of people.
_DEFAULT_NOISE = 1 / 8


@dataclass(frozen=True, kw_only=True)
class PrivateRegressionScore(Shown):
    """R^2 and root mean squared error that were released from private rows.

    Targets and predictions are clipped to the declared bounds of the target, and errors to
    `largest_error`. Intervals are for the population that the rows are a sample of: they cover the
    noise and the sampling of rows.

    Attributes
    ----------
    r2 : float
        Share of the targets' variance that predictions explain; at most 1, and NaN if the noise
        hides the variance.
    r2_interval : tuple of float
        Interval for R^2; its lower end is minus infinity if the noise hides the variance.
    rmse : float
        Root of the mean squared error, in units of the target.
    rmse_interval : tuple of float
        Interval for the root mean squared error.
    level : float
        Confidence level of each interval.
    n : int
        Number of rows, or owners, that were counted.
    unit : str
        ``"row"``, or ``"owner"``: the rows of an owner are averaged, so all owners weigh the same.
    sigma : float
        Standard deviation of the noise, in units of the largest distance between two rows' vectors.
    largest_error : float
        Larger errors count as this one. The range of the target's bounds clips none.
    largest_deviation : float
        Larger deviations of targets from `centre` count as this one, in the variance.
    centre : float
        Public guess of the mean target.
    """

    r2: float
    r2_interval: Interval
    rmse: float
    rmse_interval: Interval
    level: float
    n: int
    unit: str
    sigma: float
    largest_error: float
    largest_deviation: float
    centre: float

    @property
    def mse(self) -> float:
        """Mean squared error."""
        return self.rmse**2

    def _view(self) -> View:
        low, high = self.r2_interval
        rows: list[list[Cell]] = [
            [
                "R^2",
                f"{self.r2:.3f}",
                f"{low:.3f} to {high:.3f}",
                Bar.between(max(low, 0.0), max(high, 0.0)),
            ],
            [
                "root mean squared error",
                f"{self.rmse:,.4g}",
                " to ".join(f"{end:,.4g}" for end in self.rmse_interval),
                "",
            ],
        ]
        table = Table(("of the population", "", f"{self.level:.0%} interval", ""), rows)
        counted = f"{self.n:,} {self.unit}s, noise {self.sigma:.3g}"
        clipped = f"errors count up to {self.largest_error:,.4g}"
        return View("PrivateRegressionScore", (table, Prose.of(counted, clipped, quiet=True)))


@dataclass(frozen=True, kw_only=True)
class RegressionScorePrice(PriceOfScore):
    """Price of a score of numbers on private rows.

    Attributes
    ----------
    sigma : float
        Standard deviation of the noise, in units of the largest distance between two rows' vectors.
    share : float or dict of str to float
        Share of the whole budget that the score takes, per level if epsilon is per level.
    half_width : float
        Expected half-width of the interval of R^2. It depends on the expected R^2 and standard
        deviation of the targets.
    largest_error : float
        Size at which errors will be clipped.
    target_std : float
        Standard deviation of the targets on which `half_width` relies; 0, and an infinite width, if
        the fit of a model could not tell it from noise.
    level : float
        Confidence level of that interval.
    fits : bool
        Whether that share is left of the budget.
    """

    largest_error: float
    target_std: float

    @property
    def precision(self) -> str:
        """Half-width of the interval of R^2, and the targets that it expects, as a text."""
        return f"R^2 +-{self.half_width:.2g} if targets vary by {self.target_std:,.4g}"

    @property
    def _words(self) -> tuple[str, ...]:
        return (
            f"R^2 +-{self.half_width:.2g} at {self.level:.0%}, noise {self.sigma:.3g}",
            f"expects targets with a standard deviation of {self.target_std:,.4g}",
            f"errors count up to {self.largest_error:,.4g}",
        )


@dataclass(frozen=True)
class SquaredErrors(ScoreMeasure[PrivateRegressionScore, RegressionScorePrice]):
    """Squared errors: people cast the vectors of `ErrorScale`, averaged over their rows."""

    chosen: ErrorScale | ScaleChoice
    #: Whether a score is released although the variance of its targets is unknown.
    by_sigma: bool = False

    name, reads = "squared errors", "vectors of errors and targets, and their products"
    remedy = "or declare closer target_bounds=, or a smaller largest_error="

    @property
    def scale(self) -> ErrorScale:
        assert isinstance(self.chosen, ErrorScale)
        return self.chosen

    def mechanism(self, sigma: float) -> VectorSum:
        return unit_sum(sigma)

    def default_sigma(self, n: int) -> float:
        return _DEFAULT_NOISE * math.sqrt(n)

    def sized(self, noise: float) -> SquaredErrors:
        chosen = self.chosen if isinstance(self.chosen, ErrorScale) else self.chosen(noise)
        return replace(self, chosen=chosen)

    def cast(self, y_true: ArrayLike, y_pred: ArrayLike, people: People) -> Floats:
        targets = read_targets(y_true, "y_true")
        predictions = read_predictions(y_pred, len(targets))
        return people.sum_averages(self.scale.vectors(targets, predictions))

    def error(self, sigma: float, n: int) -> float:
        is_expected = not self.by_sigma or self.scale.deviation > 0
        return max(sigma / n, self.scale.noise_error(sigma / n) if is_expected else 0.0)

    def facts(self, n: int) -> str:
        scale = self.scale
        if scale.deviation:
            return f", if targets have a standard deviation of {scale.deviation:,.4g}"
        return (
            f", by the warning of the fit: noise hides how far targets vary within target_bounds="
            f"{(scale.low, scale.high)!r}, and sigma= releases a score all the same"
        )

    def result(self, released: Floats, counted: Counted) -> PrivateRegressionScore:
        scale, (level, n, _, sigma) = self.scale, counted
        moments = ErrorMoments.from_sums(scale, released, sigma, n)
        if words := _cautions(moments, level):
            warn(f"{' '.join(words)} This follows from what was released, and is paid for.")
        return PrivateRegressionScore(
            r2=moments.r2,
            r2_interval=moments.r2_interval(level),
            rmse=moments.rmse,
            rmse_interval=moments.rmse_interval(level),
            largest_error=scale.largest_error,
            largest_deviation=scale.largest_deviation,
            centre=scale.centre,
            **counted._asdict(),
        )

    def price(self, n: int, **priced: Any) -> RegressionScorePrice:
        noise, level = priced["sigma"] / n, priced["level"]
        return RegressionScorePrice(
            half_width=ErrorMoments.expected_half_width(self.scale, noise, n, level),
            largest_error=self.scale.largest_error,
            target_std=self.scale.deviation,
            **priced,
        )


def unit_sum(sigma: float) -> VectorSum:
    """Return the mechanism of sums of vectors that are at most 1 apart."""
    return VectorSum(sigma=sigma, norm=1.0, diameter=1.0)


def _cautions(moments: ErrorMoments, level: float) -> list[str]:
    """Describe remedies, and the released numbers that call for them."""
    words, scale = list[str](), moments.scale
    if signs := moments.signs_of_other_units(level):
        words.append(
            "If the targets have another unit than the predictions, or than target_bounds="
            f"{(scale.low, scale.high)!r}, to which both are clipped, convert them to it: "
            f"{'; '.join(signs)}."
        )
    if hidden := moments.hidden_by_noise(level):
        words.append(
            "Declare target_bounds= closer to the targets, or a smaller largest_error=, score "
            f"more rows, or give a larger amount. {' '.join(hidden)}"
        )
    return words


def regression_score_private(
    accountant: PrivacyAccountant,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    target_bounds: tuple[float, float],
    largest_error: float | None = None,
    owners: ArrayLike | None = None,
    epsilon: Epsilon = None,
    share: Share = None,
    sigma: float | None = None,
    level: float = 0.95,
    random_state: RandomState = None,
) -> PrivateRegressionScore:
    """Release R^2 and root mean squared error on private rows. **This spends budget.**

    Parameters
    ----------
    accountant : PrivacyAccountant
        The budget of the private rows. Its relation is ``"replace"``.
    y_true : array-like of shape (n_rows,)
        Private targets; clipped to `target_bounds`. Missing ones are refused.
    y_pred : array-like of shape (n_rows,)
        Predictions of a model that is public, or was released through a budget; clipped to
        `target_bounds`. Each prediction must depend on its own row alone. One that is no finite
        number counts as the largest error.
    target_bounds : tuple of (float, float)
        Least and largest target, which must be known beforehand.
    largest_error : float, default=None
        Size at which errors are clipped. None clips none: they may be as large as the range of the
        bounds. The noise on the mean squared error is proportional to its square, so a smaller one
        narrows the intervals, but errors beyond it make the model look better than it is.
    owners : array-like of shape (n_rows,), default=None
        Owner id of each row, and the accountant's unit is ``"owner"``. The vectors of an owner's
        rows are averaged, so that all owners have equal weight.
    epsilon : float or dict of str to float, default=None
        Largest cost; the score has the least noise that fits it.
    share : float, dict of str to float or "rest", default=None
        The same as a part of the whole budget, as ``accountant.price`` returns it; ``"rest"``: all
        that is left.
    sigma : float, default=None
        Standard deviation of the noise, in units of the largest distance between two rows' vectors.
        Of `epsilon`, `share` and `sigma` one is given; `price_regression_score` shows a good
        choice, and its price.
    level : float, default=0.95
        Confidence level of the intervals.
    random_state : int, SeedSequence, Generator or None, default=None
        None: a cryptographic generator. Anything else is for tests, and protects nobody.

    Returns
    -------
    PrivateRegressionScore

    Raises
    ------
    BudgetExceededError
        If it doesn't fit the remaining budget; nothing is spent.
    ValueError
        If no amount is given, shapes or the order of two indexes differ, a target is missing,
        owners and the accountant's unit don't go together, or noise would hide R^2 by public
        numbers, as `price_regression_score` expects it; nothing is spent.

    Warns
    -----
    UserWarning
        If the interval of R^2 is unbounded below, or the mean squared error is below its noise.

    Notes
    -----
    A row casts its clipped squared error, its target, and their products; one `VectorSum` releases
    the sums. The range of squared errors and deviations is many times the variance of the targets.
    So R^2 has a wider interval than an accuracy of as many rows. See "Private score of numbers" in
    `docs/theory/logistic-regression.md`.

    Intervals are conservative where the noise is small and rows are few: the sampling error is
    estimated from noisy sums too.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.measures import regression_score_private
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> truth = np.tile(np.linspace(0, 1, 100), 900)
    >>> predicted = truth + np.where(np.arange(90_000) % 2, 0.1, -0.1)
    >>> score = regression_score_private(
    ...     accountant, truth, predicted, target_bounds=(0, 1), share=0.01
    ... )
    >>> score.r2_interval[0] < 0.89 < score.r2_interval[1]
    True
    >>> f"{accountant.spent().share:.1%}"
    '1.0%'
    """
    noise = NoiseChoice(epsilon, share, sigma, level).check("regression_score_private", needed=True)
    bounds = check_target_bounds(target_bounds)
    scale = ErrorScale.between(bounds, largest_error)
    check_order_of_labels(y_true, y_pred, owners)
    targets = read_targets(y_true, "y_true")
    people = People.from_owners(accountant, owners, len(targets))
    scored = ScoredRows.of_predictions(targets, read_predictions(y_pred, len(targets)), people)
    measure = SquaredErrors(scale, by_sigma=sigma is not None)
    return release_score(accountant, measure, scored, noise, random_state)


def price_regression_score(
    accountant: PrivacyAccountant,
    n: int,
    *,
    target_bounds: tuple[float, float],
    largest_error: float | None = None,
    r2: float = 0.5,
    target_std: float | None = None,
    epsilon: Epsilon = None,
    share: Share = None,
    sigma: float | None = None,
    level: float = 0.95,
) -> RegressionScorePrice:
    """Compute the price of `regression_score_private`. Nothing is spent.

    Parameters
    ----------
    accountant : PrivacyAccountant
        The budget of the private rows.
    n : int or table of rows
        Number of rows, or owners, that will be counted.
    target_bounds, largest_error
        As for `regression_score_private`.
    r2 : float, default=0.5
        Expected R^2, below 1. The width of its interval depends on it, the price does not.
    target_std : float, default=None
        Expected standard deviation of the targets; None is a quarter of the range of their bounds.
    epsilon, share, sigma, level
        As for `regression_score_private`. Without an amount it prices an eighth of the square root
        of `n` as `sigma`, whose mu^2 is 64 / n: four times that of an accuracy.

    Returns
    -------
    RegressionScorePrice

    Raises
    ------
    BudgetExceededError
        If `share` is more than what is left, or next to nothing is left for `epsilon`.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.measures import price_regression_score
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> price = price_regression_score(accountant, 90_000, target_bounds=(0, 1), r2=0.8)
    >>> f"{price.share:.1%} of the budget, +-{price.half_width:.3f}"
    '1.0% of the budget, +-0.017'
    """
    check_number("r2", r2, below=1)
    if target_std is not None:
        check_number("target_std", target_std, above=0)
    bounds = check_target_bounds(target_bounds)
    scale = ErrorScale.between(bounds, largest_error, r2=r2, target_std=target_std)
    measure = SquaredErrors(scale)
    return price_of(accountant, n, measure, NoiseChoice(epsilon, share, sigma, level))
