"""R^2 and root mean squared error of a public model on private rows, released with noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import warn
from secretballot._base._view import Bar, Cell, Prose, Shown, Table, View
from secretballot.accounting._answers import Share
from secretballot.accounting._protocol import RandomState
from secretballot.ledger._guard import completed
from secretballot.measures._error_moments import ErrorMoments
from secretballot.measures._error_scale import ErrorScale
from secretballot.measures._intervals import Interval
from secretballot.measures._regression_price import ScaleChoice, choose_sum_noise
from secretballot.measures._score_price import Epsilon, NoiseChoice, check_score
from secretballot.measures._scored_rows import ScoredRows, TableScores, check_order_of_labels
from secretballot.measures._targets import check_target_bounds, read_predictions, read_targets
from secretballot.tables._people import People

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant


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
        Interval for it.
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
        The same for deviations of targets from `centre`, for the variance.
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


def release_errors(
    accountant: PrivacyAccountant,
    scored: ScoredRows,
    choose_scale: ScaleChoice,
    noise: NoiseChoice,
    random_state: RandomState,
) -> PrivateRegressionScore:
    """Release the score of predictions in a scale that follows from the noise."""
    mechanism, scope = choose_sum_noise(accountant, scored.n, noise)
    scale = choose_scale(mechanism.sigma / scored.n)
    sums = scored.sum(partial(sum_errors, scale))[None]
    noise_of_mean = mechanism.sigma / scored.n
    facts = f", if targets have a standard deviation of {scale.deviation:,.4g}"
    if not scale.deviation:
        facts = (
            f", by the warning of the fit: noise hides how far targets vary within target_bounds="
            f"{(scale.low, scale.high)!r}, and sigma= releases a score all the same"
        )
    is_expected = noise.sigma is None or scale.deviation > 0
    check_score(
        accountant,
        mechanism,
        None,
        scope,
        n=scored.n,
        level=noise.level,
        noise=max(noise_of_mean, scale.noise_error(noise_of_mean) if is_expected else 0.0),
        facts=facts,
        remedy="or declare closer target_bounds=, or a smaller largest_error=",
    )

    def result(released: NDArray[np.float64]) -> PrivateRegressionScore:
        moments = ErrorMoments.from_sums(scale, np.asarray(released[0]), mechanism.sigma, scored.n)
        words = list[str]()
        if signs := moments.signs_of_other_units(noise.level):
            words.append(
                "If the targets have another unit than the predictions, or than target_bounds="
                f"{(scale.low, scale.high)!r}, to which both are clipped, convert them to it: "
                f"{'; '.join(signs)}."
            )
        if hidden := moments.hidden_by_noise(noise.level):
            words.append(
                "Declare target_bounds= closer to the targets, or a smaller largest_error=, score "
                f"more rows, or give a larger amount. {' '.join(hidden)}"
            )
        if words:
            warn(f"{' '.join(words)} This follows from what was released, and is paid for.")
        return PrivateRegressionScore(
            r2=moments.r2,
            r2_interval=moments.r2_interval(noise.level),
            rmse=moments.rmse,
            rmse_interval=moments.rmse_interval(noise.level),
            level=noise.level,
            n=scored.n,
            unit=scored.unit,
            sigma=mechanism.sigma,
            largest_error=scale.largest_error,
            largest_deviation=scale.largest_deviation,
            centre=scale.centre,
        )

    return completed(
        lambda: accountant.release(
            mechanism,
            sums,
            random_state=random_state,
            scope=scope,
            note={"measured": "squared errors", "n_counted": scored.n, **scored.note},
        ),
        result,
    )


def sum_errors(
    scale: ErrorScale, y_true: ArrayLike, y_pred: ArrayLike, people: People
) -> NDArray[np.float64]:
    targets = read_targets(y_true, "y_true")
    return people.sum_averages(scale.vectors(targets, read_predictions(y_pred, len(targets))))


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
    noise = NoiseChoice.of_answer("regression_score_private", epsilon, share, sigma, level)
    bounds = check_target_bounds(target_bounds)
    scale = ErrorScale.between(bounds, largest_error)
    check_order_of_labels(y_true, y_pred, owners)
    targets = read_targets(y_true, "y_true")
    people = People.from_owners(accountant, owners, len(targets))
    scored = TableScores(targets, read_predictions(y_pred, len(targets)), people)
    return release_errors(accountant, scored, lambda _: scale, noise, random_state)
