"""The columns of public rows, and of which kind each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.schema import ColumnSchema, columns_of, numbers, texts


@dataclass(frozen=True)
class Column:
    """A column of public rows."""

    name: Any
    values: Any
    is_number: bool
    #: Those that its data type lists and rows show, or that were declared.
    categories: Sequence[Any] | None = None
    #: How many more its data type lists.
    n_left_out: int = 0


def names_of(X: Any) -> list[Any]:
    """Return the names of columns, their positions in an array."""
    return list(getattr(X, "columns", range(X.shape[1])))


def public_columns(X: Any, declared: Mapping[Any, Sequence[Any]]) -> list[Column]:
    """Return the columns of public rows, which say of what kind each is.

    Parameters
    ----------
    X : array or data frame
    declared : mapping of column to sequence
        Categories that are public, whether rows show them or not.
    """
    return [
        _described(name, values, declared.get(name))
        for name, values in zip(names_of(X), columns_of(X), strict=True)
    ]


def _described(name: Any, values: Any, declared: Sequence[Any] | None) -> Column:
    schema = ColumnSchema.of(name, values, declared)
    if schema.kind == "category":
        return Column(name, values, False, schema.categories, schema.n_left_out)
    objects = getattr(values, "dtype", None) == np.dtype(object)
    return Column(name, values, schema.kind == "number" and not objects)


def public_numbers(column: Column) -> NDArray[np.float64]:
    """Return the numbers of a public column, without missing ones, or raise ValueError."""
    x = numbers(column.values)
    x = x[~np.isnan(x)]
    if not len(x):
        raise ValueError(
            f"X_public: column {column.name!r} holds nothing but NaN. Leave it out of X and of "
            "X_public, or give public rows that have it."
        )
    return x


def public_texts(column: Column) -> list[str]:
    """Return a public column's categories as texts, or raise ValueError where some are missing."""
    found: list[str] = texts(column.values).tolist()
    if None in found:
        raise ValueError(
            f"X_public: column {column.name!r} contains NaN or None. Give missing values a "
            "category of their own, in X too: X[column].fillna('missing')."
        )
    return found
