"""The accuracy of a public model on private rows, released with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from secretballot._views import Bar, Cell, Prose, Shown, Table, View
from secretballot.scoring._answers import right_answers
from secretballot.scoring._intervals import Interval, of_population, of_these_rows
from secretballot.scoring._people import People
from secretballot.scoring._score_price import Noise


@dataclass(frozen=True, kw_only=True)
class PrivateScore(Shown):
    """An accuracy that was released from private rows.

    Attributes
    ----------
    accuracy : float
        The noisy share of right answers, between 0 and 1.
    interval : tuple of float
        Where the accuracy on the population lies that the rows are a sample of: the noise, and
        that these rows and no others were there.
    rows_interval : tuple of float
        Where the accuracy on these rows themselves lies: the noise alone.
    level : float
        How often intervals like these hold what they are for.
    n : int
        How many rows, or owners, were counted.
    unit : str
        ``"row"``, or ``"owner"``: each owner's rows are averaged first, so that all weigh alike.
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
        table = Table(
            ("", "share", f"{self.level:.0%} interval", ""),
            (
                ("accuracy, of the population", f"{self.accuracy:.3f}", *_drawn(self.interval)),
                ("of these rows alone", f"{self.accuracy:.3f}", *_drawn(self.rows_interval)),
            ),
        )
        return View("PrivateScore", (table, Prose.of(counted, quiet=True)))


def _drawn(interval: Interval) -> tuple[Cell, Cell]:
    low, high = interval
    return f"{low:.3f} to {high:.3f}", Bar.between(low, high)


def score_private(
    accountant: Any,
    y_true: Any,
    y_pred: Any,
    *,
    owners: Any = None,
    epsilon: float | dict[str, float] | None = None,
    sigma: float | None = None,
    level: float = 0.95,
    random_state: Any = None,
) -> PrivateScore:
    """Release the accuracy of predictions on private rows. **This spends budget.**

    Parameters
    ----------
    accountant : PrivacyAccountant
        The budget of the private rows. Its relation is ``"replace"``.
    y_true : array-like of shape (n_rows,) or (n_rows, n_labels)
        Private labels. What the model can't predict is a wrong answer, never an error.
    y_pred : array-like of the same shape
        What a model predicts for these rows that is public but for what it was released from: of
        several labels a row all have to be right. Its prediction for a row must depend on that row
        alone.
    owners : array-like of shape (n_rows,), default=None
        Owner id of each row, and the accountant's unit is ``"owner"``. An owner's answers are
        averaged, so that all owners weigh alike.
    epsilon : float or dict of str to float, default=None
        The most that this may cost; it has the least noise that fits it.
    sigma : float, default=None
        Standard deviation of the noise, in right answers. With neither, a quarter of the square
        root of the number of rows (or owners): half of what they vary by themselves at an accuracy
        of a half. It widens the interval by an eighth at most there, and costs the less the more
        rows there are: mu^2 = 16 / n. `price_score` says how much of the budget that is.
    level : float, default=0.95
        Of the intervals.
    random_state : int, SeedSequence, Generator or None, default=None
        None: a cryptographic generator. Anything else is for tests, and protects nobody.

    Returns
    -------
    PrivateScore

    Raises
    ------
    BudgetExceededError
        If it doesn't fit what is left; nothing is spent.
    ValueError
        If shapes differ, or owners and the accountant's unit don't go together; nothing is spent.

    Notes
    -----
    The interval for the population takes rows that the model has not seen. Rows that it was
    trained on may be counted too: what it learned of them came through the same budget, and that
    bounds how much better than others it can do on them.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.scoring import score_private
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-5)
    >>> truth = np.arange(20_000) % 2
    >>> score = score_private(accountant, truth, np.where(np.arange(20_000) % 5, truth, 0))
    >>> score.interval[0] < 0.9 < score.interval[1]
    True
    >>> f"{accountant.spent().share:.1%}"
    '1.1%'
    """
    right = right_answers(y_true, y_pred)
    people = People.of(accountant, owners, len(right))
    noise = Noise.of(accountant, people.n, 1, epsilon, sigma, level)
    released = accountant.release(
        noise.mechanism,
        [[float(people.total(right))]],
        random_state=random_state,
        scope=noise.scope,
        note={"measured": "accuracy", "n_counted": people.n},
    )
    count, sigma = float(released[0, 0]), noise.mechanism.sigma
    return PrivateScore(
        accuracy=min(max(count / people.n, 0.0), 1.0),
        interval=of_population(count, people.n, sigma, level),
        rows_interval=of_these_rows(count, people.n, sigma, level),
        level=level,
        n=people.n,
        unit=people.unit,
        sigma=sigma,
    )
