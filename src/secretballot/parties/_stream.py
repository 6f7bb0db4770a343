"""Streams of messages in both directions, until one side closes them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, NoReturn, Self

from secretballot._base._tables import visible
from secretballot.parties._grpc import load_grpc
from secretballot.parties._message import Message, MessageError, read_message

if TYPE_CHECKING:
    import grpc

log = logging.getLogger("secretballot.parties")

#: The longest timeout, a week: threads can't wait for longer ones.
MAX_SECONDS = 7 * 86_400.0
#: The longest quotation of a message's kind in an error.
_QUOTED = 40


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
        """Count messages and bytes."""
        with self._lock:
            self.n_messages += n_messages
            self.n_bytes += n_bytes


class Stream:
    """Messages between two processes; any error closes it.

    `caller` is the name in the caller's certificate, and empty on the caller's own side.
    `count_memory` is called with a number of bytes before they are stored, and raises if they are
    too many; it is called with a negative number when they are released.
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
        """Take the pieces that gRPC receives, and its function that ends the call."""
        self._incoming, self._cancel = incoming, cancel
        return self

    @property
    def is_closed(self) -> bool:
        """True when nothing can be sent any more."""
        return self._closed.is_set()

    def wait_closed(self) -> None:
        """Wait until one side closes it."""
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

        It must come as a whole within `timeout` seconds, have a body of at most `max_bytes`, and be
        of one of some kinds, if any are given.
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
            self.fail(f"{message.kind[:_QUOTED]!r} came instead of {kinds[0]!r}")
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
    """Describe the status with which gRPC ended a call."""
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
