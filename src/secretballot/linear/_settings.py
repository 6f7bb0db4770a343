"""How much to model: numbers of bins and rounds, from public numbers alone."""

from __future__ import annotations

import math

from secretballot._errors import BudgetExceededError

#: Bins grow as optimal histograms do, somewhat faster, with what noise leaves of the rows; the
#: constants are measured (`benchmarks/equal_epsilon/rule.py` prints others beside them).
_FACTOR, _POWER, _FEWEST, _MOST = 0.22, 0.6, 3, 64

#: From which ratio of two errors on so many rounds of residuals follow the first.
_ROUNDS = ((30.0, 1), (150.0, 2), (1500.0, 3), (15000.0, 5))

#: Of so many public rows there is a bin more.
_ROWS_A_BIN = 16

#: Time grows as the cube of all bins together, and as the classes.
_ALL_BINS = 512

#: The least loudness that a fit is worth. Below it models were right less often than who always
#: names the frequent class: 4 to 20 columns, 20 to 200 rows at epsilon 1.
_WORTH_LEARNING = 6.0


def loudness(n_people: float, sigma: float, norm: float) -> float:
    """Return how far the mean of all rows stands out of the noise, if one round took all budget.

    Parameters
    ----------
    n_people : float
        Rows or owners, or the sum of their weights.
    sigma : float
        Noise of one sum of vectors that are 1 long at most.
    norm : float
        How long vectors are.
    """
    return 2 * n_people / (sigma * norm)


def check_loudness(loud: float, n_units: int) -> None:
    """Raise BudgetExceededError if the noise would drown what all rows together say.

    Parameters
    ----------
    loud : float
        See `loudness`.
    n_units : int
        Rows or owners.
    """
    if loud >= _WORTH_LEARNING:
        return
    times = _WORTH_LEARNING / loud
    raise BudgetExceededError(
        f"noise that fits what may be spent would drown what {n_units} private rows (or owners) "
        f"say together: their mean stands out of it {loud:.2g} times, and {_WORTH_LEARNING:g} "
        "times are needed to learn more than the frequent class. Nothing was released or spent. "
        f"Use about {math.ceil(n_units * times)} rows, {times:.2g} times the epsilon, or fewer "
        "columns."
    )


def choose_bins(loud: float, n_public: int, n_columns: int, n_classes: int) -> int:
    """Return into how many bins each of so many columns is cut at most."""
    all_bins = _ALL_BINS * (2 / n_classes) ** (1 / 3)
    most = min(_MOST, n_public / _ROWS_A_BIN, all_bins / n_columns)
    return max(round(min(_FACTOR * loud**_POWER, most)), _FEWEST)


def choose_rounds(loud: float, n_public: int) -> int:
    """Return how many rounds of residuals follow the first.

    The first round takes public rows for the private ones. That error is as large as one over
    their number, and the noise as one over the square of how loud the rows are: more rounds where
    the noise is not what matters.
    """
    ratio = loud**2 / n_public
    return max((rounds for least, rounds in _ROUNDS if ratio >= least), default=0)
