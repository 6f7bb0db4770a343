"""Features of many rows, and the sums over rows that are needed of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]

#: So many numbers of weighted products are computed at a time.
_AT_A_TIME = 2**24


class Design:
    """Features of rows: a dense array, or one-hot rows with as many entries each.

    Parameters
    ----------
    features : ndarray or csr_array of shape (n_rows, n_features)
    """

    def __init__(self, features: Any) -> None:
        self.features = features

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        n_rows, n_features = self.features.shape
        return n_rows, n_features

    @cached_property
    def largest(self) -> float:
        """The largest number among all features."""
        return float(abs(self.features).max())

    def decision(self, coefficients: Floats, intercept: Floats) -> Floats:
        """Return scores, shape (n_rows, n_columns), for coefficients (n_features, n_columns)."""
        return np.asarray(self.features @ coefficients + intercept)

    def sums(self, weights: Floats) -> Floats:
        """Return sums of features times weights, shape (n_features, n_columns)."""
        return np.asarray(self.features.T @ weights)

    def products(self, weights: Floats) -> Floats:
        """Return sums of products of two features: (n_columns, n_features, n_features)."""
        n_features, n_columns = self.shape[1], weights.shape[1]
        out = np.empty((n_columns, n_features, n_features))
        if isinstance(self.features, csr_array):
            step = max(_AT_A_TIME // n_features**2, 1)
            for start in range(0, n_columns, step):
                some = self._pairs @ weights[:, start : start + step]
                out[start : start + step] = some.T.reshape(-1, n_features, n_features)
            return out
        for column in range(n_columns):
            out[column] = (self.features * weights[:, [column]]).T @ self.features
        return out

    @cached_property
    def _pairs(self) -> csr_array:
        """Which pairs of features each row has, shape (n_features**2, n_rows)."""
        n_rows, n_features = self.shape
        codes = self.features.indices.reshape(n_rows, -1).astype(np.int64)
        ones = self.features.data.reshape(n_rows, -1)
        pairs = (codes[:, :, None] * n_features + codes[:, None, :]).reshape(n_rows, -1)
        starts = np.arange(n_rows + 1) * pairs.shape[1]
        each = ((ones[:, :, None] * ones[:, None, :]).ravel(), pairs.ravel(), starts)
        return csr_array(each, shape=(n_rows, n_features**2)).T.tocsr()
