"""Private columns of numbers, in memory or in parts, and the sums that give their ranks."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot._base._owner_hash import KEY_SIZE
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.measures._rank_grid import RankGrid
from secretballot.tables._buckets import BucketRows, Buckets
from secretballot.tables._cells import read_days, read_numbers
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._declared_columns import (
    check_readable_numbers,
    count_readable,
    refuse_unreadable,
)
from secretballot.tables._frames import (
    as_table,
    check_kind,
    check_table,
    column_names,
    columns_of,
    row_shape,
)
from secretballot.tables._people import People, check_unit
from secretballot.tables._private_parts import PrivateParts
from secretballot.tables._table_checks import (
    count_at_bounds,
    warn_extreme_counts,
    warn_private_extremes,
    warn_repeated_rows,
)

#: Columns of times or durations, which are read as days.
Days = Mapping[Hashable, str]
#: Types of columns that hold texts or objects: kinds of NumPy and pandas, names of polars.
_TEXTS = ("O", "S", "U", "String", "Categorical", "Object")


class RankSums(NamedTuple):
    """Sums over all people, for a release, and their public number."""

    sums: NDArray[np.float64]  # shape (1, n_columns * n_bins)
    n_people: int
    unit: str  # "row" or "owner"
    #: people without a value within the bounds, by column; private
    n_outside: Mapping[Hashable, float]


@dataclass(frozen=True)
class TableColumns:
    """Columns in memory."""

    X: ArrayLike  # rows as they were given
    table: ArrayLike  # of one or more columns
    names: list[Hashable]
    people: People

    @classmethod
    def read(
        cls, X: ArrayLike, owners: ArrayLike | None, accountant: PrivacyAccountant
    ) -> TableColumns:
        table = _private_table(X)
        names = column_names(table) or list(range(np.shape(table)[1]))
        people = People.from_owners(accountant, owners, np.shape(table)[0])
        return cls(X, table, names, people)

    @property
    def not_texts(self) -> list[Hashable]:
        """Names of the columns whose type is neither text nor object."""
        dtypes = [getattr(column, "dtype", None) for column in columns_of(self.table)]
        is_text = [getattr(dtype, "kind", str(dtype)) in _TEXTS for dtype in dtypes]
        return [name for name, text in zip(self.names, is_text, strict=True) if not text]

    def rank_sums(self, grid: RankGrid, bounds: Bounds, days: Days) -> RankSums:
        """Check the cells, and compute the sums of a grid."""
        columns = dict(zip(self.names, columns_of(self.table), strict=True))
        cells = {name: columns[name] for name in grid.names}
        numbers = _read(cells, days)
        check_readable_numbers(cells, numbers, bounds)
        if self.people.owner_of_row is None:
            warn_repeated_rows(self.X)
        warn_private_extremes("bounds", bounds, numbers)
        people = self.people
        sums = grid.sums(list(numbers.values()), people.weights, people.n)
        outside = _people_outside(people, numbers, bounds)
        return RankSums(sums, people.n, people.unit, dict(zip(bounds, outside, strict=True)))


@dataclass(frozen=True)
class PartColumns:
    """Columns of rows in parts, without those of owners and groups."""

    parts: PrivateParts
    names: list[Hashable]

    @classmethod
    def read(
        cls, parts: PrivateParts, owners: ArrayLike | None, accountant: PrivacyAccountant
    ) -> PartColumns:
        parts.check_alone(owners=owners)
        check_unit(accountant, owners=True)
        return cls(parts, list(parts.columns_with_targets))

    @property
    def not_texts(self) -> list[Hashable]:
        return self.names

    def rank_sums(self, grid: RankGrid, bounds: Bounds, days: Days) -> RankSums:
        """Check the cells, and add up the sums of a grid over the owners of all buckets."""
        names = [str(name) for name in grid.names]
        buckets = Buckets.of(self.parts, names, secrets.token_bytes(KEY_SIZE))
        try:
            compute = partial(_bucket_ranks, grid, bounds, days, buckets.n_owners)
            sums, readable, at_bounds, outside = map(
                sum, zip(*buckets.map_rows(compute), strict=True)
            )
        finally:
            buckets.delete()
        refuse_unreadable(bounds, np.asarray(readable))
        warn_extreme_counts("bounds", bounds, np.asarray(at_bounds))
        by_column = dict(zip(bounds, np.asarray(outside).tolist(), strict=True))
        return RankSums(np.asarray(sums), buckets.n_owners, "owner", by_column)


def _bucket_ranks(
    grid: RankGrid, bounds: Bounds, days: Days, n: int, rows: BucketRows
) -> tuple[NDArray[Any], ...]:
    """Sum one bucket exactly, count readable cells, those at bounds, and people outside."""
    people = People.of_numbers(np.unique(rows.hashes, return_inverse=True)[1], n)
    cells: Mapping[Hashable, ArrayLike] = {name: rows.frame[name] for name in grid.names}
    numbers = _read(cells, days)
    return (
        grid.sums(list(numbers.values()), people.weights, n),
        count_readable(cells, numbers, bounds),
        count_at_bounds(bounds, numbers),
        _people_outside(people, numbers, bounds),
    )


def _read(cells: Mapping[Hashable, ArrayLike], days: Days) -> dict[Hashable, NDArray[np.float64]]:
    return {
        name: read_days(values, days[name]) if name in days else read_numbers(values)
        for name, values in cells.items()
    }


def _people_outside(
    people: People, numbers: Mapping[Hashable, NDArray[np.float64]], bounds: Bounds
) -> NDArray[np.float64]:
    """Count the people without a value within bounds: each moves each count by 1 at most."""
    outside = [
        ~((numbers[name] >= low) & (numbers[name] <= high)) for name, (low, high) in bounds.items()
    ]
    return people.total(np.asarray(outside, dtype=np.float64))


def _private_table(X: ArrayLike) -> ArrayLike:
    """Return rows as a table of one or more columns; a single column may be one-dimensional."""
    check_kind(X, "X")
    if issparse(X):
        raise ValueError("X is sparse; pass its columns as X.toarray().")
    if isinstance(X, list | tuple):
        is_column = len(X) > 0 and row_shape(X) == ()
        X = np.asarray(as_table([[cell] for cell in X] if is_column else X, None, "X"))
    if len(np.shape(X)) == 1:
        X = np.asarray(X).reshape(-1, 1)
    check_table(X, "X")
    if len(np.shape(X)) != 2 or 0 in np.shape(X):
        raise ValueError(f"X has shape {np.shape(X)}; give at least one row, and one column.")
    return X
