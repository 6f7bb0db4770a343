"""A message: a kind, a few public words and numbers, and arrays; as bytes, and back."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Of how messages are written. Parties and aggregator must have the same.
VERSION = 1
#: The most that the words of a message may take, whatever it may weigh as a whole.
MOST_WORDS = 2**24

_MAGIC = b"SBAL"
_START = struct.Struct("!4sHIQ")
#: Length of what comes first: the two lengths of the rest.
START = _START.size
_DTYPE = re.compile(r"<[iu][248]|<f[248]|\|[iub]1|\|S[1-9]\d{0,8}")
#: Arrays begin at multiples of this, as whoever reads them wants it.
_ALIGNED = 16
_MOST_DIMENSIONS = 8


class MessageError(ValueError):
    """What came is no message; whoever sent it is not to be listened to any more."""


@dataclass(frozen=True)
class Message:
    """What is said at once.

    Attributes
    ----------
    kind : str
        What it is about.
    words : dict
        What JSON can say.
    arrays : sequence of ndarray
        Of numbers, booleans or bytes.
    """

    kind: str
    words: Mapping[str, Any] = field(default_factory=dict)
    arrays: Sequence[NDArray[Any]] = field(default=(), repr=False)

    def parts(self, number: int) -> list[Any]:
        """Return the buffers that are sent, one after the other; `number` is the message's."""
        arrays = [_plain(array) for array in self.arrays]
        told = {
            "kind": self.kind,
            "number": number,
            "words": self.words,
            "arrays": [[array.dtype.str, list(array.shape)] for array in arrays],
        }
        words = json.dumps(told, allow_nan=False, separators=(",", ":")).encode()
        if len(words) > MOST_WORDS:
            raise ValueError(f"the names in a table take {len(words):,} bytes; shorten them.")
        parts: list[Any] = []
        for array in arrays:
            parts += [array.reshape(-1).view(np.uint8).data, bytes(-array.nbytes % _ALIGNED)]
        size = sum(map(len, parts))
        return [_START.pack(_MAGIC, VERSION, len(words), size) + words, *filter(len, parts)]


def lengths(start: bytes, most: int) -> tuple[int, int]:
    """Return how long the words and the arrays of a message are, from its first bytes."""
    magic, version, words, size = _START.unpack(start)
    if magic != _MAGIC:
        raise MessageError("what came is no message of secretballot")
    if version != VERSION:
        raise MessageError(f"messages are of version {version}, and here of version {VERSION}")
    if words > MOST_WORDS or words + size > most:
        raise MessageError(f"a message of {words + size:,} bytes came, and {most:,} are allowed")
    return words, size


def read(words: bytes, body: NDArray[np.uint8]) -> tuple[int, Message]:
    """Return a message and its number."""
    try:
        told = json.loads(words)
        number, kind, said, forms = (told[key] for key in ("number", "kind", "words", "arrays"))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise MessageError("the words of a message can't be read") from None
    if not (
        type(number) is int
        and isinstance(kind, str)
        and isinstance(said, dict)
        and isinstance(forms, list)
    ):
        raise MessageError("the words of a message are of the wrong kind")
    arrays, at = [], 0
    for form in forms:
        array = _array(form, body[at:])
        arrays.append(array)
        at += array.nbytes + -array.nbytes % _ALIGNED
    if at != len(body):
        raise MessageError("a message is longer than its arrays")
    return number, Message(kind, said, arrays)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if not _DTYPE.fullmatch(little.dtype.str):
        raise ValueError(f"an array of dtype {array.dtype} can't be sent.")
    return little


def _array(form: Any, body: NDArray[np.uint8]) -> NDArray[Any]:
    try:
        name, shape = form
        if len(shape) > _MOST_DIMENSIONS:  # before they are multiplied, which may take hours
            raise MessageError("an array of a message has too many dimensions")
        if not (_DTYPE.fullmatch(name) and all(type(n) is int and n >= 0 for n in shape)):
            raise MessageError("an array of a message has no form that is known")
        dtype = np.dtype(name)
        size = math.prod(shape) * dtype.itemsize
        if size > len(body):
            raise MessageError("a message is shorter than its arrays")
        if dtype.kind == "b" and (body[:size] > 1).any():
            raise MessageError("an array of booleans holds others")
        return np.asarray(body[:size].view(dtype).reshape(shape))
    except (TypeError, ValueError) as error:
        if isinstance(error, MessageError):
            raise
        raise MessageError("an array of a message has no form that is known") from None
