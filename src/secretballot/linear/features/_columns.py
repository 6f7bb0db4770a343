"""Columns of public rows, and their kinds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.schema import ColumnSchema, columns_of, read_numbers, read_texts

#: Declared categories by column.
Categories = Mapping[Hashable, Sequence[Hashable]]


@dataclass(frozen=True)
class PublicColumn:
    """Column of the public rows.

    Attributes
    ----------
    name : hashable
    values : array-like of shape (n_public,)
    is_number : bool
    categories : sequence or None
        Declared categories, or those of its data type that public rows show.
    n_left_out : int
        Number of categories of its data type that no public row shows.
    """

    name: Hashable
    values: ArrayLike
    is_number: bool
    categories: Sequence[Hashable] | None = None
    n_left_out: int = 0

    def numbers(self) -> NDArray[np.float64]:
        """Return the column's numbers without missing ones."""
        x = read_numbers(self.values)
        return x[~np.isnan(x)]

    def texts(self) -> list[str]:
        """Return the column's categories as texts, without missing ones."""
        return [text for text in read_texts(self.values).tolist() if text is not None]


def column_keys(X: ArrayLike) -> list[Hashable]:
    """Return the names of columns, or their positions in an array."""
    return list(X.columns) if hasattr(X, "columns") else list(range(np.shape(X)[1]))


def public_columns(X: ArrayLike, declared: Categories) -> list[PublicColumn]:
    """Return the columns of public rows with their kinds.

    Parameters
    ----------
    X : array or data frame
    declared : mapping of column to sequence
        Public categories, whether rows show them or not.
    """
    return [
        _public_column(name, values, declared.get(name))
        for name, values in zip(column_keys(X), columns_of(X), strict=True)
    ]


def _public_column(
    name: Hashable, values: ArrayLike, declared: Sequence[Hashable] | None
) -> PublicColumn:
    schema = ColumnSchema.of(name, values, declared)
    if schema.kind == "category":
        return PublicColumn(name, values, False, schema.categories, schema.n_left_out)
    is_object = getattr(values, "dtype", None) == np.dtype(object)
    return PublicColumn(name, values, schema.kind == "number" and not is_object)
