"""Private rows as read for teachers: cells by public types, labels of the declared type."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot._base._objects import cached_property
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.ensemble._target import Target
from secretballot.ensemble._teachers import Shard
from secretballot.tables._labels import check_targets, encode
from secretballot.tables._private_rows import Chunk, Counts, misfit_counts
from secretballot.tables._public_rows_check import cells_outside, people_outside
from secretballot.tables._randomness import Randomness
from secretballot.tables._row_independence import copy_rows
from secretballot.tables._row_schema import RowSchema


@dataclass(frozen=True)
class ShardReader:
    """Reading of private rows, the same for all chunks."""

    schema: RowSchema | None  # None: cells are taken as they are
    target: Target

    def read(self, chunk: Chunk) -> ShardRows:
        return ShardRows(chunk, self)


@dataclass(frozen=True)
class ShardRows:
    """Rows of a chunk, which are read when they are needed."""

    chunk: Chunk
    reader: ShardReader

    @cached_property
    def _read(self) -> tuple[Any, Mapping[Any, NDArray[np.bool_]]]:
        schema = self.reader.schema
        return (self.chunk.table, {}) if schema is None else schema.read(self.chunk.table)

    @property
    def table(self) -> Any:
        """Cells as they are read."""
        return self._read[0]

    @cached_property
    def labels(self) -> Any:
        """Labels, with the type of the declared classes."""
        return self.chunk.read_target(self._read_labels)

    def _read_labels(self, y: ArrayLike) -> Any:
        labels, target = check_targets(y), self.reader.target
        if not target.multilabel:
            # A label of another type would change the type of all teachers' labels.
            labels = target.classes[encode(labels, target.classes, "y")]
        return labels

    def misfit_counts(self) -> Counts:
        return misfit_counts(self._read[1], _num_samples(self.chunk.table))

    def outside(
        self, X_public: ArrayLike, categories: Mapping[Hashable, Sequence[Hashable]] | None
    ) -> dict[Hashable, float]:
        """Count the people whose cells are outside of the public ones, by column.

        Labels are read, so that an invalid one is found before the count is paid for.
        """
        if not _num_samples(self.labels):
            return {}
        masks = cells_outside(self.chunk.table, X_public, categories)
        return people_outside(self.chunk.owners, masks)

    def shard(self, number: int, groups: Sequence[str], randomness: Randomness) -> Shard:
        """Return the rows of one teacher; sparse labels are made dense only here."""
        assert self.chunk.shards is not None
        places, seed = self.chunk.shards[number], randomness.teacher(number)
        if not len(places):
            return Shard(number, groups[number], None, np.empty(0, dtype=np.intp), seed)
        X, y = copy_rows(_safe_indexing(self.table, places)), self.labels[places]
        if issparse(y):
            y = y.toarray().astype(np.int64)
        return Shard(number, groups[number], X, y, seed)
