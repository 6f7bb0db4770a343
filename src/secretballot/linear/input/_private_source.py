"""Private rows of one fit, in memory or in parts: what is read of them, and added up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.linear.features import AdditiveBins, ColumnChoice, FeatureMap, Floats
from secretballot.linear.input._parted_rows import BucketVectors, PartedRows
from secretballot.linear.rounds import PrivateRows, Response, RowSums, Targets
from secretballot.measures._rank_grid import RankGrid
from secretballot.tables._buckets import BucketRows, Buckets, read_bucket
from secretballot.tables._cells import read_numbers
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._declared_columns import undeclared_cells
from secretballot.tables._frames import as_table, columns_of
from secretballot.tables._misfits import warn_misfits
from secretballot.tables._people import People
from secretballot.tables._public_rows_check import TARGETS, people_outside, totals_outside
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._tasks import target_errors

T = TypeVar("T")


class PrivateSource(ABC):
    """Private rows of one fit."""

    @abstractmethod
    def rows(self, features: FeatureMap) -> RowSums:
        """Read all rows as vectors of features, and return what adds them up."""

    @abstractmethod
    def check_cells(self, features: FeatureMap) -> None:
        """Read all cells before anything is spent, if sums for another release don't."""

    @abstractmethod
    def rank_sums(self, grid: RankGrid, n_people: int) -> Floats:
        """Sum the votes for the ranks of a grid."""

    @abstractmethod
    def totals_outside(
        self,
        X_public: ArrayLike,
        categories: Mapping[Hashable, Sequence[Hashable]] | None,
        columns: Collection[Hashable],
        response: Response,
    ) -> dict[Hashable, float]:
        """Count the people whose cells are outside of the public ones, for each column.

        Targets beyond their bounds count as a column.
        """

    @abstractmethod
    def totals_undeclared(
        self,
        bounds: Bounds,
        categories: Mapping[Hashable, Sequence[Hashable]],
        response: Response,
    ) -> dict[Hashable, float]:
        """Count the people whose cells are not what was declared, for each column.

        Targets beyond their bounds count as a column.
        """

    @abstractmethod
    def warn_misfits(self) -> None:
        """Warn, after a release, of columns with many cells that do not fit."""

    def close(self) -> None:
        """Delete what was written for the fit."""
        return


@dataclass(frozen=True)
class TableSource(PrivateSource):
    """Private rows in memory."""

    X: ArrayLike  # rows as they were given; without public rows, with the columns that are chosen
    table: ArrayLike  # rows as read, with the columns that are chosen
    names: list[Hashable]  # names of these columns
    misfits: Mapping[Hashable, NDArray[np.bool_]]  # (n_rows,)
    targets: Targets
    people: People
    shares: Floats  # (n_rows,): factor of each row's vector
    total: float  # sum of the weights of all people, those of other parts too

    def vectors(self, features: FeatureMap) -> PrivateRows:
        bins = features if isinstance(features, AdditiveBins) else None
        return PrivateRows(
            transform=lambda block: features.transform_private(
                _safe_indexing(self.table, np.arange(_num_samples(self.table))[block])
            ),
            targets=self.targets,
            shares=self.shares,
            total=self.total,
            n_numbers=features.n_features if bins is None else len(bins.columns),
            weight_bits=0 if bins is None else bins.weight_bits,
        )

    def rows(self, features: FeatureMap) -> RowSums:
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

    def totals_outside(
        self,
        X_public: ArrayLike,
        categories: Mapping[Hashable, Sequence[Hashable]] | None,
        columns: Collection[Hashable],
        response: Response,
    ) -> dict[Hashable, float]:
        totals = totals_outside(self.X, X_public, self.people, categories, columns)
        return totals | self.targets_beyond(response)

    def totals_undeclared(
        self,
        bounds: Bounds,
        categories: Mapping[Hashable, Sequence[Hashable]],
        response: Response,
    ) -> dict[Hashable, float]:
        masks = undeclared_cells(self.cells(), self.cells_read(), bounds, categories)
        return people_outside(self.people, masks) | self.targets_beyond(response)

    def targets_beyond(self, response: Response) -> dict[Hashable, float]:
        beyond = response.beyond_bounds(self.targets)
        return {} if beyond is None else people_outside(self.people, [(TARGETS, beyond)])

    def cells(self) -> dict[Hashable, ArrayLike]:
        """Return the columns as they were given, where there are no public rows."""
        table = as_table(self.X, np.shape(self.table)[1:], "X")
        return dict(zip(self.names, columns_of(table), strict=True))

    def cells_read(self) -> dict[Hashable, ArrayLike]:
        return dict(zip(self.names, columns_of(self.table), strict=True))

    def warn_misfits(self) -> None:
        warn_misfits({name: float(rows.mean()) for name, rows in self.misfits.items()})


@dataclass(frozen=True)
class RowReader:
    """Reading of private rows by public facts, the same for all parts."""

    schema: RowSchema
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
            misfits=misfits,
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

    def rows(self, features: FeatureMap) -> RowSums:
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

    def totals_outside(
        self,
        X_public: ArrayLike,
        categories: Mapping[Hashable, Sequence[Hashable]] | None,
        columns: Collection[Hashable],
        response: Response,
    ) -> dict[Hashable, float]:
        return self._add_up(
            lambda source: source.totals_outside(X_public, categories, columns, response)
        )

    def totals_undeclared(
        self,
        bounds: Bounds,
        categories: Mapping[Hashable, Sequence[Hashable]],
        response: Response,
    ) -> dict[Hashable, float]:
        return self._add_up(lambda source: source.totals_undeclared(bounds, categories, response))

    def warn_misfits(self) -> None:
        n_rows = sum(self._n_rows)
        warn_misfits({name: count / n_rows for name, count in self._misfits.items()})

    def close(self) -> None:
        self.buckets.delete()

    def _add_up(
        self, totals: Callable[[TableSource], dict[Hashable, float]]
    ) -> dict[Hashable, float]:
        sums = Counter[Hashable]()
        for part in self._map(totals):
            sums.update(part)
        return dict(sums)

    def _map(self, function: Callable[[TableSource], T]) -> list[T]:
        reader = self.reader
        return list(self.buckets.map_rows(lambda rows: function(reader.read(rows))))


def _vectors(reader: RowReader, features: FeatureMap, rows: BucketRows) -> PrivateRows:
    return reader.read(rows).vectors(features)


def _store(
    reader: RowReader, features: FeatureMap, of_bucket: BucketVectors, bucket: int
) -> tuple[int, dict[Hashable, int]]:
    """Store the vectors of a bucket, and return its number of rows and of misfits."""
    source = reader.read(read_bucket(of_bucket.exchange, bucket))
    of_bucket.store(source.vectors(features), bucket)
    return len(source.shares), {name: int(rows.sum()) for name, rows in source.misfits.items()}
