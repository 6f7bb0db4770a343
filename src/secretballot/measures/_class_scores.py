"""Accuracy and confusion matrix of a public model on private rows, released with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_integer, named_classes
from secretballot._base._objects import cached_property
from secretballot._base._view import Bar, Cell, Prose, Shade, Shown, Table, View, facts
from secretballot.accounting._answers import Share
from secretballot.accounting._protocol import RandomState
from secretballot.measures._answers import (
    check_foreign_labels,
    check_known_predictions,
    check_label_types,
    check_no_fractions,
    check_no_missing_labels,
    class_codes,
    count_foreign,
    right_answers,
)
from secretballot.measures._intervals import (
    Interval,
    mean_interval,
    population_interval,
    recall_interval,
    sample_interval,
)
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
from secretballot.mechanisms._noisy_counts import NoisyCounts
from secretballot.tables._people import People

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant

S = TypeVar("S")

#: Default noise in standard deviations of fair coin flips: it widens an interval for the population
#: by an eighth.
_DEFAULT_NOISE = 0.5


@dataclass(frozen=True, kw_only=True)
class PrivateScore(Shown):
    """An accuracy that was released from private rows.

    Attributes
    ----------
    accuracy : float
        The noisy share of right answers, between 0 and 1.
    interval : tuple of float
        Interval for the accuracy on the population that the rows are a sample of: it covers the
        noise and the sampling of rows.
    rows_interval : tuple of float
        Interval for the accuracy on these rows themselves: it covers the noise alone.
    level : float
        Confidence level of the intervals.
    n : int
        Number of rows, or owners, that were counted.
    unit : str
        ``"row"``, or ``"owner"``: the rows of an owner are averaged, so all owners weigh the same.
    sigma : float
        Standard deviation of the noise, in right answers.
    """

    accuracy: float
    interval: Interval
    rows_interval: Interval
    level: float
    n: int
    unit: str
    sigma: float

    def _view(self) -> View:
        counted = f"{self.n:,} {self.unit}s, noise {self.sigma:.3g} in right answers"
        share = f"{self.accuracy:.3f}"
        table = Table(
            ("", "share", f"{self.level:.0%} interval", ""),
            (
                ("accuracy, of the population", share, *_interval_cells(self.interval)),
                ("of these rows alone", share, *_interval_cells(self.rows_interval)),
            ),
        )
        return View("PrivateScore", (table, Prose.of(counted, quiet=True)))


def _interval_cells(interval: Interval) -> tuple[Cell, Cell]:
    low, high = interval
    return f"{low:.3f} to {high:.3f}", Bar.between(low, high)


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateConfusion(Shown):
    """A confusion matrix that was released from private rows.

    All intervals are for the population that the rows are a sample of: they cover the noise and the
    sampling of rows.

    Attributes
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        Noisy numbers of rows (or owners) by true class (row) and predicted class (column). They
        are as released: small ones may be negative.
    classes : ndarray of shape (n_classes,)
        The sorted classes, in the order of rows and columns.
    level : float
        Confidence level of each interval.
    n : int
        Number of rows, or owners, that were counted.
    unit : str
        ``"row"``, or ``"owner"``: each owner counts 1, in parts if its rows differ.
    sigma : float
        Standard deviation of the noise on each count.
    """

    matrix: NDArray[np.float64] = field(repr=False)
    classes: NDArray[Any]
    level: float
    n: int
    unit: str
    sigma: float

    @property
    def accuracy(self) -> float:
        """Share of right answers among all."""
        return min(max(float(self.matrix.trace()) / self.n, 0.0), 1.0)

    @property
    def accuracy_interval(self) -> Interval:
        """Interval for the accuracy on the population."""
        noise = self.sigma * len(self.classes) ** 0.5
        return population_interval(float(self.matrix.trace()), self.n, noise, self.level)

    @cached_property
    def recall(self) -> NDArray[np.float64]:
        """Share of right answers among the rows of each class; nan where the noise hides them."""
        totals = self.matrix.sum(axis=1)
        recall = np.full(len(totals), np.nan)
        np.divide(self.matrix.diagonal(), totals, out=recall, where=totals > 0)
        return np.asarray(recall.clip(0.0, 1.0))

    @cached_property
    def recall_interval(self) -> NDArray[np.float64]:
        """Intervals for the recall of each class, shape (n_classes, 2)."""
        cells = zip(self.matrix.diagonal(), self.matrix.sum(axis=1), strict=True)
        options = self.sigma, len(self.classes), self.level
        return np.array(
            [recall_interval(float(right), float(total), *options) for right, total in cells]
        )

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the classes' recalls; nan if one is."""
        return float(self.recall.mean())

    @property
    def balanced_accuracy_interval(self) -> Interval:
        """Interval for the balanced accuracy on the population."""
        return mean_interval(self.recall, self.recall_interval)

    def _view(self) -> View:
        largest = max(float(self.matrix.max()), 1.0)
        rows: list[list[Cell]] = [
            [
                str(name),
                *(Shade(f"{count:,.0f}", count / largest) for count in counts),
                f"{recall:.3f}",
                f"{low:.3f} to {high:.3f}",
            ]
            for name, counts, recall, (low, high) in zip(
                self.classes, self.matrix.tolist(), self.recall, self.recall_interval, strict=True
            )
        ]
        predicted = (f"as {name}" for name in self.classes)
        table = Table(("class", *predicted, "recall", f"{self.level:.0%} interval"), rows)
        shares = [
            (name, f"{share:.3f}", f"{low:.3f} to {high:.3f}")
            for name, share, (low, high) in (
                ("accuracy", self.accuracy, self.accuracy_interval),
                ("balanced accuracy", self.balanced_accuracy, self.balanced_accuracy_interval),
            )
        ]
        counted = f"{self.n:,} {self.unit}s, noise {self.sigma:.3g} on each count"
        return View("PrivateConfusion", (table, facts(*shares), Prose.of(counted, quiet=True)))


@dataclass(frozen=True, kw_only=True)
class ScorePrice(PriceOfScore):
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

    @property
    def precision(self) -> str:
        """Half-width of the interval, as a text."""
        return f"+-{self.half_width:.1%}"

    @property
    def _words(self) -> tuple[str, ...]:
        return (f"{self.precision} at {self.level:.0%}, noise {self.sigma:.3g} on each count",)


class _ClassMeasure(ScoreMeasure[S, ScorePrice]):
    n_columns: int

    def mechanism(self, sigma: float) -> NoisyCounts:
        return NoisyCounts(sigma=sigma)

    def default_sigma(self, n: int) -> float:
        return _DEFAULT_NOISE * math.sqrt(n) / 2

    def price(self, n: int, **priced: Any) -> ScorePrice:
        # The accuracy of a confusion matrix is the sum of n_classes noisy cells.
        noise = priced["sigma"] * self.n_columns**0.25
        low, high = population_interval(n / 2, n, noise, priced["level"])
        return ScorePrice(half_width=(high - low) / 2, **priced)


class Accuracy(_ClassMeasure[PrivateScore]):
    """Accuracy: people cast 1 for a right answer, or the share of their rows that is right."""

    name, reads, n_columns = "accuracy", "people whose labels are predicted", 1

    def cast(self, y_true: ArrayLike, y_pred: ArrayLike, people: People) -> Floats:
        return np.atleast_1d(people.total(right_answers(y_true, y_pred)))

    def error(self, sigma: float, n: int) -> float:
        return sigma / n

    def result(self, released: Floats, counted: Counted) -> PrivateScore:
        count, (level, n, _, sigma) = float(released[0]), counted
        return PrivateScore(
            accuracy=min(max(count / n, 0.0), 1.0),
            interval=population_interval(count, n, sigma, level),
            rows_interval=sample_interval(count, n, sigma, level),
            **counted._asdict(),
        )


class Confusion(_ClassMeasure[PrivateConfusion]):
    """Confusion matrix: people cast 1 for a class and a prediction, in parts if rows differ."""

    name, reads = "confusion matrix", "people of each class, by the predicted class"
    remedy = "or name fewer classes; score_private releases the accuracy alone"

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes, self.n_classes, self.n_columns = classes, len(classes), len(classes) ** 2

    def cast(self, y_true: ArrayLike, y_pred: ArrayLike, people: People) -> Floats:
        true = class_codes(y_true, self.classes, "y_true")
        predicted = class_codes(y_pred, self.classes, "y_pred")
        cells, counted = true * self.n_classes + predicted, (true >= 0) & (predicted >= 0)
        counts = np.bincount(cells[counted], people.weights[counted], self.n_columns)
        return counts.astype(np.float64)

    def error(self, sigma: float, n: int) -> float:
        # Noise of a recall of one half, if classes are equally frequent.
        return sigma * self.n_classes**1.5 / (2 * n)

    def facts(self, n: int) -> str:
        return f" and {self.n_classes} classes, some {n / self.n_classes:,.3g} a class"

    def result(self, released: Floats, counted: Counted) -> PrivateConfusion:
        matrix = released.reshape(self.n_classes, self.n_classes)
        return PrivateConfusion(matrix=matrix, classes=self.classes, **counted._asdict())


def score_private(
    accountant: PrivacyAccountant,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    owners: ArrayLike | None = None,
    epsilon: Epsilon = None,
    share: Share = None,
    sigma: float | None = None,
    level: float = 0.95,
    random_state: RandomState = None,
) -> PrivateScore:
    """Release the accuracy of predictions on private rows. **This spends budget.**

    Predictions must come from a public model, or from one that a budget released. The accuracy of a
    model that private rows made without noise is *not* protected: one row may change all its
    predictions, and the noise hides one answer. Nothing here can check it.

    Parameters
    ----------
    accountant : PrivacyAccountant
        The budget of the private rows. Its relation is ``"replace"``.
    y_true : array-like of shape (n_rows,) or (n_rows, n_labels)
        Private labels. A label that the model can't predict is a wrong answer, never an error.
        Missing labels are refused.
    y_pred : array-like of the same shape
        Predictions of a model that is public, or was released through a budget. Each prediction
        must depend on its own row alone. Of several labels a row, all have to be right.
    owners : array-like of shape (n_rows,), default=None
        Owner id of each row, and the accountant's unit is ``"owner"``. An owner's answers are
        averaged, so that all owners have equal weight.
    epsilon : float or dict of str to float, default=None
        Largest cost; the score has the least noise that fits it.
    share : float, dict of str to float or "rest", default=None
        The same as a part of the whole budget, as ``accountant.price`` returns it; ``"rest"``: all
        that is left.
    sigma : float, default=None
        Standard deviation of the noise, in right answers. Of `epsilon`, `share` and `sigma` one is
        given; `price_score` shows a good choice, and its price.
    level : float, default=0.95
        Confidence level of the intervals.
    random_state : int, SeedSequence, Generator or None, default=None
        None: a cryptographic generator. Anything else is for tests, and protects nobody.

    Returns
    -------
    PrivateScore

    Raises
    ------
    BudgetExceededError
        If it doesn't fit the remaining budget; nothing is spent.
    ValueError
        If no amount is given, shapes or the order of two indexes differ, a label is missing, one of
        both holds texts and the other numbers, most of one are numbers with fractions, half of the
        predictions are none of the labels, or owners and the accountant's unit don't go together;
        nothing is spent.

    Notes
    -----
    The interval for the population assumes rows that the model was not trained on. Rows that it was
    trained on through the same budget may be counted too: the budget bounds its advantage on them.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.measures import score_private
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> truth = np.arange(20_000) % 2
    >>> predicted = np.where(np.arange(20_000) % 5, truth, 0)
    >>> score = score_private(accountant, truth, predicted, share=0.01)
    >>> score.interval[0] < 0.9 < score.interval[1]
    True
    >>> f"{accountant.spent().share:.1%}"
    '1.0%'
    """
    noise = NoiseChoice(epsilon, share, sigma, level).check("score_private", needed=True)
    check_order_of_labels(y_true, y_pred, owners)
    people = People.from_owners(accountant, owners, len(right_answers(y_true, y_pred)))
    check_no_missing_labels(y_true)
    check_label_types(y_true, y_pred, ("y_true", "y_pred"))
    check_no_fractions(y_true, "y_true")
    check_no_fractions(y_pred, "y_pred")
    check_known_predictions(y_true, y_pred)
    scored = ScoredRows.of_predictions(y_true, y_pred, people)
    return release_score(accountant, Accuracy(), scored, noise, random_state)


def confusion_private(
    accountant: PrivacyAccountant,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    classes: ArrayLike,
    owners: ArrayLike | None = None,
    epsilon: Epsilon = None,
    share: Share = None,
    sigma: float | None = None,
    level: float = 0.95,
    random_state: RandomState = None,
) -> PrivateConfusion:
    """Release the confusion matrix of predictions on private rows. **This spends budget.**

    It costs twice the mu^2 of an accuracy with as much noise: a replaced person changes two cells.

    Parameters
    ----------
    accountant : PrivacyAccountant
        The budget of the private rows. Its relation is ``"replace"``.
    y_true : array-like of shape (n_rows,)
        Private labels. Rows of a class that is not in `classes` are in no cell: the accuracy counts
        them as wrong answers, and recalls leave them out. Most of them are refused, and so are
        missing labels.
    y_pred : array-like of shape (n_rows,)
        As for `score_private`. Predictions that are none of the classes are in no cell: half of
        them are refused, and some are warned of.
    classes : array-like of shape (n_classes,)
        The public list of classes, in any order, never the classes that occur in private rows.
    owners, epsilon, share, sigma, level, random_state
        As for `score_private`.

    Returns
    -------
    PrivateConfusion

    Raises
    ------
    BudgetExceededError
        If it doesn't fit the remaining budget; nothing is spent.
    ValueError
        As for `score_private`, or if the noise would hide the recalls of all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.measures import confusion_private
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> truth = np.arange(20_000) % 4 // 3
    >>> predicted = np.where(np.arange(20_000) % 5, truth, 0)
    >>> confusion = confusion_private(accountant, truth, predicted, classes=[0, 1], share=0.05)
    >>> low, high = confusion.recall_interval[1]
    >>> bool(low < 0.8 < high)
    True
    """
    noise = NoiseChoice(epsilon, share, sigma, level).check("confusion_private", needed=True)
    check_order_of_labels(y_true, y_pred, owners)
    names = named_classes(classes)
    true, predicted = class_codes(y_true, names, "y_true"), class_codes(y_pred, names, "y_pred")
    if len(true) != len(predicted):
        raise ValueError(
            f"y_true has {len(true)} rows and y_pred {len(predicted)}; give a prediction for each."
        )
    check_no_missing_labels(y_true)
    for labels, name in ((y_true, "y_true"), (y_pred, "y_pred")):
        check_label_types(labels, names, (name, "classes"))
        check_no_fractions(labels, name, "confusion_private")
    check_foreign_labels(count_foreign(y_true, names), names, "y_true")
    check_known_predictions(y_true, y_pred, names)
    scored = ScoredRows.of_predictions(
        y_true, y_pred, People.from_owners(accountant, owners, len(true))
    )
    return release_score(accountant, Confusion(names), scored, noise, random_state)


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
    measure: Accuracy | Confusion = Accuracy()
    if n_classes is not None:
        check_integer("n_classes", n_classes, least=2)
        measure = Confusion(np.arange(n_classes))
    return price_of(accountant, n, measure, NoiseChoice(epsilon, share, sigma, level))
