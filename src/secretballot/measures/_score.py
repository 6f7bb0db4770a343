"""The accuracy of a public model on private rows, released with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._interrupts import completed
from secretballot._base._view import Bar, Cell, Prose, Shown, Table, View
from secretballot.accounting._answers import Share
from secretballot.accounting._protocol import RandomState
from secretballot.measures._answers import (
    check_known_predictions,
    check_label_types,
    check_no_fractions,
    check_no_missing_labels,
    right_answers,
)
from secretballot.measures._intervals import Interval, population_interval, sample_interval
from secretballot.measures._score_price import Epsilon, NoiseChoice, check_score
from secretballot.measures._scored_rows import ScoredRows, TableScores, check_order_of_labels
from secretballot.tables._people import People

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant


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
    noise = NoiseChoice.of_answer("score_private", epsilon, share, sigma, level)
    check_order_of_labels(y_true, y_pred, owners)
    people = People.from_owners(accountant, owners, len(right_answers(y_true, y_pred)))
    check_no_missing_labels(y_true)
    check_label_types(y_true, y_pred, ("y_true", "y_pred"))
    check_no_fractions(y_true, "y_true")
    check_no_fractions(y_pred, "y_pred")
    check_known_predictions(y_true, y_pred)
    scored = TableScores(y_true, y_pred, people)
    return release_accuracy(accountant, scored, noise, random_state)


def release_accuracy(
    accountant: PrivacyAccountant,
    scored: ScoredRows,
    noise: NoiseChoice,
    random_state: RandomState,
) -> PrivateScore:
    n, level = scored.n, noise.level
    mechanism, scope = noise.of_counts(accountant, n, 1)
    counts = scored.sum(count_right)[None]
    check_score(accountant, mechanism, 1, scope, n=n, level=level, noise=mechanism.sigma / n)

    def result(released: NDArray[np.float64]) -> PrivateScore:
        count, sigma = float(released[0, 0]), mechanism.sigma
        return PrivateScore(
            accuracy=min(max(count / n, 0.0), 1.0),
            interval=population_interval(count, n, sigma, level),
            rows_interval=sample_interval(count, n, sigma, level),
            level=level,
            n=n,
            unit=scored.unit,
            sigma=sigma,
        )

    return completed(
        lambda: accountant.release(
            mechanism,
            counts,
            random_state=random_state,
            scope=scope,
            note={"measured": "accuracy", "n_counted": n, **scored.note},
        ),
        result,
    )


def count_right(y_true: ArrayLike, y_pred: ArrayLike, people: People) -> NDArray[np.float64]:
    return np.atleast_1d(people.total(right_answers(y_true, y_pred)))
