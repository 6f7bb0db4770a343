"""The confusion matrix of a public model on private rows, released with noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._views import Cell, Prose, Shade, Shown, Table, View, facts
from secretballot.scoring._answers import class_codes
from secretballot.scoring._intervals import Interval, of_class, of_mean, of_population
from secretballot.scoring._people import People
from secretballot.scoring._score_price import Noise


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateConfusion(Shown):
    """A confusion matrix that was released from private rows.

    All intervals are for the population that the rows are a sample of: the noise, and that these
    rows and no others were there.

    Attributes
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        Noisy counts: of the rows (or owners) of a class, in its row, how many were predicted as
        each. They are as released: small ones may be negative.
    classes : ndarray of shape (n_classes,)
        The classes, in the order of rows and columns.
    level : float
        How often each interval holds what it is for.
    n : int
        How many rows, or owners, were counted.
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
        """Where the accuracy on the population lies."""
        noise = self.sigma * len(self.classes) ** 0.5
        return of_population(float(self.matrix.trace()), self.n, noise, self.level)

    @cached_property
    def recall(self) -> NDArray[np.float64]:
        """Share of right answers among the rows of each class; nan where the noise hides them."""
        all_ = self.matrix.sum(axis=1)
        there = all_ > 0
        share = np.divide(self.matrix.diagonal(), all_, out=np.full(len(all_), np.nan), where=there)
        return np.asarray(share.clip(0.0, 1.0))

    @cached_property
    def recall_interval(self) -> NDArray[np.float64]:
        """Where the recall of each class lies, shape (n_classes, 2); of a hidden one anywhere."""
        cells = zip(self.matrix.diagonal(), self.matrix.sum(axis=1), strict=True)
        of_each = (float(self.sigma), len(self.classes), self.level)
        return np.array([of_class(float(right), float(all_), *of_each) for right, all_ in cells])

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the classes' recalls; nan if one is."""
        return float(self.recall.mean())

    @property
    def balanced_accuracy_interval(self) -> Interval:
        """Where the balanced accuracy on the population lies."""
        return of_mean(self.recall, self.recall_interval)

    def _view(self) -> View:
        most = max(float(self.matrix.max()), 1.0)
        rows: list[list[Cell]] = [
            [
                str(name),
                *(Shade(f"{count:,.0f}", count / most) for count in counts),
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
    accountant: Any,
    y_true: Any,
    y_pred: Any,
    *,
    classes: Any,
    owners: Any = None,
    epsilon: float | dict[str, float] | None = None,
    sigma: float | None = None,
    level: float = 0.95,
    random_state: Any = None,
) -> PrivateConfusion:
    """Release the confusion matrix of predictions on private rows. **This spends budget.**

    It costs twice the mu^2 of an accuracy with as much noise: a person who leaves one cell comes to
    another.

    Parameters
    ----------
    accountant : PrivacyAccountant
        The budget of the private rows. Its relation is ``"replace"``.
    y_true : array-like of shape (n_rows,)
        Private labels. Rows of a class that is none of `classes` are in no cell, and count as
        wrong answers.
    y_pred : array-like of shape (n_rows,)
        As for `score_private`.
    classes : array-like of shape (n_classes,)
        The classes: public ones, never those that occur.
    owners, epsilon, sigma, level, random_state
        As for `score_private`.

    Returns
    -------
    PrivateConfusion

    Raises
    ------
    BudgetExceededError
        If it doesn't fit what is left; nothing is spent.
    ValueError
        As for `score_private`.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.scoring import confusion_private
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> truth = np.arange(20_000) % 4 // 3
    >>> told = np.where(np.arange(20_000) % 5, truth, 0)
    >>> confusion = confusion_private(accountant, truth, told, classes=[0, 1])
    >>> low, high = confusion.recall_interval[1]
    >>> bool(low < 0.8 < high)
    True
    """
    known = np.asarray(classes)
    if known.ndim != 1 or len(known) < 2 or len(set(known.tolist())) < len(known):
        raise ValueError(f"classes={classes!r} must be a list of two or more different classes.")
    truth, told = class_codes(y_true, known, "y_true"), class_codes(y_pred, known, "y_pred")
    if len(truth) != len(told):
        raise ValueError(
            f"y_true has {len(truth)} rows and y_pred {len(told)}; give a prediction for each."
        )
    people, n_classes = People.of(accountant, owners, len(truth)), len(known)
    noise = Noise.of(accountant, people.n, n_classes**2, epsilon, sigma, level)
    cells, counted = truth * n_classes + told, (truth >= 0) & (told >= 0)
    counts = np.bincount(cells[counted], people.weights[counted], n_classes**2)
    released = accountant.release(
        noise.mechanism,
        counts[None],
        random_state=random_state,
        scope=noise.scope,
        note={"measured": "confusion matrix", "n_counted": people.n},
    )
    return PrivateConfusion(
        matrix=released[0].reshape(n_classes, n_classes),
        classes=known,
        level=level,
        n=people.n,
        unit=people.unit,
        sigma=noise.mechanism.sigma,
    )
