"""Feature for the missing cells of a column, beside the features of its values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag

from secretballot.linear.features._additive_bins import AdditiveBins
from secretballot.linear.features._column_bins import ColumnAxis, ColumnFeatures
from secretballot.tables._cells import date_text
from secretballot.tables._number_ranges import NumberText

#: Least share of missing cells that are a group of their own in pairs of columns.
_LEAST_SHARE = 0.01


@dataclass(frozen=True)
class NullableFeatures:
    """Features of a column, of which the last one is for missing cells.

    A row has the weight 1 in it or in the others, so it is no longer than without it.
    """

    values: ColumnFeatures  # features of the cells that are there
    is_date: bool = False  # whether numbers are days since 1970, which labels show as dates

    @property
    def name(self) -> Hashable:
        return self.values.name

    @property
    def n_entries(self) -> int:
        return self.values.n_entries

    @property
    def weight_bits(self) -> int:
        return self.values.weight_bits

    @property
    def n_bins(self) -> int:
        return self.values.n_bins + 1

    @property
    def n_values(self) -> int:
        """Number of features without that of missing cells."""
        return self.values.n_bins

    @property
    def other_code(self) -> int | None:
        return self.values.other_code

    def entries(self, column: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        codes, weights = self.values.entries(column)
        return self._with_missing(codes, weights, np.asarray(weights.sum(axis=1) == 0))

    def drawn_entries(
        self, codes: NDArray[np.int32], generator: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        missing = np.asarray(codes == self.n_values)
        present = np.where(missing, 0, codes).astype(np.int32)
        return self._with_missing(*self.values.drawn_entries(present, generator), missing)

    def _with_missing(
        self,
        codes: NDArray[np.int32],
        weights: NDArray[np.float64],
        missing: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        codes[missing] = np.arange(self.n_bins - self.n_entries, self.n_bins)
        weights[missing] = 0.0
        weights[missing, -1] = 1.0
        return codes, weights

    def axis(self) -> ColumnAxis:
        return self.values.axis()

    def _text(self, text: NumberText | None) -> NumberText | None:
        return date_text if text is None and self.is_date else text

    def listed(self) -> NDArray[np.intp]:
        return self.values.listed()

    def labels(self, text: NumberText | None = None) -> list[str]:
        return self.values.labels(self._text(text))

    def precision(self) -> NDArray[np.float64]:
        return self.values.precision()

    def merged_bins(self, shares: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
        """Merge features into groups; missing cells are one, or join the first if they are rare."""
        groups = self.values.merged_bins(shares[:-1], n_bins)
        is_rare = shares[-1] < _LEAST_SHARE * shares.sum()
        return np.append(groups, 0 if is_rare else groups.max() + 1)

    def merged_labels(self, groups: NDArray[np.intp], text: NumberText | None = None) -> list[str]:
        labels = self.values.merged_labels(groups[:-1], self._text(text))
        return labels if groups[-1] < len(labels) else [*labels, "missing"]

    def merged_correlations(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        correlations = self.values.merged_correlations(groups[:-1])
        if groups[-1] < len(correlations):
            return correlations
        return np.asarray(block_diag(correlations, 1.0))

    def order(self, effects: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.append(self.values.order(effects[:-1]), self.n_values)

    def in_order(self, x: NDArray[np.float64]) -> NullableFeatures:
        return NullableFeatures(self.values.in_order(x), self.is_date)


def nullable_bins(bins: AdditiveBins, days: Mapping[Hashable, str] | None = None) -> AdditiveBins:
    """Return the features of columns, with one more for the missing cells of each."""
    return AdditiveBins(
        [
            NullableFeatures(column, (days or {}).get(column.name) == "time")
            for column in bins.columns
        ]
    )
