"""Messages: a kind, public fields as JSON, and a body of bytes, sent in small pieces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar, get_args, get_origin

import numpy as np

#: The longest piece of a message, and so the longest fields.
MAX_PIECE = 2**20
#: Length of fields that every reader accepts.
_SHORT_FIELDS = 2**16
#: Decoded JSON takes up to 32 times its length. Longer fields are accepted up to this part of the
#: longest body, so that they take at most four times as much as that.
_FIELDS_PART = 8
#: The longest quotation of a message in an error.
_QUOTED = 60

Buffer = bytes | bytearray | memoryview
Fields = Mapping[str, object]
T = TypeVar("T")


class MessageError(ValueError):
    """Bytes that are no message, or a message that is not allowed where it came."""


@dataclass(frozen=True)
class Message:
    """A kind, JSON fields and bytes that are sent together."""

    kind: str
    fields: Fields = field(default_factory=dict)
    body: Buffer = field(default=b"", repr=False)

    def pieces(self) -> Iterator[bytes]:
        """Yield the head, and then the pieces of the body."""
        yield self.head()
        view = memoryview(self.body).cast("B")
        for start in range(0, len(view), MAX_PIECE):
            yield bytes(view[start : start + MAX_PIECE])

    def head(self) -> bytes:
        """Encode everything but the body; ValueError if it is too long or no JSON."""
        head = {"kind": self.kind, "size": memoryview(self.body).nbytes, "fields": self.fields}
        encoded = json.dumps(head, allow_nan=False, separators=(",", ":")).encode()
        if len(encoded) > MAX_PIECE:
            raise ValueError(
                f"the fields of a message take {len(encoded):,} bytes, and {MAX_PIECE:,} are "
                "allowed; shorten them."
            )
        return encoded


def read_message(pieces: Iterator[bytes], max_bytes: int, count: Callable[[int], None]) -> Message:
    """Read the next message, with a body of at most `max_bytes`.

    `count` is called with the length of each piece before it is stored, and may raise.
    """
    head = next(pieces)
    count(len(head))
    kind, size, fields = _parse_head(head, max(_SHORT_FIELDS, max_bytes // _FIELDS_PART))
    if size > max_bytes:
        raise MessageError(f"a body of {size:,} bytes came, and {max_bytes:,} are allowed")
    body = np.empty(size, np.uint8)  # memory is taken as it fills, not as it is announced
    start = 0
    while start < size:
        piece = next(pieces)
        if not 0 < len(piece) <= min(size - start, MAX_PIECE):
            raise MessageError("the body of a message is longer than announced, or empty")
        count(len(piece))
        body[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
        start += len(piece)
    body.flags.writeable = False
    return Message(kind, fields, body.data)


def read_field(fields: Fields, name: str, kind: type[T]) -> T:
    """Return a field of a message that is of a type of JSON's, such as ``list[str]``.

    ``int`` accepts whole numbers from 0 on. Anything else is a `MessageError`.
    """
    value = fields.get(name)
    if not _is_of_type(value, kind):
        raise MessageError(f"{name}={repr(value)[:_QUOTED]} is not of the expected type")
    return value  # type: ignore[return-value]


def _is_of_type(value: object, kind: type) -> bool:
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not isinstance(value, get_origin(kind) or kind):
        return False
    if isinstance(value, dict):
        value = list(value.values())
    parameters = get_args(kind)
    return not (parameters and isinstance(value, list)) or all(
        _is_of_type(item, parameters[-1]) for item in value
    )


def _parse_head(head: bytes, max_bytes: int) -> tuple[str, int, Fields]:
    if len(head) > max_bytes:
        raise MessageError(
            f"the fields of a message take {len(head):,} bytes, and {max_bytes:,} are allowed"
        )
    try:
        parsed = json.loads(head.decode(), parse_constant=_refuse_constant)
        json.dumps(parsed, ensure_ascii=False).encode()  # no half of a surrogate pair
        if not isinstance(parsed, dict) or set(parsed) != {"kind", "size", "fields"}:
            raise ValueError
        return (
            read_field(parsed, "kind", str),
            read_field(parsed, "size", int),
            read_field(parsed, "fields", dict[str, object]),
        )
    except (ValueError, RecursionError):
        raise MessageError("the fields of a message can't be read") from None


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(text)
