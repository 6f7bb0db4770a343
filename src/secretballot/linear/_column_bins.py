"""Features of one column: bins, knots of piecewise linear effects, and missing cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag

from secretballot.tables._cells import (
    CodedTexts,
    date_text,
    range_text,
    read_numbers,
)

#: Correlation length of a column's effects, in ranks.
_CORRELATION_LENGTH = 0.25
#: Share of the effects' variance that is not correlated.
_ROUGHNESS = 0.05


@dataclass(frozen=True)
class ColumnAxis:
    """Numbers that a column's features stand for."""

    values: NDArray[np.float64] | None = None  # numbers with a feature of their own
    edges: NDArray[np.float64] | None = None  # edges between intervals
    knots: NDArray[np.float64] | None = None  # knots of a piecewise linear effect


#: In pairs of columns, missing cells with at least this share are a group of their own.
_LEAST_SHARE = 0.01


@dataclass(frozen=True)
class ColumnFeatures(ABC):
    """Features of one column: those of values, and possibly one for missing cells.

    The weights of a row add to 1, or are 0 if its cell is missing and has no feature. So a feature
    of missing cells does not increase the largest norm of a row.
    """

    name: Hashable
    _: KW_ONLY
    has_missing: bool = False  # whether the last feature is that of missing cells
    is_date: bool = False  # whether numbers are days since 1970, which labels show as dates

    #: Number of features of a row.
    n_entries: ClassVar[int] = 1
    #: Binary places of their weights.
    weight_bits: ClassVar[int] = 0

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Number of features without that of missing cells."""

    @property
    def n_bins(self) -> int:
        """Number of features."""
        return self.n_values + self.has_missing

    @property
    def other_code(self) -> int | None:
        """Feature of all categories that are not public; None for numbers."""
        return None

    def codes(self, column: ArrayLike) -> NDArray[np.intp]:
        """Return the number of each row's feature; -1 for a missing cell."""
        raise NotImplementedError

    def entries(self, column: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return features of each row, in increasing order, and their weights."""
        return self._with_missing(*self._value_entries(column))

    def _value_entries(self, column: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        return one_hot_entries(self.codes(column))

    def drawn_entries(
        self, codes: NDArray[np.int32], generator: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Draw rows from given features; return their features and weights."""
        missing = codes == self.n_values
        drawn, weights = self._drawn_values(np.where(missing, 0, codes).astype(np.int32), generator)
        weights[missing] = 0.0
        return self._with_missing(drawn, weights)

    def _drawn_values(
        self, codes: NDArray[np.int32], generator: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        return one_hot_entries(codes)

    def _with_missing(
        self, codes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        if self.has_missing:
            missing = weights.sum(axis=1) == 0
            codes[missing] = np.arange(self.n_bins - self.n_entries, self.n_bins)
            weights[missing, -1] = 1.0
        return codes, weights

    @abstractmethod
    def axis(self) -> ColumnAxis:
        """Return the numbers that the features stand for."""

    @abstractmethod
    def listed(self) -> NDArray[np.intp]:
        """Return the features of values in the order of `labels`: numbers by their lower ends."""

    @abstractmethod
    def labels(self) -> list[str]:
        """Return the text of each feature of values, in order."""

    @abstractmethod
    def precision(self) -> NDArray[np.float64]:
        """Compute the inverse correlations of the effects of values."""

    def merged_bins(self, shares: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
        """Merge features into groups; return each feature's group.

        Missing cells are a group, or join the first if they are rare.
        """
        groups = self._merged_values(shares[: self.n_values], n_bins)
        if not self.has_missing:
            return groups
        is_rare = shares[-1] < _LEAST_SHARE * shares.sum()
        return np.append(groups, 0 if is_rare else groups.max() + 1)

    @abstractmethod
    def _merged_values(self, shares: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
        """Merge the features of values into groups; return each one's group."""

    def merged_labels(self, groups: NDArray[np.intp]) -> list[str]:
        """Return the text of each group."""
        labels = self._value_labels(groups[: self.n_values])
        return labels if groups.max() < len(labels) else [*labels, "missing"]

    @abstractmethod
    def _value_labels(self, groups: NDArray[np.intp]) -> list[str]:
        """Return the text of each group of the features of values."""

    def merged_correlations(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """Compute the correlations of the effects of merged features."""
        correlations = self._value_correlations(groups[: self.n_values])
        if groups.max() < len(correlations):
            return correlations
        return np.asarray(block_diag(correlations, 1.0))

    @abstractmethod
    def _value_correlations(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """Compute the correlations of the effects of groups of the features of values."""

    def order(self, effects: NDArray[np.float64]) -> NDArray[np.intp]:
        """Sort features: those of a number by the number, categories by their effects."""
        order = np.argsort(self._positions(effects[: self.n_values]), kind="stable")
        return np.append(order, self.n_values) if self.has_missing else order

    @abstractmethod
    def _positions(self, effects: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sort keys of the features of values."""

    def in_order(self, x: NDArray[np.float64]) -> ColumnFeatures:
        """Return features in the order of their numbers, given the public numbers `x`."""
        return self


class RankedFeatures(ColumnFeatures):
    """Features of a number, whose effects are smooth in the rank."""

    ranks: NDArray[np.float64]  # (n_values,): share of the rows below the middle of each feature

    @property
    def n_values(self) -> int:
        return len(self.ranks)

    def _positions(self, effects: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.ranks

    def _merged_values(self, shares: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
        """Merge neighbours into groups with even shares of rows; return each feature's group."""
        order = np.argsort(self.ranks, kind="stable")
        ordered = shares[order]
        middles = (np.cumsum(ordered) - ordered / 2) / ordered.sum()
        positions = np.minimum((n_bins * middles).astype(np.intp), n_bins - 1)
        groups = np.empty(len(order), dtype=np.intp)
        groups[order] = np.unique(positions, return_inverse=True)[1]
        return groups

    def precision(self) -> NDArray[np.float64]:
        return np.asarray(np.linalg.inv(rank_correlations(self.ranks)))

    def _value_correlations(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        return rank_correlations(np.bincount(groups, self.ranks) / np.bincount(groups))


@dataclass(frozen=True)
class NumberBins(RankedFeatures):
    """Bins of a number: single values, then intervals."""

    values: NDArray[np.float64]  # (n_single,): values that are a bin of their own
    edges: NDArray[np.float64]  # (n_intervals - 1,): edges between intervals
    ranks: NDArray[np.float64]  # (n_values,): share of the public rows below the middle of each
    # Whether all public numbers are integers; labels then name the integers of a bin.
    is_integer: bool = False

    def codes(self, column: ArrayLike) -> NDArray[np.intp]:
        x = read_numbers(column)
        codes = np.searchsorted(self.edges, x) + len(self.values)
        if len(self.values):
            position = np.searchsorted(self.values, x).clip(0, len(self.values) - 1)
            codes = np.where(self.values[position] == x, position, codes)
        return np.where(np.isnan(x), -1, codes)

    def in_order(self, x: NDArray[np.float64]) -> NumberBins:
        """Return bins in which single values are intervals that hold no other public number.

        Otherwise an interval on both sides of a single value would need the effect of that value
        to be monotone.
        """
        if not len(self.values):
            return self
        x = np.sort(x)
        below = x[np.maximum(np.searchsorted(x, self.values) - 1, 0)]
        edges = np.unique(np.concatenate([self.edges, self.values, below]))
        edges = edges[np.unique(np.searchsorted(edges, x))[:-1]]  # no interval is empty
        ends = np.concatenate([[0], np.searchsorted(x, edges, side="right"), [len(x)]])
        ranks = (ends[1:] + ends[:-1]) / (2 * len(x))
        return replace(self, values=np.empty(0), edges=edges, ranks=ranks)

    def axis(self) -> ColumnAxis:
        return ColumnAxis(values=self.values.copy(), edges=self.edges.copy())

    def listed(self) -> NDArray[np.intp]:
        """Return the bins in the order of their ends; a single bin of all other numbers is last."""
        if not len(self.edges):
            return np.arange(self.n_values)
        lows, highs = self._ends()
        return np.lexsort((highs, lows))

    def labels(self) -> list[str]:
        labels = self._value_labels(np.arange(self.n_values))
        if not len(self.edges) and len(self.values):
            labels[-1] = "others"
        return [labels[position] for position in self.listed()]

    def _ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        lows = np.concatenate([self.values, [-np.inf], self.edges])
        return lows, np.concatenate([self.values, self.edges, [np.inf]])

    def _value_labels(self, groups: NDArray[np.intp]) -> list[str]:
        lows, highs = self._ends()
        labels, text = list[str](), date_text if self.is_date else None
        for group in range(int(groups.max()) + 1):
            own_lows, own_highs = lows[groups == group], highs[groups == group]
            label = range_text(own_lows.min(), own_highs.max(), text)
            if self.is_integer and not self.is_date:
                # An interval includes its upper end, and not the lower one.
                first = np.where(own_lows == own_highs, own_lows, np.floor(own_lows) + 1)
                label = integers_text(first, np.floor(own_highs)) or f"no integer ({label})"
            labels.append(label)
        return labels


def one_hot_entries(codes: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return bins (n_rows, 1), and weights of 1, or 0 where a code is negative."""
    codes = codes[:, None]
    return codes.clip(0).astype(np.int32), (codes >= 0).astype(np.float64)


def rank_correlations(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    distance = np.abs(ranks[:, None] - ranks)
    correlations = (1 - _ROUGHNESS) * np.exp(-distance / _CORRELATION_LENGTH)
    return np.asarray(correlations + _ROUGHNESS * np.eye(len(ranks)))


def integers_text(first: NDArray[np.float64], last: NDArray[np.float64]) -> str:
    """Return the text of the integers of neighbouring bins, from a first to a last; "" for none."""
    holds = first <= last
    if not holds.any():
        return ""
    low, high = first[holds].min() + 0.0, last[holds].max() + 0.0  # no negative zero
    if np.isinf(low):
        return "all" if np.isinf(high) else f"up to {high:.0f}"
    if np.isinf(high):
        return f"{low:.0f} and more"
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


@dataclass(frozen=True)
class CategoryBins(ColumnFeatures):
    """Bins of a category: the public categories, and one for all others."""

    categories: NDArray[np.str_]
    texts: Sequence[str] | None = None  # known texts, by their codes; None: the categories

    @property
    def n_values(self) -> int:
        return len(self.categories) + 1

    @property
    def other_code(self) -> int:
        return len(self.categories)

    def codes(self, column: ArrayLike) -> NDArray[np.intp]:
        missing = np.isnan(np.asarray(column))
        texts = self.categories.tolist() if self.texts is None else self.texts
        coded = CodedTexts([*texts, None], np.where(missing, -1, column).astype(np.intp))
        positions = {text: position for position, text in enumerate(self.categories.tolist())}
        return np.where(missing, -1, coded.positions(positions, self.other_code))

    def axis(self) -> ColumnAxis:
        return ColumnAxis()

    def listed(self) -> NDArray[np.intp]:
        return np.arange(self.n_values)

    def labels(self) -> list[str]:
        return [*self.categories.tolist(), "others"]

    def _merged_values(self, shares: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
        """Merge the rarest categories into one group; return each category's group."""
        groups = np.empty(self.n_values, dtype=np.intp)
        groups[np.argsort(-shares, kind="stable")] = self.listed().clip(max=n_bins - 1)
        return groups

    def _value_labels(self, groups: NDArray[np.intp]) -> list[str]:
        labels = np.array(self.labels(), dtype=object)
        members = [labels[groups == group].tolist() for group in range(int(groups.max()) + 1)]
        return [names[0] if len(names) == 1 else "others" for names in members]

    def precision(self) -> NDArray[np.float64]:
        return np.eye(self.n_values)

    def _positions(self, effects: NDArray[np.float64]) -> NDArray[np.float64]:
        return effects

    def _value_correlations(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.eye(int(groups.max()) + 1)


#: Binary places of the weights of knots, so that sums over rows are exact.
_WEIGHT_BITS = 8


@dataclass(frozen=True)
class NumberKnots(RankedFeatures):
    """Knots of a number: single values, then the knots of a piecewise linear function."""

    values: NDArray[np.float64]  # (n_single,): values that have an effect of their own
    # (n_knots,): at least two. Beyond the first and the last, the function is constant.
    knots: NDArray[np.float64]
    ranks: NDArray[np.float64]  # (n_single + n_knots,): share of the rows below each
    # (n_knots,): whether a knot is a frequent value, which synthetic rows take exactly; None: no
    # knot is.
    is_value: NDArray[np.bool_] | None = None

    n_entries: ClassVar[int] = 2
    weight_bits: ClassVar[int] = _WEIGHT_BITS

    @classmethod
    def of_bins(cls, bins: NumberBins, low: float, high: float) -> NumberKnots | None:
        """Return knots at the edges of bins and at both ends; None if there is no inner edge."""
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

    def _value_entries(self, column: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
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

    def _drawn_values(
        self, codes: NDArray[np.int32], generator: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Draw numbers around knots, with a triangular density up to the neighbours."""
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
        """Make single values knots, so that a monotone effect has no peaks there."""
        if not len(self.values):
            return self
        n_values = len(self.values)
        added = ~np.isin(self.values, self.knots)
        knots = np.concatenate([self.knots, self.values[added]])
        ranks = np.concatenate([self.ranks[n_values:], self.ranks[:n_values][added]])
        order = np.argsort(knots)
        ranks = np.maximum.accumulate(ranks[order])
        is_value = np.isin(knots, self.values)[order]
        return replace(self, values=np.empty(0), knots=knots[order], ranks=ranks, is_value=is_value)

    def axis(self) -> ColumnAxis:
        return ColumnAxis(values=self.values.copy(), knots=self.knots.copy())

    def listed(self) -> NDArray[np.intp]:
        return np.argsort(np.concatenate([self.values, self.knots]), kind="stable")

    def labels(self) -> list[str]:
        labels = self._value_labels(np.arange(self.n_values))
        return [labels[position] for position in self.listed()]

    def _value_labels(self, groups: NDArray[np.intp]) -> list[str]:
        numbers, text = (
            np.concatenate([self.values, self.knots]),
            date_text if self.is_date else None,
        )
        members = [numbers[groups == group] for group in range(int(groups.max()) + 1)]
        return [range_text(own_bins.min(), own_bins.max(), text) for own_bins in members]


def _neighbours(
    first: NDArray[np.integer], upper: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return two neighbouring features, and their weights, 1 - upper and upper."""
    upper = np.rint(np.ldexp(upper, _WEIGHT_BITS)) * 2.0**-_WEIGHT_BITS
    codes = np.stack([first, first + 1], axis=1).astype(np.int32)
    return codes, np.stack([1 - upper, upper], axis=1)
