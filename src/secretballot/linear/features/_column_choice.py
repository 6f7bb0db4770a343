"""Choice of the columns of a table that a model reads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from secretballot._base._sklearn_compat import _safe_indexing
from secretballot.linear.features._columns import column_keys
from secretballot.tables._frames import as_table, check_table, column_names, row_shape


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
                raise ValueError(f"columns names {missing[:5]!r}, which {name} does not have.")
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
