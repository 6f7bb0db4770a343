"""Rows that are asked about, of whatever kind of table, as arrays that can be sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from secretballot.collaboration.remote._column import (
    Arrays,
    put_numbers,
    put_text,
    take,
    take_text,
)
from secretballot.collaboration.remote._frame import (
    put_pandas,
    put_polars,
    take_pandas,
    take_polars,
)
from secretballot.collaboration.remote._message import MessageError

#: Bytes of an array of texts, all of which take as much as the longest.
_MOST_TEXT = 2**32


def put_table(X: Any, name: str = "X") -> tuple[dict[str, Any], Arrays]:
    """Return a table as a few words and arrays, nothing of which is code.

    Raises
    ------
    ValueError
        If it holds something else than numbers, booleans, texts, categories and missing values.
    """
    arrays: Arrays = []
    for package, put in (("pandas", put_pandas), ("polars", put_polars)):
        frames = sys.modules.get(package)
        if frames is not None and isinstance(X, frames.DataFrame):
            columns = put(X, name, arrays)
            if not columns:
                raise ValueError(f"{name} has no columns.")
            return {"table": package, "columns": columns}, arrays
    if issparse(X):
        rows = X.tocsr()
        put_numbers(rows.data, name, arrays)
        arrays += [rows.indices, rows.indptr]
        kind = "csr_matrix" if isinstance(X, csr_matrix) else "csr_array"
        return {"table": kind, "shape": list(rows.shape)}, arrays
    if isinstance(X, list) and X and all(isinstance(row, str) for row in X):
        put_text(X, name, arrays)
        return {"table": "texts"}, arrays
    try:
        cells = np.asarray(X)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; give a table.") from None
    if cells.dtype.kind not in "UO":
        put_numbers(cells, name, arrays)
        return {"table": "array"}, arrays
    put_text(cells.reshape(-1).tolist(), name, arrays)
    words = "text" if cells.dtype.kind == "U" else "objects"
    return {"table": words, "shape": list(cells.shape)}, arrays


def take_table(words: Mapping[str, Any], arrays: Arrays) -> Any:
    """Return a table that was sent.

    Raises
    ------
    MessageError
        If it is none.
    """
    rest = iter(arrays)
    try:
        table = _taken(words, rest)
    except MessageError:
        raise
    except ImportError as error:
        raise MessageError(f"a data frame of {error.name} came, which is not installed") from None
    except Exception as error:  # whatever others make of what a stranger wrote
        raise MessageError(f"what came is no table ({type(error).__name__})") from None
    if next(rest, None) is not None:
        raise MessageError("a table came with more arrays than it has")
    return table


def _taken(words: Mapping[str, Any], arrays: Iterator[NDArray[Any]]) -> Any:
    kind = words["table"]
    if kind == "array":
        return take(arrays, "biufS")
    if kind == "pandas":
        return take_pandas(words["columns"], arrays)
    if kind == "polars":
        return take_polars(words["columns"], arrays)
    if kind == "texts":
        return take_text(arrays).tolist()
    shape = tuple(map(int, words["shape"]))
    if kind in ("text", "objects"):
        cells = take_text(arrays)
        if kind == "text":
            if 4 * len(cells) * max(map(len, cells), default=0) > _MOST_TEXT:
                raise MessageError("one text of an array is much longer than the others")
            cells = cells.astype(str)
        return cells.reshape(shape)
    if kind in ("csr_matrix", "csr_array"):
        data, indices, indptr = take(arrays, "biuf", 1), take(arrays, "i", 1), take(arrays, "i", 1)
        make = csr_matrix if kind == "csr_matrix" else csr_array
        rows = make((data, indices, indptr), shape=shape)
        # Nothing that compiled code would read beyond an end.
        rows.check_format(full_check=True)
        return rows
    raise MessageError("a table is of no kind that is known")
