"""Arrays as bytes: numbers as they are in memory, texts as UTF-8 with their lengths.

Readers use the memory of the message itself, so that an array takes no more than its bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.parties._message import Buffer, Fields, MessageError, read_field

#: Types of numpy that are sent.
_DTYPE = re.compile(r"<[iu][248]|<f[248]|\|[iub]1|<[mM]8\[(s|ms|us|ns)\]|\|S[1-9]\d{0,8}")
#: Arrays begin at multiples of this, as numpy reads them fastest.
_ALIGNED = 16
#: Bytes that a text takes at most beside its characters, and each of them.
_TEXT, _CHARACTER = 96, 4
#: Decoded tables may take this multiple of the longest message.
_EXPANSION = 2
#: Dimensions of an array.
_DIMENSIONS = 8
#: Lengths that stand for missing texts.
_NONE, _NAN = -1, -2


class ArrayWriter:
    """Encoder of arrays one after another; `forms` lists their types and shapes."""

    def __init__(self) -> None:
        self.forms: list[list[object]] = []
        self._parts: list[NDArray[np.uint8]] = []

    def add(self, array: NDArray[Any], name: str) -> None:
        """Add an array of numbers, booleans, bytes or times."""
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if not _DTYPE.fullmatch(plain.dtype.str):
            raise ValueError(
                f"{name} is of dtype {array.dtype}, which can't be sent: only numbers of up to 64 "
                "bits, booleans, times and texts."
            )
        self.forms.append([plain.dtype.str, list(array.shape)])
        gap = -sum(map(len, self._parts)) % _ALIGNED
        self._parts += [np.zeros(gap, np.uint8), plain.reshape(-1).view(np.uint8)]

    def add_texts(self, cells: Iterable[object], name: str) -> None:
        """Add texts, None and NaN, which encoders tell apart."""
        lengths, encoded = [], []
        for cell in cells:
            if isinstance(cell, str):
                try:
                    encoded.append(cell.encode())
                except UnicodeEncodeError:
                    raise ValueError(
                        f"{name} holds a text with half of a surrogate pair."
                    ) from None
                lengths.append(len(encoded[-1]))
            elif cell is None or (isinstance(cell, float) and math.isnan(cell)):
                lengths.append(_NONE if cell is None else _NAN)
            else:
                raise ValueError(
                    f"{name} holds {type(cell).__name__} objects, which can't be sent: only "
                    "numbers, booleans, times and texts, and what is missing among them."
                )
        self.add(np.array(lengths, np.int64), name)
        self.add(np.frombuffer(b"".join(encoded), np.uint8), name)

    def body(self) -> memoryview:
        """Return the bytes of all arrays."""
        return (self._parts[1] if len(self.forms) == 1 else np.concatenate(self._parts)).data


class ArrayReader:
    """Decoder of arrays one after another; a fault of theirs is a `MessageError`.

    Decoded objects may take twice the longest message, `max_bytes`.
    """

    def __init__(self, fields: Fields, body: Buffer, max_bytes: int) -> None:
        self._forms = iter(read_field(fields, "arrays", list[list[object]]))
        self._bytes, self._position = np.frombuffer(body, np.uint8), 0
        self._max_bytes, self._n_decoded = _EXPANSION * max_bytes, 0

    def next(self, kinds: str = "biufmMS") -> NDArray[Any]:
        """Return the next array, whose dtype must be of one of some kinds."""
        name, shape = next(self._forms, ("", []))
        if not isinstance(name, str) or not _DTYPE.fullmatch(name):
            raise MessageError("an array is missing, or of a type that is not known")
        dtype, sizes = np.dtype(name), read_shape({"shape": shape})
        start = self._position + -self._position % _ALIGNED
        end = start + math.prod(sizes) * dtype.itemsize
        if dtype.kind not in kinds or end > len(self._bytes):
            raise MessageError("an array is of another type than its table's, or too short")
        flat = self._bytes[start:end]
        if dtype.kind == "b" and (flat > 1).any():
            raise MessageError("an array of booleans holds others")
        self._position = end
        return flat.view(dtype).reshape(sizes)

    def next_texts(self) -> list[Any]:
        """Return the next texts, with None and NaN among them."""
        lengths, encoded = self.next("i").ravel(), bytes(self.next("u"))
        self.count(_TEXT * len(lengths) + _CHARACTER * len(encoded))
        if (lengths < _NAN).any() or (lengths > len(encoded)).any():
            raise MessageError("texts have lengths that are none")
        ends = np.maximum(lengths, 0).cumsum()
        if (ends[-1] if len(ends) else 0) != len(encoded):
            raise MessageError("texts are longer or shorter than their lengths")
        missing: dict[int, object] = {_NONE: None, _NAN: math.nan}
        return [
            encoded[end - length : end].decode() if length >= 0 else missing[length]
            for length, end in zip(lengths.tolist(), ends.tolist(), strict=True)
        ]

    def count(self, n_bytes: int) -> None:
        """Count memory of decoded objects, and refuse too much of it."""
        self._n_decoded += n_bytes
        if self._n_decoded > self._max_bytes:
            raise MessageError(
                f"a table takes {self._n_decoded:,} bytes of memory, and {self._max_bytes:,} are "
                "allowed"
            )

    def close(self) -> None:
        """Refuse arrays or bytes that nobody read."""
        if next(self._forms, None) is not None or self._position != len(self._bytes):
            raise MessageError("a table is longer than its arrays")


def read_shape(fields: Fields) -> tuple[int, ...]:
    """Return the shape in some fields, of a few small numbers."""
    shape = read_field(fields, "shape", list[int])
    if len(shape) > _DIMENSIONS or any(size >= 2**62 for size in shape):
        raise MessageError("a table has no shape that is known")
    return tuple(shape)
