"""Types of public rows, which private rows take for the estimators of users."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.tables._cells import column_cells, missing_cells
from secretballot.tables._column_schema import ColumnSchema
from secretballot.tables._columns import ConvertedRows, Header
from secretballot.tables._frames import (
    as_objects,
    as_table,
    check_names,
    check_table,
    column_keys,
    column_names,
    columns_of,
    container_kind,
    make_frame,
    public_table,
    row_shape,
)
from secretballot.tables._known_cells import CellCheck

#: Largest numbers of rows and of cells of a sample.
_SAMPLE_ROWS, _SAMPLE_CELLS = 200, 2**20
#: Key of the targets beyond their declared bounds, among the names of columns.
TARGETS = ("y", "beyond target_bounds")
#: Largest share of misfits of a column without a warning.
_LARGE_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class RowSchema(Header):
    """Names, order, types, categories and time units of public rows, to read private rows by.

    A data type depends on all rows of a table: one row can turn numbers into objects or integers
    into floats, or add a category. So private rows get the types of public ones. A cell that does
    not fit becomes missing, in its own row alone. Only missing columns, and rows of another length,
    are refused.
    """

    columns: tuple[ColumnSchema, ...] = ()  # one for all columns of an array of numbers
    container: str = ""  # "pandas", "polars", "objects", "numbers", "column", "list"; "": as it is
    sample: Any = None  # of the public rows, as read
    cells: CellCheck | None = None  # against those of the public rows

    @classmethod
    def of(
        cls, X_public: ArrayLike, categories: Mapping[Any, Sequence[Any]] | None = None
    ) -> RowSchema:
        """Describe public rows; declared categories are public, whether rows show them or not."""
        check_table(X_public, "X_public", one_dimension=True)
        container = container_kind(X_public)
        if not container:
            return cls(None, (), sample=_sample(X_public, ()))
        if container in ("column", "list"):
            schema = cls(None, (), columns=(ColumnSchema.of(0, X_public),), container=container)
        else:
            table = public_table(X_public, "X_public")
            names = column_names(table)
            if container == "numbers":
                columns = [ColumnSchema.of_numbers(table)]
            else:
                columns = [
                    ColumnSchema.of(name, values, (categories or {}).get(name))
                    for name, values in zip(column_keys(table), columns_of(table), strict=True)
                ]
            schema = cls(names, table.shape[1:], columns=tuple(columns), container=container)
        return replace(schema, sample=schema.read(_sample(X_public, schema.shape)).table)

    def with_cells(
        self, X_public: Any, categories: Mapping[Any, Sequence[Any]] | None = None
    ) -> RowSchema:
        """Add the check of other rows against the cells of public ones."""
        if not self.container or len(self.shape) != 1 or issparse(X_public):
            return self
        return replace(self, cells=CellCheck.of(X_public, categories))

    def named_like(self, X: ArrayLike) -> RowSchema:
        cells = None if self.cells is None else self.cells.named_like(X)
        return replace(super().named_like(X), cells=cells)

    @property
    def left_out(self) -> dict[Any, int]:
        """Number of categories, by column, that a public type lists and no public row shows."""
        return {column.name: column.n_left_out for column in self.columns if column.n_left_out}

    def read(self, X: ArrayLike, name: str = "X") -> ConvertedRows:
        """Convert rows to the order and types of public rows; refuse other columns or lengths."""
        check_table(X, name, one_dimension=not self.shape)
        if not self.container:
            return ConvertedRows(X, {})
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
            misfit = missing if not column.nullable else missing & ~missing_cells(values)
            if misfit.any():
                misfits[column.name] = misfit
            cells.append(column.fill_missing(plain, missing))
        return ConvertedRows(self._table(cells), misfits)

    def read_queries(self, X: ArrayLike, *, warns: bool = False, refusal: str | None = None) -> Any:
        """Convert rows to predict; with `warns`, warn of columns of cells that the fit lacked.

        Refused are data frames where the fit had arrays alone, and rows that are a missing text;
        with a remedy (`refusal`), public rows nearly all of whose cells are unknown.
        """
        table, misfits = self.read(X)
        if warns and self.cells is not None:
            counts = self.cells.count(X)
            if refusal is not None:
                self.cells.refuse(counts, refusal)
            self.cells.warn_counts(counts)
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

    def _table(self, cells: list[NDArray[Any]]) -> Any:
        if self.container in ("pandas", "polars"):
            return make_frame(self.container, self.columns, cells)
        columns = [as_objects(*pair) for pair in zip(self.columns, cells, strict=True)]
        if self.shape:
            return np.ascontiguousarray(np.stack(columns, axis=1))
        return columns[0].tolist() if self.container == "list" else columns[0]

    def _read_numbers(self, X: Any, name: str) -> ConvertedRows:
        (column,) = self.columns
        if issparse(X):
            return self._read_sparse(X.tocsr(copy=True), name)
        X = as_table(X, self.shape, name)
        if not isinstance(X, np.ndarray):
            X = np.stack([column_cells(cells) for cells in self.match_columns(X, name)], axis=1)
        self._check_shape(X, name)
        if column.is_read_unchanged(X):
            return ConvertedRows(np.ascontiguousarray(X), {})
        plain = column.plain(X.ravel()).reshape(len(X), -1)
        missing = np.isnan(plain)
        misfit = missing & ~(column.nullable & missing_cells(X.ravel()).reshape(missing.shape))
        misfits = {int(index): misfit[:, index] for index in np.flatnonzero(misfit.any(axis=0))}
        if misfits and column.fill_value is not None:
            plain = np.where(missing & ~column.nullable, column.fill_value, plain)
        return ConvertedRows(plain.astype(column.dtype).reshape(X.shape), misfits)

    def _read_sparse(self, X: Any, name: str) -> ConvertedRows:
        """Convert a sparse table in place, to the one layout that its numbers have."""
        (column,) = self.columns
        self._check_shape(X, name)
        X.sum_duplicates()
        plain = column.plain(X.data)
        filled = np.isnan(plain) & ~np.broadcast_to(column.nullable, self.shape)[X.indices]
        misfit = filled | (np.isnan(plain) & ~missing_cells(X.data))
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        misfits = {}
        for index in np.unique(X.indices[misfit]):
            misfits[int(index)] = np.zeros(X.shape[0], dtype=bool)
            misfits[int(index)][rows[misfit & (X.indices == index)]] = True
        X.data = np.where(filled, 0.0, plain).astype(column.dtype)
        X.eliminate_zeros()
        index_type = np.int32 if max(X.nnz, *X.shape) < 2**31 else np.int64
        X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
        return ConvertedRows(X, misfits)


def _sample(X_public: ArrayLike, shape: tuple[int, ...]) -> Any:
    n_rows = _num_samples(X_public)
    n_sample = min(_SAMPLE_ROWS, max(_SAMPLE_CELLS // max(int(np.prod(shape)), 1), 2))
    if n_rows <= n_sample:
        return X_public
    return _safe_indexing(X_public, np.linspace(0, n_rows - 1, n_sample).astype(int))


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
