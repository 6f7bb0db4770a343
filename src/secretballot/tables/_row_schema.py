"""Schema of public rows, by which private rows are read; ranges of numbers, warnings of misfits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import binom

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot._base._view import percent
from secretballot.tables._cells import (
    column_cells,
    date_text,
    missing_cells,
    range_text,
    read_days,
    read_numbers,
)
from secretballot.tables._column_schema import ColumnSchema
from secretballot.tables._frames import (
    as_objects,
    as_table,
    check_names,
    check_table,
    column_names,
    columns_of,
    container_kind,
    make_frame,
    public_table,
    row_shape,
)

Floats = NDArray[np.float64]

#: Largest numbers of rows and of cells of a sample.
_SAMPLE_ROWS, _SAMPLE_CELLS = 200, 2**20
#: Explanation of numbers out of range, and the remedy.
FAR_WORDS = (
    "The public rows of the fit show nothing there. Give columns in the units of the fit, and "
    "missing cells as NaN."
)
#: Fewest rows that are warned of.
FEWEST_ROWS = 20
#: Largest share of a column's cells, out of range or not readable, without a warning.
MOST_SHARE = 0.5
#: Most rows that are compared with ranges.
MOST_ROWS = 2_000
#: Most columns that a warning names.
MOST_WARNED = 10
#: Largest probability that half of new rows from the same distribution are out of a public range.
_FALSE_ALARM = 1e-3
#: Key of the targets beyond their declared bounds, among the names of columns.
TARGETS = ("y", "beyond target_bounds")
#: Largest share of misfits of a column without a warning.
_LARGE_SHARE = 0.25


class ReadRows(NamedTuple):
    """Rows with the public types, and private masks of cells, by column, that did not fit."""

    table: Any
    misfits: dict[Any, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class RowSchema:
    """Names, order, types, categories and time units of public rows, to read private rows by.

    A data type depends on all rows of a table: one row can turn numbers into objects or integers
    into floats, or add a category. So private rows get the types of public ones. A cell that does
    not fit becomes missing, in its own row alone. Only missing columns, and rows of another length,
    are refused.
    """

    columns: tuple[ColumnSchema, ...]  # one for all columns of an array of numbers
    names: list[Any] | None
    container: str  # "pandas", "polars", "objects", "numbers", "column", "list"; "": not converted
    shape: tuple[int, ...]  # of a row
    sample: Any = None  # of the public rows, as read; None if only kinds were declared
    fitted: bool = False  # True in a fitted model: errors then name the fit instead of X_public
    ranges: NumberRanges | None = None  # of the public rows, for warnings

    @classmethod
    def of(
        cls, X_public: ArrayLike, categories: Mapping[Any, Sequence[Any]] | None = None
    ) -> RowSchema:
        """Describe public rows; declared categories are public, whether rows show them or not."""
        schema = cls.without_sample(X_public, categories)
        return replace(schema, sample=schema.read(_sample(X_public, schema.shape)).table)

    @classmethod
    def of_kinds(
        cls,
        X: ArrayLike,
        is_number: Sequence[bool],
        nullable: Sequence[bool] | None = None,
        days: Mapping[Any, str] | None = None,
    ) -> RowSchema:
        """Describe rows by the kind of each column, number or text; missing cells stay missing.

        They are no misfits in `nullable` columns; `days` names columns that are read as days.
        """
        container, names = container_kind(X), column_names(X)
        keys = list(range(len(is_number)) if names is None else names)
        nullable = len(is_number) * [False] if nullable is None else nullable
        columns = []
        for name, number, may_miss in zip(keys, is_number, nullable, strict=True):
            read_as = (days or {}).get(name, "")
            columns.append(
                ColumnSchema.of_kind(name, number, container, nullable=may_miss, days=read_as)
            )
        if container == "numbers" and all(is_number) and not days:
            columns = [replace(columns[0], nullable=np.array(nullable))]
        elif container not in ("pandas", "polars"):
            container = "objects"
        return cls(tuple(columns), names, container, (len(is_number),))

    @classmethod
    def without_sample(
        cls, X_public: ArrayLike, categories: Mapping[Any, Sequence[Any]] | None = None
    ) -> RowSchema:
        check_table(X_public, "X_public", one_dimension=True)
        container = container_kind(X_public)
        if not container:
            return cls((), None, "", ())
        if container in ("column", "list"):
            return cls((ColumnSchema.of(0, X_public),), None, container, ())
        table = public_table(X_public, "X_public")
        if container == "numbers":
            return cls(
                (ColumnSchema.of_numbers(table),), column_names(table), container, table.shape[1:]
            )
        names = column_names(table)
        keys = list(range(table.shape[1]) if names is None else names)
        columns = [
            ColumnSchema.of(name, values, (categories or {}).get(name))
            for name, values in zip(keys, columns_of(table), strict=True)
        ]
        return cls(tuple(columns), names, container, (len(columns),))

    def with_ranges(self, X_public: Any) -> RowSchema:
        """Add the ranges of public rows, as read: predictions out of them are warned of."""
        if not self.container or len(self.shape) != 1 or issparse(X_public):
            return self
        kinds = [column.kind for column in self.columns]
        kinds = kinds * self.shape[0] if self.container == "numbers" else kinds
        return replace(self, ranges=NumberRanges.of(X_public, self.names, kinds))

    def named_like(self, X: ArrayLike) -> RowSchema:
        """Take the names of private columns if public rows have none; names are public."""
        if self.names is not None or len(self.shape) != 1:
            return self
        names = column_names(X)
        ranges = None if self.ranges is None else replace(self.ranges, names=names)
        return replace(self, names=names, ranges=ranges)

    @property
    def left_out(self) -> dict[Any, int]:
        """Number of categories, by column, that a public type lists and no public row shows."""
        return {column.name: column.n_left_out for column in self.columns if column.n_left_out}

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
        """Return the positions of the schema's columns in a table; without names, all in order.

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

    def read(self, X: ArrayLike, name: str = "X") -> ReadRows:
        """Convert rows to the order and types of public rows; refuse other columns or lengths."""
        check_table(X, name, one_dimension=not self.shape)
        if not self.container:
            return ReadRows(X, {})
        if not self.shape and (hasattr(X, "columns") or row_shape(X)):
            raise ValueError(
                f"{name} is a table, and {'the fit' if self.fitted else 'X_public'} had one cell a "
                f"row, such as a text: pass one column, such as {name}['text'] of a data frame, or "
                f"{name}[:, 0] of an array."
            )
        if self.container == "numbers":
            return self._read_numbers(X, name)
        if issparse(X):
            raise ValueError(
                f"{name} is sparse, and {'the fit' if self.fitted else 'X_public'} had a table of "
                f"columns: give such a table, or {name}.toarray() if it has the same columns."
            )
        cells, misfits = [], {}
        columns = self.match_columns(X, name) if self.shape else [X]
        for column, values in zip(self.columns, columns, strict=True):
            plain = column.plain(values)
            missing = column.missing(plain)
            if missing.any() and not column.nullable:
                misfits[column.name] = missing
            cells.append(column.fill_missing(plain, missing))
        return ReadRows(self._table(cells), misfits)

    def holds_texts(self, X: ArrayLike) -> bool:
        """Return True if a column of public numbers has other cells in X, such as texts."""
        if not (self.container and self.shape) or issparse(X) or container_kind(X) == "numbers":
            return False
        columns = self.match_columns(X)
        schemas = self.columns if len(self.columns) == len(columns) else self.columns * len(columns)
        return any(
            bool((np.isnan(read_numbers(values)) & ~missing_cells(values)).any())
            for column, values in zip(schemas, columns, strict=True)
            if column.kind in ("number", "boolean") and column_cells(values).dtype.kind == "O"
        )

    def read_queries(self, X: ArrayLike, *, warns: bool = False) -> Any:
        """Convert rows to predict by a fitted model; with `warns`, warn of columns of misfits.

        Refused are data frames where the fit had arrays alone, and rows that are a missing text.
        """
        table, misfits = self.read(X)
        if warns:
            self.warn_counts(self._counts(table, misfits))
        if self.names is None and len(self.shape) == 1:
            check_names((), X, "X")
        if not self.shape and self.container and self.columns[0].kind == "text":
            if column_cells(X).dtype.kind in "biufc":
                raise ValueError(
                    f"X is a column of numbers, and the fit had one of texts. {NOT_FOR_PUBLICATION}"
                )
            if misfits:
                (missing,) = misfits.values()
                raise ValueError(
                    f"X has {int(missing.sum())} cells that are no texts, and the fit had "
                    "none: pass X.fillna('') (X.fill_null('') of polars), or leave "
                    f"these rows out. {NOT_FOR_PUBLICATION}"
                )
        return table

    def count_cells(self, X: ArrayLike) -> NDArray[np.float64]:
        """Count rows, and the misfits and far numbers of each column, to add up parts."""
        return self._counts(*self.read(X))

    def _counts(self, table: Any, misfits: Mapping[Any, NDArray[np.bool_]]) -> NDArray[np.float64]:
        keys = self._keys()
        counts = [float(misfits[key].sum()) if key in misfits else 0.0 for key in keys]
        far = np.zeros(len(keys))
        if self.ranges is not None and not issparse(table):
            far = self.ranges.count(table)
        return np.concatenate([[_num_samples(table)], counts, far])

    def _keys(self) -> list[Any]:
        """Return the keys of misfits, in the order of columns."""
        if self.container == "numbers":
            return list(range(int(np.prod(self.shape))))
        return [column.name for column in self.columns]

    def warn_counts(self, counts: NDArray[np.float64]) -> None:
        """Warn of columns most of whose cells are missing, can't be read, or are out of range."""
        n_rows = counts[0]
        if n_rows < FEWEST_ROWS:
            return
        misfits, far = np.split(counts[1:] / n_rows, 2)
        keys = self._keys() if self.names is None or len(self.shape) != 1 else self.names
        most = [
            f"{keys[at]!r} ({percent(misfits[at])})"
            for at in np.flatnonzero(misfits > MOST_SHARE).tolist()
        ]
        if most:
            warn(
                "most cells of X are missing, can't be read, or are none of the categories "
                f"of the fit in {', '.join(shorten(most))}. Answers take all such "
                "cells of a column for the same. Spell, code and convert columns as for the fit. "
                "If X is private, so is this warning."
            )
        if self.ranges is not None:
            self.ranges.warn_shares(far, FAR_WORDS)

    def _table(self, cells: list[NDArray[Any]]) -> Any:
        if self.container in ("pandas", "polars"):
            return make_frame(self.container, self.columns, cells)
        columns = [as_objects(*pair) for pair in zip(self.columns, cells, strict=True)]
        if self.shape:
            return np.ascontiguousarray(np.stack(columns, axis=1))
        return columns[0].tolist() if self.container == "list" else columns[0]

    def _read_numbers(self, X: Any, name: str) -> ReadRows:
        (column,) = self.columns
        if issparse(X):
            return self._read_sparse(X.tocsr(copy=True), name)
        X = as_table(X, self.shape, name)
        if not isinstance(X, np.ndarray):
            X = np.stack([column_cells(cells) for cells in self.match_columns(X, name)], axis=1)
        self._check_shape(X, name)
        if column.is_read_unchanged(X):
            return ReadRows(np.ascontiguousarray(X), {})
        plain = column.plain(X.ravel()).reshape(len(X), -1)
        missing = np.isnan(plain)
        misfit = missing & ~column.nullable
        misfits = {int(index): misfit[:, index] for index in np.flatnonzero(misfit.any(axis=0))}
        if misfits and column.fill_value is not None:
            plain = np.where(misfit, column.fill_value, plain)
        return ReadRows(plain.astype(column.dtype).reshape(X.shape), misfits)

    def _check_shape(self, X: NDArray[Any], name: str) -> None:
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

    def _read_sparse(self, X: Any, name: str) -> ReadRows:
        """Convert a sparse table in place, to the one layout that its numbers have."""
        (column,) = self.columns
        self._check_shape(X, name)
        X.sum_duplicates()
        plain = column.plain(X.data)
        misfit = np.isnan(plain) & ~np.broadcast_to(column.nullable, self.shape)[X.indices]
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        misfits = {}
        for index in np.unique(X.indices[misfit]):
            misfits[int(index)] = np.zeros(X.shape[0], dtype=bool)
            misfits[int(index)][rows[misfit & (X.indices == index)]] = True
        X.data = np.where(misfit, 0.0, plain).astype(column.dtype)
        X.eliminate_zeros()
        index_type = np.int32 if max(X.nnz, *X.shape) < 2**31 else np.int64
        X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
        return ReadRows(X, misfits)


def _sample(X_public: ArrayLike, shape: tuple[int, ...]) -> Any:
    n_rows = _num_samples(X_public)
    n_sample = min(_SAMPLE_ROWS, max(_SAMPLE_CELLS // max(int(np.prod(shape)), 1), 2))
    if n_rows <= n_sample:
        return X_public
    return _safe_indexing(X_public, np.linspace(0, n_rows - 1, n_sample).astype(int))


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
class NumberRanges:
    """Public ranges of columns; NaN for a column without a range, which warns of nothing."""

    names: list[Hashable] | None  # of the columns, if a table has some
    low: Floats  # (n_columns,)
    high: Floats
    is_date: tuple[bool, ...]

    @classmethod
    def of(
        cls, X_public: Any, names: list[Hashable] | None, kinds: Sequence[str]
    ) -> NumberRanges | None:
        """Return the ranges of columns with enough public rows; None if no column has enough.

        The kinds of columns are those of `ColumnSchema`.
        """
        is_date = tuple(kind == "time" for kind in kinds)
        pairs = zip(columns_of(X_public), is_date, strict=True)
        columns = [_numbers(values, date) for values, date in pairs]
        counts = np.array([np.isfinite(cells).sum() for cells in columns], dtype=int)
        # Probability that half of new rows are out of the range of n rows from the same
        # distribution: that of at most one head in n throws of a fair coin.
        few = len(columns) * binom.cdf(1, counts, 0.5) > _FALSE_ALARM
        few |= [kind not in ("number", "time") for kind in kinds]
        if few.all():
            return None
        low = np.array([np.fmin.reduce(cells, initial=np.nan) for cells in columns])
        high = np.array([np.fmax.reduce(cells, initial=np.nan) for cells in columns])
        return cls(names, np.where(few, np.nan, low), np.where(few, np.nan, high), is_date)

    def count(self, X: Any) -> Floats:
        """Count the cells of each column that are out of its range."""
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            return ((self.low > X) | (self.high < X)).sum(axis=0, dtype=np.float64)
        counts, columns = np.zeros(len(self.low)), columns_of(X)
        for at in np.flatnonzero(~np.isnan(self.low)).tolist():
            cells = _numbers(columns[at], self.is_date[at])
            counts[at] = ((cells < self.low[at]) | (cells > self.high[at])).sum()
        return counts

    def warn(self, X: Any, words: str) -> None:
        """Warn of columns most of whose cells are out of range, in a table with these columns."""
        if isinstance(X, list | tuple) and len({np.shape(row) for row in X}) > 1:
            return  # the estimator has an error for rows of several lengths
        if not container_kind(X):
            return
        n_rows, names = _num_samples(X), column_names(X)
        if n_rows < FEWEST_ROWS or issparse(X) or row_shape(X) != self.low.shape:
            return
        if None not in (names, self.names) and names != self.names:
            return
        spaced = np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).astype(int)
        sample = _safe_indexing(X, spaced)
        if isinstance(sample, list | tuple):
            sample = np.asarray(sample)
        self.warn_shares(self.count(sample) / len(spaced), words)

    def warn_shares(self, shares: Floats, words: str) -> None:
        """Warn of columns by their share of cells out of range; `words` explain it."""
        far = []
        for at in np.flatnonzero(shares > MOST_SHARE).tolist():
            text = date_text if self.is_date[at] else None
            public_range = range_text(float(self.low[at]), float(self.high[at]), text)
            name = at if self.names is None else self.names[at]
            far.append(f"{name!r} ({percent(shares[at])} out of {public_range})")
        if far:
            warn(
                "most numbers of X are out of the range of the public rows, or the declared "
                f"bounds, in {', '.join(shorten(far))}. {words} If X is private, so is this "
                "warning."
            )


def shorten(columns: list[str]) -> list[str]:
    """Return the first columns that a warning names, and the number of the others."""
    n_more = len(columns) - MOST_WARNED
    return [*columns[:MOST_WARNED], *([f"and {n_more} more"] if n_more > 0 else [])]


def _numbers(values: ArrayLike, is_date: bool) -> Floats:
    """Return the cells of a column as numbers, dates as days."""
    return read_days(values, "time") if is_date else read_numbers(values)


def warn_misfits(
    shares: Mapping[Hashable, float], target_bounds: tuple[float, float] | None = None
) -> None:
    """Warn, after a release, of columns by the share of rows whose cell is a misfit."""
    many = [name for name, share in shares.items() if share > _LARGE_SHARE]
    if TARGETS in many:
        many.remove(TARGETS)
        warn(
            f"more than a quarter of the targets lie beyond target_bounds={target_bounds!r}, and "
            "were moved to the bounds: nothing beyond is predicted, and scores see no errors "
            "there. Name wider bounds, in the unit of y, for the next fit. "
            f"{NOT_FOR_PUBLICATION}"
        )
    if many:
        warn(
            f"more than a quarter of the cells of X do not fit X_public, or what is declared, in "
            f"{len(many)} column(s), such as {many[0]!r}: they are missing, or of another type. "
            f"They were taken as missing. {NOT_FOR_PUBLICATION}"
        )


def warn_categories_left_out(left_out: Mapping[Any, int]) -> None:
    """Warn of public types that list categories which no public row shows."""
    for name, count in left_out.items():
        warn(
            f"the data type of {name!r} lists {count} "
            f"{'category' if count == 1 else 'categories'} that no public row shows. A table that "
            "was cast before it was split lists those of private rows, so they are left out. "
            f"Declare what is public: categories={{{name!r}: [...]}}."
        )
