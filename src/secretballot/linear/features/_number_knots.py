"""Piecewise linear features of numbers, in place of bins."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.linear.features._additive_bins import AdditiveBins
from secretballot.linear.features._column_bins import (
    ColumnAxis,
    ColumnFeatures,
    NumberBins,
    RankedFeatures,
)
from secretballot.linear.features._columns import PublicColumn
from secretballot.tables._cells import read_numbers
from secretballot.tables._number_ranges import NumberText, range_text

#: Binary places of the weights of knots, so that sums over rows are exact.
_WEIGHT_BITS = 8
#: Share of an interval's public numbers that lie beyond the first knot, and beyond the last. With
#: knots at the extremes of many public rows few private rows would have the ends' features.
_END_SHARE = 0.1


@dataclass(frozen=True)
class NumberKnots(RankedFeatures):
    """Knots of a number: single values, then the knots of a piecewise linear function."""

    name: Hashable
    values: NDArray[np.float64]  # (n_values,): values that have an effect of their own
    # (n_knots,): at least two. Beyond the first and the last, the function is constant.
    knots: NDArray[np.float64]
    ranks: NDArray[np.float64]  # (n_values + n_knots,): share of the rows below each
    # (n_knots,): whether a knot is a frequent value, at which synthetic rows then are. None: no
    # knot is.
    is_value: NDArray[np.bool_] | None = None

    #: Features of a row, and their binary places.
    n_entries: ClassVar[int] = 2
    weight_bits: ClassVar[int] = _WEIGHT_BITS

    @classmethod
    def of_bins(cls, bins: NumberBins, low: float, high: float) -> NumberKnots | None:
        """Return knots at the edges of bins and at both ends; None of fewer than three."""
        inner = (bins.edges > low) & (bins.edges < high)
        edges = bins.edges[inner]
        if not len(edges):
            return None
        n_values = len(bins.values)
        middles = bins.ranks[n_values:]
        edge_ranks = ((middles[1:] + middles[:-1]) / 2)[inner]
        first, last = 2 * middles[0] - edge_ranks[0], 2 * middles[-1] - edge_ranks[-1]
        ranks = np.concatenate([bins.ranks[:n_values], [first], edge_ranks, [last]])
        return cls(bins.name, bins.values, np.concatenate([[low], edges, [high]]), ranks.clip(0, 1))

    @property
    def n_bins(self) -> int:
        return len(self.values) + len(self.knots)

    def entries(self, column: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return two neighbouring features of each row, and weights that add to 1, or are 0."""
        x = read_numbers(column)
        n_values, missing = len(self.values), np.isnan(x)
        inside = np.where(missing, self.knots[0], x).clip(self.knots[0], self.knots[-1])
        left_knots = np.searchsorted(self.knots, inside, side="right") - 1
        left_knots = left_knots.clip(0, len(self.knots) - 2)
        upper = (inside - self.knots[left_knots]) / (
            self.knots[left_knots + 1] - self.knots[left_knots]
        )
        first = left_knots + n_values
        if n_values:
            position = np.searchsorted(self.values, x).clip(0, n_values - 1)
            is_value = self.values[position] == x
            first, upper = np.where(is_value, position, first), np.where(is_value, 0.0, upper)
        codes, weights = _neighbours(first, upper)
        weights[missing] = 0.0
        return codes, weights

    def drawn_entries(
        self, codes: NDArray[np.int32], generator: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Draw numbers around knots, with a density that falls to the neighbours."""
        n_values, n_knots = len(self.values), len(self.knots)
        distance = 1 - np.sqrt(1 - generator.random(len(codes)))
        below = generator.random(len(codes)) < 0.5
        knot = codes - n_values
        if self.is_value is not None:
            distance[self.is_value[knot]] = 0.0
        below = (below & (knot > 0)) | (knot == n_knots - 1)
        first, upper = codes - below, np.where(below, 1 - distance, distance)
        first, upper = np.where(knot < 0, codes, first), np.where(knot < 0, 0.0, upper)
        return _neighbours(first, upper)

    def in_order(self, x: NDArray[np.float64]) -> NumberKnots:
        """Return knots among which the single values are: a monotone effect has no peaks there."""
        if not len(self.values):
            return self
        n_values = len(self.values)
        added = ~np.isin(self.values, self.knots)
        knots = np.concatenate([self.knots, self.values[added]])
        ranks = np.concatenate([self.ranks[n_values:], self.ranks[:n_values][added]])
        order = np.argsort(knots)
        ranks = np.maximum.accumulate(ranks[order])
        is_value = np.isin(knots, self.values)[order]
        return NumberKnots(self.name, np.empty(0), knots[order], ranks, is_value)

    def axis(self) -> ColumnAxis:
        return ColumnAxis(values=self.values.copy(), knots=self.knots.copy())

    def listed(self) -> NDArray[np.intp]:
        return np.argsort(np.concatenate([self.values, self.knots]), kind="stable")

    def labels(self, text: NumberText | None = None) -> list[str]:
        numbers = np.concatenate([self.values, self.knots])[self.listed()].tolist()
        return [range_text(number, number, text) for number in numbers]

    def merged_labels(self, groups: NDArray[np.intp], text: NumberText | None = None) -> list[str]:
        numbers = np.concatenate([self.values, self.knots])
        members = [numbers[groups == group] for group in range(int(groups.max()) + 1)]
        return [range_text(own_bins.min(), own_bins.max(), text) for own_bins in members]


def _neighbours(
    first: NDArray[np.integer], upper: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return two neighbouring features, and their weights, of which the second is `upper`."""
    upper = np.rint(np.ldexp(upper, _WEIGHT_BITS)) * 2.0**-_WEIGHT_BITS
    codes = np.stack([first, first + 1], axis=1).astype(np.int32)
    return codes, np.stack([1 - upper, upper], axis=1)


def knots_between(bins: AdditiveBins, ends: Mapping[Hashable, tuple[float, float]]) -> AdditiveBins:
    """Return piecewise linear features of the columns of which `ends` has both ends."""
    columns: list[ColumnFeatures] = []
    for column in bins.columns:
        knots = None
        if isinstance(column, NumberBins) and column.name in ends:
            knots = NumberKnots.of_bins(column, *ends[column.name])
        columns.append(column if knots is None else knots)
    return AdditiveBins(columns)


def public_ends(
    bins: AdditiveBins, columns: Sequence[PublicColumn]
) -> dict[Hashable, tuple[float, float]]:
    """Return numbers near both ends of public ones, but not where bins are single values."""
    ends = {}
    for column, own_bins in zip(columns, bins.columns, strict=True):
        if isinstance(own_bins, NumberBins):
            x = column.numbers()
            spread = x[~np.isin(x, own_bins.values)]
            n_intervals = len(own_bins.edges) + 1
            if len(np.unique(spread)) > n_intervals:
                share = _END_SHARE / n_intervals
                low, high = np.quantile(spread, [share, 1 - share]).tolist()
                ends[own_bins.name] = (low, high)
    return ends
