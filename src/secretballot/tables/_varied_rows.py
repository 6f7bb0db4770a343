"""Public rows with other numbers, or with cells that break a function."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from secretballot._base._sklearn_compat import _num_samples
from secretballot.tables._frames import columns_of, container_kind
from secretballot.tables._row_schema import RowSchema

#: Cell that no public row has.
_UNSEEN = "unseen 20160817"


def number_columns(table: Any) -> NDArray[Any] | None:
    if isinstance(table, np.ndarray):
        return np.nan_to_num(table) if table.dtype.kind in "iuf" and table.ndim == 2 else None
    places = _number_places(table)
    if not places:
        return None
    columns = columns_of(table)
    return np.nan_to_num(np.column_stack([np.asarray(columns[place]) for place in places]))


def _number_places(table: Any) -> list[int]:
    if container_kind(table) == "polars":
        return [i for i, t in enumerate(table.dtypes) if t.is_float() or t.is_integer()]
    if container_kind(table) == "pandas":
        dtypes = enumerate(table.dtypes)
        return [i for i, t in dtypes if isinstance(t, np.dtype) and t.kind in "iuf"]
    return []


def with_numbers(table: Any, numbers: NDArray[Any]) -> Any:
    """Return a table with other numbers in its columns of floats, and rounded in integers."""
    if isinstance(table, np.ndarray):
        return (numbers if table.dtype.kind == "f" else np.rint(numbers)).astype(table.dtype)
    places = _number_places(table)
    if container_kind(table) == "polars":
        polars = sys.modules["polars"]
        return table.with_columns(
            polars.Series(
                table.columns[place],
                np.rint(column) if table.dtypes[place].is_integer() else column,
            ).cast(table.dtypes[place])
            for place, column in zip(places, numbers.T, strict=True)
        )
    columns = {place: table.iloc[:, place].array for place in range(table.shape[1])}
    dtypes = table.dtypes.tolist()
    for place, column in zip(places, numbers.T, strict=True):
        rounded = column if dtypes[place].kind == "f" else np.rint(column)
        columns[place] = rounded.astype(dtypes[place])
    changed = sys.modules["pandas"].DataFrame(columns)
    changed.columns = table.columns
    return changed


def broken_rows(schema: RowSchema) -> Iterator[Any]:
    """Yield public rows with one cell each missing, unseen or huge, as the schema reads them."""
    for cell in (None, _UNSEEN, 1, -1):
        try:
            cells = _with_cells(schema.sample, cell)
            if cells is not None:
                yield schema.read(cells).table
        except (TypeError, ValueError, OverflowError):
            continue  # the schema can't read such cells, and so no private row has them


def _with_cells(sample: Any, cell: str | int | None) -> Any:
    """Return public rows with cells missing, of text, or huge; None if a table takes none."""
    rows = np.arange(_num_samples(sample))
    dtype = getattr(sample, "dtype", None)
    if dtype is not None and dtype.kind in "biuf":
        if isinstance(cell, str):
            return None
        number = np.nan if cell is None else cell * _largest(dtype)
        changed = sample.astype(np.float64)
        if issparse(sample):
            changed = changed.tocsr()
            changed.data[changed.indptr[:-1][np.diff(changed.indptr) > 0]] = number
            return changed
        flat = changed.reshape(len(rows), -1)
        flat[rows, rows % flat.shape[1]] = number
        return changed
    if isinstance(sample, list | tuple) or np.ndim(sample) == 1:
        is_text = all(isinstance(row, str) for row in sample)
        return [cell if row % 2 else sample[row] for row in rows] if is_text else None
    public = columns_of(sample)
    columns = [np.array(column, dtype=object) for column in public]
    for place, column in enumerate(columns):
        huge = cell * _largest(public[place].dtype) if isinstance(cell, int) else cell
        column[rows % len(columns) == place] = huge
    return np.stack(columns, axis=1)


def _largest(dtype: Any) -> float:
    """Return the largest number of a type; of types that hold none, that of a double."""
    try:
        plain = np.dtype(str(dtype).lower())
    except TypeError:
        plain = np.dtype(np.float64)
    if plain.kind in "iu":
        return int(np.iinfo(plain).max)
    return float(np.finfo(plain if plain.kind == "f" else np.float64).max)
