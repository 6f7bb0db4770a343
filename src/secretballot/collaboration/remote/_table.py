"""Tables of rows as fields and bytes of a message, nothing of which is code."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse

from secretballot.collaboration.remote._arrays import ArrayReader, ArrayWriter, read_shape
from secretballot.collaboration.remote._frame import (
    read_pandas,
    read_polars,
    write_pandas,
    write_polars,
)
from secretballot.transport import Buffer, Fields, MessageError

#: Fields that describe a table.
TABLE_FIELDS = ("table", "arrays", "shape", "columns")
#: Memory of a row, whatever is in it.
_ROW = 8


def encode_table(X: Any, name: str = "X") -> tuple[dict[str, object], memoryview]:
    """Encode a table as fields and bytes.

    Raises
    ------
    ValueError
        If it holds something else than numbers, booleans, times, texts, categories and missing
        values.
    """
    writer = ArrayWriter()
    fields: dict[str, object] = {"arrays": writer.forms}
    for package, write in (("pandas", write_pandas), ("polars", write_polars)):
        frames = sys.modules.get(package)
        if frames is not None and isinstance(X, frames.DataFrame):
            if not X.shape[1]:
                raise ValueError(f"{name} has no columns.")
            columns = write(X, writer, name)
            return {**fields, "table": package, "columns": columns}, writer.body()
    if issparse(X):
        rows = X.tocsr()
        for array in (rows.data, rows.indices, rows.indptr):
            writer.add(array, name)
        kind = "csr_matrix" if isinstance(X, csr_matrix) else "csr_array"
        return {**fields, "table": kind, "shape": list(rows.shape)}, writer.body()
    if isinstance(X, list) and X and all(isinstance(row, str) for row in X):
        writer.add_texts(X, name)
        return {**fields, "table": "texts"}, writer.body()
    try:
        cells = np.asarray(X)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; give a table.") from None
    if cells.dtype.kind not in "UO":
        writer.add(cells, name)
        return {**fields, "table": "array"}, writer.body()
    writer.add_texts(cells.ravel().tolist(), name)
    kind = "text" if cells.dtype.kind == "U" else "objects"
    return {**fields, "table": kind, "shape": list(cells.shape)}, writer.body()


def decode_table(fields: Fields, body: Buffer, max_bytes: int) -> Any:
    """Decode a table.

    Parameters
    ----------
    fields : dict
    body : bytes-like
    max_bytes : int
        The longest message; a table may take twice of it in memory.

    Raises
    ------
    MessageError
        If it is none.
    """
    try:
        reader = ArrayReader(fields, body, max_bytes)
        table = _read(fields, reader)
        reader.close()
        reader.count(_ROW * (len(table) if isinstance(table, list) else table.shape[0]))
    except MessageError:
        raise
    except ImportError as error:
        raise MessageError(f"a table for {error.name} came, which is not installed") from None
    except Exception as error:  # errors of other libraries about a stranger's table
        raise MessageError(f"the message is no table ({type(error).__name__})") from None
    return table


def _read(fields: Fields, reader: ArrayReader) -> Any:
    kind = fields.get("table")
    if kind == "pandas":
        return read_pandas(fields, reader)
    if kind == "polars":
        return read_polars(fields, reader)
    if kind == "array":
        return reader.next()
    if kind in ("csr_matrix", "csr_array"):
        data, indices, indptr = reader.next("biuf"), reader.next("i"), reader.next("i")
        make = csr_matrix if kind == "csr_matrix" else csr_array
        rows = make((data, indices, indptr), shape=read_shape(fields))
        # Compiled code must not read beyond an end; SciPy's check of a table without entries
        # ignores where its rows begin.
        rows.check_format(full_check=True)
        if (indptr[1:] < indptr[:-1]).any():
            raise MessageError("the rows of a sparse table are not in order")
        return rows
    if kind not in ("text", "texts", "objects"):
        raise MessageError("a table is of no kind that is known")
    texts = reader.next_texts()
    if kind == "texts":
        return texts
    if kind == "text":
        # Each text of an array takes as much as the longest.
        reader.count(4 * max(map(len, texts), default=0) * len(texts))
        return np.array(texts, str).reshape(read_shape(fields))
    cells = np.empty(len(texts), object)
    cells[:] = texts
    return cells.reshape(read_shape(fields))
