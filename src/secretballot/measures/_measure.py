"""Noise, price, refusal and release of scores on private rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from secretballot.accounting._limits import USED_UP, WORTH_SPENDING
from secretballot.accounting._protocol import RandomState
from secretballot.accounting._release_plan import PlannedRelease, unpaid_run
from secretballot.ledger._budget import Scope, by_level
from secretballot.measures._intervals import quantile
from secretballot.measures._scored_rows import ScoredRows
from secretballot.mechanisms._noisy_counts import NoisyCounts, VectorSum
from secretballot.tables._people import People

S = TypeVar("S")
P = TypeVar("P", bound="PriceOfScore")
Floats = NDArray[np.float64]

#: Largest epsilon of one release, per level if levels differ.
Epsilon = float | dict[str, float] | None

#: Further amount of a score, for messages.
_NOISE = (
    ", or sigma= for the noise: price_score shows the noise that widens an interval by an eighth, "
    "and its price"
)

#: Margin for rounding in the charges of fits that use up their epsilon.
ROUNDING = 1 + 1e-6

#: Remedy of a score that costs more than what is left, and of one where nothing is left.
TOO_EXPENSIVE = (
    "The score costs more than what is left of the budget: score more rows, accept a wider "
    "interval (a smaller share=, or a larger sigma=), or open a budget with a larger epsilon."
)
_NOTHING_LEFT = (
    f"T{USED_UP[1:]} Rows of other people, who have a budget of their own, can be scored all the "
    "same."
)


class Counted(NamedTuple):
    """Public facts of a score that was released: fields of its result."""

    level: float
    n: int
    unit: str
    sigma: float


@dataclass(frozen=True, kw_only=True)
class PriceOfScore(Shown):
    """Base class of the prices of scores."""

    sigma: float
    share: float | dict[str, float]
    half_width: float
    level: float
    fits: bool = True
    #: Remedy of a score that does not fit what is left; empty if it does.
    _remedy: str = field(default="", repr=False)

    @property
    def _words(self) -> tuple[str, ...]:
        """Texts of the precision and of the expectations behind it."""
        raise NotImplementedError

    def _view(self) -> View:
        rows = [
            (level, Bar.of(part, "of the budget"), share_text(part))
            for level, part in by_level(self.share).items()
        ]
        table = Table(("level", "", "of the budget"), rows)
        remedy = [Prose.of(self._remedy)] if self._remedy else []
        return View(type(self).__name__, (table, Prose.of(*self._words, quiet=True), *remedy))


def share_text(share: float) -> str:
    if share <= ROUNDING:
        return percent(share)
    return f"{share:.2g} times all of it" if share < 10 else f"{share:,.0f} times all of it"


class NoiseChoice(NamedTuple):
    """Noise of a score (its largest cost, or `sigma`), and the level of its intervals."""

    epsilon: Epsilon
    share: Share
    sigma: float | None
    level: float

    def check(self, answer: str, *, needed: bool) -> NoiseChoice:
        """Return the choice; ValueError if there are two amounts, or the needed one is lacking."""
        amounts = {"epsilon": self.epsilon, "share": self.share, "sigma": self.sigma}
        check_amount(answer, needed=needed, alternatives=_NOISE, **amounts)
        check_number("level", self.level, above=0, below=1)
        return self

    def choose(
        self, accountant: PrivacyAccountant, measure: ScoreMeasure[Any, Any], n: int
    ) -> tuple[NoisyCounts | VectorSum, Scope]:
        """Return the mechanism with this noise, or with the default noise, and its scope."""
        self.check("a score", needed=False)
        if self.epsilon is None and self.share is None:
            sigma = measure.default_sigma(n) if self.sigma is None else self.sigma
            return measure.mechanism(float(sigma)), accountant.scope()
        scope = accountant.scope(self.epsilon)
        check_within_budget(accountant, scope)
        if self.share is not None:
            scope = answer_scope(accountant, None, self.share)
        make, n_columns = measure.mechanism, measure.n_columns
        return accountant.calibrate(make, 1, n_columns=n_columns, scope=scope), scope


class ScoreMeasure(ABC, Generic[S, P]):
    """Kind of a score: contributions of people, noise, and result of their noisy sum.

    It holds no private data.
    """

    #: Name of the release.
    name: str
    #: Description of its private input.
    reads: str
    #: Number of counts; None if people cast vectors of bounded length.
    n_columns: int | None = None
    #: Remedy of a score that noise would drown.
    remedy = "price_score shows the width beforehand"

    @abstractmethod
    def mechanism(self, sigma: float) -> NoisyCounts | VectorSum: ...

    @abstractmethod
    def default_sigma(self, n: int) -> float: ...

    def sized(self, noise: float) -> Self:
        """Return the measure for this noise of a mean over people, sigma / n."""
        return self

    @abstractmethod
    def cast(self, y_true: ArrayLike, y_pred: ArrayLike, people: People) -> Floats:
        """Add up the contributions of people, exactly: shape (n_counts,)."""

    @abstractmethod
    def error(self, sigma: float, n: int) -> float:
        """Compute the expected standard deviation of the score's noise, by public numbers."""

    def facts(self, n: int) -> str:
        """Describe the public facts behind `error`, for a refusal."""
        return ""

    @abstractmethod
    def result(self, released: Floats, counted: Counted) -> S: ...

    @abstractmethod
    def price(self, n: int, **priced: Any) -> P:
        """Return the price of a score of `n` people with these fields."""


def price_of(
    accountant: PrivacyAccountant, n: int, measure: ScoreMeasure[Any, P], noise: NoiseChoice
) -> P:
    """Compute the price of a score. Free."""
    check_accountant(accountant)
    n = number_of_rows("n", n, accountant.unit)
    check_integer("n", n)
    mechanism, scope = noise.choose(accountant, measure, n)
    share, remedy = _price_or_remedy(accountant, mechanism, measure.n_columns, scope)
    priced = {"sigma": mechanism.sigma, "share": share, "level": noise.level, "fits": not remedy}
    return measure.sized(mechanism.sigma / n).price(n, **priced, _remedy=remedy)


def _price_or_remedy(
    accountant: PrivacyAccountant,
    mechanism: NoisyCounts | VectorSum,
    n_columns: int | None,
    scope: Scope,
) -> tuple[float | dict[str, float], str]:
    """Compute the share of a budget that a score takes, and a remedy if it does not fit."""
    try:
        return accountant.price(mechanism, n_columns=n_columns, scope=scope), ""
    except BudgetExceededError:
        share = accountant.price(mechanism, n_columns=n_columns, scope=scope, check_left=False)
    levels = by_level(accountant.remaining()).values()
    is_used_up = any(level.share <= WORTH_SPENDING for level in levels)
    return share, _NOTHING_LEFT if is_used_up else TOO_EXPENSIVE


def release_score(
    accountant: PrivacyAccountant,
    measure: ScoreMeasure[S, Any],
    scored: ScoredRows,
    noise: NoiseChoice,
    random_state: RandomState,
) -> S:
    """Release a score; refuse one that noise would drown, or that does not fit what is left."""
    n = scored.rows.n_people
    mechanism, scope = noise.choose(accountant, measure, n)
    sigma = mechanism.sigma
    measure = measure.sized(sigma / n)
    sums = scored.sum(measure.cast)[None]
    # Around one half an interval would reach from 0 to 1, and exclude nothing.
    if quantile(noise.level) * measure.error(sigma, n) >= 1 / 2:
        raise ValueError(
            f"the noise of this score, sigma={sigma:.3g}, is too large for its {n:,} rows (or "
            f"owners){measure.facts(n)}: an interval would reach from the worst score to the best. "
            "Nothing was released or spent. Score more rows, or give a larger epsilon= or share=, "
            f"or a smaller sigma=; {measure.remedy}."
        )
    share, remedy = _price_or_remedy(accountant, mechanism, measure.n_columns, scope)
    if remedy:
        largest = max(by_level(share).values())
        part = f"{largest:.1%}" if largest < 1 else "more than all"
        if remedy == TOO_EXPENSIVE:
            remedy = (
                f"Pass share='rest' for what is left, or a larger sigma= than {sigma:.4g}: both "
                "add noise, and widen the interval. price_score shows what a score costs, before "
                "the fits that it follows."
            )
        raise BudgetExceededError(
            f"The score would take {part} of the budget, and less is left. Nothing was released "
            f"or spent. {remedy}"
        )
    release = PlannedRelease(
        name=measure.name,
        mechanism=mechanism,
        n_rows=1,
        share=1.0,
        reads=measure.reads,
        n_columns=measure.n_columns,
        note={"measured": measure.name, "n_counted": n, **scored.note},
    )
    run = unpaid_run(accountant, release, scope=scope, noise=lambda *_: random_state)
    counted = Counted(noise.level, n, scored.rows.unit, sigma)
    return run.answer(measure.name, sums, lambda rows: measure.result(rows[0], counted))
