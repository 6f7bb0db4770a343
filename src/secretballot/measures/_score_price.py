"""Noise and price of a score on private rows, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from secretballot._base._errors import BudgetExceededError
from secretballot._base._numbers import check_integer, check_number, number_of_rows
from secretballot._base._view import Bar, Prose, Shown, Table, View, percent
from secretballot.accounting._accountant import PrivacyAccountant, check_accountant
from secretballot.accounting._answers import (
    Share,
    answer_scope,
    check_amount,
    check_within_budget,
)
from secretballot.ledger._budget import Scope, by_level
from secretballot.measures._intervals import population_interval, quantile
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._noisy_counts import NoisyCounts, VectorSum

M = TypeVar("M", bound=Mechanism)

#: Largest epsilon of one release, per level if levels differ.
Epsilon = float | dict[str, float] | None

#: Further amount of a score, for messages.
_NOISE = (
    ", or sigma= for the noise: price_score shows the noise that widens an interval by an eighth, "
    "and its price"
)

#: Margin for rounding in the charges of fits that use up their epsilon.
ROUNDING = 1 + 1e-6

#: Remedy of a score that costs more than what is left.
TOO_EXPENSIVE = (
    "The score costs more than what is left of the budget: score more rows, accept a wider "
    "interval (a smaller share=, or a larger sigma=), or open a budget with a larger epsilon."
)

#: Default noise in standard deviations of fair coin flips: it widens an interval for the population
#: by an eighth.
_DEFAULT_NOISE = 0.5


@dataclass(frozen=True, kw_only=True)
class ScorePrice(Shown):
    """Price of a score on private rows.

    Attributes
    ----------
    sigma : float
        Standard deviation of the noise on each count.
    share : float or dict of str to float
        Share of the whole budget that the score takes, per level if epsilon is per level.
    half_width : float
        Largest half-width of the accuracy's interval, which it has at an accuracy of one half.
    level : float
        Confidence level of that interval.
    fits : bool
        Whether that share is left of the budget.
    """

    sigma: float
    share: float | dict[str, float]
    half_width: float
    level: float
    fits: bool = True

    @property
    def precision(self) -> str:
        """Half-width of the interval, as a text."""
        return f"+-{self.half_width:.1%}"

    def _view(self) -> View:
        width = f"{self.precision} at {self.level:.0%}, noise {self.sigma:.3g} on each count"
        prose = [Prose.of(width, quiet=True), *excess_prose(self.fits)]
        return View("ScorePrice", (share_table(self.share), *prose))


def share_table(share: float | dict[str, float]) -> Table:
    rows = [
        (level, Bar.of(part, "of the budget"), share_text(part))
        for level, part in by_level(share).items()
    ]
    return Table(("level", "", "of the budget"), rows)


def share_text(share: float) -> str:
    if share <= ROUNDING:
        return percent(share)
    return f"{share:.2g} times all of it" if share < 10 else f"{share:,.0f} times all of it"


def excess_prose(fits: bool) -> list[Prose]:
    return [] if fits else [Prose.of(TOO_EXPENSIVE)]


def price_or_excess(
    accountant: PrivacyAccountant, mechanism: Mechanism, n_columns: int | None, scope: Scope
) -> tuple[float | dict[str, float], bool]:
    """Compute the share of a budget that a score takes, and whether it fits what is left."""
    try:
        return accountant.price(mechanism, n_columns=n_columns, scope=scope), True
    except BudgetExceededError:
        share = accountant.price(mechanism, n_columns=n_columns, scope=scope, check_left=False)
        return share, False


def check_score(
    accountant: PrivacyAccountant,
    mechanism: NoisyCounts | VectorSum,
    n_columns: int | None,
    scope: Scope,
    *,
    n: int,
    level: float,
    noise: float,
    facts: str = "",
    remedy: str = "price_score shows the width beforehand",
) -> None:
    """Refuse a score of `n` people that the noise would drown, or that does not fit what is left.

    `noise` is the expected standard deviation of the score's noise, by public numbers. If an
    interval of that level reaches from 0 to 1 around one half, it excludes nothing.
    """
    if quantile(level) * noise >= 1 / 2:
        raise ValueError(
            f"the noise of this score, sigma={mechanism.sigma:.3g}, is too large for its {n:,} "
            f"rows (or owners){facts}: an interval would reach from the worst score to the best. "
            "Nothing was released or spent. Score more rows, or give a larger epsilon= or share=, "
            f"or a smaller sigma=; {remedy}."
        )
    share, fits = price_or_excess(accountant, mechanism, n_columns, scope)
    if not fits:
        largest = max(share.values()) if isinstance(share, dict) else share
        part = f"{largest:.1%}" if largest < 1 else "more than all"
        raise BudgetExceededError(
            f"The score would take {part} of the budget, and less is left. Nothing "
            "was released or spent. Pass share='rest' for what is left, or "
            "a larger sigma= than "
            f"{mechanism.sigma:.4g}: both add noise, and widen the interval. price_score "
            "shows what a score costs, before the fits that it follows."
        )


class NoiseChoice(NamedTuple):
    """Noise of a score (its largest cost, or `sigma`), and the level of its intervals."""

    epsilon: Epsilon
    share: Share
    sigma: float | None
    level: float

    @classmethod
    def of_answer(
        cls, answer: str, epsilon: Epsilon, share: Share, sigma: float | None, level: float
    ) -> NoiseChoice:
        """Make the noise of a score that is released; ValueError if no amount is given."""
        noise = cls(epsilon, share, sigma, level)
        noise._check(answer, needed=True)
        return noise

    def _check(self, answer: str, *, needed: bool) -> None:
        amounts = {"epsilon": self.epsilon, "share": self.share, "sigma": self.sigma}
        check_amount(answer, needed=needed, alternatives=_NOISE, **amounts)
        check_number("level", self.level, above=0, below=1)

    def choose(
        self,
        accountant: PrivacyAccountant,
        make: Callable[..., M],
        default: float,
        n_columns: int | None,
    ) -> tuple[M, Scope]:
        """Return the mechanism with this noise, or with the default noise, and its scope."""
        self._check("a score", needed=False)
        if self.epsilon is not None or self.share is not None:
            scope = accountant.scope(self.epsilon)
            check_within_budget(accountant, scope)
            if self.share is not None:
                scope = answer_scope(accountant, None, self.share)
            return accountant.calibrate(make, 1, n_columns=n_columns, scope=scope), scope
        sigma = float(default if self.sigma is None else self.sigma)
        return make(sigma=sigma), accountant.scope()

    def of_counts(
        self, accountant: PrivacyAccountant, n: int, n_columns: int
    ) -> tuple[NoisyCounts, Scope]:
        return self.choose(accountant, NoisyCounts, _DEFAULT_NOISE * math.sqrt(n) / 2, n_columns)


def price_score(
    accountant: PrivacyAccountant,
    n: int,
    *,
    n_classes: int | None = None,
    epsilon: Epsilon = None,
    share: Share = None,
    sigma: float | None = None,
    level: float = 0.95,
) -> ScorePrice:
    """Compute the price of `score_private` or `confusion_private`. Nothing is spent.

    Parameters
    ----------
    accountant : PrivacyAccountant
        The budget of the private rows.
    n : int or table of rows
        Number of rows, or owners, that will be counted.
    n_classes : int, default=None
        Number of classes of a confusion matrix; None for the accuracy alone.
    epsilon, share, sigma, level
        As for `score_private`. Without an amount it prices the noise that widens the interval by
        an eighth, at an accuracy of one half: `sigma` is a quarter of the square root of `n`, half
        of their sampling deviation. Its mu^2 is 16 / n.

    Returns
    -------
    ScorePrice

    Raises
    ------
    BudgetExceededError
        If `share` is more than what is left, or next to nothing is left for `epsilon`.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.measures import price_score
    >>> price = price_score(PrivacyAccountant(epsilon=1, delta=1e-5), 9_000)
    >>> f"{price.share:.1%} of the budget, +-{price.half_width:.1%}"
    '2.5% of the budget, +-1.2%'
    """
    check_accountant(accountant)
    n = number_of_rows("n", n, accountant.unit)
    check_integer("n", n)
    if n_classes is not None:
        check_integer("n_classes", n_classes, least=2)
    n_columns = 1 if n_classes is None else n_classes**2
    noise = NoiseChoice(epsilon, share, sigma, level)
    mechanism, scope = noise.of_counts(accountant, n, n_columns)
    price, fits = price_or_excess(accountant, mechanism, n_columns, scope)
    # The accuracy of a confusion matrix is the sum of n_classes noisy cells.
    low, high = population_interval(n / 2, n, mechanism.sigma * n_columns**0.25, level)
    return ScorePrice(
        sigma=mechanism.sigma,
        share=price,
        half_width=(high - low) / 2,
        level=level,
        fits=fits,
    )
