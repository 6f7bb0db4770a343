"""Messages, and streams of them in both directions, until one side closes them."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar, get_args, get_origin

import numpy as np

from secretballot._base._view import visible

if TYPE_CHECKING:
    import grpc

#: The longest piece of a message, and so the longest fields.
MAX_PIECE = 2**20
#: Length of fields that every reader accepts.
_SHORT_FIELDS = 2**16
#: Decoded JSON takes up to 32 times its length. Longer fields are accepted up to this part of the
#: longest body, so that they take at most four times as much as that.
_FIELDS_PART = 8
#: The longest quotations of a field, and of a message's kind, in an error.
_QUOTED_FIELD, _QUOTED_KIND = 60, 40

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
    """Read the next message; `count` gets the length of each piece before it is stored."""
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
    """Return a field of a type of JSON's, such as ``list[str]``, or raise `MessageError`.

    ``int`` accepts whole numbers from 0 on.
    """
    value = fields.get(name)
    if not _is_of_type(value, kind):
        raise MessageError(f"{name}={repr(value)[:_QUOTED_FIELD]} is not of the expected type")
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


log = logging.getLogger("secretballot.parties")

#: The longest timeout, a week: threads can't wait for longer ones.
MAX_SECONDS = 7 * 86_400.0


def load_grpc() -> ModuleType:
    """Import gRPC; the ImportError names the extra that installs it."""
    try:
        import cryptography  # noqa: F401 - reads callers' certificates
        import grpc
    except ImportError as error:
        raise ImportError(
            "Connections between processes need grpcio and cryptography: "
            "install the extra `remote` of this package."
        ) from error
    module: ModuleType = grpc
    return module


class ChannelError(ConnectionError):
    """The other side can't be reached, is late, refuses, or sends what is no message.

    The stream is closed by then: nothing that comes later counts.
    """


#: Errors whose text is sent to the other side.
REFUSALS = (PermissionError, MessageError, ChannelError)


@dataclass
class Traffic:
    """Numbers of messages and bytes sent and received, before encryption."""

    n_messages: int = 0
    n_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, n_messages: int, n_bytes: int) -> None:
        with self._lock:
            self.n_messages += n_messages
            self.n_bytes += n_bytes


class Stream:
    """Messages between two processes; any error closes it.

    `caller` is the name in the caller's certificate, and empty on the caller's own side.
    `count_memory` gets a number of bytes before they are stored, and raises if they are too many;
    it gets a negative number when they are released.
    """

    def __init__(
        self, caller: str, traffic: Traffic, count_memory: Callable[[int], None] = lambda size: None
    ) -> None:
        self.caller = caller
        #: The error that ended it, if any; without a traceback, whose frames hold messages.
        self.error: Exception | None = None
        self._traffic, self._count_memory, self._n_stored = traffic, count_memory, 0
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._closed = threading.Event()
        self._is_late = False
        self._n_received = 0
        self._incoming: Iterator[bytes] = iter(())
        self._cancel: Callable[[], object] = lambda: None

    def attach(self, incoming: Iterator[bytes], cancel: Callable[[], object]) -> Self:
        self._incoming, self._cancel = incoming, cancel
        return self

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def wait_closed(self) -> None:
        self._closed.wait()

    def send(self, message: Message) -> None:
        """Send a message; it may still be lost."""
        message.head()  # raises if it can't be sent
        self._queue.put(message)

    def end(self) -> None:
        """Send nothing more, and go on receiving."""
        self._queue.put(None)

    def sent_pieces(self) -> Iterator[bytes]:
        """Yield the pieces of messages that are sent, until the stream is closed."""
        while (message := self._queue.get()) is not None:
            for piece in message.pieces():
                self._traffic.add(0, len(piece))
                yield piece
            self._traffic.add(1, 0)

    def receive(
        self, timeout: float | None, max_bytes: int = 0, kinds: tuple[str, ...] = ()
    ) -> Message:
        """Return the next message, or raise `ChannelError`.

        It must come as a whole within `timeout` seconds, and be of one of the `kinds`, if any.
        """
        with self._deadline(timeout):
            self._release_memory()
            try:
                message = read_message(self._incoming, max_bytes, self._store)
            except MessageError as error:
                self.fail(str(error))
            except StopIteration:
                self.fail("the connection was lost")
            except load_grpc().RpcError as error:
                self.fail(_error_text(error, is_begun=self._n_received > 0))
            finally:
                if self.is_closed:
                    self._release_memory()
            self._n_received += 1
            self._traffic.add(1, 0)
        if kinds and message.kind not in kinds:
            self.fail(f"{message.kind[:_QUOTED_KIND]!r} came instead of {kinds[0]!r}")
        return message

    def ask(
        self, message: Message, *kinds: str, timeout: float | None, max_bytes: int = 0
    ) -> Message:
        """Send a message, and return the answer, which must be of one of some kinds."""
        self.send(message)
        return self.receive(timeout, max_bytes, kinds)

    def run(self, method: Callable[[Stream], None]) -> None:
        """Call a server's method with this stream, and end it when the method returns."""
        try:
            method(self)
        except REFUSALS as error:
            self.error = type(error)(str(error))
        except BaseException as error:
            log.exception("%r: a fault of the server's own", self.caller)
            self.error = RuntimeError(type(error).__name__)
        finally:
            self.finish()

    def fail(self, reason: str) -> NoReturn:
        """Send and accept nothing more because of an error."""
        text = "no message came in time" if self._is_late else reason
        self.error = ChannelError(text)
        self.finish()
        raise ChannelError(text) from None

    def finish(self) -> None:
        """Send and accept nothing more; messages sent before still arrive."""
        self._closed.set()
        self._queue.put(None)
        self._release_memory()

    def close(self) -> None:
        """End the call; a thread that waits for a message is woken."""
        self.finish()
        self._cancel()

    def _store(self, size: int) -> None:
        self._count_memory(size)
        self._n_stored += size
        self._traffic.add(0, size)

    def _release_memory(self) -> None:
        released, self._n_stored = self._n_stored, 0
        self._count_memory(-released)

    @contextmanager
    def _deadline(self, timeout: float | None) -> Iterator[None]:
        if timeout is None:
            yield
            return

        def end() -> None:
            self._is_late = True
            self.close()

        timer = threading.Timer(timeout, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _error_text(error: grpc.RpcError, is_begun: bool) -> str:
    if not hasattr(error, "code"):  # on the server's side, where the caller is gone
        return "the connection was lost"
    status, code, details = load_grpc().StatusCode, error.code(), visible(str(error.details()))
    if code == status.DEADLINE_EXCEEDED:
        return "no message came in time"
    if code == status.UNAVAILABLE and not is_begun:
        return f"no connection ({details})"
    if code in (status.UNAVAILABLE, status.CANCELLED, status.UNKNOWN):
        return f"the connection was lost ({details})"
    return f"the other side refused: {details}"
