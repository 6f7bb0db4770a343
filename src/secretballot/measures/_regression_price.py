"""Noise and price of a score of numbers on private rows, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secretballot._base._numbers import check_integer, check_number, number_of_rows
from secretballot._base._view import Prose, Shown, View
from secretballot.accounting._accountant import PrivacyAccountant, check_accountant
from secretballot.accounting._answers import Share
from secretballot.measures._error_moments import ErrorMoments
from secretballot.measures._error_scale import ErrorScale
from secretballot.measures._score_price import (
    Epsilon,
    NoiseChoice,
    excess_prose,
    price_or_excess,
    share_table,
)
from secretballot.measures._targets import check_target_bounds
from secretballot.mechanisms._noisy_counts import VectorSum

if TYPE_CHECKING:
    from secretballot.ledger._budget import Scope

#: Function from the noise of a mean over people, sigma / n, to the scale of errors.
ScaleChoice = Callable[[float], ErrorScale]

#: Default noise, in square roots of the number of people.
_DEFAULT_NOISE = 1 / 8


@dataclass(frozen=True, kw_only=True)
class RegressionScorePrice(Shown):
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

    sigma: float
    share: float | dict[str, float]
    half_width: float
    largest_error: float
    target_std: float
    level: float
    fits: bool = True

    @property
    def precision(self) -> str:
        """Half-width of the interval of R^2, and the targets that it expects, as a text."""
        return f"R^2 +-{self.half_width:.2g} if targets vary by {self.target_std:,.4g}"

    def _view(self) -> View:
        width = f"R^2 +-{self.half_width:.2g} at {self.level:.0%}, noise {self.sigma:.3g}"
        clipped = f"errors count up to {self.largest_error:,.4g}"
        expected = f"expects targets with a standard deviation of {self.target_std:,.4g}"
        prose = [Prose.of(width, expected, clipped, quiet=True), *excess_prose(self.fits)]
        return View("RegressionScorePrice", (share_table(self.share), *prose))


def unit_sum(sigma: float) -> VectorSum:
    """Return the mechanism of sums of vectors that are at most 1 apart."""
    return VectorSum(sigma=sigma, norm=1.0, diameter=1.0)


def choose_sum_noise(
    accountant: PrivacyAccountant,
    n: int,
    noise: NoiseChoice,
) -> tuple[VectorSum, Scope]:
    """Choose the noise of a sum over `n` people's vectors, which are at most 1 apart."""
    return noise.choose(accountant, unit_sum, _DEFAULT_NOISE * math.sqrt(n), None)


def price_of_scale(
    accountant: PrivacyAccountant,
    n: int,
    choose_scale: ScaleChoice,
    noise: NoiseChoice,
) -> RegressionScorePrice:
    n = number_of_rows("n", n, accountant.unit)
    check_integer("n", n)
    mechanism, scope = choose_sum_noise(accountant, n, noise)
    noise_of_mean = mechanism.sigma / n
    scale = choose_scale(noise_of_mean)
    share, fits = price_or_excess(accountant, mechanism, None, scope)
    return RegressionScorePrice(
        sigma=mechanism.sigma,
        share=share,
        half_width=ErrorMoments.expected_half_width(scale, noise_of_mean, n, noise.level),
        largest_error=scale.largest_error,
        target_std=scale.deviation,
        level=noise.level,
        fits=fits,
    )


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
    check_accountant(accountant)
    check_number("r2", r2, below=1)
    if target_std is not None:
        check_number("target_std", target_std, above=0)
    bounds = check_target_bounds(target_bounds)
    scale = ErrorScale.between(bounds, largest_error, r2=r2, target_std=target_std)
    return price_of_scale(accountant, n, lambda _: scale, NoiseChoice(epsilon, share, sigma, level))
