"""Private cells outside of the ranges and categories of the public rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot.tables._cells import cell_text, missing_cells, read_coded_texts, read_texts
from secretballot.tables._column_schema import ColumnSchema
from secretballot.tables._frames import sparse_columns
from secretballot.tables._row_schema import RowSchema

#: Largest share of public cells that occur once in a column of categories: the probability of a new
#: category in a new row (Good and Turing).
_NEW_CATEGORY_SHARE = 0.25
#: Most columns that are compared; of more, such as those of an image, evenly spaced ones.
_MOST_COLUMNS = 2_000


def cells_outside(
    X: ArrayLike,
    X_public: ArrayLike,
    categories: Mapping[Hashable, Sequence[Hashable]] | None = None,
    chosen: Collection[Hashable] | None = None,
) -> Iterator[tuple[Hashable, NDArray[np.bool_]]]:
    """Yield, column by column, the mask of private cells outside of the public ones.

    Numbers, booleans, times and durations are outside if they are beyond the public range.
    Categories and texts are outside if no public row shows them and they were not declared, unless
    a quarter of the public cells occur only once. A cell that does not fit the public type is
    outside, and so is a missing cell where no public cell is missing. `categories` are public,
    whether rows show them or not. Only the `chosen` columns are compared; None: all. A row's mask
    depends on that row and on public rows alone.
    """
    schema, declared = RowSchema.of(X_public), categories or {}
    if not schema.shape:
        return
    columns = schema.columns
    if schema.container == "numbers":
        columns *= math.prod(schema.shape)
    positions = np.unique(np.linspace(0, len(columns) - 1, _MOST_COLUMNS, dtype=int)).tolist()
    tables = (_columns(schema, table, positions) for table in (X, X_public))
    for index, private, public in zip(positions, *tables, strict=True):
        column = columns[index]
        name = index if column.name is None else column.name
        if chosen is not None and name not in chosen:
            continue
        yield name, _outside(column, private, public, declared.get(name))


def _columns(schema: RowSchema, X: ArrayLike, positions: Sequence[int]) -> Iterable[ArrayLike]:
    if issparse(X):
        return sparse_columns(X, positions)
    columns = schema.match_columns(X)
    return [columns[position] for position in positions]


def _outside(
    column: ColumnSchema, private: ArrayLike, public: ArrayLike, declared: Sequence[Hashable] | None
) -> NDArray[np.bool_]:
    missing, unknown = missing_cells(private), missing_cells(public)
    if unknown.all() and declared is None:
        return ~missing
    if column.kind in ("number", "boolean", "time", "duration") and declared is None:
        cells, shown = column.plain(private), column.plain(public)
        shown = shown[~column.missing(shown)]
        if not len(shown):  # they are infinite, or don't fit their type
            return ~missing
        # A misfit is NaN, which fails both comparisons.
        outside = ~((cells >= shown.min()) & (cells <= shown.max()))
    else:
        shown = read_texts(public)[~unknown]
        if declared is None:
            _, counts = np.unique([str(cell) for cell in shown], return_counts=True)
            if (counts == 1).sum() / max(len(shown), 1) > _NEW_CATEGORY_SHARE:
                return np.zeros(len(missing), dtype=bool)  # free text, or names
        public_texts = {*shown, *map(cell_text, declared or [])}
        outside = read_coded_texts(private).positions(dict.fromkeys(public_texts, 0), 1) > 0
    return np.asarray(np.where(missing, not unknown.any(), outside), dtype=bool)
