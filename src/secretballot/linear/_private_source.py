"""Private rows of one fit, in memory or in parts: what is read of them, and added up."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from typing import TypeVar
from uuid import uuid4

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.linear._additive_bins import AdditiveBins, PairedBins
from secretballot.linear._columns import Categories, ColumnChoice
from secretballot.linear._design import FeatureMap, Floats
from secretballot.linear._private_sums import (
    BinnedResiduals,
    PrivateSums,
    Residuals,
    RowSums,
    Targets,
)
from secretballot.linear._response import Response
from secretballot.measures._rank_grid import RankGrid
from secretballot.tables._buckets import BucketRows, Buckets, read_bucket
from secretballot.tables._cells import read_numbers
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._columns import Header
from secretballot.tables._declared_columns import undeclared_cells
from secretballot.tables._exchange import Exchange
from secretballot.tables._frames import as_table, columns_of
from secretballot.tables._people import People
from secretballot.tables._public_rows_check import cells_outside, people_outside
from secretballot.tables._row_schema import warn_misfits
from secretballot.tables._tasks import target_errors


@dataclass(frozen=True)
class StoredRows:
    """Sparse vectors with the fewest bytes, and what belongs to the rows."""

    codes: NDArray[np.unsignedinteger]  # (n_entries,): features of the entries, row by row
    # (n_rows + 1,): place of each row's first entry. None: all rows have equally many.
    ends: NDArray[np.int64] | None
    weights: Floats | None  # (n_entries,): entries; None: all are 1
    n_features: int
    targets: Targets  # this and the others: see `RowSums`
    shares: Floats
    total: float
    n_numbers: int
    weight_bits: int

    @classmethod
    def of(cls, rows: RowSums) -> StoredRows | None:
        """Return sparse vectors; None for dense ones, or if there are no rows."""
        blocks = [features for _, features in rows.blocks()]
        if not blocks or not all(isinstance(features, csr_array) for features in blocks):
            return None
        table = vstack(blocks, format="csr")
        n_rows, n_features = table.shape
        sizes = np.diff(table.indptr)
        return cls(
            codes=table.indices.astype(np.min_scalar_type(n_features)),
            ends=None if n_rows and (sizes == sizes[0]).all() else table.indptr.astype(np.int64),
            weights=None if (table.data == 1).all() else table.data,
            n_features=n_features,
            targets=rows.targets,
            shares=rows.shares,
            total=rows.total,
            n_numbers=rows.n_numbers,
            weight_bits=rows.weight_bits,
        )

    @classmethod
    def load(cls, path: str) -> StoredRows:
        stored: StoredRows = joblib.load(path, mmap_mode="r")
        return stored

    def save(self, path: str) -> None:
        """Write the file, under another name first: a task may be run twice."""
        new = f"{path}.{uuid4().hex}"
        joblib.dump(self, new)
        os.replace(new, path)

    def rows(self) -> RowSums:
        return RowSums(
            transform=self._features,
            targets=self.targets,
            shares=self.shares,
            total=self.total,
            n_numbers=self.n_numbers,
            weight_bits=self.weight_bits,
        )

    def _features(self, rows: slice) -> csr_array:
        start, stop, _ = rows.indices(len(self.shares))
        if self.ends is None:
            n_entries = len(self.codes) // max(len(self.shares), 1)
            ends = n_entries * np.arange(start, stop + 1)
        else:
            ends = self.ends[start : stop + 1]
        part = slice(ends[0], ends[-1])
        codes = self.codes[part].astype(np.int32)
        weights = _ones(len(codes)) if self.weights is None else np.asarray(self.weights[part])
        shape = (stop - start, self.n_features)
        return csr_array((weights, codes, (ends - ends[0]).astype(np.int32)), shape=shape)


@lru_cache(maxsize=2)
def _ones(n_entries: int) -> Floats:
    """Return entries of one-hot rows: those of a whole block, or of the last one of a bucket.

    Two fifths of a round would be spent on making them again.
    """
    ones = np.ones(n_entries)
    ones.flags.writeable = False
    return ones


#: Function from the rows of a bucket to their vectors.
Vectors = Callable[[BucketRows], RowSums]


@dataclass(frozen=True)
class BucketVectors:
    """Vectors of the rows of buckets, on a worker."""

    exchange: Exchange
    vectors: Vectors
    stored: str  # folder with the one-hot features of each bucket

    def store(self, rows: RowSums, bucket: int) -> None:
        """Store the vectors of a bucket, if they are one-hot; others are computed every time."""
        stored = StoredRows.of(rows)
        if stored is not None:
            stored.save(self._path(bucket))

    def load(self, bucket: int) -> RowSums:
        path = self._path(bucket)
        if os.path.exists(path):
            return StoredRows.load(path).rows()
        return self.vectors(read_bucket(self.exchange, bucket))

    def sum(self, function: Callable[[RowSums], Floats], bucket: int) -> Floats:
        return function(self.load(bucket))

    def _path(self, bucket: int) -> str:
        return os.path.join(self.stored, f"{bucket}.rows")


@dataclass(frozen=True)
class PartedRows:
    """Private rows in parts, as the vectors that are summed: the same sums as of `RowSums`."""

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
        def packed(rows: RowSums) -> Floats:
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

    def _add(self, function: Callable[[RowSums], Floats]) -> Floats:
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


T = TypeVar("T")
#: Function from rows in memory to numbers of people, by column.
Counts = Callable[["TableSource"], dict[Hashable, float]]


class PrivateSource(ABC):
    """Private rows of one fit."""

    @abstractmethod
    def rows(self, features: FeatureMap) -> PrivateSums:
        """Read all rows as vectors of features, and return what adds them up."""

    @abstractmethod
    def check_cells(self, features: FeatureMap) -> None:
        """Read all cells before anything is spent, if sums for another release don't."""

    @abstractmethod
    def rank_sums(self, grid: RankGrid, n_people: int) -> Floats:
        """Sum the votes for the ranks of a grid."""

    @abstractmethod
    def totals(self, count: Counts) -> dict[Hashable, float]:
        """Add up counts of people, by column; a function of rows in memory makes them."""

    @abstractmethod
    def warn_misfits(self, target_bounds: tuple[float, float] | None) -> None:
        """Warn, after a release, of columns with many cells that do not fit, and of targets."""

    def close(self) -> None:
        """Delete what was written for the fit."""
        return


@dataclass(frozen=True)
class TableSource(PrivateSource):
    """Private rows in memory."""

    X: ArrayLike  # rows as they were given; without public rows, with the columns that are chosen
    table: ArrayLike  # rows as read, with the columns that are chosen
    names: list[Hashable]  # names of these columns
    misfits: Mapping[Hashable, NDArray[np.bool_]]  # (n_rows,), of targets too
    targets: Targets
    people: People
    shares: Floats  # (n_rows,): factor of each row's vector
    total: float  # sum of the weights of all people, those of other parts too

    def vectors(self, features: FeatureMap) -> RowSums:
        bins = features if isinstance(features, AdditiveBins) else None
        return RowSums(
            transform=lambda block: features.transform_private(
                _safe_indexing(self.table, np.arange(_num_samples(self.table))[block])
            ),
            targets=self.targets,
            shares=self.shares,
            total=self.total,
            n_numbers=features.n_features if bins is None else len(bins.columns),
            weight_bits=0 if bins is None else bins.weight_bits,
        )

    def rows(self, features: FeatureMap) -> PrivateSums:
        """Read all cells, so that what is invalid is found before anything is spent."""
        rows = self.vectors(features)
        for _ in rows.blocks():
            pass
        return rows

    def check_cells(self, features: FeatureMap) -> None:
        self.rows(features)

    def rank_sums(self, grid: RankGrid, n_people: int) -> Floats:
        cells = self.cells_read()
        columns = [read_numbers(cells[name]) for name in grid.names]
        return grid.sums(columns, self.shares, n_people)

    def totals(self, count: Counts) -> dict[Hashable, float]:
        return count(self)

    def totals_outside(
        self, X_public: ArrayLike, categories: Categories, response: Response
    ) -> dict[Hashable, float]:
        """Count the people whose cells are outside of the public ones, by column.

        Targets beyond their bounds count as a column.
        """
        masks = cells_outside(self.X, X_public, categories, self.names)
        return people_outside(self.people, chain(masks, response.misfits(self.targets).items()))

    def totals_undeclared(
        self, bounds: Bounds, categories: Categories, response: Response
    ) -> dict[Hashable, float]:
        """Count the people whose cells are not what was declared, by column, and targets."""
        masks = undeclared_cells(self.cells_read(), bounds, categories)
        targets = response.misfits(self.targets).items()
        return people_outside(self.people, [*masks, *targets])

    def cells(self) -> dict[Hashable, ArrayLike]:
        """Return the columns as they were given, where there are no public rows."""
        table = as_table(self.X, np.shape(self.table)[1:], "X")
        return dict(zip(self.names, columns_of(table), strict=True))

    def cells_read(self) -> dict[Hashable, Floats]:
        return dict(zip(self.names, columns_of(self.table), strict=True))

    def warn_misfits(self, target_bounds: tuple[float, float] | None) -> None:
        shares = {name: float(rows.mean()) for name, rows in self.misfits.items()}
        warn_misfits(shares, target_bounds)


@dataclass(frozen=True)
class RowReader:
    """Reading of private rows by public facts, the same for all parts."""

    schema: Header
    choice: ColumnChoice
    response: Response
    targets: str | list[str]  # columns of the targets
    n_people: int  # number of owners of all parts
    total: float  # sum of their weights
    weights: Floats  # (n_levels,): weight of an owner of each level; one without levels

    def read(self, rows: BucketRows) -> TableSource:
        with target_errors(self.targets):
            targets = self.response.read(rows.frame[self.targets])
        X = rows.frame[[str(name) for name in self.choice.names]]
        table, misfits = self.schema.read(X)
        people = People.of_numbers(np.unique(rows.hashes, return_inverse=True)[1], self.n_people)
        return TableSource(
            X=X,
            table=table,
            names=list(self.choice.names),
            misfits={**misfits, **self.response.misfits(targets)},
            targets=targets,
            people=people,
            shares=people.weights * self.weights[0 if rows.levels is None else rows.levels],
            total=self.total,
        )


@dataclass(frozen=True)
class PartSource(PrivateSource):
    """Private rows in parts, whose owners were brought together."""

    buckets: Buckets
    reader: RowReader
    _misfits: Counter[Hashable] = field(default_factory=Counter)  # cells, by column
    _n_rows: list[int] = field(default_factory=list)  # of each bucket

    def rows(self, features: FeatureMap) -> PrivateSums:
        """Read all rows in the engine's workers, which keep one-hot features in files."""
        rows = PartedRows.of(
            self.buckets, partial(_vectors, self.reader, features), self.reader.total
        )
        self._misfits.clear()
        self._n_rows.clear()
        for n_bucket, misfits in self.buckets.map_filled(
            partial(_store, self.reader, features, rows.of_bucket)
        ):
            self._n_rows.append(n_bucket)
            self._misfits.update(misfits)
        return rows

    def check_cells(self, features: FeatureMap) -> None:
        """Do nothing: the sums of any release read all cells before it."""

    def rank_sums(self, grid: RankGrid, n_people: int) -> Floats:
        sums = self._map(lambda source: source.rank_sums(grid, n_people))
        return np.asarray(sum(sums))

    def totals(self, count: Counts) -> dict[Hashable, float]:
        sums = Counter[Hashable]()
        for part in self._map(count):
            sums.update(part)
        return dict(sums)

    def warn_misfits(self, target_bounds: tuple[float, float] | None) -> None:
        n_rows = sum(self._n_rows)
        shares = {name: count / n_rows for name, count in self._misfits.items()}
        warn_misfits(shares, target_bounds)

    def close(self) -> None:
        self.buckets.delete()

    def _map(self, function: Callable[[TableSource], T]) -> list[T]:
        reader = self.reader
        return list(self.buckets.map_rows(lambda rows: function(reader.read(rows))))


def _vectors(reader: RowReader, features: FeatureMap, rows: BucketRows) -> RowSums:
    return reader.read(rows).vectors(features)


def _store(
    reader: RowReader, features: FeatureMap, of_bucket: BucketVectors, bucket: int
) -> tuple[int, dict[Hashable, int]]:
    """Store the vectors of a bucket, and return its number of rows and of misfits."""
    source = reader.read(read_bucket(of_bucket.exchange, bucket))
    of_bucket.store(source.vectors(features), bucket)
    return len(source.shares), {name: int(rows.sum()) for name, rows in source.misfits.items()}
