"""Messages: a kind, public words and numbers as JSON, and a body of bytes, sent in small pieces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

#: The longest piece of a message, and the most that its words may take.
MAX_PIECE = 2**20


class MessageError(ValueError):
    """Bytes that are no message, or a message that may not come now."""


@dataclass(frozen=True)
class Message:
    """Words and bytes that are sent together.

    Attributes
    ----------
    kind : str
        Topic.
    words : dict
        JSON. Nothing of what was received is checked but that it is JSON.
    body : bytes-like
    """

    kind: str
    words: Mapping[str, Any] = field(default_factory=dict)
    body: Any = field(default=b"", repr=False)

    def pieces(self) -> Iterator[bytes]:
        """Yield what gRPC sends: first the words, then the body."""
        yield self.head()
        view = memoryview(self.body).cast("B")
        for start in range(0, len(view), MAX_PIECE):
            yield bytes(view[start : start + MAX_PIECE])

    def head(self) -> bytes:
        """Return the words as they are sent; ValueError if they are too long or no JSON."""
        head = {"kind": self.kind, "size": memoryview(self.body).nbytes, "words": self.words}
        sent = json.dumps(head, allow_nan=False, separators=(",", ":")).encode()
        if len(sent) > MAX_PIECE:
            raise ValueError(
                f"the words of a message take {len(sent):,} bytes, and {MAX_PIECE:,} are allowed; "
                "shorten them."
            )
        return sent


def read_message(pieces: Iterator[bytes], max_bytes: int, count: Callable[[int], None]) -> Message:
    """Return the next message.

    Parameters
    ----------
    pieces : iterator of bytes
    max_bytes : int
        The longest body that is accepted.
    count : callable
        Called with the length of each piece before it is kept; may raise.
    """
    head = next(pieces)
    count(len(head))
    kind, size, words = _parsed(head)
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
    return Message(kind, words, body.data)


def _parsed(head: bytes) -> tuple[str, int, dict[str, Any]]:
    try:
        if len(head) > MAX_PIECE:
            raise ValueError
        said = json.loads(head.decode(), parse_constant=_no_number)
        json.dumps(said, ensure_ascii=False).encode()  # no half of a surrogate pair
        kind, size, words = said["kind"], said["size"], said["words"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise MessageError("the words of a message can't be read") from None
    if not (
        isinstance(kind, str)
        and type(size) is int
        and size >= 0
        and isinstance(words, dict)
        and len(said) == 3
    ):
        raise MessageError("the words of a message are of the wrong kind")
    return kind, size, words


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)
