"""Private cells outside of what the public rows show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from secretballot.schema import ColumnSchema, RowSchema, missing_cells, texts

#: Share of public cells that occur once, from which on a column has no set of categories: a new
#: row has a new one with about this probability (Good and Turing).
_ONCE = 0.25
#: Of more columns so many are compared, evenly spaced: those of an image, or of words.
_MOST_COLUMNS = 2_000


def cells_outside(
    X: Any, X_public: Any, categories: Mapping[Any, Sequence[Any]] | None = None
) -> Iterator[tuple[Any, NDArray[np.bool_]]]:
    """Yield, column by column, which private cells lie outside of the public ones.

    Outside of numbers, truths, times and durations is outside of their range. Outside of categories
    and texts is what no public row shows, unless a quarter of the public cells occur only once; or
    what was not declared, where categories were. What doesn't fit the public type is outside, and
    a missing cell is where no public one is missing. Each row's answer depends on that row and on
    public rows alone.

    Parameters
    ----------
    X, X_public : table
    categories : mapping of column to sequence, default=None
        Categories that are public, whether rows show them or not.

    Yields
    ------
    name : object
        Of the column, or its position.
    outside : ndarray of shape (n_rows,)
    """
    schema, declared = RowSchema.of(X_public), categories or {}
    if issparse(X) or issparse(X_public) or not schema.shape:
        return
    columns = schema.columns
    if schema.container == "numbers":
        columns *= math.prod(schema.shape)
    private, public = schema.matched(X), schema.matched(X_public)
    for at in np.unique(np.linspace(0, len(columns) - 1, _MOST_COLUMNS, dtype=int)).tolist():
        name = at if columns[at].name is None else columns[at].name
        yield name, _outside(columns[at], private[at], public[at], declared.get(name))


def _outside(
    column: ColumnSchema, private: Any, public: Any, declared: Sequence[Any] | None
) -> NDArray[np.bool_]:
    missing, unknown = missing_cells(private), missing_cells(public)
    if unknown.all() and declared is None:
        return ~missing
    if column.kind in ("number", "truth", "time", "duration") and declared is None:
        cells, shown = column.plain(private), column.plain(public)
        shown = shown[~column.missing(shown)]
        # What doesn't fit is neither above nor below.
        outside = ~((cells >= shown.min()) & (cells <= shown.max()))
    else:
        shown = texts(public)[~unknown]
        if declared is None and _share_once(shown) > _ONCE:
            return np.zeros(len(missing), dtype=bool)  # free text, or names
        known = {*shown, *texts(declared or [])}
        outside = np.fromiter((cell not in known for cell in texts(private)), bool, len(missing))
    # A missing cell is nothing strange where public ones are missing too.
    return np.asarray(np.where(missing, not unknown.any(), outside), dtype=bool)


def _share_once(shown: NDArray[Any]) -> float:
    _, counts = np.unique([str(cell) for cell in shown], return_counts=True)
    return float((counts == 1).sum() / max(len(shown), 1))
