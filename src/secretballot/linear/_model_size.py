"""Number of bins and width of kernels, chosen from public numbers alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from secretballot._base._errors import BudgetExceededError
from secretballot.accounting._answers import epsilon_factor

if TYPE_CHECKING:
    from secretballot.accounting._accountant import PrivacyAccountant
    from secretballot.ledger._budget import Scope

#: Bins grow as a power of the signal-to-noise ratio; the constants are measured.
_FACTOR, _POWER, _LEAST_BINS, _MOST_BINS = 0.22, 0.6, 3, 64

#: Public rows for each bin, of at least so many rows: reference rows are never fewer.
_PUBLIC_ROWS_PER_BIN = 16
#: Number of public rows that a fit without them is sized for.
DECLARED_SIZE = 400

#: Bins of all columns together: time grows as their cube, and as the classes.
_ALL_BINS = 512

#: Signal-to-noise ratio of a class from which kernels have a width of 1, and their least width; the
#: constants are measured.
_FULL_SIGNAL, _LEAST_WIDTH = 200.0, 1 / 16

#: Least signal-to-noise ratio of a fit. Below it models were right less often than the constant
#: prediction of the frequent class: 4 to 20 columns, 20 to 200 rows at epsilon 1.
_LEAST_SIGNAL = 6.0


def signal_to_noise(n_people: float, sigma: float, norm: float) -> float:
    """Compute the ratio of the rows' mean to the noise, if one round took the whole budget.

    `sigma` is the noise on a sum of vectors of length at most 1, `norm` the length of the vectors.
    """
    return 2 * n_people / (sigma * norm)


def check_signal(signal: float, n_units: int, accountant: PrivacyAccountant, scope: Scope) -> None:
    """Raise BudgetExceededError if the noise would drown the signal of all rows."""
    if signal >= _LEAST_SIGNAL:
        return
    factor = _LEAST_SIGNAL / signal
    raise BudgetExceededError(
        f"noise that fits what may be spent would drown what {n_units} private rows (or owners) "
        f"say together: their mean stands out of it {signal:.2g} times, and {_LEAST_SIGNAL:g} "
        "times are needed to learn more than the frequent class. Nothing was released or spent. "
        f"Use about {math.ceil(n_units * factor)} rows, "
        f"{epsilon_factor(accountant, scope, factor):g} times the epsilon, or fewer columns."
    )


def choose_bins(signal: float, n_public: int, n_columns: int, n_outputs: int) -> int:
    all_bins = _ALL_BINS * math.pow(2 / max(n_outputs, 2), 1 / 3)
    most = min(
        _MOST_BINS, max(n_public, DECLARED_SIZE) / _PUBLIC_ROWS_PER_BIN, all_bins / n_columns
    )
    return max(round(min(_FACTOR * math.pow(signal, _POWER), most)), _LEAST_BINS)


def choose_width(signal: float, n_outputs: int) -> float:
    """Choose the width of kernels: wide ones tell columns together, and need a strong signal."""
    return min(max((signal / (_FULL_SIGNAL * n_outputs)) ** 2, _LEAST_WIDTH), 1.0)
