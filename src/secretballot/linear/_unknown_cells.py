"""Cells of rows to predict that a model does not know: categories, missing cells, far numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from secretballot._base._errors import warn
from secretballot._base._sklearn_compat import _safe_indexing
from secretballot._base._view import percent
from secretballot.linear._additive_bins import AdditiveBins, nullable_bins, public_bins
from secretballot.linear._columns import Categories, PublicColumn
from secretballot.linear._design import Features, Floats
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._row_schema import (
    FEWEST_ROWS,
    MOST_ROWS,
    MOST_SHARE,
    NumberRanges,
    shorten,
)

#: Ends of a column without a range.
_NO_RANGE = (np.nan, np.nan)
#: What numbers out of range mean, and the remedy.
_FAR_WORDS = (
    "The model has learned nothing there. Give columns in the units of the fit, and missing cells "
    "as NaN (columns_ shows how the model reads each)."
)
#: Largest expected share of unknown cells in a column that is warned of.
_FEW = 0.25


@dataclass(frozen=True, eq=False)
class UnknownCells:
    """Comparison of rows to predict with the rows of the fit, by public and released facts."""

    bins: AdditiveBins  # features of columns, with one for missing cells
    # (n_columns,): share of unknown cells in the reference rows of the fit, or in its public rows.
    expected: Floats
    ranges: NumberRanges  # public or declared ranges of numbers

    @classmethod
    def of_features(cls, bins: AdditiveBins, means: Floats, ranges: Bounds) -> UnknownCells:
        """Return the comparison, given the mean of each feature over the rows of the fit."""
        ends = np.array([ranges.get(column.name, _NO_RANGE) for column in bins.columns])
        names = [column.name for column in bins.columns]
        # Dates are numbers of days by now.
        dates = [getattr(column, "is_date", False) for column in bins.columns]
        low, high = ends.reshape(-1, 2).T
        by_column = NumberRanges(names, low, high, tuple(dates))
        return cls(bins, _unknown_shares(bins, means), by_column)

    @classmethod
    def of_public(
        cls,
        columns: Sequence[PublicColumn],
        categories: Categories,
        X_public: ArrayLike,
        ranges: Bounds,
    ) -> UnknownCells:
        """Return the comparison for a model whose features are not one-hot."""
        days = {column.name: column.days for column in columns}
        bins = nullable_bins(public_bins(columns, 1, categories), days)
        return cls.of_features(bins, _means(bins.transform(X_public)), ranges)

    def warn(self, X: ArrayLike, rows: Features) -> None:
        """Warn of columns most of whose cells are unknown, and of numbers mostly out of range."""
        n_rows = np.shape(X)[0]
        if n_rows < FEWEST_ROWS:
            return
        spaced = np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).astype(int)
        sample = _safe_indexing(X, spaced)
        one_hot = rows if isinstance(rows, csr_array) else self.bins.transform(sample)
        unknown = _unknown_shares(self.bins, _means(one_hot))
        self._warn_shares(n_rows, unknown, self.ranges.count(sample) / len(spaced))

    def count(self, X: ArrayLike) -> Floats:
        """Count rows, and the unknown cells and far numbers of each column, to add up parts."""
        n_rows = np.shape(X)[0]
        unknown = n_rows * _unknown_shares(self.bins, _means(self.bins.transform(X)))
        return np.concatenate([[n_rows], unknown, self.ranges.count(X)])

    def warn_counts(self, counts: Floats) -> None:
        """Warn as `warn` does, by counts of all rows."""
        unknown, far = np.split(counts[1:] / counts[0], 2)
        self._warn_shares(int(counts[0]), unknown, far)

    def _warn_shares(self, n_rows: int, shares: Floats, far: Floats) -> None:
        if n_rows < FEWEST_ROWS:
            return
        self.ranges.warn_shares(far, _FAR_WORDS)
        unknown = np.flatnonzero((shares > MOST_SHARE) & (self.expected < _FEW)).tolist()
        if not unknown:
            return
        shown = [
            f"{self.bins.columns[at].name!r} ({percent(shares[at])}, against "
            f"{percent(self.expected[at])} in the fit{self._known(at)})"
            for at in unknown
        ]
        warn(
            "most cells of X are missing, can't be read, or are none of the model's categories in "
            f"{', '.join(shorten(shown))}. Predictions take all such cells for the same. Spell, "
            "code and convert columns as for the fit (columns_ shows how the model reads each). If "
            "X is private, so is this warning."
        )

    def _known(self, position: int) -> str:
        column = self.bins.columns[position]
        known_text = column.labels()[: min(column.other_code or 0, 2)]
        return f"; it knows {', '.join(map(repr, known_text))}" if known_text else ""


def _means(rows: csr_array) -> Floats:
    return np.asarray(rows.sum(axis=0)).ravel() / rows.shape[0]


def _unknown_shares(bins: AdditiveBins, means: Floats) -> Floats:
    """Return the share of other categories and missing cells of each column, given the means."""
    shares = []
    for column, place in zip(bins.columns, bins.places, strict=True):
        column_means = means[place]
        other = 0.0 if column.other_code is None else column_means[column.other_code]
        shares.append(float(other + column_means[column.n_values :].sum()))
    return np.array(shares)
