"""Schema of one column of the public rows."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot._base._numbers import quoted
from secretballot._base._objects import cached_property
from secretballot.tables._cells import (
    boolean_texts,
    cell_text,
    column_cells,
    is_missing,
    read_booleans,
    read_coded_texts,
    read_numbers,
    read_objects,
    read_texts,
    read_times,
    text_finder,
)

#: Kinds whose missing cells take a public value where no public cell is missing.
_FILLED = ("number", "boolean", "time", "duration", "text")
#: Kinds by NumPy's letters for types.
_KINDS = {
    **dict.fromkeys("iuf", "number"),
    "b": "boolean",
    "M": "time",
    "m": "duration",
    "U": "text",
}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
#: Least and largest days since 1970 of Python's times and durations.
_DAYS = {
    "M": (datetime.date.min.toordinal() - _EPOCH, datetime.date.max.toordinal() - _EPOCH),
    "m": (datetime.timedelta.min.days, datetime.timedelta.max.days),
}


@dataclass(frozen=True, eq=False)
class ColumnSchema:
    """Kind and type of the cells of one public column.

    One schema describes all columns of an array of numbers; `nullable` and `fill_value` are arrays
    then.
    """

    name: Hashable  # or position in an array
    kind: str  # "number", "boolean", "time", "duration", "category", "text" or "object"
    exact: np.dtype[Any] | None  # NumPy type of numbers, times and durations
    dtype: Any  # in the column's own library
    categories: tuple[Hashable, ...] = ()  # shown by public rows, or declared; texts of booleans
    ordered: bool = False
    n_left_out: int = 0  # categories of the public type that no public row shows
    nullable: Any = False  # True if some public cells are missing
    #: of missing private cells where no public cell is missing; None: they stay missing
    fill_value: Any = None

    @classmethod
    def of_type(
        cls, name: Hashable, values: ArrayLike, declared: Sequence[Hashable] | None = None
    ) -> ColumnSchema:
        """Describe the type of a public column; declared categories are public, shown or not."""
        dtype = getattr(values, "dtype", np.dtype(object))
        if declared is not None:
            _check_declared(name, values, declared)
        listed = _listed_categories(values, dtype)
        if listed is None:
            return cls(name, *_kind_of(values, dtype), dtype)
        categories = _shown_categories(listed, read_texts(values), declared)
        return cls(
            name,
            "category",
            None,
            dtype,
            categories=categories,
            ordered=bool(getattr(dtype, "ordered", False)),
            n_left_out=len(listed) - sum(category in listed for category in categories),
        )

    @classmethod
    def of(
        cls, name: Hashable, values: ArrayLike, declared: Sequence[Hashable] | None = None
    ) -> ColumnSchema:
        """Describe a public column, with the value of private cells that are missing."""
        column = cls.of_type(name, values, declared)
        if column.kind == "text":
            column = replace(column, categories=boolean_texts(values))
        plain = column.plain(values)
        missing = column.missing(plain)
        nullable = bool(missing.any())
        has_fill_value = column.kind in _FILLED and not nullable and len(plain) > 0
        if not has_fill_value:
            return replace(column, nullable=nullable)
        if column.kind in ("boolean", "text"):
            values, counts = np.unique(plain, return_counts=True)
            typical = values[counts.argmax()]
        else:
            typical = np.sort(plain)[(len(plain) - 1) // 2]
        return replace(column, fill_value=typical)

    @classmethod
    def of_numbers(cls, X_public: Any) -> ColumnSchema:
        sparse, dtype = issparse(X_public), X_public.dtype
        kind = _KINDS[dtype.kind]
        column = cls(None, kind, None if kind == "boolean" else dtype, dtype)
        width = int(np.prod(X_public.shape[1:]))
        if sparse:
            nullable = np.zeros(width, dtype=bool)
            table = X_public.tocoo()
            nullable[table.col[np.isnan(table.data)]] = True
            return replace(column, nullable=nullable)
        plain = X_public.reshape(len(X_public), -1)
        if dtype.kind != "f":
            plain = plain.astype(np.float64)
        nullable = np.isnan(plain).any(axis=0)
        middle = (len(plain) - 1) // 2
        medians = np.partition(plain, middle, axis=0)[middle]
        return replace(column, nullable=nullable, fill_value=medians)

    def is_read_unchanged(self, X: NDArray[Any]) -> bool:
        """Test if an array of numbers needs no conversion except to C order."""
        if X.dtype != self.dtype or X.dtype.itemsize > 8:
            return False
        if X.dtype.kind == "f":
            return bool(np.isfinite(X).all())
        # A missing value makes floats of integers, so integers are read with a float's precision.
        return X.dtype.itemsize < 8 or X.size == 0 or bool(X.min() >= -(2**53) and X.max() <= 2**53)

    def plain(self, values: ArrayLike) -> NDArray[Any]:
        """Return the cells of a column of any type in a plain form; misfits are missing.

        Numbers and booleans are floats, missing ones NaN; times have NaT; categories are codes,
        missing ones -1; texts and other objects have None.
        """
        if self.kind == "number":
            return as_exact(read_numbers(values), self.exact)
        if self.kind == "boolean":
            return read_booleans(values)
        if self.kind in ("time", "duration"):
            assert self.exact is not None
            times = read_times(values, self.exact)
            if not hasattr(self.dtype, "is_temporal"):
                return times
            # Of polars, those that Python can't hold are missing.
            days = times.astype(f"{times.dtype.kind}8[D]").astype(np.int64)
            least, most = _DAYS[times.dtype.kind]
            return np.where((days >= least) & (days <= most), times, np.array("NaT", times.dtype))
        if self.kind == "category":
            return read_coded_texts(values).positions(self._category_codes, -1)
        if self.kind == "text":
            texts = read_texts(values, self.categories)
            return texts if self.dtype == np.dtype(object) else _encodable(texts)
        return read_objects(values)

    def missing(self, plain: NDArray[Any]) -> NDArray[np.bool_]:
        if self.kind in ("number", "boolean"):
            return np.asarray(np.isnan(plain))
        if self.kind in ("time", "duration"):
            return np.asarray(np.isnat(plain))
        if self.kind == "category":
            return np.asarray(plain < 0)
        if self.kind == "text":
            return np.fromiter((cell is None for cell in plain.tolist()), bool, len(plain))
        return np.fromiter(map(is_missing, plain), bool, len(plain))

    def fill_missing(self, plain: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Replace missing cells by the fill value, if any: many estimators take none missing."""
        if self.fill_value is None or not missing.any():
            return plain
        plain = plain.copy()
        plain[missing] = self.fill_value
        return plain

    @cached_property
    def _category_codes(self) -> dict[str | None, int]:
        """Codes of categories by their texts; of equal texts the first."""
        codes: dict[str | None, int] = {}
        for code, category in enumerate(self.categories):
            codes.setdefault(cell_text(category), code)
        return codes


def _check_declared(name: Hashable, values: ArrayLike, declared: Sequence[Hashable]) -> None:
    """Refuse declared categories of which a public column shows none: it is spelt otherwise."""
    shown = [text for text in read_coded_texts(values).texts if text is not None]
    is_declared = text_finder(dict.fromkeys(map(cell_text, declared), True))
    if shown and not any(is_declared(text, False) for text in shown):
        raise ValueError(
            f"categories[{name!r}]={quoted(list(declared))}: no cell of this column of X_public is "
            "one of them, so that all would be read alike. Nothing was released or spent. Spell "
            f"them as the public rows do, X_public[{name!r}].unique(); leave a column of numbers "
            "out of categories=, or cut both tables into groups first, with pandas.cut."
        )


def _listed_categories(values: ArrayLike, dtype: Any) -> list[Hashable] | None:
    if type(dtype).__name__ == "Categorical" and hasattr(values, "drop_nulls"):
        # Polars lists the categories of all columns of the process.
        return [*sorted(map(str, values.drop_nulls().unique()))]
    if hasattr(dtype, "categories"):  # pandas, or an Enum of polars
        return list(dtype.categories)
    return None


def _shown_categories(
    listed: Sequence[Hashable], shown: NDArray[Any], declared: Sequence[Hashable] | None
) -> tuple[Hashable, ...]:
    """Return the categories that public rows show, or that were declared.

    A type may list categories of private rows: those of a table that was cast before it was split.
    """
    declared = [] if declared is None else list(declared)
    is_public = text_finder(dict.fromkeys([*shown.tolist(), *map(cell_text, declared)], True))
    public = [category for category in listed if is_public(cell_text(category), False)]
    is_listed = text_finder(dict.fromkeys(map(cell_text, public), True))
    return (*public, *(c for c in declared if not is_listed(cell_text(c), False)))


def dense_type(dtype: Any) -> Any:
    return dtype.subtype if type(dtype).__name__ == "SparseDtype" else dtype


def _kind_of(values: ArrayLike, dtype: Any) -> tuple[str, np.dtype[Any] | None]:
    dtype = dense_type(dtype)
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


def _kind_of_polars(values: ArrayLike, dtype: Any) -> tuple[str, np.dtype[Any] | None]:
    name = getattr(dtype, "__name__", type(dtype).__name__)
    if name in ("Datetime", "Duration"):
        letter = "M" if name == "Datetime" else "m"
        return _KINDS[letter], np.dtype(f"{letter}8[{dtype.time_unit}]")
    if hasattr(dtype, "is_numeric") and dtype.is_numeric():
        wide = name in ("Decimal", "Int128")
        return "number", np.dtype(np.float64 if wide else name.lower())
    kinds = {
        "Date": ("time", np.dtype("M8[D]")),
        "Boolean": ("boolean", None),
        "String": ("text", None),
    }
    return kinds.get(name) or _kind_of_objects(values)


def _kind_of_objects(values: ArrayLike) -> tuple[str, np.dtype[Any] | None]:
    kinds = {_kind_of_cell(cell) for cell in column_cells(values) if not is_missing(cell)}
    if kinds <= {"integer", "float"} and kinds:
        return "number", np.dtype(np.float64 if "float" in kinds else np.int64)
    return kinds.pop() if len(kinds) == 1 else "object", None


def _kind_of_cell(cell: Any) -> str:
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bool | np.bool_):
        return "boolean"
    if isinstance(cell, float | np.floating):
        return "float"
    is_integer = isinstance(cell, int | np.integer) and not isinstance(cell, np.timedelta64)
    return "integer" if is_integer and -(2**53) <= cell <= 2**53 else "object"


def _encodable(texts: NDArray[Any]) -> NDArray[Any]:
    """Return texts, of which those that have no UTF-8 are missing, as types of Arrow need it."""
    for index, text in enumerate(texts.tolist()):
        try:
            None if text is None else text.encode()
        except UnicodeEncodeError:
            texts[index] = None
    return texts


def as_exact(x: NDArray[np.float64], dtype: np.dtype[Any] | None) -> NDArray[np.float64]:
    """Cast numbers to a type, as floats; numbers out of its range are missing."""
    if dtype is None or dtype == np.float64:
        return x
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.kind == "f":
            cast = x.astype(dtype).astype(np.float64)
            return np.where(np.isfinite(cast), cast, np.nan)
        rounded, limits = np.rint(x), np.iinfo(dtype)
        inside = (rounded >= float(limits.min)) & (rounded < float(limits.max) + 1)
        return np.where(inside, rounded, np.nan)
