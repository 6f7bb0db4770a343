"""One column of a table, or all cells of one, as arrays that can be sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.collaboration.remote._message import MessageError

Arrays = list[NDArray[Any]]

#: What stands for a text that is missing. Encoders hold them apart, so they stay what they are.
_NO_TEXT = (None, float("nan"))


def put_text(cells: Iterable[Any], name: str, arrays: Arrays) -> None:
    """Add texts, some of which may be missing, to what is sent."""
    texts, missing = [], []
    for cell in cells:
        there = isinstance(cell, str)
        texts.append(str(cell) if there else "")
        missing.append(0 if there else 1 if cell is None else 2)
        if missing[-1] == 2 and not (isinstance(cell, float) and cell != cell):
            raise ValueError(
                f"{name} holds {type(cell).__name__} objects, which can't be sent: only numbers, "
                "booleans and texts, and what is missing among them."
            )
    try:
        blob = "".join(texts).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} holds a text with half of a surrogate pair.") from None
    arrays.append(np.frombuffer(blob, np.uint8))
    arrays.append(np.fromiter(map(len, texts), np.int64, len(texts)))
    arrays.append(np.array(missing, np.uint8))


def take_text(arrays: Iterator[NDArray[Any]]) -> NDArray[np.object_]:
    """Return texts that were sent, shape (n,)."""
    blob, sizes, missing = take(arrays, "u", 1), take(arrays, "i", 1), take(arrays, "u", 1)
    try:
        text = blob.tobytes().decode()
    except UnicodeDecodeError:
        raise MessageError("a text is no UTF-8") from None
    # Of whole numbers of any size: sums of lies must not come out right.
    if (
        len(sizes) != len(missing)
        or (missing > len(_NO_TEXT)).any()
        or (sizes < 0).any()
        or (sizes > len(text)).any()
        or sum(sizes.tolist()) != len(text)
    ):
        raise MessageError("texts and their lengths don't match")
    ends = np.cumsum(sizes).tolist()
    cells = np.empty(len(sizes), object)
    cells[:] = [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    for code, value in enumerate(_NO_TEXT, 1):
        cells[missing == code] = value
    return cells


def put_numbers(cells: Any, name: str, arrays: Arrays) -> None:
    """Add an array of numbers, booleans or bytes to what is sent."""
    array = np.asarray(cells)
    if array.dtype.kind not in "biufS" or (array.dtype.itemsize > 8 and array.dtype.kind != "S"):
        raise ValueError(
            f"{name} is of dtype {array.dtype}, which can't be sent: only numbers of up to 64 "
            "bits, booleans and texts."
        )
    arrays.append(array)


def take(arrays: Iterator[NDArray[Any]], kinds: str, n_dim: int | None = None) -> NDArray[Any]:
    """Return the next array, which must be of one of some kinds."""
    array = next(arrays, None)
    if array is None or array.dtype.kind not in kinds or n_dim not in (None, array.ndim):
        raise MessageError("an array of a table is missing, or of the wrong kind")
    return array
