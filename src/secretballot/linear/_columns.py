"""Columns of public rows, and the choice of those that a model reads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._sklearn_compat import _safe_indexing
from secretballot.tables._cells import read_texts
from secretballot.tables._columns import Column
from secretballot.tables._frames import (
    as_table,
    check_table,
    column_keys,
    column_names,
    columns_of,
    row_shape,
)

#: Declared categories by column.
Categories = Mapping[Hashable, Sequence[Hashable]]
#: Fewest public rows that a value with a bin of its own, or a category, has.
FEWEST_ROWS = 3


@dataclass(frozen=True)
class PublicColumn:
    """Column of the public rows."""

    reader: Column  # by which cells are read
    values: ArrayLike  # (n_public,), as they were given
    cells: NDArray[np.float64]  # as they are read
    numbers: NDArray[np.float64]  # cells of a column of numbers that are there

    @classmethod
    def of(cls, reader: Column, values: ArrayLike) -> PublicColumn:
        cells = reader.read(values)
        return cls(reader, values, cells, cells[np.isfinite(cells)])

    @property
    def name(self) -> Hashable:
        return self.reader.name

    def has_integers(self) -> bool:
        return len(self.numbers) > 0 and bool((self.numbers == np.floor(self.numbers)).all())

    def texts(self) -> list[str]:
        """Return the column's categories as texts, without missing ones."""
        return [text for text in read_texts(self.values).tolist() if text is not None]

    def digest(self) -> bytes:
        """Return a digest of all cells, the same for equal numbers, or equal texts."""
        if self.reader.is_number:
            return sha256((self.cells + 0.0).tobytes()).digest()  # no -0.0
        return sha256(repr(read_texts(self.values).tolist()).encode()).digest()


def public_columns(
    X: ArrayLike, declared: Categories, names: Sequence[Hashable] | None = None
) -> list[PublicColumn]:
    return [
        PublicColumn.of(
            Column.of(name, values, declared.get(name), fewest=FEWEST_ROWS, typed=False), values
        )
        for name, values in zip(names or column_keys(X), columns_of(X), strict=True)
    ]


@dataclass(frozen=True)
class ColumnChoice:
    """Columns that are read, in the order of the public table."""

    names: tuple[Hashable, ...]
    positions: tuple[int, ...]
    all_names: tuple[Hashable, ...]  # of the whole table
    is_named: bool  # whether the table has names of columns
    # Whether they were chosen: other columns, which tables may lack, are left out.
    is_chosen: bool = False

    @classmethod
    def of(cls, columns: ArrayLike | None, X: ArrayLike) -> ColumnChoice:
        keys = column_keys(X)
        is_named = column_names(X) is not None
        if columns is None:
            return cls(tuple(keys), tuple(range(len(keys))), tuple(keys), is_named)
        named: list[Hashable] = list(columns)  # type: ignore[arg-type]
        if named and all(isinstance(entry, bool | np.bool_) for entry in named):
            raise ValueError(
                "columns is a mask of booleans, which would be read as the positions 0 and 1. Pass "
                "the names that it chooses, X.columns[mask]; for an array numpy.flatnonzero(mask)."
            )
        positions = [_position(column, keys) for column in named]
        if not positions or len(set(positions)) < len(positions):
            raise ValueError(
                f"columns={named!r} must name one column at least, and none of them twice."
            )
        chosen = sorted(positions)
        return cls(tuple(keys[at] for at in chosen), tuple(chosen), tuple(keys), is_named, True)

    @property
    def n_columns(self) -> int:
        """Number of columns of the whole table."""
        return len(self.all_names)

    @property
    def is_all(self) -> bool:
        """True if all columns are read."""
        return len(self.positions) == self.n_columns

    def is_selected(self, X: ArrayLike) -> bool:
        """Return True for a table that has the chosen columns alone."""
        if self.is_all or row_shape(X) != (len(self.positions),):
            return False
        return not self.is_named or column_names(X) == list(self.names)

    def is_by_name(self, X: ArrayLike) -> bool:
        """Return True if the columns of a table are found by name, and others do not matter."""
        return self.is_chosen and self.is_named and column_names(X) is not None

    def check_width(self, X: ArrayLike, name: str = "X") -> None:
        """Raise ValueError if a table without names has the chosen columns of one with names."""
        width = len(self.positions)
        if not self.is_named or self.is_all or column_names(X) is not None:
            return
        if row_shape(X) == (width,):
            raise ValueError(
                f"{name} has {width} columns without names, and columns= chose "
                f"{list(self.names)[:20]!r}: their order is not known. Give a data frame with "
                f"these names, or all {self.n_columns} columns."
            )

    def select(self, X: ArrayLike, name: str = "X") -> ArrayLike:
        """Return the chosen columns of a table, by name where both have names."""
        if (self.is_all and not self.is_chosen) or self.is_selected(X):
            return X
        check_table(X, name)
        table: ArrayLike = as_table(X, (self.n_columns,), name)
        names = column_names(table)
        width = np.shape(table)[1]
        positions = list(self.positions)
        if self.is_named and names is not None:
            missing = [column for column in self.names if column not in names]
            if missing:
                raise ValueError(
                    f"columns= names {missing[:5]!r}, which {name} does not have: add them, or "
                    "rename those that have other names."
                )
            positions = [names.index(column) for column in self.names]
        elif width != self.n_columns:
            self.check_width(X, name)
            raise ValueError(
                f"{name} has {width} columns, and {self.n_columns} are needed, of which columns= "
                f"reads {len(positions)}."
            )
        selected: ArrayLike = _safe_indexing(table, positions, axis=1)
        return selected


def _position(column: Hashable, keys: Sequence[Hashable]) -> int:
    if column in keys:
        return keys.index(column)
    if isinstance(column, Integral) and 0 <= column < len(keys):
        return int(column)
    raise ValueError(
        f"columns names {column!r}, which is no column of X: give names among "
        f"{list(keys)[:20]!r}, or positions below {len(keys)}."
    )
