"""The confusion matrix of a public model on private rows, released with noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._interrupts import completed
from secretballot._base._numbers import named_classes
from secretballot._base._objects import cached_property
from secretballot._base._view import Cell, Prose, Shade, Shown, Table, View, facts
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
)
from secretballot.measures._intervals import (
    Interval,
    mean_interval,
    population_interval,
    recall_interval,
)
from secretballot.measures._score_price import Epsilon, NoiseChoice, check_score
from secretballot.measures._scored_rows import ScoredRows, TableScores, check_order_of_labels
from secretballot.tables._people import People

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant


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
    noise = NoiseChoice.of_answer("confusion_private", epsilon, share, sigma, level)
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
    scored = TableScores(y_true, y_pred, People.from_owners(accountant, owners, len(true)))
    return release_confusion(accountant, scored, names, noise, random_state)


def release_confusion(
    accountant: PrivacyAccountant,
    scored: ScoredRows,
    classes: NDArray[Any],
    noise: NoiseChoice,
    random_state: RandomState,
) -> PrivateConfusion:
    n_cells = len(classes) ** 2
    mechanism, scope = noise.of_counts(accountant, scored.n, n_cells)
    cells = scored.sum(partial(count_cells, classes))[None]
    n_classes = len(classes)
    check_score(
        accountant,
        mechanism,
        n_cells,
        scope,
        n=scored.n,
        level=noise.level,
        # Noise of a recall of one half, if classes are equally frequent.
        noise=mechanism.sigma * n_classes**1.5 / (2 * scored.n),
        facts=f" and {n_classes} classes, some {scored.n / n_classes:,.3g} a class",
        remedy="or name fewer classes; score_private releases the accuracy alone",
    )

    def result(released: NDArray[Any]) -> PrivateConfusion:
        return PrivateConfusion(
            matrix=released[0].reshape(n_classes, n_classes),
            classes=classes,
            level=noise.level,
            n=scored.n,
            unit=scored.unit,
            sigma=mechanism.sigma,
        )

    return completed(
        lambda: accountant.release(
            mechanism,
            cells,
            random_state=random_state,
            scope=scope,
            note={"measured": "confusion matrix", "n_counted": scored.n, **scored.note},
        ),
        result,
    )


def count_cells(
    classes: NDArray[Any], y_true: ArrayLike, y_pred: ArrayLike, people: People
) -> NDArray[np.float64]:
    """Count the people of each pair of a class and a prediction: (n_classes^2,)."""
    true, predicted = class_codes(y_true, classes, "y_true"), class_codes(y_pred, classes, "y_pred")
    cells, counted = true * len(classes) + predicted, (true >= 0) & (predicted >= 0)
    counts = np.bincount(cells[counted], people.weights[counted], len(classes) ** 2)
    return counts.astype(np.float64)
