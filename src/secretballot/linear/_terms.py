"""What each column of a table adds to the log odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.linear._additive_bins import AdditiveBins, NumberBins


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveTerm:
    """What one column adds: one number a bin, and the known error of each.

    Attributes
    ----------
    name : object
        Of the column; its position in an array.
    labels : tuple of str
        Of the bins: values that are a bin of their own, then intervals; or categories, and
        ``"others"``.
    values : ndarray of shape (n_values,) or None
        Numbers that are a bin of their own; None for categories.
    edges : ndarray of shape (n_intervals - 1,) or None
        Between the intervals, of which the first and the last are open; None for categories.
    effect : ndarray of shape (n_bins,)
        What each bin adds to the log odds, less the mean over the column's bins.
    error : ndarray of shape (n_bins,)
        Standard deviation of each effect.
    """

    name: Any
    labels: tuple[str, ...]
    values: NDArray[np.float64] | None
    edges: NDArray[np.float64] | None
    effect: NDArray[np.float64]
    error: NDArray[np.float64]


def terms_of(
    features: AdditiveBins, coefficients: NDArray[np.float64], errors: NDArray[np.float64]
) -> list[AdditiveTerm]:
    """Return the terms of one row of coefficients, shape (n_features,)."""
    found = []
    for column, first, end in zip(
        features.columns, features.ends[:-1], features.ends[1:], strict=True
    ):
        effect = coefficients[first:end]
        values = edges = None
        if isinstance(column, NumberBins):
            values, edges = column.values.copy(), column.edges.copy()
        found.append(
            AdditiveTerm(
                name=column.name,
                labels=tuple(column.labels()),
                values=values,
                edges=edges,
                effect=effect - effect.mean(),
                error=errors[first:end].copy(),
            )
        )
    return found
