"""Features of private and public rows of one fit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone
from sklearn.frozen import FrozenEstimator

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.linear._fit_size import FitSize
from secretballot.linear.features import (
    FEW_PUBLIC_ROWS,
    AdditiveBins,
    Categories,
    FeatureMap,
    Features,
    KernelFeatures,
    NumberBins,
    PublicColumn,
    ScaledColumns,
    TransformedRows,
    declared_bins,
    knots_between,
    nullable_bins,
    public_bins,
    public_ends,
    spread_ends,
)
from secretballot.linear.input import (
    FitInput,
    checked_bounds,
    declared_bounds,
    declared_categories,
    refuse_categories,
)
from secretballot.tables._column_bounds import Bounds

if TYPE_CHECKING:
    from secretballot.linear._linear_model import LinearModel

#: Public rows that are used; the sampling error of more is less than the noise.
MOST_PUBLIC_ROWS = 20_000
#: Share of public rows, times the square of the number of bins, below which a category has no
#: feature of its own in regressions: noise would hide its effect, and only add to the others'.
_RARE_SHARE = 0.1


def first_kind(model: LinearModel) -> str | TransformerMixin:
    """Return the features with which a fit begins: additive ones, if it may choose."""
    is_open = isinstance(model.features, str) and model.features == "auto"
    return "additive" if is_open else model.features


def has_few_public_rows(data: FitInput) -> bool:
    return data.X_public is None or _num_samples(data.X_public) < FEW_PUBLIC_ROWS


def bounds_of_numbers(model: LinearModel, data: FitInput, n_bins: int) -> Bounds:
    """Return the bounds of the numbers whose bins may be at private quantiles.

    They are declared, or the ends of public rows that are not few. (Piecewise linear effects gain
    nothing from private quantiles beside such rows.)
    """
    if data.X_public is None:
        return declared_bounds(model, data.names, declared_categories(model, data.names))
    if first_kind(model) != "additive":
        return {}
    categories = declared_categories(model, data.names)
    columns = data.public_columns(categories)
    bounds = checked_bounds(model, columns, categories)
    if has_few_public_rows(data):
        return bounds
    if data.response.is_smooth:
        return {}
    ends = spread_ends(columns, n_bins)
    return {name: bounds.get(name, ends[name]) for name in ends}


def ranges_of_numbers(model: LinearModel, data: FitInput) -> Bounds:
    categories = declared_categories(model, data.names)
    if data.X_public is None:
        return declared_bounds(model, data.names, categories)
    bounds, ranges = checked_bounds(model, data.columns, categories), {}
    for column in data.columns:
        if column.is_number and column.name not in categories:
            ends = [*column.numbers(), *bounds.get(column.name, ())]
            if ends:
                ranges[column.name] = float(min(ends)), float(max(ends))
    return ranges


def feature_map(
    model: LinearModel,
    data: FitInput,
    kind: str | TransformerMixin,
    size: FitSize,
    placed: Mapping[Hashable, NumberBins] | None = None,
) -> tuple[FeatureMap, str]:
    """Return the features of rows, and their origin: "declared", "public" or "frozen"."""
    if data.X_public is None:
        categories = declared_categories(model, data.names)
        bounds = declared_bounds(model, data.names, categories)
        bins = declared_bins(data.names, bounds, size.n_bins, categories, placed)
        refuse_categories(bins, data.directions)
        return nullable_bins(bins, data.days), "declared"
    if not isinstance(kind, str):
        if isinstance(kind, type):
            raise ValueError(f"features={kind.__name__} is a class; give an instance of it.")
        frozen = isinstance(kind, FrozenEstimator)
        transformer = kind if frozen else clone(kind).fit(data.X_public)
        rows = TransformedRows(transformer, data.X_public, data.schema, model.rows_per_call)
        return rows, "frozen" if frozen else "public"
    categories = declared_categories(model, data.names)
    columns = data.public_columns(categories)
    if kind == "additive":
        is_smooth = data.response.is_smooth
        bins = additive_bins(model, columns, categories, size, placed, is_smooth=is_smooth)
        refuse_categories(bins, data.directions)
        return nullable_bins(bins.in_order(data.directions, columns), data.days), "public"
    if kind == "kernel":
        return KernelFeatures(columns, categories, size.kernel_width), "public"
    return ScaledColumns(columns, categories), "public"


def additive_bins(
    model: LinearModel,
    columns: Sequence[PublicColumn],
    categories: Categories,
    size: FitSize,
    placed: Mapping[Hashable, NumberBins] | None = None,
    *,
    is_smooth: bool,
) -> AdditiveBins:
    bounds = checked_bounds(model, columns, categories)
    least_share = _RARE_SHARE / size.n_bins**2 if is_smooth else 0.0
    bins = public_bins(columns, size.n_bins, categories, bounds, placed, least_share)
    return knots_between(bins, public_ends(bins, columns)) if is_smooth else bins


def public_features(data: FitInput, features: FeatureMap) -> Features | None:
    return None if data.X_public is None else features.transform(_thinned(data.X_public))


def _thinned(X_public: ArrayLike) -> ArrayLike:
    """Return public rows; evenly spaced ones if there are very many."""
    n_rows = _num_samples(X_public)
    if n_rows <= MOST_PUBLIC_ROWS:
        return X_public
    spaced = np.linspace(0, n_rows - 1, MOST_PUBLIC_ROWS).astype(int)
    thinned: ArrayLike = _safe_indexing(X_public, spaced)
    return thinned
