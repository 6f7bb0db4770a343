"""Rows that are asked about, of whatever kind of table, as words and bytes that can be sent."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from secretballot.collaboration.remote._arrow import (
    check_decoded,
    decode,
    encode,
    text_size,
)
from secretballot.collaboration.remote._frame import (
    put_pandas,
    put_polars,
    put_text,
    take_pandas,
    take_polars,
    take_text,
)
from secretballot.transport import MessageError

#: Types of numpy that are sent as they are in memory.
_DTYPE = re.compile(r"<[iu][248]|<f[248]|\|[iub]1|\|S[1-9]\d{0,8}")
#: Arrays begin at multiples of this, as whoever reads them wants it.
_ALIGNED = 16
_MOST_DIMENSIONS = 8
#: Bytes that a row takes at least, whatever is in it.
_ROW = 8

Words = dict[str, Any]


def put_table(X: Any, name: str = "X") -> tuple[Words, memoryview]:
    """Return a table as words and bytes, nothing of which is code.

    Raises
    ------
    ValueError
        If it holds something else than numbers, booleans, times, texts, categories and missing
        values.
    """
    for package, put in (("pandas", put_pandas), ("polars", put_polars)):
        frames = sys.modules.get(package)
        if frames is not None and isinstance(X, frames.DataFrame):
            if not X.shape[1]:
                raise ValueError(f"{name} has no columns.")
            return {"table": package}, put(X, name)
    if issparse(X):
        rows = X.tocsr()
        kind = "csr_matrix" if isinstance(X, csr_matrix) else "csr_array"
        forms, body = _put_arrays([rows.data, rows.indices, rows.indptr], name)
        return {"table": kind, "shape": list(rows.shape), "arrays": forms}, body
    if isinstance(X, list) and X and all(isinstance(row, str) for row in X):
        return {"table": "texts"}, _put_texts(X, name)
    try:
        cells = np.asarray(X)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; give a table.") from None
    if cells.dtype.kind not in "UO":
        forms, body = _put_arrays([cells], name)
        return {"table": "array", "arrays": forms}, body
    kind = "text" if cells.dtype.kind == "U" else "objects"
    return {"table": kind, "shape": list(cells.shape)}, _put_texts(cells.ravel().tolist(), name)


def take_table(words: Mapping[str, Any], body: Any, max_bytes: int) -> Any:
    """Return a table that was sent.

    Parameters
    ----------
    words : dict
    body : bytes-like
    max_bytes : int
        The longest message; a table may take twice of it in memory.

    Raises
    ------
    MessageError
        If it is none.
    """
    try:
        table = _taken(words, body, max_bytes)
        check_decoded(_ROW * (len(table) if isinstance(table, list) else table.shape[0]), max_bytes)
    except MessageError:
        raise
    except ImportError as error:
        raise MessageError(f"a table for {error.name} came, which is not installed") from None
    except Exception as error:  # whatever others make of what a stranger wrote
        raise MessageError(f"what came is no table ({type(error).__name__})") from None
    return table


def _taken(words: Mapping[str, Any], body: Any, max_bytes: int) -> Any:
    kind = words["table"]
    if kind == "pandas":
        return take_pandas(body, max_bytes)
    if kind == "polars":
        return take_polars(body, max_bytes)
    if kind == "array":
        (array,) = _take_arrays(words["arrays"], body)
        return array
    if kind in ("csr_matrix", "csr_array"):
        data, indices, indptr = _take_arrays(words["arrays"], body)
        make = csr_matrix if kind == "csr_matrix" else csr_array
        if data.dtype.kind not in "biuf" or {indices.dtype.kind, indptr.dtype.kind} != {"i"}:
            raise MessageError("a sparse table is not of numbers")
        rows = make((data, indices, indptr), shape=_shape(words["shape"]))
        # Nothing that compiled code would read beyond an end; SciPy's check of a table without
        # entries does not look at where its rows begin.
        rows.check_format(full_check=True)
        if (indptr[1:] < indptr[:-1]).any():
            raise MessageError("the rows of a sparse table are not in order")
        return rows
    columns = {tag: column for _, tag, column in decode(body, max_bytes)}
    cells = take_text(columns.pop("text"), columns.pop("nan", None))
    if columns or kind not in ("text", "objects", "texts"):
        raise MessageError("a table is of no kind that is known")
    if kind == "texts":
        return cells.tolist()
    if kind == "text":
        # All texts of an array take as much as the longest, beside the cells themselves.
        cell = text_size(1, max(map(len, cells), default=0))
        check_decoded(cell * len(cells), max_bytes)
        cells = cells.astype(str)
    return cells.reshape(_shape(words["shape"]))


def _put_texts(cells: Sequence[Any], name: str) -> memoryview:
    columns = put_text(cells, name)
    return encode(columns, {key: "nan" if key else "text" for key in columns})


def _put_arrays(arrays: Sequence[NDArray[Any]], name: str) -> tuple[list[Any], memoryview]:
    """Return forms of arrays, and their bytes."""
    forms: list[Any] = []
    parts: list[Any] = []
    for array in arrays:
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if not _DTYPE.fullmatch(plain.dtype.str):
            raise ValueError(
                f"{name} is of dtype {array.dtype}, which can't be sent: only numbers of up to 64 "
                "bits, booleans and texts."
            )
        forms.append([plain.dtype.str, list(array.shape)])
        parts += [plain.reshape(-1).view(np.uint8), np.zeros(-plain.nbytes % _ALIGNED, np.uint8)]
    return forms, (parts[0] if len(arrays) == 1 else np.concatenate(parts)).data


def _take_arrays(forms: Any, body: Any) -> list[NDArray[Any]]:
    """Return arrays on the memory of a message."""
    if not isinstance(forms, list) or len(forms) > 3:
        raise MessageError("arrays of a table have no form that is known")
    raw, arrays, at = np.frombuffer(body, np.uint8), [], 0
    for name, shape in forms:
        if not isinstance(name, str) or not _DTYPE.fullmatch(name):
            raise MessageError("an array of a table is of a type that is not known")
        dtype, sizes = np.dtype(name), _shape(shape)
        end = at + math.prod(sizes) * dtype.itemsize
        if end > len(raw):
            raise MessageError("a table is shorter than its arrays")
        if dtype.kind == "b" and (raw[at:end] > 1).any():
            raise MessageError("an array of booleans holds others")
        arrays.append(raw[at:end].view(dtype).reshape(sizes))
        at = end if len(forms) == 1 else end + -end % _ALIGNED
    if at != len(raw):
        raise MessageError("a table is longer than its arrays")
    return arrays


def _shape(said: Any) -> tuple[int, ...]:
    if not (
        isinstance(said, list)
        and len(said) <= _MOST_DIMENSIONS  # before they are multiplied, which may take hours
        and all(type(size) is int and 0 <= size < 2**62 for size in said)
    ):
        raise MessageError("a table has no shape that is known")
    return tuple(said)
