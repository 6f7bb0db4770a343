"""Schema of one column: what public rows say its cells are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from secretballot.schema._cells import (
    cell_text,
    column_cells,
    durations,
    is_missing,
    numbers,
    plain_objects,
    texts,
    times,
    truths,
)

#: Kinds whose missing cells take a public value where no public cell is missing.
_FILLED = ("number", "truth", "time", "duration", "text")
#: Kinds by NumPy's letters for types.
_KINDS = {
    **dict.fromkeys("iuf", "number"),
    "b": "truth",
    "M": "time",
    "m": "duration",
    "U": "text",
}


@dataclass(frozen=True, eq=False)
class ColumnSchema:
    """Kind and type of the cells of one public column.

    Attributes
    ----------
    name : object
        Of the column; its position in an array.
    kind : {"number", "truth", "time", "duration", "category", "text", "object"}
    exact : dtype or None
        NumPy's type of numbers, or of times and durations.
    dtype : object
        The column's type, in its own library.
    categories : tuple
        Those that public rows show, or that were declared.
    ordered : bool
        Whether categories have an order.
    n_left_out : int
        How many categories the public type lists that are not among them.
    nullable : bool
        Whether public cells are missing.
    usual : object
        What a missing private cell becomes where no public one is missing: their median, or the
        most frequent. None for categories and other objects, which stay missing.

    Of an array of numbers one schema describes all columns; `nullable` and `usual` are arrays then.
    """

    name: Any
    kind: str
    exact: np.dtype[Any] | None
    dtype: Any
    categories: tuple[Any, ...] = ()
    ordered: bool = False
    n_left_out: int = 0
    nullable: Any = False
    usual: Any = None

    @classmethod
    def of(cls, name: Any, values: Any, declared: Sequence[Any] | None = None) -> ColumnSchema:
        """Describe a public column.

        Parameters
        ----------
        name : object
        values : ndarray, sequence, or column of a data frame
        declared : sequence, default=None
            Categories that are public, whether rows show them or not.
        """
        dtype = getattr(values, "dtype", np.dtype(object))
        listed = _listed_categories(values, dtype)
        if listed is None:
            column = cls(name, *_kind_of(values, dtype), dtype)
        else:
            known = _shown_categories(listed, texts(values), declared)
            column = cls(
                name,
                "category",
                None,
                dtype,
                categories=known,
                ordered=bool(getattr(dtype, "ordered", False)),
                n_left_out=len(listed) - sum(each in listed for each in known),
            )
        plain = column.plain(values)
        missing = column.missing(plain)
        nullable = bool(missing.any())
        filled = column.kind in _FILLED and not nullable and len(plain) > 0
        return replace(
            column, nullable=nullable, usual=column._most_usual(plain) if filled else None
        )

    @classmethod
    def of_numbers(cls, X_public: Any) -> ColumnSchema:
        """Describe all columns of an array of numbers, or of a sparse one, at once."""
        sparse, dtype = issparse(X_public), X_public.dtype
        kind = _KINDS[dtype.kind]
        column = cls(None, kind, None if kind == "truth" else dtype, dtype)
        width = int(np.prod(X_public.shape[1:]))
        if sparse:
            nullable = np.zeros(width, dtype=bool)
            table = X_public.tocoo()
            nullable[table.coords[1][np.isnan(table.data)]] = True
            return replace(column, nullable=nullable)
        plain = X_public.reshape(len(X_public), -1)
        if dtype.kind != "f":
            plain = plain.astype(np.float64)
        nullable = np.isnan(plain).any(axis=0)
        middle = (len(plain) - 1) // 2
        usual = np.partition(plain, middle, axis=0)[middle]
        return replace(column, nullable=nullable, usual=usual)

    @classmethod
    def of_kind(cls, name: Any, number: bool, container: str) -> ColumnSchema:
        """Describe a column of numbers or texts of which any may be missing."""
        if container == "polars":
            polars = sys.modules["polars"]
            dtype = polars.Float64 if number else polars.String
        else:
            dtype = np.dtype(np.float64 if number else object)
        exact = np.dtype(np.float64) if number else None
        return cls(name, "number" if number else "text", exact, dtype)

    def holds(self, X: NDArray[Any]) -> bool:
        """Return whether an array of numbers is read as it is."""
        if X.dtype != self.dtype:
            return False
        if X.dtype.kind == "f":
            return bool(np.isfinite(X).all())
        # What a float can't tell apart is not told apart: a missing value makes floats of integers.
        return X.dtype.itemsize < 8 or X.size == 0 or bool(X.min() >= -(2**53) and X.max() <= 2**53)

    def plain(self, values: Any) -> NDArray[Any]:
        """Return the cells of a column, whatever type it has; what doesn't fit is missing.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers and truths as floats, missing ones NaN; times with NaT; categories as positions,
            missing ones -1; texts and other objects with None.
        """
        if self.kind == "number":
            return _as_exact(numbers(values), self.exact)
        if self.kind == "truth":
            return truths(values)
        if self.kind in ("time", "duration"):
            assert self.exact is not None
            return (times if self.kind == "time" else durations)(values, self.exact)
        if self.kind == "category":
            codes = [self._places.get(text, -1) for text in texts(values).tolist()]
            return np.array(codes, dtype=np.intp)
        return texts(values) if self.kind == "text" else plain_objects(values)

    def missing(self, plain: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which cells are missing."""
        if self.kind in ("number", "truth"):
            return np.isnan(plain)
        if self.kind in ("time", "duration"):
            return np.isnat(plain)
        if self.kind == "category":
            return np.asarray(plain < 0)
        return np.fromiter(map(is_missing, plain), bool, len(plain))

    def filled(self, plain: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Return cells of which none is missing, unless public ones are, or it is a category.

        Many learners take no missing value. Where no public cell is missing they are asked about
        none, either: a missing one becomes the public median, or the most frequent public value.
        """
        if self.usual is None or not missing.any():
            return plain
        plain = plain.copy()
        plain[missing] = self.usual
        return plain

    def _most_usual(self, public: NDArray[Any]) -> Any:
        if self.kind in ("truth", "text"):
            found, counts = np.unique(public, return_counts=True)
            return found[counts.argmax()]
        return np.sort(public)[(len(public) - 1) // 2]

    @cached_property
    def _places(self) -> dict[str | None, int]:
        """Positions of categories by their texts; the first of those with the same."""
        places: dict[str | None, int] = {}
        for at, category in enumerate(self.categories):
            places.setdefault(cell_text(category), at)
        return places


def _listed_categories(values: Any, dtype: Any) -> list[Any] | None:
    if type(dtype).__name__ == "Categorical" and hasattr(values, "drop_nulls"):
        # Of polars, whose categories are those of all columns of the process.
        return sorted(map(str, values.drop_nulls().unique()))
    if hasattr(dtype, "categories"):  # of pandas; an Enum of polars
        return list(dtype.categories)
    return None


def _shown_categories(
    listed: Sequence[Any], shown: NDArray[Any], declared: Sequence[Any] | None
) -> tuple[Any, ...]:
    """Return the categories of a public column that public rows show, or that were declared.

    A type lists the categories of all rows that it was made for: in a table that was cast before it
    was split those of private rows, too.
    """
    given = [] if declared is None else list(declared)
    known = {*shown.tolist(), *map(cell_text, given)}
    there = [each for each in listed if cell_text(each) in known]
    already = set(map(cell_text, there))
    return (*there, *(each for each in given if cell_text(each) not in already))


def _kind_of(values: Any, dtype: Any) -> tuple[str, np.dtype[Any] | None]:
    """Return the kind of a public column without categories, and NumPy's type of its cells."""
    if not hasattr(dtype, "kind"):
        return _kind_of_polars(values, dtype)
    kind = _KINDS.get(dtype.kind, "object")
    if kind == "number":
        return kind, np.dtype(getattr(dtype, "numpy_dtype", f"{dtype.kind}{dtype.itemsize}"))
    if kind in ("time", "duration"):
        if hasattr(dtype, "unit"):  # with a zone
            return kind, np.dtype(f"M8[{dtype.unit}]")
        return kind, np.dtype(getattr(dtype, "numpy_dtype", dtype))
    if dtype.kind == "O" and isinstance(dtype, np.dtype):
        return _kind_of_objects(values)
    if str(dtype).startswith(("str", "string", "large_string")):
        return "text", None
    return kind, None


def _kind_of_polars(values: Any, dtype: Any) -> tuple[str, np.dtype[Any] | None]:
    name = getattr(dtype, "__name__", type(dtype).__name__)
    if name in ("Datetime", "Duration"):
        letter = "M" if name == "Datetime" else "m"
        return _KINDS[letter], np.dtype(f"{letter}8[{dtype.time_unit}]")
    if hasattr(dtype, "is_numeric") and dtype.is_numeric():
        held = np.dtype(np.float64) if name in ("Decimal", "Int128") else np.dtype(name.lower())
        return "number", held
    plain = {
        "Date": ("time", np.dtype("M8[D]")),
        "Boolean": ("truth", None),
        "String": ("text", None),
    }
    return plain.get(name) or _kind_of_objects(values)


def _kind_of_objects(values: Any) -> tuple[str, np.dtype[Any] | None]:
    """Return the kind of a public column of objects: that of all its cells, if they are alike."""
    kinds = {_kind_of_cell(cell) for cell in column_cells(values) if not is_missing(cell)}
    if kinds <= {"integer", "float"} and kinds:
        return "number", np.dtype(np.float64 if "float" in kinds else np.int64)
    return kinds.pop() if len(kinds) == 1 else "object", None


def _kind_of_cell(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "truth"
    if isinstance(cell, float | np.floating):
        return "float"
    whole = isinstance(cell, int | np.integer) and not isinstance(cell, np.timedelta64)
    return "integer" if whole and -(2**53) <= cell <= 2**53 else "object"


def _as_exact(x: NDArray[np.float64], dtype: np.dtype[Any] | None) -> NDArray[np.float64]:
    """Return numbers that a type can hold: whole ones, or smaller ones; others are missing."""
    if dtype is None or dtype == np.float64:
        return x
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.kind == "f":
            held = x.astype(dtype).astype(np.float64)
            return np.where(np.isfinite(held), held, np.nan)
        whole, limits = np.rint(x), np.iinfo(dtype)
        inside = (whole >= float(limits.min)) & (whole < float(limits.max) + 1)
        return np.where(inside, whole, np.nan)
