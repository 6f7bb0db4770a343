"""Shards of private rows in parts: all rows of a teacher are in one bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._sklearn_compat import _safe_indexing
from secretballot.ensemble._estimator_types import Classes, Learner, Rows
from secretballot.ensemble._target import Target
from secretballot.ensemble._teachers import Shard, train_batch
from secretballot.ensemble._votes import BatchVotes
from secretballot.ensemble.parts._stored_teachers import (
    store_teachers,
    teachers_of_task,
    without_quotes,
)
from secretballot.mechanisms._counting import Counting
from secretballot.tables._buckets import BucketRows, Buckets, read_bucket
from secretballot.tables._exchange import Exchange
from secretballot.tables._labels import check_targets, encode
from secretballot.tables._people import People
from secretballot.tables._public_rows_check import cells_outside, people_outside
from secretballot.tables._randomness import Randomness
from secretballot.tables._row_independence import copy_rows
from secretballot.tables._row_schema import RowSchema
from secretballot.tables._tasks import target_errors

#: Function from a table, labels and people to exact sums over the people.
PeopleSums = Callable[[Rows, NDArray[np.generic], People], NDArray[np.float64]]


@dataclass(frozen=True)
class ShardReader:
    """Reading of the rows of a bucket, the same for all parts."""

    schema: RowSchema
    columns: list[str]
    targets: str | list[str]  # columns of the targets
    target: Target
    n_people: int  # number of owners of all parts

    def labels(self, rows: BucketRows) -> NDArray[np.generic]:
        """Return the labels of rows, with the type of the declared classes."""
        with target_errors(self.targets):
            labels: NDArray[np.generic] = check_targets(rows.frame[self.targets])
            if self.target.multilabel:
                return labels
            classes = self.target.classes
            assert isinstance(classes, np.ndarray)
            return np.asarray(classes[encode(labels, classes, "y")])

    def misfits(self, rows: BucketRows) -> tuple[int, dict[Hashable, int]]:
        rows = rows.once()
        misfits = self.schema.read(rows.frame[self.columns]).misfits
        return len(rows.frame), {name: int(cells.sum()) for name, cells in misfits.items()}

    def totals_outside(
        self,
        X_public: ArrayLike,
        categories: Mapping[Hashable, Sequence[Hashable]] | None,
        rows: BucketRows,
    ) -> dict[Hashable, float]:
        """Count the people whose cells are outside of the public ones, for each column.

        Labels are checked, as the count is paid for before teachers are trained.
        """
        rows = rows.once()
        self.labels(rows)
        masks = cells_outside(rows.frame[self.columns], X_public, categories)
        return people_outside(self.people(rows), masks)

    def people(self, rows: BucketRows) -> People:
        return People.of_numbers(np.unique(rows.hashes, return_inverse=True)[1], self.n_people)

    def sum(self, function: PeopleSums, rows: BucketRows) -> NDArray[np.float64]:
        rows = rows.once()
        table = self.schema.read(rows.frame[self.columns]).table
        return function(table, self.labels(rows), self.people(rows))


@dataclass(frozen=True)
class PartShards:
    """Private rows in parts, by teacher."""

    buckets: Buckets
    reader: ShardReader

    def train(
        self,
        estimator: Learner,
        groups: Sequence[str],
        classes: Classes,
        randomness: Randomness,
        X_public: Rows,
        counting: Counting,
        folder: str,
    ) -> Iterator[BatchVotes]:
        """Train the teachers of each bucket, store them, and yield their votes added up."""
        train = partial(
            _train_bucket,
            self.reader,
            estimator,
            tuple(groups),
            classes,
            randomness,
            X_public,
            counting,
            folder,
        )
        return self.buckets.map_all(partial(_on_bucket, train, self.buckets.exchange))

    def totals_outside(
        self, X_public: ArrayLike, categories: Mapping[Hashable, Sequence[Hashable]] | None
    ) -> dict[Hashable, float]:
        """Count the people whose cells are outside of the public ones, for each column."""
        count: Callable[[BucketRows], dict[Hashable, float]]
        count = partial(self.reader.totals_outside, X_public, categories)
        totals = Counter[Hashable]()
        for part in self.buckets.map_rows(count):
            totals.update(part)
        return dict(totals)

    def sum(self, function: PeopleSums) -> NDArray[np.float64]:
        """Add up sums over all owners, which are exact."""
        return np.asarray(sum(self.buckets.map_rows(partial(self.reader.sum, function))))

    def misfit_shares(self) -> dict[Hashable, float]:
        n_rows, counts = 0, Counter[Hashable]()
        for n_bucket, part in self.buckets.map_rows(self.reader.misfits):
            n_rows += n_bucket
            counts.update(part)
        return {name: count / n_rows for name, count in counts.items()}

    def close(self) -> None:
        self.buckets.delete()


def _on_bucket(
    train: Callable[[BucketRows, range], BatchVotes], exchange: Exchange, bucket: int
) -> BatchVotes:
    assert exchange.division is not None
    numbers = teachers_of_task(exchange.division.n_teachers, exchange.n_buckets, bucket)
    return train(read_bucket(exchange, bucket), numbers)


def _train_bucket(
    reader: ShardReader,
    estimator: Learner,
    groups: tuple[str, ...],
    classes: Classes,
    randomness: Randomness,
    X_public: Rows,
    counting: Counting,
    folder: str,
    rows: BucketRows,
    numbers: range,
) -> BatchVotes:
    if len(rows.frame):
        table = reader.schema.read(rows.frame[reader.columns]).table
        labels = reader.labels(rows)
    else:
        table, labels = X_public, np.empty(0, dtype=np.intp)
    shards = []
    for number in numbers:
        places = np.flatnonzero(rows.teachers == number)
        shards.append(
            Shard(
                number,
                groups[number],
                copy_rows(_safe_indexing(table, places)),
                labels[places],
                randomness.teacher(number),
            )
        )
    votes = train_batch(estimator, shards, classes, X_public, counting)
    store_teachers(folder, votes.trained)
    return without_quotes(votes)
