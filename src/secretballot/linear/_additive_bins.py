"""Additive features: the bins of all columns, and cells of pairs of columns."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from secretballot.linear._column_bins import (
    CategoryBins,
    ColumnFeatures,
    NumberBins,
    NumberKnots,
)
from secretballot.linear._columns import FEWEST_ROWS, Categories, PublicColumn
from secretballot.linear._design import Floats, PriorGroup
from secretballot.tables._columns import category_texts
from secretballot.tables._frames import columns_of

#: Share of an interval's public numbers that lie beyond the first knot, and beyond the last. With
#: knots at the extremes of many public rows few private rows would have the ends' features.
_END_SHARE = 0.1
#: A value is a bin of its own if it has this share of the public rows (capital gains of 0).
SPIKE_SHARE = 0.05
#: A table with fewer public rows is refused.
FEWEST_PUBLIC_ROWS = 10
#: Fewest public rows of a bin: one in so many of the rows, between two numbers.
_BIN_FRACTION, _FEWEST_ROWS_PER_BIN, _MOST_ROWS_PER_BIN = 20, 4, 10
#: With fewer public rows bins have equal widths, where the column is not too skewed.
FEW_PUBLIC_ROWS = 100
#: A column is too skewed if the fullest bin of equal width holds this share of its public rows, and
#: the fullest beside quantiles this share of that number. (Normal columns rarely are with 25 public
#: rows and more. Of a frequent value, no edge divides the rows.)
_SKEWED_SHARE, _SHARE_LEFT = 0.4, 0.6


@dataclass(frozen=True, eq=False)
class ColumnPair:
    """Two columns, whose bins are merged; a cell is a pair of merged bins."""

    columns: tuple[int, int]  # positions of the columns
    groups: tuple[NDArray[np.intp], NDArray[np.intp]]  # (n_bins,): merged bin of each bin

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.groups[0].max()) + 1, int(self.groups[1].max()) + 1

    @property
    def n_cells(self) -> int:
        return self.shape[0] * self.shape[1]


class AdditiveBins:
    """Features of columns, whose weights add to 1 in each: one-hot for bins, two beside knots.

    So no row is longer than one-hot rows are, and those all have the same length. A missing cell
    has the weight 1 in its own feature, or 0 in a column without one.
    """

    #: Pairs of columns that have features of their own.
    pairs: tuple[ColumnPair, ...] = ()

    def __init__(self, columns: Sequence[ColumnFeatures]) -> None:
        self.columns = tuple(columns)
        self.places: list[slice] = []  # features of each column
        self.value_places: list[slice] = []  # the same without that of missing cells
        self.n_entries = 0  # features of a row that are not 0, without those of pairs
        self.weight_bits = 0  # binary places of their weights
        ends = [0]  # between the features of columns
        for column in self.columns:
            start = ends[-1]
            ends.append(start + column.n_bins)
            self.places.append(slice(start, ends[-1]))
            self.value_places.append(slice(start, start + column.n_values))
            self.n_entries += column.n_entries
            self.weight_bits = max(self.weight_bits, column.weight_bits)
        self.ends = np.array(ends)

    @property
    def n_features(self) -> int:
        return int(self.ends[-1])

    @property
    def norm(self) -> float:
        """Length of a row without missing cells."""
        return float(np.sqrt(len(self.columns)))

    @property
    def pair_places(self) -> list[slice]:
        """Features of each pair, after those of the columns."""
        ends = self.ends[-1] + np.cumsum([0, *(pair.n_cells for pair in self.pairs)])
        return [slice(int(low), int(high)) for low, high in itertools.pairwise(ends)]

    @property
    def pair_names(self) -> list[tuple[Hashable, Hashable]]:
        names = [column.name for column in self.columns]
        return [(names[pair.columns[0]], names[pair.columns[1]]) for pair in self.pairs]

    @property
    def groups(self) -> list[PriorGroup]:
        """Features of each column, and those of missing cells alone."""
        groups = []
        for column, place, values in zip(self.columns, self.places, self.value_places, strict=True):
            groups.append(PriorGroup(values, column.precision()))
            if values.stop < place.stop:
                missing = slice(values.stop, place.stop)
                groups.append(PriorGroup(missing, np.eye(1), centre=values))
        return groups

    def in_order(
        self, directions: NDArray[np.int8], public: Sequence[PublicColumn]
    ) -> AdditiveBins:
        """Return features that are in the order of numbers in columns with a direction."""
        return AdditiveBins(
            [
                column.in_order(rows.numbers) if direction else column
                for column, direction, rows in zip(self.columns, directions, public, strict=True)
            ]
        )

    def order_relations(self, directions: NDArray[np.int8]) -> NDArray[np.intp]:
        """Return pairs of features, of which the first has the smaller effect: (n_relations, 2).

        Together they make predictions monotone in each column with a direction, whose features are
        in order. Directions are 1 for an increasing effect, -1 for a decreasing one, 0 for any.
        """
        relations = [np.empty((0, 2), dtype=np.intp)]
        for place, direction in zip(self.value_places, directions.tolist(), strict=True):
            if direction:
                features = np.arange(place.start, place.stop)[::direction]
                relations.append(np.stack([features[:-1], features[1:]], axis=1))
        return np.concatenate(relations)

    def transform(self, X: ArrayLike) -> csr_array:
        """Compute one-hot rows; cells are read one by one, so private rows are read alike."""
        return self.transform_columns(columns_of(X))

    transform_private = transform

    def transform_columns(self, table: Sequence[ArrayLike]) -> csr_array:
        return self._rows(
            [column.entries(values) for column, values in zip(self.columns, table, strict=True)]
        )

    def column_scores(self, rows: csr_array, scores: Sequence[NDArray[np.float64]]) -> Floats:
        """Compute the score of each column: (n_rows, n_columns)."""
        spread = np.zeros((int(self.ends[-1]), len(self.columns)))
        for position, (place, column_scores) in enumerate(zip(self.places, scores, strict=True)):
            spread[place, position] = column_scores
        return np.asarray(rows @ spread)

    def rows_of_codes(self, codes: NDArray[np.int32], generator: np.random.Generator) -> csr_array:
        """Return rows whose columns are drawn from the bins `codes`: (n_rows, n_columns)."""
        return self._rows(
            [
                column.drawn_entries(codes[:, position], generator)
                for position, column in enumerate(self.columns)
            ]
        )

    def _rows(self, entries: Sequence[tuple[NDArray[np.int32], NDArray[np.float64]]]) -> csr_array:
        starts = self.ends[:-1].astype(np.int32)
        codes = [codes + start for (codes, _), start in zip(entries, starts, strict=True)]
        indices, data = np.concatenate(codes, axis=1), np.concatenate([w for _, w in entries], 1)
        n_rows, n_entries = indices.shape
        pointers = np.arange(n_rows + 1, dtype=np.int32) * n_entries
        shape = (n_rows, int(self.ends[-1]))
        return csr_array((data.ravel(), indices.ravel(), pointers), shape=shape)


def public_bins(
    columns: Sequence[PublicColumn],
    n_bins: int,
    declared: Categories,
    bounds: Mapping[Hashable, tuple[float, float]] | None = None,
    placed: Mapping[Hashable, NumberBins] | None = None,
    least_share: float = 0.0,
) -> AdditiveBins:
    """Return bins of public columns: quantiles of numbers, and the categories that occur.

    Of few public rows bins are at private quantiles instead, or have equal widths, between declared
    bounds where there are some. (Half of the edges of skewed columns are public quantiles.)
    Undeclared categories join the others below `least_share` of the public rows.
    """
    bounds, placed = bounds or {}, placed or {}
    return AdditiveBins(
        [
            CategoryBins(column.name, category_texts(declared[column.name]), column.reader.texts)
            if column.name in declared
            else replace(
                _number_bins(column, n_bins, bounds.get(column.name), placed.get(column.name)),
                is_integer=column.has_integers(),
            )
            if column.reader.is_number
            else _public_categories(column, least_share)
            for column in columns
        ]
    )


def declared_bins(
    names: Sequence[Hashable],
    bounds: Mapping[Hashable, tuple[float, float]],
    n_bins: int,
    declared: Categories,
    placed: Mapping[Hashable, NumberBins] | None = None,
) -> AdditiveBins:
    numbers = placed or {
        name: _even_bins(name, _equal_edges(n_bins, bounds[name])) for name in bounds
    }
    return AdditiveBins(
        [
            CategoryBins(name, category_texts(declared[name]))
            if name in declared
            else numbers[name]
            for name in names
        ]
    )


def _equal_edges(n_bins: int, bounds: tuple[float, float]) -> Floats:
    return np.linspace(*bounds, n_bins + 1)[1:-1]


def _few_rows_edges(x: Floats, values: Floats, n_bins: int, bounds: tuple[float, float]) -> Floats:
    """Return edges of equal widths, half of which are public quantiles in a skewed column."""
    spread = x[~np.isin(x, values)].clip(*bounds)
    equal = _equal_edges(n_bins, bounds)
    fullest = _most_rows(spread, equal)
    if fullest < max(_SKEWED_SHARE * len(x), _FEWEST_ROWS_PER_BIN):
        return equal
    n_quantiles = (n_bins - 1) // 2
    quantiles = np.quantile(spread, np.linspace(0, 1, n_quantiles + 2)[1:-1])
    mixed = np.union1d(_equal_edges(n_bins - n_quantiles, bounds), quantiles)
    return mixed if _most_rows(spread, mixed) <= _SHARE_LEFT * fullest else equal


def _most_rows(x: Floats, edges: Floats) -> int:
    """Return the number of rows of the fullest bin."""
    return int(np.bincount(np.searchsorted(edges, x), minlength=1).max())


def _even_bins(name: Hashable, edges: Floats) -> NumberBins:
    """Return bins whose shares of rows are taken to be equal."""
    n_bins = len(edges) + 1
    return NumberBins(name, np.empty(0), edges, (np.arange(n_bins) + 0.5) / n_bins)


def _public_categories(column: PublicColumn, least_share: float) -> CategoryBins:
    categories, counts = np.unique(column.texts(), return_counts=True)
    least, listed = least_share * counts.sum(), column.reader.listed
    if listed is None:
        categories = categories[counts >= max(least, FEWEST_ROWS)]
    else:
        categories = np.setdiff1d(category_texts(listed), categories[counts < least])
    return CategoryBins(column.name, categories, column.reader.texts)


def _number_bins(
    column: PublicColumn,
    n_bins: int,
    bounds: tuple[float, float] | None,
    placed: NumberBins | None = None,
) -> NumberBins:
    """Return a bin for each frequent value, and intervals of all other values."""
    if placed is not None:
        frequent = _number_bins(column, n_bins, bounds)
        n_values = len(frequent.values)
        ranks = np.concatenate([frequent.ranks[:n_values], placed.ranks])
        return NumberBins(column.name, frequent.values, placed.edges, ranks)
    x = column.numbers
    is_small = len(x) < FEW_PUBLIC_ROWS
    if is_small and bounds:
        return _even_bins(column.name, _few_rows_edges(x, np.empty(0), n_bins, bounds))
    if not len(x):
        return NumberBins(column.name, np.empty(0), np.empty(0), np.array([0.5]))
    values, counts = np.unique(x, return_counts=True)
    rows_per_bin = min(max(len(x) // _BIN_FRACTION, _FEWEST_ROWS_PER_BIN), _MOST_ROWS_PER_BIN)
    if len(values) <= (min(n_bins, len(x) // rows_per_bin) if is_small else n_bins):
        single, edges = np.empty(0), (values[1:] + values[:-1]) / 2
        middles = values
    else:
        if is_small:
            single = values[counts >= _MOST_ROWS_PER_BIN]
            edges = _few_rows_edges(x, single, n_bins, (values[0], values[-1]))
        else:
            single = values[counts >= max(SPIKE_SHARE * len(x), FEWEST_ROWS)]
            spread = x[~np.isin(x, single)]
            n_intervals = max(min(n_bins, len(spread) // rows_per_bin), 1)
            levels = np.linspace(0, 1, n_intervals + 1)[1:-1]
            edges = np.unique(np.quantile(spread, levels)) if len(spread) else np.empty(0)
        ends = np.concatenate([values[:1], edges, values[-1:]])
        middles = np.concatenate([single, (ends[1:] + ends[:-1]) / 2])
    ordered = np.sort(x)
    below = np.searchsorted(ordered, middles) + np.searchsorted(ordered, middles, side="right")
    return NumberBins(column.name, single, edges, below / (2 * len(x)))


def spread_ends(
    columns: Sequence[PublicColumn], n_bins: int
) -> dict[Hashable, tuple[float, float]]:
    """Return the ends of public numbers, without those of a few values that are seen again."""
    ends = {}
    for column in columns:
        if not column.reader.is_number:
            continue
        values, counts = np.unique(column.numbers, return_counts=True)
        if len(values) > n_bins or 2 * (counts > 1).sum() < len(values) > 1:
            ends[column.name] = (float(values[0]), float(values[-1]))
    return ends


class PairedBins(AdditiveBins):
    """One-hot features of columns, and of the cells of some pairs of columns.

    A row has one entry for each column and each pair, so all rows have the same length. A pair has
    no cell where one of its columns has no feature.
    """

    def __init__(self, bins: AdditiveBins, pairs: Sequence[ColumnPair]) -> None:
        super().__init__(bins.columns)
        self.pairs = tuple(pairs)

    @property
    def n_features(self) -> int:
        return int(self.ends[-1]) + sum(pair.n_cells for pair in self.pairs)

    @property
    def norm(self) -> float:
        return float(np.sqrt(len(self.columns) + len(self.pairs)))

    @property
    def groups(self) -> list[PriorGroup]:
        cells = [
            PriorGroup(place, self._pair_precision(pair))
            for pair, place in zip(self.pairs, self.pair_places, strict=True)
        ]
        return [*super().groups, *cells]

    def _pair_precision(self, pair: ColumnPair) -> NDArray[np.float64]:
        first, second = (
            np.linalg.inv(self.columns[position].merged_correlations(groups))
            for position, groups in zip(pair.columns, pair.groups, strict=True)
        )
        return np.kron(first, second)

    def order_relations(self, directions: NDArray[np.int8]) -> NDArray[np.intp]:
        """Return pairs of features, of which the first has the smaller effect: (n_relations, 2).

        Cells are ordered as the columns of their pair are. No monotone function is excluded by
        that: functions of a column can be moved between its own effects and those of cells.
        """
        relations = [super().order_relations(directions)]
        for pair, place in zip(self.pairs, self.pair_places, strict=True):
            cells = np.arange(place.start, place.stop).reshape(pair.shape)
            for axis, (column, groups) in enumerate(zip(pair.columns, pair.groups, strict=True)):
                if direction := int(directions[column]):
                    merged = groups[: self.columns[column].n_values]
                    steps = np.unique(np.stack([merged[:-1], merged[1:]], axis=1), axis=0)
                    steps = steps[steps[:, 0] != steps[:, 1], ::direction]
                    lines = np.moveaxis(cells, axis, 0)[steps]
                    relations.append(lines.transpose(0, 2, 1).reshape(-1, 2))
        return np.concatenate(relations)

    def transform_columns(self, table: Sequence[ArrayLike]) -> csr_array:
        return self.with_cells(super().transform_columns(table))

    def with_cells(self, rows: csr_array) -> csr_array:
        """Append the cells of the pairs: those of the features that have the largest weights."""
        n_rows = rows.shape[0]
        codes, data = (entries.reshape(n_rows, -1) for entries in (rows.indices, rows.data))
        all_codes, all_data = [codes], [data]
        largest = [
            _largest_entries(codes[:, place] - start, data[:, place])
            for place, start in zip(self._entry_places, self.ends, strict=False)
        ]
        for pair, place in zip(self.pairs, self.pair_places, strict=True):
            (first, first_present), (second, second_present) = (
                largest[column] for column in pair.columns
            )
            cells = pair.groups[0][first] * pair.shape[1] + pair.groups[1][second] + place.start
            all_codes.append(cells[:, None].astype(codes.dtype))
            all_data.append((first_present * second_present)[:, None])
        width = codes.shape[1] + len(self.pairs)
        entries = (
            np.concatenate(all_data, axis=1).ravel(),
            np.concatenate(all_codes, axis=1).ravel(),
            np.arange(n_rows + 1, dtype=np.int32) * width,
        )
        return csr_array(entries, shape=(n_rows, self.n_features))

    @property
    def _entry_places(self) -> list[slice]:
        ends = np.cumsum([0, *(column.n_entries for column in self.columns)]).tolist()
        return [slice(low, high) for low, high in itertools.pairwise(ends)]


def _largest_entries(
    codes: NDArray[np.integer], weights: NDArray[np.float64]
) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Return the feature of the largest weight, and 1, or 0 where the cell is missing."""
    position = weights.argmax(axis=1)[:, None]
    present = (weights.sum(axis=1) > 0).astype(np.float64)
    return np.take_along_axis(codes, position, axis=1)[:, 0], present


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
            x = column.numbers
            spread = x[~np.isin(x, own_bins.values)]
            n_intervals = len(own_bins.edges) + 1
            if len(np.unique(spread)) > n_intervals:
                share = _END_SHARE / n_intervals
                low, high = np.quantile(spread, [share, 1 - share]).tolist()
                ends[own_bins.name] = (low, high)
    return ends


def nullable_bins(bins: AdditiveBins, days: Mapping[Hashable, str] | None = None) -> AdditiveBins:
    """Return the features of columns, with one more for the missing cells of each."""
    return AdditiveBins(
        [
            replace(column, has_missing=True, is_date=(days or {}).get(column.name) == "time")
            for column in bins.columns
        ]
    )
