"""A line: messages in both directions, until one side closes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, NoReturn, Self

from secretballot._tables import visible
from secretballot.transport._grpc import load_grpc
from secretballot.transport._message import Message, MessageError, read_message
from secretballot.transport._traffic import Traffic

#: The longest timeout, a week: threads can't wait for ever longer ones.
MAX_SECONDS = 7 * 86_400.0
#: Longest quotation of the other side's words in an error.
_QUOTED = 40


class ChannelError(ConnectionError):
    """The other side can't be reached, is late, refuses, or sends what is no message.

    The line is closed by then: nothing that comes later counts.
    """


class Line:
    """Messages between two processes; whatever goes wrong closes it.

    Parameters
    ----------
    caller : str
        Name of who called, by its certificate; empty on the caller's own side.
    traffic : Traffic
        Where messages are counted.
    hold : callable, default=None
        Called with a number of bytes before they are kept (raises if that is too many), and with a
        negative number when they are not needed any more.
    """

    def __init__(
        self,
        caller: str,
        traffic: Traffic,
        hold: Callable[[int], None] = lambda size: None,
    ) -> None:
        self.caller = caller
        #: Why it failed, if it did.
        self.reason: str | None = None
        #: Held from a message to its answer; whoever holds it has several in a row.
        self.held = threading.RLock()
        self._traffic, self._hold, self._n_held = traffic, hold, 0
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._closed = threading.Event()
        self._late = False
        self._n_received = 0
        self._incoming: Iterator[bytes] = iter(())
        self._cancel: Callable[[], Any] = lambda: None

    def attach(self, incoming: Iterator[bytes], cancel: Callable[[], Any]) -> Self:
        """Take what gRPC receives, and its way to end the call."""
        self._incoming, self._cancel = incoming, cancel
        return self

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be sent any more."""
        return self._closed.is_set()

    def send(self, message: Message) -> None:
        """Send a message; it may still be lost."""
        message.head()  # what can't be sent is refused here
        self._queue.put(message)

    def end(self) -> None:
        """Send nothing more, and go on receiving."""
        self._queue.put(None)

    def outgoing(self) -> Iterator[Message]:
        """Yield what is sent, until the line is closed."""
        while (message := self._queue.get()) is not None:
            yield message

    def pieces(self, messages: Iterable[Message]) -> Iterator[bytes]:
        """Yield messages as gRPC sends them."""
        for message in messages:
            for piece in message.pieces():
                self._traffic.add(0, len(piece))
                yield piece
            self._traffic.add(1, 0)

    def receive(self, timeout: float | None, max_bytes: int = 0) -> Message:
        """Return the next message.

        Parameters
        ----------
        timeout : float or None
            Seconds until it must be here as a whole; None: no limit.
        max_bytes : int, default=0
            The longest body that is accepted.

        Raises
        ------
        ChannelError
            If none comes, or something that is none.
        """
        with self.held, self._within(timeout):
            self._let_go()
            try:
                message = read_message(self._incoming, max_bytes, self._keep)
            except MessageError as error:
                self.fail(str(error))
            except StopIteration:
                self.fail("the connection was lost")
            except load_grpc().RpcError as error:
                self.fail(_reason(error, begun=self._n_received > 0))
            finally:
                if self.is_closed:
                    self._let_go()
            self._n_received += 1
            self._traffic.add(1, 0)
            return message

    def ask(
        self, message: Message, *kinds: str, timeout: float | None, max_bytes: int = 0
    ) -> Message:
        """Send a message, and return the answer, which must be of one of some kinds."""
        with self.held:
            self.send(message)
            answer = self.receive(timeout, max_bytes)
            if answer.kind not in kinds:
                self.fail(f"{answer.kind[:_QUOTED]!r} is no answer to {message.kind!r}")
            return answer

    def fail(self, why: str) -> NoReturn:
        """Send and accept nothing more because of what came."""
        self.reason = "no message came in time" if self._late else why
        self.finish()
        raise ChannelError(self.reason) from None

    def finish(self) -> None:
        """Send and accept nothing more; what was sent still arrives."""
        self._closed.set()
        self._queue.put(None)
        self._let_go()

    def close(self) -> None:
        """End the call; who waits for a message in another thread is woken."""
        self.finish()
        self._cancel()

    def _keep(self, size: int) -> None:
        self._hold(size)
        self._n_held += size
        self._traffic.add(0, size)

    def _let_go(self) -> None:
        held, self._n_held = self._n_held, 0
        self._hold(-held)

    @contextmanager
    def _within(self, timeout: float | None) -> Iterator[None]:
        if timeout is None:
            yield
            return

        def end() -> None:
            self._late = True
            self.close()

        timer = threading.Timer(timeout, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _reason(error: Any, begun: bool) -> str:
    """Return why a call ended, from the status that gRPC gives."""
    code = getattr(error, "code", lambda: None)()
    if code is None:  # on the server's side, where the caller is gone
        return "the connection was lost"
    status, details = load_grpc().StatusCode, visible(str(error.details()))
    if code == status.DEADLINE_EXCEEDED:
        return "no message came in time"
    if code == status.UNAVAILABLE and not begun:
        return f"no connection ({details})"
    if code in (status.UNAVAILABLE, status.CANCELLED, status.UNKNOWN):
        return f"the connection was lost ({details})"
    return f"the other side refused: {details}"
