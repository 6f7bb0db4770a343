"""Cells of rows to predict that a model does not know: categories, missing cells, far numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from secretballot._base._errors import warn
from secretballot._base._sklearn_compat import _safe_indexing
from secretballot._base._view import percent
from secretballot.linear.features._additive_bins import AdditiveBins, public_bins
from secretballot.linear.features._column_bins import range_text
from secretballot.linear.features._columns import Categories, PublicColumn
from secretballot.linear.features._design import Features, Floats
from secretballot.linear.features._nullable_features import nullable_bins
from secretballot.tables._cells import date_text, read_numbers
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._frames import columns_of

#: Fewest rows that are warned of, and the share of their cells that are unknown.
_FEWEST_ROWS, _MOST_SHARE = 20, 0.5
#: Most rows that are compared where their features are not one-hot.
_MOST_ROWS = 2_000
#: Largest expected share of unknown cells in a column that is warned of.
_FEW = 0.25
#: Columns that a warning names.
_MOST_WARNED = 10


@dataclass(frozen=True, eq=False)
class UnknownCells:
    """Comparison of rows to predict with the rows of the fit, by public and released facts."""

    bins: AdditiveBins  # features of columns, with one for missing cells
    # (n_columns,): share of unknown cells in the reference rows of the fit, or in its public rows.
    expected: Floats
    ranges: Bounds = field(default_factory=dict)  # public or declared ranges of numbers

    @classmethod
    def of_features(cls, bins: AdditiveBins, means: Floats, ranges: Bounds) -> UnknownCells:
        """Return the comparison, given the mean of each feature over the rows of the fit."""
        return cls(bins, _unknown_shares(bins, means), ranges)

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
        if n_rows < _FEWEST_ROWS:
            return
        spaced = np.linspace(0, n_rows - 1, min(n_rows, _MOST_ROWS)).astype(int)
        sample = _safe_indexing(X, spaced)
        self._warn_far_numbers(sample)
        if not isinstance(rows, csr_array):
            rows = self.bins.transform(sample)
        means = _means(rows)
        shares = _unknown_shares(self.bins, means)
        unknown = np.flatnonzero((shares > _MOST_SHARE) & (self.expected < _FEW)).tolist()
        if not unknown:
            return
        shown = [
            f"{self.bins.columns[at].name!r} ({percent(shares[at])}, against "
            f"{percent(self.expected[at])} in the fit{self._known(at)})"
            for at in unknown[:_MOST_WARNED]
        ]
        shown += _more(unknown)
        warn(
            f"most cells of X are missing, can't be read, or are none of the model's categories in "
            f"{', '.join(shown)}. Predictions take all such cells for the same. Spell, code and "
            "convert columns as for the fit (columns_ shows how the model reads each). If X is "
            "private, so is this warning."
        )

    def _warn_far_numbers(self, X: ArrayLike) -> None:
        """Warn of columns of numbers most of which are out of the range of the fit."""
        far = []
        for column, cells in zip(self.bins.columns, columns_of(X), strict=True):
            if column.name not in self.ranges:
                continue
            x, (low, high) = read_numbers(cells), self.ranges[column.name]
            share = float(((x < low) | (x > high)).mean())
            if share > _MOST_SHARE:
                known_text = range_text(
                    low, high, date_text if getattr(column, "is_date", False) else None
                )
                far.append(f"{column.name!r} ({percent(share)} out of {known_text})")
        if far:
            warn(
                "most numbers of X are out of the range of the public rows, or the declared "
                f"bounds, in {', '.join(far[:_MOST_WARNED] + _more(far))}. The model has learned "
                "nothing there. Give columns in the units of the fit, and missing cells as NaN "
                "(columns_ shows how the model reads each). If X is private, so is this warning."
            )

    def _known(self, position: int) -> str:
        column = self.bins.columns[position]
        known_text = column.labels()[: min(column.other_code or 0, 2)]
        return f"; it knows {', '.join(map(repr, known_text))}" if known_text else ""


def _more(columns: Sequence[object]) -> list[str]:
    n_more = len(columns) - _MOST_WARNED
    return [f"and {n_more} more"] if n_more > 0 else []


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
