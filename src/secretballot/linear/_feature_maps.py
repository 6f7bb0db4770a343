"""Features of private and public rows of one fit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.frozen import FrozenEstimator

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.linear.features import (
    AdditiveBins,
    FeatureMap,
    Features,
    KernelFeatures,
    NumberBins,
    ScaledColumns,
    TransformedRows,
    declared_bins,
    knots_between,
    nullable_bins,
    public_bins,
    public_ends,
    spread_ends,
)
from secretballot.linear.input import FitColumns, Settings, refuse_categories
from secretballot.tables._column_bounds import Bounds

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
    ends = spread_ends(columns.public_columns, n_bins)
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
    shown = columns.public_columns
    least_share = _RARE_SHARE / n_bins**2 if is_smooth else 0.0
    bins = public_bins(shown, n_bins, columns.categories, columns.bounds, placed, least_share)
    if is_smooth:
        bins = knots_between(bins, public_ends(bins, shown))
    refuse_categories(bins, directions)
    return nullable_bins(bins.in_order(directions, shown), columns.days)


def dense_features(settings: Settings, columns: FitColumns, kernel_width: float) -> FeatureMap:
    """Return the features of a transformer, kernels or scaled columns."""
    kind = settings.kind
    assert columns.X_public is not None
    if kind == "kernel":
        return kernel_features(columns, kernel_width)
    if kind == "linear":
        return ScaledColumns(columns.public_columns, columns.categories)
    if isinstance(kind, type):
        raise ValueError(f"features={kind.__name__} is a class; give an instance of it.")
    assert not isinstance(kind, str)
    transformer = kind if is_frozen(kind) else clone(kind).fit(columns.X_public)
    return TransformedRows(transformer, columns.X_public, columns.schema, settings.rows_per_call)


def kernel_features(columns: FitColumns, width: float) -> KernelFeatures:
    return KernelFeatures(columns.public_columns, columns.categories, width)


def is_frozen(features: str | TransformerMixin) -> bool:
    return isinstance(features, FrozenEstimator)


def public_features(columns: FitColumns, features: FeatureMap) -> Features | None:
    return None if columns.X_public is None else features.transform(_thinned(columns.X_public))


def _thinned(X_public: ArrayLike) -> ArrayLike:
    """Return public rows; evenly spaced ones if there are very many."""
    n_rows = _num_samples(X_public)
    if n_rows <= MOST_PUBLIC_ROWS:
        return X_public
    spaced = np.linspace(0, n_rows - 1, MOST_PUBLIC_ROWS).astype(int)
    thinned: ArrayLike = _safe_indexing(X_public, spaced)
    return thinned
