"""Reading of cells as numbers, or as codes of categories, by the types of public columns.

Types come from each library's own objects. narwhals would add a dependency, and its types hold for
whole columns, while a private cell must be read by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._sklearn_compat import _safe_indexing
from secretballot.tables._cells import (
    cell_text,
    missing_cells,
    read_booleans,
    read_coded_texts,
    read_days,
    read_numbers,
)
from secretballot.tables._column_schema import ColumnSchema, as_exact
from secretballot.tables._frames import (
    as_table,
    check_names,
    check_table,
    column_keys,
    column_names,
    columns_of,
    public_table,
)

Floats = NDArray[np.float64]
HeaderT = TypeVar("HeaderT", bound="Header")

#: Largest share of public cells that occur once in a column of categories. It estimates the
#: probability that a new row has a new category (Good and Turing).
NEW_CATEGORY_SHARE = 0.25
#: Kinds whose cells are numbers; times and durations are days.
_NUMBERS = ("number", "boolean", "time", "duration")


class ConvertedRows(NamedTuple):
    """Converted rows, and a private mask of the misfits of each column.

    Misfits are cells that can't be read. In a column without missing public cells, missing cells
    are misfits too.
    """

    table: Any
    misfits: dict[Any, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Header:
    """Names, order and number of public columns, by which the columns of other rows are found."""

    names: list[Any] | None
    shape: tuple[int, ...]  # of a row
    fitted: bool = False  # True in a fitted model: errors then name the fit instead of X_public

    def read(self, X: ArrayLike, name: str = "X") -> ConvertedRows:
        raise NotImplementedError

    def read_queries(self, X: ArrayLike, *, warns: bool = False) -> Any:
        """Convert rows to predict; data frames are refused if the fit had arrays alone."""
        table = self.read(X).table
        if self.names is None and len(self.shape) == 1:
            check_names((), X, "X")
        return table

    def named_like(self: HeaderT, X: ArrayLike) -> HeaderT:
        """Take the names of private columns if public rows have none; names are public."""
        if self.names is not None or len(self.shape) != 1:
            return self
        return replace(self, names=column_names(X))

    def match_columns(self, X: ArrayLike, name: str = "X") -> list[Any]:
        """Return a table's columns in the public order, by name if both have names; flattened."""
        table = as_table(X, self.shape, name)
        if isinstance(table, np.ndarray) and len(self.shape) > 1:
            self._check_shape(table, name)
            return list(table.reshape(len(table), -1).T)
        return list(map(columns_of(table).__getitem__, self._column_order(table, name)))

    def order_frame(self, X: Any) -> Any:
        if self.names is None or not hasattr(X, "columns"):
            return X
        positions = self._column_order(X, "X")
        return X if positions == sorted(positions) else _safe_indexing(X, positions, axis=1)

    def _column_order(self, X: ArrayLike, name: str) -> list[int]:
        """Return the positions of the header's columns in a table; without names, all in order.

        Refuses tables that lack columns, or have others.
        """
        names, width, table_names = self.names, self.shape[0], column_names(X)
        shape: tuple[int, ...] = getattr(X, "shape", ())
        missing, extra = list[Any](), list[Any]()
        if names is not None and table_names is not None:
            missing = [column for column in names if column not in table_names]
            extra = [column for column in table_names if column not in names]
        has_width = len(shape) == 2 and shape[1] == width
        if self.fitted and (missing or extra or not has_width):
            raise ValueError(_unlike_fit(missing, extra, shape, width, name))
        if not has_width:
            raise ValueError(
                f"X_public must have the columns of X: {name} has the shape {tuple(shape)}, and "
                f"X_public has {width} columns."
                + _leave_out("X_public", missing)
                + _leave_out(name, extra)
            )
        if missing or extra:
            raise ValueError(
                f"X_public must have the columns of X, in any order: {name} lacks {missing[:5]!r}, "
                f"and X_public lacks {extra[:5]!r}."
            )
        if names is None or table_names is None:
            return list(range(width))
        return [table_names.index(column) for column in names]

    def _check_shape(self, X: Any, name: str) -> None:
        if X.shape[1:] == self.shape:
            return
        shapes = f" (a row has the shapes {self.shape} and {X.shape[1:]})"
        n_columns = (*X.shape, 0)[1]
        text = (
            f"{name} has {n_columns} columns, and the fit had {self.shape[0]}"
            if self.fitted
            else f"X_public must have the columns of X: X_public has {self.shape[0]} features, and "
            f"{name} has {n_columns}"
        )
        raise ValueError(f"{text}{shapes if len(self.shape) > 1 or X.ndim > 2 else ''}.")


def _unlike_fit(
    missing: list[Any], extra: list[Any], shape: tuple[int, ...], width: int, name: str
) -> str:
    if missing:
        text = f"{name} lacks the columns {missing[:5]!r} of the fit. Give all of its columns."
    elif extra:
        text = f"{name} has the columns {extra[:5]!r}, which the fit had not."
    elif len(shape) == 2:
        text = f"{name} has {shape[1]} columns, and the fit had {width}. Give all of its columns."
    else:
        text = f"{name} has the shape {tuple(shape)}, and the fit had {width} columns."
    return text + _leave_out(name, extra)


def _leave_out(table: str, columns: list[Any]) -> str:
    return f" Leave them out: {table}.drop(columns={columns[:5]!r})." if columns else ""


@dataclass(frozen=True, eq=False)
class Column:
    """Public column, which reads cells as numbers or as codes of categories.

    A missing cell is NaN. A cell that is not a number is infinite, and an unknown category has the
    code -1.
    """

    name: Hashable
    kind: str = "number"  # or "boolean", "time", "duration", which are numbers; "category"
    texts: tuple[str, ...] = ()  # known categories, by their codes
    exact: np.dtype[Any] | None = None  # type to which numbers are cast
    is_free: bool = False  # True of names and free text, whose public cells are mostly single
    nullable: bool = False  # True if public cells are missing, or none is known
    low: float = np.nan  # range of the public numbers
    high: float = np.nan
    listed: tuple[Hashable, ...] | None = None  # categories of its type that occur in public rows
    n_left_out: int = 0  # number of those that do not occur

    @classmethod
    def of(
        cls,
        name: Hashable,
        values: ArrayLike,
        declared: Sequence[Hashable] | None = None,
        *,
        fewest: int = 1,
        typed: bool = True,
    ) -> Column:
        """Describe a public column, whose known categories have the `fewest` public rows.

        Declared ones, and those of its type, are known too. Unless it is `typed`, booleans, and
        numbers that are objects, are categories.
        """
        schema = ColumnSchema.of_type(name, values, declared)
        kind = "time" if type(schema.dtype).__name__ == "PeriodDtype" else schema.kind
        is_object = kind == "boolean" or schema.dtype == np.dtype(object)
        if declared is None and kind in _NUMBERS and (typed or not is_object):
            column = cls(name, kind, exact=schema.exact if typed else None)
            x = column.read(values)
            numbers = x[np.isfinite(x)]
            if not len(numbers):
                return replace(column, nullable=True)
            low, high = float(numbers.min()), float(numbers.max())
            return replace(column, nullable=bool(np.isnan(x).any()), low=low, high=high)
        coded = read_coded_texts(values)
        counts = Counter[str | None]()
        for text, count in zip(coded.texts, np.bincount(coded.codes).tolist(), strict=False):
            counts[text] += count
        n_missing = counts.pop(None, 0)
        n_known, n_single = counts.total(), sum(count == 1 for count in counts.values())
        is_category = schema.kind == "category"
        is_free = declared is None and n_single > NEW_CATEGORY_SHARE * max(n_known, 1)
        least = max(fewest, 2) if is_free else fewest
        texts = {text for text, count in counts.items() if text is not None and count >= least}
        listed = [*(declared or ()), *(schema.categories if is_category else ())]
        return cls(
            name,
            "category",
            tuple(sorted(texts | set(category_texts(listed).tolist()))),
            is_free=is_free,
            nullable=n_missing > 0 or not n_known,
            listed=schema.categories if is_category else None,
            n_left_out=schema.n_left_out,
        )

    @property
    def is_number(self) -> bool:
        return self.kind != "category"

    @property
    def days(self) -> str:
        """The kind, "time" or "duration", if numbers are days; else an empty text."""
        return self.kind if self.kind in ("time", "duration") else ""

    def read(self, values: ArrayLike) -> Floats:
        """Read cells of a column of any type, each by itself."""
        if not self.is_number:
            missing_code = len(self.texts)
            text_codes: dict[str | None, int]
            text_codes = {text: code for code, text in enumerate(self.texts)}
            codes = read_coded_texts(values).positions({**text_codes, None: missing_code}, -1)
            return np.where(codes == missing_code, np.nan, codes)
        if self.days:
            x = read_days(values, self.days)
        elif self.kind == "boolean":
            x = read_booleans(values)
        else:
            x = as_exact(read_numbers(values), self.exact)
        if np.isnan(x).any():
            x[np.isnan(x) & ~missing_cells(values)] = np.inf
        return x

    def outside(self, cells: Floats) -> NDArray[np.bool_]:
        """Return a mask of read cells outside of the range, or the categories, of public cells.

        Names and free text are never outside. Missing cells are, unless `nullable`.
        """
        missing = np.isnan(cells)
        if self.is_free:
            return np.zeros(len(cells), dtype=bool)
        # Both comparisons fail without a public number.
        inside = (cells >= self.low) & (cells <= self.high) if self.is_number else cells >= 0
        return np.where(missing, not self.nullable, ~inside)


def category_texts(categories: Sequence[Hashable]) -> NDArray[np.str_]:
    """Return the texts of categories, sorted."""
    texts = [text for cell in categories if (text := cell_text(cell)) is not None]
    return np.unique(np.array(texts, dtype=str))


@dataclass(frozen=True, eq=False)
class Columns(Header):
    """Public columns, which read tables as numbers and codes of categories, column by column."""

    columns: tuple[Column, ...] = ()

    @classmethod
    def of(
        cls, X_public: ArrayLike, categories: Mapping[Hashable, Sequence[Hashable]] | None = None
    ) -> Columns:
        """Describe the columns of public rows, and declared categories, which are public too."""
        table = public_table(X_public, "X_public")
        columns = [
            Column.of(name, values, (categories or {}).get(name))
            for name, values in zip(column_keys(table), columns_of(table), strict=True)
        ]
        return cls(column_names(table), (len(columns),), columns=tuple(columns))

    def read(self, X: ArrayLike, name: str = "X") -> ConvertedRows:
        """Read rows to an array of floats, each cell by itself; see `Column`."""
        check_table(X, name)
        is_plain = all(
            column.kind == "number" and column.exact in (None, np.float64)
            for column in self.columns
        )
        if isinstance(X, np.ndarray) and X.dtype == np.float64 and is_plain:
            self._check_shape(X, name)
            if np.isfinite(X).all():
                return ConvertedRows(np.ascontiguousarray(X), {})
        cells = self.match_columns(X, name)
        table = np.empty((len(cells[0]), len(cells)))
        misfits = {}
        keys = range(len(cells)) if self.names is None else self.names
        for at, (key, column, values) in enumerate(zip(keys, self.columns, cells, strict=True)):
            table[:, at] = column.read(values)
            unknown = np.isinf(table[:, at])
            if not column.nullable:
                unknown |= np.isnan(table[:, at])
            if unknown.any():
                misfits[key] = unknown
        return ConvertedRows(table, misfits)
