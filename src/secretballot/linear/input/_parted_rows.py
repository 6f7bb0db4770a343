"""Sums over private rows in parts: each bucket's sums are exact, and are added up."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from secretballot.linear.features import Floats, PairedBins
from secretballot.linear.input._stored_rows import StoredRows
from secretballot.linear.rounds import BinnedResiduals, PrivateRows, Residuals
from secretballot.tables._buckets import BucketRows, Buckets, read_bucket
from secretballot.tables._exchange import Exchange

#: Function from the rows of a bucket to their vectors.
Vectors = Callable[[BucketRows], PrivateRows]


@dataclass(frozen=True)
class BucketVectors:
    """Vectors of the rows of buckets, on a worker."""

    exchange: Exchange
    vectors: Vectors
    stored: str  # folder with the one-hot features of each bucket

    def store(self, rows: PrivateRows, bucket: int) -> None:
        """Store the vectors of a bucket, if they are one-hot; others are computed every time."""
        stored = StoredRows.of(rows)
        if stored is not None:
            stored.save(self._path(bucket))

    def load(self, bucket: int) -> PrivateRows:
        path = self._path(bucket)
        if os.path.exists(path):
            return StoredRows.load(path).rows()
        return self.vectors(read_bucket(self.exchange, bucket))

    def sum(self, function: Callable[[PrivateRows], Floats], bucket: int) -> Floats:
        return function(self.load(bucket))

    def _path(self, bucket: int) -> str:
        return os.path.join(self.stored, f"{bucket}.rows")


@dataclass(frozen=True)
class PartedRows:
    """Private rows in parts, as the vectors that are summed: the same sums as of `PrivateRows`."""

    buckets: Buckets
    of_bucket: BucketVectors
    total: float  # sum of the weights of all people

    @classmethod
    def of(cls, buckets: Buckets, vectors: Vectors, total: float) -> PartedRows:
        """Return rows whose vectors are yet to be stored."""
        of_bucket = BucketVectors(buckets.exchange, vectors, _new_folder(buckets))
        return cls(buckets, of_bucket, total)

    def with_cells(self, features: PairedBins) -> PartedRows:
        paired = replace(self.of_bucket, stored=_new_folder(self.buckets))
        for _ in self.buckets.map_filled(partial(_store_cells, self.of_bucket, paired, features)):
            pass
        return replace(self, of_bucket=paired)

    def residual_sums(self, coefficients: Floats, norm: float, residuals: Residuals) -> Floats:
        return self._add(lambda rows: rows.residual_sums(coefficients, norm, residuals))

    def counted_sums(
        self, coefficients: Floats, norm: float, residuals: BinnedResiduals, n_bins: int
    ) -> tuple[Floats, Floats]:
        def packed(rows: PrivateRows) -> Floats:
            sums, counts = rows.counted_sums(coefficients, norm, residuals, n_bins)
            return np.concatenate([sums.ravel(), counts])

        total = self._add(packed)
        return total[:-n_bins].reshape(-1, 1), total[-n_bins:]

    def pair_sums(
        self, coefficients: Floats, norm: float, residuals: Residuals, merge: NDArray[np.intp]
    ) -> Floats:
        return self._add(lambda rows: rows.pair_sums(coefficients, norm, residuals, merge))

    def right_sum(self, coefficients: Floats, norm: float) -> Floats:
        return self._add(lambda rows: rows.right_sum(coefficients, norm))

    def feature_sums(self, norm: float) -> Floats:
        return self._add(lambda rows: rows.feature_sums(norm))

    def score_products(
        self, column_scores: Callable[[csr_array], Floats], score_bits: int
    ) -> Floats:
        return self._add(lambda rows: rows.score_products(column_scores, score_bits))

    def _add(self, function: Callable[[PrivateRows], Floats]) -> Floats:
        """Add up the sums of all buckets, in any order: they are exact."""
        return np.asarray(sum(self.buckets.map_filled(partial(self.of_bucket.sum, function))))


def _new_folder(buckets: Buckets) -> str:
    folder = os.path.join(buckets.folder.path, f"features-{uuid4().hex}")
    os.mkdir(folder, 0o700)
    return folder


def _store_cells(
    single: BucketVectors, paired: BucketVectors, features: PairedBins, bucket: int
) -> None:
    paired.store(single.load(bucket).with_cells(features), bucket)
