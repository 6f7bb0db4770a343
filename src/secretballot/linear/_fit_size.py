"""Size of a fit, from public numbers alone: signal, bins, rounds, width of kernels, memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from secretballot._base._errors import BudgetExceededError
from secretballot.accounting._answers import epsilon_factor
from secretballot.linear._feature_maps import MOST_PUBLIC_ROWS
from secretballot.linear.features import stores_pairs
from secretballot.linear.input import Population, Settings
from secretballot.linear.rounds import N_SYNTHETIC, Response, scaled_sum
from secretballot.mechanisms._noisy_counts import VectorSum

#: Bins grow as a power of the signal-to-noise ratio; the constants are measured.
_FACTOR, _POWER, _LEAST_BINS, _MOST_BINS = 0.22, 0.6, 3, 64

#: Public rows for each bin, of at least so many rows: reference rows are never fewer.
_PUBLIC_ROWS_PER_BIN, _LEAST_PUBLIC_ROWS = 16, 400

#: Bins of all columns together: time grows as their cube, and as the classes.
_ALL_BINS = 512

#: Signal-to-noise ratio of a class from which kernels have a width of 1, and their least width; the
#: constants are measured.
_FULL_SIGNAL, _LEAST_WIDTH = 200.0, 1 / 16

#: Least signal-to-noise ratio of a fit. Below it models were right less often than the constant
#: prediction of the frequent class: 4 to 20 columns, 20 to 200 rows at epsilon 1.
_LEAST_SIGNAL = 6.0

#: Bytes of each reference row for each pair of its entries, in either order. (Measured: 20 bytes at
#: the peak.)
_BYTES_PER_PAIR = 16
#: Largest memory of a fit, in bytes.
_MOST_MEMORY = 8 * 10**9


@dataclass(frozen=True)
class FitSize:
    """Size of a fit."""

    signal: float  # ratio of the rows' mean to the noise, if one round took the whole budget
    n_bins: int  # largest number of bins of a column
    n_rounds: int  # number of sums of residuals after the first
    kernel_width: float  # width of kernels; see `KernelFeatures`
    whole_fit: VectorSum  # mechanism of one release that would take all that the fit may spend

    @classmethod
    def choose(
        cls,
        settings: Settings,
        response: Response,
        population: Population,
        *,
        n_columns: int,
        n_public: int,
    ) -> FitSize:
        """Choose the size of a fit, as far as the settings leave it open."""
        whole_fit = settings.accountant.calibrate(
            lambda sigma: scaled_sum(sigma, population.weight), n_rows=1, scope=settings.scope
        )
        clear_signal = signal_to_noise(population.total, whole_fit.sigma, 1.0)
        signal = clear_signal / math.sqrt(n_columns)
        n_bins, n_rounds = settings.n_bins, settings.rounds
        if isinstance(n_bins, str):
            n_bins = choose_bins(signal, n_public, n_columns, response.n_columns)
        if isinstance(n_rounds, str):
            n_rounds = response.choose_rounds(signal, n_public)
        width = choose_width(clear_signal, response.n_columns)
        return cls(signal, int(n_bins), int(n_rounds), width, whole_fit)

    def check_signal(self, settings: Settings, population: Population) -> None:
        """Raise BudgetExceededError if the noise would drown the signal of all rows."""
        if self.signal >= _LEAST_SIGNAL:
            return
        factor, n_units = _LEAST_SIGNAL / self.signal, population.n_units
        epsilon = epsilon_factor(settings.accountant, settings.scope, factor)
        raise BudgetExceededError(
            f"noise that fits what may be spent would drown what {n_units} private rows (or "
            f"owners) say together: their mean stands out of it {self.signal:.2g} times, and "
            f"{_LEAST_SIGNAL:g} times are needed to learn more than the frequent class. Nothing "
            f"was released or spent. Use about {math.ceil(n_units * factor)} rows, "
            f"{epsilon:g} times the epsilon, or fewer columns."
        )


def signal_to_noise(n_people: float, sigma: float, norm: float) -> float:
    """Compute the ratio of the rows' mean to the noise, if one round took the whole budget.

    `sigma` is the noise on a sum of vectors of length at most 1, `norm` the length of the vectors.
    """
    return 2 * n_people / (sigma * norm)


def choose_bins(signal: float, n_public: int, n_columns: int, n_outputs: int) -> int:
    all_bins = _ALL_BINS * math.pow(2 / max(n_outputs, 2), 1 / 3)
    most = min(
        _MOST_BINS,
        max(n_public, _LEAST_PUBLIC_ROWS) / _PUBLIC_ROWS_PER_BIN,
        all_bins / n_columns,
    )
    return max(round(min(_FACTOR * math.pow(signal, _POWER), most)), _LEAST_BINS)


def choose_width(signal: float, n_outputs: int) -> float:
    """Choose the width of kernels: wide ones tell columns together, and need a strong signal."""
    return min(max((signal / (_FULL_SIGNAL * n_outputs)) ** 2, _LEAST_WIDTH), 1.0)


def too_many_columns(
    *, n_columns: int, n_entries: int, n_features: int, n_public: int, n_pairs: int
) -> str:
    """Describe why a fit of so many columns is refused; "" if it is not."""
    if not n_pairs and not stores_pairs(n_entries, n_features):
        return ""
    n_rows = min(n_public, MOST_PUBLIC_ROWS) + N_SYNTHETIC
    all_entries = n_entries + n_pairs
    memory = _BYTES_PER_PAIR * n_rows * all_entries**2
    if memory <= _MOST_MEMORY:
        return ""
    most_entries = math.isqrt(_MOST_MEMORY // (_BYTES_PER_PAIR * n_rows))
    most_columns = n_columns * most_entries // all_entries
    most_rows = _MOST_MEMORY // (_BYTES_PER_PAIR * all_entries**2) - N_SYNTHETIC
    fewer_rows = f", or at most {most_rows:,} public rows" if most_rows > 0 and n_public else ""
    return (
        f"{n_columns:,} columns are too many for a fit, which would take about "
        f"{memory / 1e9:,.0f} GB of memory ({_BYTES_PER_PAIR} bytes times {n_rows:,} reference "
        f"rows times the square of {all_entries:,} entries a row), and at most "
        f"{_MOST_MEMORY / 1e9:.0f} GB are taken. Nothing was released or spent. Use at most "
        f"{most_columns:,} columns: "
        f"columns=[...] names those to read{fewer_rows}."
    )
