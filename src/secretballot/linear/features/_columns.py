"""Columns of public rows, and their kinds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.tables._cells import missing_cells, read_days, read_numbers, read_texts
from secretballot.tables._column_schema import ColumnSchema
from secretballot.tables._frames import columns_of

#: Declared categories by column.
Categories = Mapping[Hashable, Sequence[Hashable]]


@dataclass(frozen=True)
class PublicColumn:
    """Column of the public rows."""

    name: Hashable
    values: ArrayLike  # (n_public,)
    is_number: bool
    # Declared categories, or those of its data type that public rows show.
    categories: Sequence[Hashable] | None = None
    n_left_out: int = 0  # number of categories of its data type that no public row shows
    days: str = ""  # times or durations that are read as numbers of days

    def numbers(self) -> NDArray[np.float64]:
        """Return the column's numbers without missing ones."""
        x = self._numbers()
        return x[~np.isnan(x)]

    def _numbers(self) -> NDArray[np.float64]:
        return read_days(self.values, self.days) if self.days else read_numbers(self.values)

    def has_integers(self) -> bool:
        x = self.numbers()
        return not self.days and len(x) > 0 and bool((x == np.floor(x)).all())

    def texts(self) -> list[str]:
        """Return the column's categories as texts, without missing ones."""
        return [text for text in read_texts(self.values).tolist() if text is not None]

    def digest(self) -> bytes:
        """Return a digest of all cells, the same for equal numbers, or equal texts."""
        if self.is_number:
            return sha256((self._numbers() + 0.0).tobytes()).digest()  # no -0.0
        return sha256(repr(read_texts(self.values).tolist()).encode()).digest()

    def missing_share(self) -> float:
        return float(missing_cells(self.values).mean())


def column_keys(X: ArrayLike) -> list[Hashable]:
    return list(X.columns) if hasattr(X, "columns") else list(range(np.shape(X)[1]))


def public_columns(
    X: ArrayLike, declared: Categories, names: Sequence[Hashable] | None = None
) -> list[PublicColumn]:
    return [
        _public_column(name, values, declared.get(name))
        for name, values in zip(names or column_keys(X), columns_of(X), strict=True)
    ]


def _public_column(
    name: Hashable, values: ArrayLike, declared: Sequence[Hashable] | None
) -> PublicColumn:
    schema = ColumnSchema.of(name, values, declared)
    if schema.kind == "category":
        return PublicColumn(name, values, False, schema.categories, schema.n_left_out)
    dtype = getattr(values, "dtype", None)
    days = "time" if type(dtype).__name__ == "PeriodDtype" else schema.kind
    if days in ("time", "duration") and declared is None:
        return PublicColumn(name, values, True, days=days)
    return PublicColumn(name, values, schema.kind == "number" and dtype != np.dtype(object))
