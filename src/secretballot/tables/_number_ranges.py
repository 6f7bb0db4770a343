"""Public ranges of columns of numbers and dates, and rows that are mostly out of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import binom

from secretballot._base._errors import warn
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot._base._view import percent
from secretballot.tables._cells import date_text, read_days, read_numbers
from secretballot.tables._frames import column_names, columns_of, container_kind, row_shape

Floats = NDArray[np.float64]
#: Text of a number in labels.
NumberText = Callable[[float], str]

#: Fewest rows that are warned of.
FEWEST_ROWS = 20
#: Largest share of a column's cells, out of range or not readable, without a warning.
MOST_SHARE = 0.5
#: Most rows that are compared.
MOST_ROWS = 2_000
#: Most columns that a warning names.
MOST_WARNED = 10
#: Largest probability that half of some rows are out of the range of public ones like them.
_FALSE_ALARM = 1e-3


@dataclass(frozen=True, eq=False)
class NumberRanges:
    """Public ranges of columns; of a column without one they are NaN, and nothing is out of it."""

    names: list[Hashable] | None  # of the columns, if a table has some
    low: Floats  # (n_columns,)
    high: Floats
    is_date: tuple[bool, ...]

    @classmethod
    def of(
        cls, X_public: Any, names: list[Hashable] | None, kinds: Sequence[str]
    ) -> NumberRanges | None:
        """Return the ranges of columns with enough public rows; None if there are none.

        The kinds of columns are those of `ColumnSchema`.
        """
        is_date = tuple(kind == "time" for kind in kinds)
        pairs = zip(columns_of(X_public), is_date, strict=True)
        columns = [_numbers(values, date) for values, date in pairs]
        counts = np.array([np.isfinite(cells).sum() for cells in columns], dtype=int)
        # Of new rows from the law of n others, half are out of their range as often as a fair coin
        # comes up heads at most once in n throws.
        few = len(columns) * binom.cdf(1, counts, 0.5) > _FALSE_ALARM
        few |= [kind not in ("number", "time") for kind in kinds]
        if few.all():
            return None
        low = np.array([np.fmin.reduce(cells, initial=np.nan) for cells in columns])
        high = np.array([np.fmax.reduce(cells, initial=np.nan) for cells in columns])
        return cls(names, np.where(few, np.nan, low), np.where(few, np.nan, high), is_date)

    def count(self, X: Any) -> Floats:
        """Count the cells of each column that are out of its range."""
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            return ((self.low > X) | (self.high < X)).sum(axis=0, dtype=np.float64)
        counts, columns = np.zeros(len(self.low)), columns_of(X)
        for at in np.flatnonzero(~np.isnan(self.low)).tolist():
            cells = _numbers(columns[at], self.is_date[at])
            counts[at] = ((cells < self.low[at]) | (cells > self.high[at])).sum()
        return counts

    def warn(self, X: Any, words: str) -> None:
        """Warn of columns most of whose cells are out of range, in a table with these columns."""
        if isinstance(X, list | tuple) and len({np.shape(row) for row in X}) > 1:
            return  # the estimator has an error for rows of several lengths
        if not container_kind(X):
            return
        n_rows, names = _num_samples(X), column_names(X)
        if n_rows < FEWEST_ROWS or issparse(X) or row_shape(X) != self.low.shape:
            return
        if None not in (names, self.names) and names != self.names:
            return
        spaced = np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).astype(int)
        sample = _safe_indexing(X, spaced)
        if isinstance(sample, list | tuple):
            sample = np.asarray(sample)
        self.warn_shares(self.count(sample) / len(spaced), words)

    def warn_shares(self, shares: Floats, words: str) -> None:
        """Warn by the share of cells that are out of range; `words` say what that means."""
        far = []
        for at in np.flatnonzero(shares > MOST_SHARE).tolist():
            text = date_text if self.is_date[at] else None
            public_range = range_text(float(self.low[at]), float(self.high[at]), text)
            name = at if self.names is None else self.names[at]
            far.append(f"{name!r} ({percent(shares[at])} out of {public_range})")
        if far:
            warn(
                "most numbers of X are out of the range of the public rows, or the declared "
                f"bounds, in {', '.join(shorten(far))}. {words} If X is private, so is this "
                "warning."
            )


def shorten(columns: list[str]) -> list[str]:
    """Return the first columns that a warning names, and the number of the others."""
    n_more = len(columns) - MOST_WARNED
    return [*columns[:MOST_WARNED], *([f"and {n_more} more"] if n_more > 0 else [])]


def _numbers(values: ArrayLike, is_date: bool) -> Floats:
    """Return the cells of a column as numbers, dates as days."""
    return read_days(values, "time") if is_date else read_numbers(values)


def range_text(low: float, high: float, text: NumberText | None = None) -> str:
    """Return the text of an interval, whose ends may be infinite; `text` makes that of a number."""
    low, high = low + 0.0, high + 0.0  # no negative zero
    if low == high:
        return text(low) if text else f"{low:.6g}"
    if np.isinf(low) and np.isinf(high):
        return "all"
    shown_low, shown_high = (
        text(end) if text and np.isfinite(end) else f"{end:.4g}" for end in (low, high)
    )
    if np.isinf(low):
        return f"up to {shown_high}"
    return f"above {shown_low}" if np.isinf(high) else f"{shown_low} to {shown_high}"
