"""Private columns of numbers, and the sums that give their ranks."""

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
    column_keys,
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
    """Columns in memory, or of rows in parts (without those of owners and groups)."""

    names: list[Hashable]
    #: Names of the columns whose type is neither text nor object.
    not_texts: list[Hashable]
    #: Function from the names of columns to their rows.
    rows: Callable[[list[Hashable]], PrivateRows[Chunk]]
    #: Rows in memory as they were given, each a person: repeated ones warn.
    X: ArrayLike | None = None

    @classmethod
    def of(
        cls, X: ArrayLike | PrivateParts, owners: ArrayLike | None, accountant: PrivacyAccountant
    ) -> NumberColumns:
        names: list[Hashable]
        if isinstance(X, PrivateParts):
            X.check_alone(owners=owners)
            check_unit(accountant, owners=True)
            names = list(X.columns_with_targets)
            return cls(names, names, lambda of: PrivateRows.of_parts(X, list(map(str, of))))
        table = _private_table(X)
        names = column_keys(table)
        dtypes = [getattr(column, "dtype", None) for column in columns_of(table)]
        is_text = [getattr(dtype, "kind", str(dtype)) in _TEXTS for dtype in dtypes]
        not_texts = [name for name, text in zip(names, is_text, strict=True) if not text]
        people = People.from_owners(accountant, owners, np.shape(table)[0])
        rows = PrivateRows.of_table(table, None, people)
        return cls(names, not_texts, lambda _: rows, X if owners is None else None)

    def rank_sums(self, grid: RankGrid, bounds: Bounds, days: Days) -> RankSums:
        """Check the cells, and add up the sums of a grid over all people."""
        rows = self.rows(list(grid.names))
        try:
            compute = partial(_sum_chunk, grid, bounds, days)
            sums, readable, at_bounds, outside = map(sum, zip(*rows.map(compute), strict=True))
        finally:
            rows.close()
        refuse_unreadable(bounds, np.asarray(readable))
        if self.X is not None:
            warn_repeated_rows(self.X)
        warn_extreme_counts("bounds", bounds, np.asarray(at_bounds))
        by_column = dict(zip(bounds, np.asarray(outside).tolist(), strict=True))
        return RankSums(np.asarray(sums), rows.n_people, rows.unit, by_column)


def _sum_chunk(
    grid: RankGrid, bounds: Bounds, days: Days, chunk: Chunk
) -> tuple[NDArray[Any], ...]:
    """Sum a chunk exactly, count readable cells, those at bounds, and people outside."""
    by_name = dict(zip(column_keys(chunk.table), columns_of(chunk.table), strict=True))
    cells: Mapping[Hashable, ArrayLike] = {name: by_name[name] for name in grid.names}
    numbers = {
        name: read_days(values, days[name]) if name in days else read_numbers(values)
        for name, values in cells.items()
    }
    people = chunk.owners
    return (
        grid.sums(list(numbers.values()), people.weights, people.n),
        count_readable(cells, numbers, bounds),
        count_at_bounds(bounds, numbers),
        _people_outside(people, numbers, bounds),
    )


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
