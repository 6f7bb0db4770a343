"""Design matrices: features of rows, and the sums over rows that a fit needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from secretballot._base._matrices import mirror, product
from secretballot._base._objects import cached_property

Floats = NDArray[np.float64]
Features: TypeAlias = "Floats | csr_array"

#: Products that are computed at a time.
_BLOCK_SIZE = 2**24
#: Rows whose scores are added at a time.
_BLOCK_ROWS = 2**10
#: One-hot rows whose pairs of features are more than 1 in so many of all pairs are made dense.
_DENSE_RATIO = 10


class PriorGroup(NamedTuple):
    """Features whose coefficients have one prior variance."""

    place: slice  # the features
    precision: Floats  # (n_features, n_features): inverse correlations of the prior
    # Features whose mean effect is subtracted from these in terms; None: these.
    centre: slice | None = None
    # Whether they are of one column, so that a coefficient is an effect. Dense features may be
    # small, and their coefficients large.
    is_column: bool = True

    @property
    def centred_on(self) -> slice:
        return self.place if self.centre is None else self.centre


class FeatureMap(Protocol):
    """Public description of rows by features of bounded length."""

    @property
    def norm(self) -> float:
        """Largest Euclidean length of a row's features."""

    @property
    def n_features(self) -> int: ...

    @property
    def groups(self) -> Sequence[PriorGroup]:
        """All features, by their prior variance."""

    def transform(self, X: ArrayLike) -> Features:
        """Compute the features of public rows."""

    def transform_private(self, X: ArrayLike) -> Features:
        """Compute the features of private rows, each from its own cells alone."""


def stores_pairs(n_entries: int, n_features: int) -> bool:
    """Return True if pairs of a one-hot row's entries are stored, in place of all features."""
    return n_entries * (n_entries + 1) // 2 * _DENSE_RATIO < n_features**2


class Design:
    """Features of rows as a dense matrix, or as one-hot rows with equally many entries."""

    def __init__(self, features: Features) -> None:
        self.features = features
        self.shape: tuple[int, int] = features.shape  # number of rows and of features
        #: True if sums over the pairs of features that rows have are cheaper than over all.
        self._is_sparse = isinstance(features, csr_array) and stores_pairs(
            features.nnz // max(self.shape[0], 1), self.shape[1]
        )

    def decision(self, coefficients: Floats, intercept: Floats | float) -> Floats:
        """Compute scores (n_rows, n_outputs) from coefficients (n_features, n_outputs)."""
        return np.asarray(self.features @ coefficients + intercept)

    def rowwise_decision(self, coefficients: Floats, intercept: Floats | float) -> Floats:
        """Compute scores as `decision` does, each added in the order of the features.

        A product of matrices adds in an order that depends on the number of rows.
        """
        if isinstance(self.features, csr_array):
            return self.decision(coefficients, intercept)
        scores = np.zeros((self.shape[0], coefficients.shape[1]))
        for start in range(0, self.shape[0], _BLOCK_ROWS):
            columns = np.ascontiguousarray(self.features[start : start + _BLOCK_ROWS].T)
            block = scores[start : start + _BLOCK_ROWS]
            for values, slopes in zip(columns, coefficients, strict=True):
                block += values[:, None] * slopes
        return np.asarray(scores + intercept)

    def quadratic(self, matrix: Floats) -> Floats:
        """Compute x' M x for symmetric M and each row x, with a 1 before its features."""
        linear = self.features @ (2 * matrix[1:, 0])
        if self._is_sparse:
            twice = 2 * matrix[1:, 1:]
            np.einsum("ii->i", twice)[:] /= 2
            squares = self._pairs.T @ twice.ravel()
        else:
            squares = np.einsum("ij,ij->i", self._dense, product(self._dense, matrix[1:, 1:]))
        return np.asarray(matrix[0, 0] + linear + squares)

    def sums(self, weights: Floats) -> Floats:
        """Sum features times weights over the rows: (n_features, n_outputs)."""
        return np.asarray(self.features.T @ weights)

    def residual_limits(self, norm: float) -> Floats:
        """Compute the length of each row's residuals at which their products with features reach
        `norm`: 1 for one-hot rows, which are equally long.
        """
        if isinstance(self.features, csr_array):
            return np.ones((self.shape[0], 1))
        return np.asarray(norm / np.maximum(self._lengths, np.finfo(np.float64).tiny))

    def products(self, weights: Floats) -> Floats:
        """Compute X' diag(w) X for each column w of the weights, the column first."""
        n_features, n_columns = self.shape[1], weights.shape[1]
        out = np.empty((n_columns, n_features, n_features))
        if self._is_sparse:
            step = max(_BLOCK_SIZE // n_features**2, 1)
            for start in range(0, n_columns, step):
                block = self._pairs @ weights[:, start : start + step]
                out[start : start + step] = block.T.reshape(-1, n_features, n_features)
            for square in out:  # only one of the two orders of a pair is stored
                mirror(square)
            return out
        for column in range(n_columns):
            out[column] = product((self._dense * weights[:, [column]]).T, self._dense)
        return out

    def pair_sums(self, merge: NDArray[np.intp], weights: Floats) -> Floats:
        """Sum weights over the rows that have two merged features: (n_merged, n_merged)."""
        assert isinstance(self.features, csr_array)
        n_merged = int(merge.max()) + 1
        entries = (self.features.data, merge[self.features.indices], self.features.indptr)
        merged = csr_array(entries, shape=(self.shape[0], n_merged))
        sums = np.zeros((n_merged, n_merged))
        step = max(_BLOCK_SIZE // (8 * n_merged), 1)
        for start in range(0, self.shape[0], step):
            # Dense, as columns have few merged features.
            rows = slice(start, start + step)
            block = merged[rows].toarray()
            sums += (block * weights[rows, None]).T @ block
        return sums

    @cached_property
    def _lengths(self) -> Floats:
        return np.asarray(np.linalg.norm(self._dense, axis=1, keepdims=True))

    @cached_property
    def _dense(self) -> Floats:
        if isinstance(self.features, csr_array):
            return np.asarray(self.features.toarray())
        return self.features

    @cached_property
    def _pairs(self) -> csr_array:
        """Indicators of the pairs of features that rows have: (n_features**2, n_rows)."""
        assert isinstance(self.features, csr_array)
        n_rows, n_features = self.shape
        codes = self.features.indices.reshape(n_rows, -1).astype(np.int64)
        ones = self.features.data.reshape(n_rows, -1)
        first, second = np.triu_indices(codes.shape[1])
        pairs = codes[:, first] * n_features + codes[:, second]
        starts = np.arange(n_rows + 1) * pairs.shape[1]
        entries = ((ones[:, first] * ones[:, second]).ravel(), pairs.ravel(), starts)
        return csr_array(entries, shape=(n_rows, n_features**2)).T.tocsr()
