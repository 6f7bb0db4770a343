"""One-hot features of a table: the bin of each number, and the category of each text."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from secretballot.linear.features._column_pair import ColumnPair
from secretballot.linear.features._columns import Categories, PublicColumn
from secretballot.schema import cell_text, columns_of, read_numbers, read_texts

#: A value is a bin of its own if it has this share of the public rows (capital gains of 0).
SPIKE_SHARE = 0.05
#: Fewest public rows that a value with a bin of its own, or a category, has.
_FEWEST_ROWS = 3
#: A table with fewer public rows is refused.
FEWEST_PUBLIC_ROWS = 10
#: Fewest public rows of a bin: one in so many of the rows, between two numbers.
_BIN_FRACTION, _FEWEST_ROWS_PER_BIN, _MOST_ROWS_PER_BIN = 20, 4, 10
#: With fewer public rows bins have equal widths.
FEW_PUBLIC_ROWS = 100
#: Correlation length of a column's effects in ranks, and the share of their variance without it.
_CORRELATION_LENGTH, _ROUGHNESS = 0.25, 0.05


@dataclass(frozen=True)
class NumberBins:
    """Bins of a number: single values, then intervals.

    Attributes
    ----------
    name : hashable
        The column.
    values : ndarray of shape (n_values,)
        Values that are a bin of their own.
    edges : ndarray of shape (n_intervals - 1,)
        Edges between intervals.
    ranks : ndarray of shape (n_bins,)
        Share of the public rows below the middle of each bin.
    """

    name: Hashable
    values: NDArray[np.float64]
    edges: NDArray[np.float64]
    ranks: NDArray[np.float64]

    @property
    def n_bins(self) -> int:
        return len(self.values) + len(self.edges) + 1

    def codes(self, column: ArrayLike) -> NDArray[np.intp]:
        """Return the bin of each row; -1 where it has no number."""
        x = read_numbers(column)
        codes = np.searchsorted(self.edges, x) + len(self.values)
        if len(self.values):
            position = np.searchsorted(self.values, x).clip(0, len(self.values) - 1)
            codes = np.where(self.values[position] == x, position, codes)
        return np.where(np.isnan(x), -1, codes)

    def labels(self) -> list[str]:
        """Return the text of each bin."""
        ends = [-np.inf, *self.edges.tolist(), np.inf]
        intervals = [_range_text(low, high) for low, high in itertools.pairwise(ends)]
        if not len(self.edges) and len(self.values):
            intervals = ["others"]
        return [f"{value:.6g}" for value in self.values] + intervals

    def merged_bins(self, shares: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
        """Merge neighbouring bins into groups with even shares of rows; return each bin's group."""
        order = np.argsort(self.ranks, kind="stable")
        ordered = shares[order]
        middles = (np.cumsum(ordered) - ordered / 2) / ordered.sum()
        positions = np.minimum((n_bins * middles).astype(np.intp), n_bins - 1)
        groups = np.empty(self.n_bins, dtype=np.intp)
        groups[order] = np.unique(positions, return_inverse=True)[1]
        return groups

    def merged_labels(self, groups: NDArray[np.intp]) -> list[str]:
        """Return the text of each group of neighbouring bins."""
        lows = np.concatenate([self.values, [-np.inf], self.edges])
        highs = np.concatenate([self.values, self.edges, [np.inf]])
        return [
            _range_text(lows[groups == group].min(), highs[groups == group].max())
            for group in range(int(groups.max()) + 1)
        ]

    def precision(self) -> NDArray[np.float64]:
        """Compute the inverse correlations of the bins' effects, which are smooth in the rank."""
        return np.asarray(np.linalg.inv(_rank_correlations(self.ranks)))

    def merged_correlations(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """Compute the correlations of the effects of merged bins."""
        ranks = np.bincount(groups, self.ranks) / np.bincount(groups)
        return _rank_correlations(ranks)


def _rank_correlations(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    distance = np.abs(ranks[:, None] - ranks)
    correlations = (1 - _ROUGHNESS) * np.exp(-distance / _CORRELATION_LENGTH)
    return np.asarray(correlations + _ROUGHNESS * np.eye(len(ranks)))


def _range_text(low: float, high: float) -> str:
    """Return the text of an interval, whose ends may be infinite."""
    if low == high:
        return f"{low:.6g}"
    if np.isinf(low) and np.isinf(high):
        return "all"
    if np.isinf(low):
        return f"up to {high:.4g}"
    return f"above {low:.4g}" if np.isinf(high) else f"{low:.4g} to {high:.4g}"


@dataclass(frozen=True)
class CategoryBins:
    """Bins of a category: the public categories, and one for all others.

    Attributes
    ----------
    name : hashable
        The column.
    categories : ndarray of str
    """

    name: Hashable
    categories: NDArray[np.str_]

    @property
    def n_bins(self) -> int:
        return len(self.categories) + 1

    def codes(self, column: ArrayLike) -> NDArray[np.intp]:
        """Return the category of each row; -1 where it has none."""
        positions: dict[str | None, int] = {
            text: position for position, text in enumerate(self.categories.tolist())
        }
        other_code = len(positions)
        positions[None] = -1
        codes = [positions.get(text, other_code) for text in read_texts(column).tolist()]
        return np.array(codes, dtype=np.intp)

    def labels(self) -> list[str]:
        """Return the text of each category."""
        return [*self.categories.tolist(), "others"]

    def merged_bins(self, shares: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
        """Merge the rarest categories into one group; return each category's group."""
        groups = np.empty(self.n_bins, dtype=np.intp)
        groups[np.argsort(-shares, kind="stable")] = np.minimum(np.arange(self.n_bins), n_bins - 1)
        return groups

    def merged_labels(self, groups: NDArray[np.intp]) -> list[str]:
        """Return the text of each group: a category, or ``"others"`` for several."""
        labels = np.array(self.labels(), dtype=object)
        members = [labels[groups == group].tolist() for group in range(int(groups.max()) + 1)]
        return [names[0] if len(names) == 1 else "others" for names in members]

    def precision(self) -> NDArray[np.float64]:
        """Return the inverse correlations of the categories' effects: the identity."""
        return np.eye(self.n_bins)

    def merged_correlations(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the correlations of the effects of merged categories: the identity."""
        return np.eye(int(groups.max()) + 1)


class AdditiveBins:
    """One-hot features with one entry a column, so that all rows have the same length.

    A missing cell has no entry; a zero in the column's first bin keeps its place.

    Parameters
    ----------
    columns : sequence of NumberBins or CategoryBins
    """

    #: Pairs of columns that have features of their own.
    pairs: tuple[ColumnPair, ...] = ()

    def __init__(self, columns: Sequence[NumberBins | CategoryBins]) -> None:
        self.columns = tuple(columns)
        self.ends = np.cumsum([0, *(column.n_bins for column in self.columns)])

    @property
    def n_features(self) -> int:
        """Number of one-hot features."""
        return int(self.ends[-1])

    @property
    def norm(self) -> float:
        """Length of a row without missing cells."""
        return float(np.sqrt(len(self.columns)))

    @property
    def places(self) -> list[slice]:
        """Features of each column."""
        return [slice(low, high) for low, high in itertools.pairwise(self.ends)]

    @property
    def pair_places(self) -> list[slice]:
        """Features of each pair, after those of the columns."""
        ends = self.ends[-1] + np.cumsum([0, *(pair.n_cells for pair in self.pairs)])
        return [slice(int(low), int(high)) for low, high in itertools.pairwise(ends)]

    @property
    def pair_names(self) -> list[tuple[Hashable, Hashable]]:
        """Names of the columns of each pair."""
        return [
            (self.columns[first].name, self.columns[second].name)
            for first, second in (pair.columns for pair in self.pairs)
        ]

    @property
    def groups(self) -> list[tuple[slice, NDArray[np.float64]]]:
        """Features of each column, with the inverse correlations of their prior."""
        return [
            (place, column.precision())
            for column, place in zip(self.columns, self.places, strict=True)
        ]

    def transform(self, X: ArrayLike) -> csr_array:
        """Compute one-hot rows; cells are read one by one, so private rows are read alike."""
        return self.transform_columns(columns_of(X))

    transform_private = transform

    def transform_columns(self, table: Sequence[ArrayLike]) -> csr_array:
        """Compute the one-hot rows of a table given as its columns."""
        bins = np.stack(
            [
                column.codes(values).astype(np.int32)
                for column, values in zip(self.columns, table, strict=True)
            ],
            axis=1,
        )
        codes = bins.clip(0) + self.ends[:-1].astype(np.int32)
        n_rows, n_columns = codes.shape
        starts = np.arange(n_rows + 1, dtype=np.int32) * n_columns
        return csr_array(
            ((bins >= 0).ravel().astype(np.float64), codes.ravel(), starts),
            shape=(n_rows, self.n_features),
        )


def public_bins(
    columns: Sequence[PublicColumn],
    n_bins: int,
    declared: Categories,
    bounds: Mapping[Hashable, tuple[float, float]] | None = None,
    placed: Mapping[Hashable, NumberBins] | None = None,
) -> AdditiveBins:
    """Return bins of public columns: quantiles of numbers, and the categories that occur.

    Of few public rows bins are at private quantiles instead, or have equal widths, between declared
    bounds where there are some. For the parameters see `declared_bins`.
    """
    bounds, placed = bounds or {}, placed or {}
    return AdditiveBins(
        [
            _declared_categories(column.name, declared[column.name])
            if column.name in declared
            else placed[column.name]
            if column.name in placed
            else _number_bins(column, n_bins, bounds.get(column.name))
            if column.is_number
            else _public_categories(column)
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
    """Return declared categories, and bins of numbers.

    Parameters
    ----------
    names : sequence
        The columns.
    bounds, declared : mapping
        Bounds of the numbers, and categories of the others.
    n_bins : int
        Bins of equal width of a number that is not placed.
    placed : mapping, default=None
        Bins of numbers at private quantiles.
    """
    numbers = placed or {name: _equal_bins(name, n_bins, bounds[name]) for name in bounds}
    return AdditiveBins(
        [
            _declared_categories(name, declared[name]) if name in declared else numbers[name]
            for name in names
        ]
    )


def _equal_bins(name: Hashable, n_bins: int, bounds: tuple[float, float]) -> NumberBins:
    """Return bins of equal width."""
    edges = np.linspace(*bounds, n_bins + 1)[1:-1]
    return NumberBins(name, np.empty(0), edges, (np.arange(n_bins) + 0.5) / n_bins)


def _declared_categories(name: Hashable, categories: Sequence[Hashable]) -> CategoryBins:
    names = [text for cell in categories if (text := cell_text(cell)) is not None]
    return CategoryBins(name, np.unique(names))


def _public_categories(column: PublicColumn) -> CategoryBins:
    if column.categories is not None:
        return _declared_categories(column.name, column.categories)
    categories, counts = np.unique(column.texts(), return_counts=True)
    return CategoryBins(column.name, categories[counts >= _FEWEST_ROWS])


def _number_bins(
    column: PublicColumn, n_bins: int, bounds: tuple[float, float] | None
) -> NumberBins:
    """Return a bin for each frequent value, and intervals of all other values.

    Intervals are quantiles, or equally wide where public rows are few.
    """
    x = column.numbers()
    is_small = len(x) < FEW_PUBLIC_ROWS
    if is_small and bounds:
        return _equal_bins(column.name, n_bins, bounds)
    values, counts = np.unique(x, return_counts=True)
    rows_per_bin = min(max(len(x) // _BIN_FRACTION, _FEWEST_ROWS_PER_BIN), _MOST_ROWS_PER_BIN)
    if len(values) <= (min(n_bins, len(x) // rows_per_bin) if is_small else n_bins):
        single, edges = np.empty(0), (values[1:] + values[:-1]) / 2
        middles = values
    else:
        if is_small:
            single = values[counts >= _MOST_ROWS_PER_BIN]
            edges = np.linspace(values[0], values[-1], n_bins + 1)[1:-1]
        else:
            single = values[counts >= max(SPIKE_SHARE * len(x), _FEWEST_ROWS)]
            spread = x[~np.isin(x, single)]
            n_intervals = max(min(n_bins, len(spread) // rows_per_bin), 1)
            levels = np.linspace(0, 1, n_intervals + 1)[1:-1]
            edges = np.unique(np.quantile(spread, levels)) if len(spread) else np.empty(0)
        ends = np.concatenate([values[:1], edges, values[-1:]])
        middles = np.concatenate([single, (ends[1:] + ends[:-1]) / 2])
    ordered = np.sort(x)
    below = np.searchsorted(ordered, middles) + np.searchsorted(ordered, middles, side="right")
    return NumberBins(column.name, single, edges, below / (2 * len(x)))
