"""Private columns of numbers, in memory or in parts, and the sums that give their ranks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.measures._rank_grid import RankGrid
from secretballot.tables._cells import read_days, read_numbers
from secretballot.tables._column_bounds import Bounds
from secretballot.tables._declared_columns import (
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
from secretballot.tables._private_rows import Chunk, PrivateRows
from secretballot.tables._table_checks import (
    count_at_bounds,
    warn_extreme_counts,
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
class NumberColumns:
    """Columns whose names and types are known, of rows in memory or in parts."""

    names: list[Hashable]
    not_texts: list[Hashable]  # names of the columns whose type is neither text nor object
    #: function from names of columns to the rows; those of parts have these columns alone
    rows_of: Callable[[list[Hashable]], PrivateRows[Chunk]]

    @classmethod
    def of_table(
        cls, X: ArrayLike, owners: ArrayLike | None, accountant: PrivacyAccountant
    ) -> NumberColumns:
        table = _private_table(X)
        names = column_names(table) or list(range(np.shape(table)[1]))
        people = People.from_owners(accountant, owners, np.shape(table)[0])
        dtypes = [getattr(column, "dtype", None) for column in columns_of(table)]
        is_text = [getattr(dtype, "kind", str(dtype)) in _TEXTS for dtype in dtypes]
        not_texts = [name for name, text in zip(names, is_text, strict=True) if not text]

        def rows_of(_: list[Hashable]) -> PrivateRows[Chunk]:
            if owners is None:
                warn_repeated_rows(X)
            return PrivateRows.of_table(table, None, people)

        return cls(names, not_texts, rows_of)

    @classmethod
    def of_parts(
        cls, parts: PrivateParts, owners: ArrayLike | None, accountant: PrivacyAccountant
    ) -> NumberColumns:
        """Return all columns but those of owners and groups."""
        parts.check_alone(owners=owners)
        check_unit(accountant, owners=True)
        names = list[Hashable](parts.columns_with_targets)

        def rows_of(chosen: list[Hashable]) -> PrivateRows[Chunk]:
            return PrivateRows.of_parts(parts, [str(name) for name in chosen])

        return cls(names, names, rows_of)

    def rank_sums(self, grid: RankGrid, bounds: Bounds, days: Days) -> RankSums:
        """Check the cells, and compute the sums of a grid."""
        rows = self.rows_of(list(grid.names))
        try:
            names = self.names if rows.buckets is None else list(grid.names)
            counts = rows.count(partial(_chunk_ranks, grid, bounds, days, names))
        finally:
            rows.close()
        refuse_unreadable(bounds, counts["readable"])
        warn_extreme_counts("bounds", bounds, counts["at bounds"])
        outside = dict(zip(bounds, counts["outside"].tolist(), strict=True))
        return RankSums(counts["sums"], rows.n_people, rows.unit, outside)


def _chunk_ranks(
    grid: RankGrid, bounds: Bounds, days: Days, names: list[Hashable], chunk: Chunk
) -> dict[Hashable, NDArray[Any]]:
    """Sum one chunk exactly, count readable cells, those at bounds, and people outside."""
    columns = dict(zip(names, columns_of(chunk.table), strict=True))
    cells, people = {name: columns[name] for name in grid.names}, chunk.owners
    numbers = _read(cells, days)
    return {
        "sums": grid.sums(list(numbers.values()), people.weights, people.n),
        "readable": count_readable(cells, numbers, bounds),
        "at bounds": count_at_bounds(bounds, numbers),
        "outside": _people_outside(people, numbers, bounds),
    }


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
