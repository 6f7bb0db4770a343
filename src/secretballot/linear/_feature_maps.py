"""Features of private and public rows of one fit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone
from sklearn.frozen import FrozenEstimator

from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.linear._fit_input import (
    FitInput,
    checked_bounds,
    declared_bounds,
    declared_categories,
)
from secretballot.linear._model_size import ModelSize
from secretballot.linear.features import (
    FEW_PUBLIC_ROWS,
    AdditiveBins,
    FeatureMap,
    Features,
    KernelFeatures,
    NumberBins,
    ScaledColumns,
    TransformedRows,
    column_keys,
    declared_bins,
    knots_between,
    public_bins,
    public_columns,
    public_ends,
)
from secretballot.linear.rounds import PrivateRows
from secretballot.schema import Bounds

if TYPE_CHECKING:
    from secretballot.linear._linear_model import LinearModel

#: Public rows that are used; the sampling error of more is less than the noise.
_MOST_PUBLIC_ROWS = 20_000


def first_kind(model: LinearModel) -> str | TransformerMixin:
    """Return the features with which a fit begins: additive ones, if it may choose."""
    is_open = isinstance(model.features, str) and model.features == "auto"
    return "additive" if is_open else model.features


def unseen_bounds(model: LinearModel, data: FitInput) -> Bounds:
    """Return declared bounds of numbers, if public rows are too few to place their bins."""
    if data.X_public is None:
        return declared_bounds(model, data.X, declared_categories(model, data.X))
    if first_kind(model) != "additive" or _num_samples(data.X_public) >= FEW_PUBLIC_ROWS:
        return {}
    categories = declared_categories(model, data.X_public)
    return checked_bounds(model, public_columns(data.X_public, categories), categories)


def feature_map(
    model: LinearModel,
    data: FitInput,
    kind: str | TransformerMixin,
    size: ModelSize,
    placed: Mapping[Hashable, NumberBins] | None = None,
) -> tuple[FeatureMap, str]:
    """Return the features of rows, and their origin: "declared", "public" or "frozen".

    Parameters
    ----------
    model : LinearModel
    data : FitInput
    kind : {"additive", "kernel", "linear"} or transformer
    size : ModelSize
    placed : mapping, default=None
        Bins of numbers at private quantiles.
    """
    if data.X_public is None:
        categories = declared_categories(model, data.X)
        bounds = declared_bounds(model, data.X, categories)
        names = column_keys(data.X)
        return declared_bins(names, bounds, size.n_bins, categories, placed), "declared"
    if not isinstance(kind, str):
        frozen = isinstance(kind, FrozenEstimator)
        transformer = kind if frozen else clone(kind).fit(data.X_public)
        return TransformedRows(transformer, data.X_public), "frozen" if frozen else "public"
    categories = declared_categories(model, data.X_public)
    columns = public_columns(data.X_public, categories)
    bounds = checked_bounds(model, columns, categories)
    if kind == "additive":
        bins = public_bins(columns, size.n_bins, categories, bounds, placed)
        if data.response.is_smooth:
            bins = knots_between(bins, public_ends(bins, columns))
        return bins, "public"
    if kind == "kernel":
        return KernelFeatures(columns, categories, size.kernel_width), "public"
    return ScaledColumns(columns, categories), "public"


def private_rows(data: FitInput, features: FeatureMap) -> PrivateRows:
    """Return the private rows, each with the vector of its features."""
    bins = features if isinstance(features, AdditiveBins) else None
    return PrivateRows(
        transform=lambda block: features.transform_private(_block_of(data.X, block)),
        shares=data.shares,
        total=data.total,
        n_numbers=features.n_features if bins is None else len(bins.columns),
        weight_bits=0 if bins is None else bins.weight_bits,
    )


def public_features(data: FitInput, features: FeatureMap) -> Features | None:
    """Return the features of the public rows, if there are some."""
    return None if data.X_public is None else features.transform(_thinned(data.X_public))


def _block_of(X: ArrayLike, rows: slice) -> ArrayLike:
    block: ArrayLike = _safe_indexing(X, np.arange(_num_samples(X))[rows])
    return block


def _thinned(X_public: ArrayLike) -> ArrayLike:
    """Return public rows; evenly spaced ones if there are very many."""
    n_rows = _num_samples(X_public)
    if n_rows <= _MOST_PUBLIC_ROWS:
        return X_public
    spaced = np.linspace(0, n_rows - 1, _MOST_PUBLIC_ROWS).astype(int)
    thinned: ArrayLike = _safe_indexing(X_public, spaced)
    return thinned
