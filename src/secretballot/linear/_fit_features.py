"""Features of private and public rows of one fit, and bins at private quantiles."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.linear._additive_bins import (
    SPIKE_SHARE,
    AdditiveBins,
    declared_bins,
    knots_between,
    nullable_bins,
    public_bins,
    public_ends,
    spread_ends,
)
from secretballot.linear._column_bins import NumberBins
from secretballot.linear._dense_features import KernelFeatures, ScaledColumns, TransformedRows
from secretballot.linear._design import FeatureMap, Features, Floats
from secretballot.linear._fit_columns import FitColumns, refuse_categories
from secretballot.linear._fit_input import Population
from secretballot.linear._settings import Settings
from secretballot.measures._rank_grid import NoisyRanks, RankGrid
from secretballot.mechanisms._noisy_counts import VectorSum
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._row_schema import RowSchema

#: Public rows that are used; the sampling error of more is less than the noise.
MOST_PUBLIC_ROWS = 20_000
#: Share of public rows, times the square of the number of bins, below which a category has no
#: feature of its own in regressions: noise would hide its effect, and only add to the others'.
_RARE_SHARE = 0.1

#: Bins of numbers at private quantiles, by column.
PlacedBins = Mapping[Hashable, NumberBins]


def bounds_of_numbers(
    settings: Settings, columns: FitColumns, n_bins: int, *, is_smooth: bool
) -> Bounds:
    """Return the bounds of the numbers whose bins may be at private quantiles.

    They are declared, or the ends of public rows that are not few. (Piecewise linear effects gain
    nothing from private quantiles beside such rows.)
    """
    if settings.kind != "additive":
        return {}
    if columns.has_few_public_rows:
        return columns.bounds
    if is_smooth:
        return {}
    ends = spread_ends(columns.given, n_bins)
    return {name: columns.bounds.get(name, ends[name]) for name in ends}


def additive_features(
    columns: FitColumns,
    n_bins: int,
    directions: NDArray[np.int8],
    placed: PlacedBins | None = None,
    *,
    is_smooth: bool,
) -> AdditiveBins:
    """Return the bins of each column; those of some numbers may be placed."""
    if columns.X_public is None:
        bins = declared_bins(columns.names, columns.bounds, n_bins, columns.categories, placed)
        refuse_categories(bins, directions)
        return nullable_bins(bins, columns.days)
    shown = columns.given
    least_share = _RARE_SHARE / n_bins**2 if is_smooth else 0.0
    bins = public_bins(shown, n_bins, columns.categories, columns.bounds, placed, least_share)
    if is_smooth:
        bins = knots_between(bins, public_ends(bins, shown))
    if directions.any():
        refuse_categories(bins, directions)
        bins = bins.in_order(directions, shown)
    return nullable_bins(bins, columns.days)


def dense_features(settings: Settings, columns: FitColumns, kernel_width: float) -> FeatureMap:
    """Return the features of a transformer, kernels or scaled columns."""
    kind = settings.kind
    assert columns.X_public is not None
    if kind == "kernel":
        return kernel_features(columns, kernel_width)
    if kind == "linear":
        return ScaledColumns(columns.given, columns.categories)
    if isinstance(kind, type):
        raise ValueError(f"features={kind.__name__} is a class; give an instance of it.")
    assert not isinstance(kind, str)
    assert isinstance(columns.schema, RowSchema)
    is_frozen = isinstance(kind, FrozenEstimator)
    transformer = kind if is_frozen else clone(kind).fit(columns.X_public)
    return TransformedRows(transformer, columns.X_public, columns.schema, settings.rows_per_call)


def kernel_features(columns: FitColumns, width: float) -> KernelFeatures:
    return KernelFeatures(columns.given, columns.categories, width)


def public_features(columns: FitColumns, features: FeatureMap) -> Features | None:
    return None if columns.X_public is None else features.transform(thinned(columns.X_public))


def thinned(X_public: ArrayLike) -> ArrayLike:
    """Return public rows; evenly spaced ones if there are very many."""
    n_rows = _num_samples(X_public)
    if n_rows <= MOST_PUBLIC_ROWS:
        return X_public
    spaced = np.linspace(0, n_rows - 1, MOST_PUBLIC_ROWS).astype(int)
    thinned: ArrayLike = _safe_indexing(X_public, spaced)
    return thinned


#: Bins of the grid on which ranks are released, of a column and of all columns.
_GRID_BINS, _ALL_GRID_BINS = 1024, 2**17
#: Error of a rank, as a share of an interval's rows: the one that is paid for, and the largest.
_WANTED_ERROR, _MOST_ERROR = 0.1, 0.5
#: Shares of a fit's budget: the least, the most where public rows are missing or few, and the most
#: beside public rows that place bins themselves.
_LEAST_SHARE, _MOST_SHARE, _MOST_SHARE_BESIDE = 0.002, 0.1, 0.05
#: Standard errors by which the people of a grid's bin exceed 0, if it is a bin of its own.
_SPIKE_ERRORS = 4.0
#: Largest share of a grid's bins that hold an integer, if a column is one of integers; share of the
#: people between integers that is always noise, and their largest share outside of frequent bins.
_MOST_WITH_INTEGER, _FEW_BETWEEN, _MOST_BETWEEN = 0.25, 0.02, 0.4


def plan_bins(
    settings: Settings, population: Population, bounds: Bounds, n_bins: int, *, is_needed: bool
) -> tuple[RankGrid, VectorSum, float] | None:
    """Plan the release of ranks: grid, mechanism and share of the fit's budget.

    None without numbers, or where it is too noisy or costs too much.
    """
    grid_bins = min(_GRID_BINS, _ALL_GRID_BINS // max(len(bounds), 1))
    if not bounds or grid_bins <= n_bins:
        return None
    grid = RankGrid.between(list(bounds), bounds, grid_bins)

    calibrate = partial(
        settings.accountant.calibrate,
        partial(grid.mechanism, weight=population.weight),
        n_rows=1,
        scope=settings.scope,
    )
    error = grid.error(calibrate(share=_MOST_SHARE).sigma) * n_bins / population.total
    # The variance of the noise is one over the share.
    wanted_share = max(_MOST_SHARE * (error / _WANTED_ERROR) ** 2, _LEAST_SHARE)
    if error > _MOST_ERROR or (wanted_share > _MOST_SHARE_BESIDE and not is_needed):
        return None
    share = min(wanted_share, _MOST_SHARE)
    return grid, calibrate(share=share), share


def placed_bins(
    names: tuple[Hashable, ...], ranks: NoisyRanks, n_bins: int
) -> dict[Hashable, NumberBins]:
    """Return the bins of each column: frequent values, and quantiles of all other values."""
    return {
        name: _column_bins(name, column, edges, ranks.error, n_bins)
        for name, column, edges in zip(names, ranks.ranks, ranks.edges, strict=True)
    }


def _column_bins(
    name: Hashable, ranks: Floats, edges: Floats, error: float, n_bins: int
) -> NumberBins:
    people = np.diff(ranks, prepend=0.0)
    frequent = people > max(SPIKE_SHARE * ranks[-1], _SPIKE_ERRORS * error)
    other_people = np.cumsum(np.where(frequent, 0.0, people))
    n_cuts = n_bins if other_people[-1] > error else 1
    quantile_people = np.linspace(0, other_people[-1], n_cuts + 1)[1:-1]
    ends, spikes = np.searchsorted(other_people, quantile_people), np.flatnonzero(frequent)
    # The lower end of each frequent bin, its upper end, and the upper ends of quantiles.
    chosen = np.unique(np.concatenate([spikes, spikes + 1, ends + 1]))
    chosen = chosen[(chosen > 0) & (chosen < len(ranks))]
    at_end = np.concatenate([[0.0], ranks[chosen - 1], ranks[-1:]])
    middles = (at_end[1:] + at_end[:-1]) / 2
    # A grid's bin has its lower end; an interval of these bins has its upper end.
    cuts, kept_cuts = np.unique(np.nextafter(edges[chosen], -np.inf), return_index=True)
    middles = middles[np.append(kept_cuts, len(middles) - 1)]
    is_integer = _are_integers(people, edges, other_people[-1])
    return NumberBins(name, np.empty(0), cuts, middles / max(ranks[-1], 1.0), is_integer)


def _are_integers(people: Floats, edges: Floats, n_others: float) -> bool:
    """Test if released numbers of people are clearly those of a column of integers."""
    has_integer = np.append(np.ceil(edges[:-2]) < edges[1:-1], True)
    if has_integer.mean() > _MOST_WITH_INTEGER:
        return False
    n_between = people[~has_integer].sum()
    return bool(n_between < max(_FEW_BETWEEN * people.sum(), _MOST_BETWEEN * n_others))
