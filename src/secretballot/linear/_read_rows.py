"""Private rows as read for a fit: cells by public types, targets, and weights of vectors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._columns import Categories, ColumnChoice
from secretballot.linear._design import FeatureMap, Floats
from secretballot.linear._private_sums import RowSums, StoredRows, Targets
from secretballot.linear._response import Response
from secretballot.measures._rank_grid import RankGrid
from secretballot.tables._cells import read_numbers
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._columns import Header
from secretballot.tables._declared_columns import undeclared_cells
from secretballot.tables._frames import columns_of
from secretballot.tables._private_rows import (
    Chunk,
    Counts,
    PrivateRows,
    misfit_counts,
    misfit_shares,
)
from secretballot.tables._public_rows_check import cells_outside, people_outside


@dataclass(frozen=True)
class ReadRows:
    """Rows of a chunk."""

    chunk: Chunk
    table: ArrayLike  # cells as they are read
    names: list[Hashable]  # of the columns
    misfits: Mapping[Hashable, NDArray[np.bool_]]  # (n_rows,), of targets too
    targets: Targets
    shares: Floats  # (n_rows,): factor of each row's vector
    total: float  # sum of the weights of all people, those of other chunks too

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

    def rank_sums(self, grid: RankGrid, n_people: int) -> Floats:
        """Sum the votes for the ranks of a grid."""
        cells = self.cells_read()
        columns = [read_numbers(cells[name]) for name in grid.names]
        return grid.sums(columns, self.shares, n_people)

    def outside(
        self, X_public: ArrayLike, categories: Categories, response: Response
    ) -> dict[Hashable, float]:
        """Count the people whose cells are outside of the public ones, by column.

        Targets beyond their bounds count as a column.
        """
        masks = cells_outside(self.chunk.table, X_public, categories, self.names)
        targets = response.misfits(self.targets).items()
        return people_outside(self.chunk.owners, chain(masks, targets))

    def undeclared(
        self, bounds: Bounds, categories: Categories, response: Response
    ) -> dict[Hashable, float]:
        """Count the people whose cells, or targets, are outside of what was declared, by column."""
        masks = undeclared_cells(self.cells_read(), bounds, categories)
        targets = response.misfits(self.targets).items()
        return people_outside(self.chunk.owners, chain(masks, targets))

    def cells(self) -> dict[Hashable, ArrayLike]:
        """Return the columns as they were given."""
        return dict(zip(self.names, columns_of(self.chunk.table), strict=True))

    def cells_read(self) -> dict[Hashable, Floats]:
        return dict(zip(self.names, columns_of(self.table), strict=True))

    def misfit_counts(self) -> Counts:
        return misfit_counts(self.misfits, len(self.shares))


@dataclass(frozen=True)
class RowReader:
    """Reading of private rows by public facts, the same for all chunks."""

    schema: Header
    choice: ColumnChoice
    response: Response
    total: float  # sum of the weights of all people
    weights: Floats  # (n_levels,): weight of a person of each level; one without levels

    def read(self, chunk: Chunk) -> ReadRows:
        table, misfits = self.schema.read(chunk.table)
        names = list(self.choice.names)
        if not self.choice.is_named:
            misfits = {names[place]: rows for place, rows in misfits.items()}
        targets = chunk.read_target(self.response.read)
        return ReadRows(
            chunk=chunk,
            table=table,
            names=names,
            misfits={**misfits, **self.response.misfits(targets)},
            targets=targets,
            shares=chunk.owners.weights * self.weights[0 if chunk.levels is None else chunk.levels],
            total=self.total,
        )


def vector_rows(
    rows: PrivateRows[ReadRows], features: FeatureMap
) -> tuple[PrivateRows[RowSums], dict[Hashable, float]]:
    """Compute the feature vectors of all rows; return them, and each column's share of misfits.

    Workers store one-hot features. All cells are read, so that an invalid one is found before
    anything is spent.
    """
    vectors, counts = rows.keep(
        partial(ReadRows.vectors, features=features),
        StoredRows.of,
        StoredRows.rows,
        ReadRows.misfit_counts,
    )
    if vectors.buckets is None:
        for _ in vectors.load(0).blocks():
            pass
    return vectors, misfit_shares(counts)
