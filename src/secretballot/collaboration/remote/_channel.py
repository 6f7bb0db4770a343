"""A connection on which messages are exchanged, each within its time."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading
import time
from typing import Any, NoReturn

import numpy as np

from secretballot.collaboration.remote._message import START, Message, MessageError, lengths, read
from secretballot.collaboration.remote._traffic import Traffic

#: What is handed to the socket at once.
_PIECE = 2**20
#: Of what the other side wrote, so much is told on to third ones.
_QUOTED = 40


class ChannelError(ConnectionError):
    """The other side can't be reached, is late, or says what is no message.

    The connection is closed by then: nothing that comes later counts.
    """


class Channel:
    """Messages over one TLS connection; whatever goes wrong closes it.

    Whoever asks is answered before it asks again, and numbers tell which answer is to what.

    Parameters
    ----------
    secure : SSLSocket
        After its handshake.
    timeout : float
        Seconds that one message may take.
    max_bytes : int
        The longest message.
    traffic : Traffic, default=None
        Where messages are counted.
    """

    def __init__(
        self,
        secure: ssl.SSLSocket,
        timeout: float,
        max_bytes: int,
        traffic: Traffic | None = None,
    ) -> None:
        self.timeout = timeout
        self.max_bytes = max_bytes
        self._traffic = Traffic() if traffic is None else traffic
        self._secure = secure
        self._asked = self._heard = 0
        #: Held from a message to its answer; whoever holds it has several in a row.
        self.held = threading.RLock()
        self._closed = threading.Event()

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be said any more."""
        return self._closed.is_set()

    def ask(self, message: Message, *kinds: str, timeout: float | None = None) -> Message:
        """Send a message and return the answer to it, which must be of one of some kinds."""
        with self.held:
            self._send(message, self._asked + 1)
            self._asked += 1
            number, answer = self._receive(self.timeout if timeout is None else timeout)
            if number != self._asked or answer.kind not in kinds:
                self._fail(f"{answer.kind[:_QUOTED]!r} is no answer to {message.kind!r}")
            return answer

    def hear(self, timeout: float) -> Message:
        """Return the next message that wants an answer; `timeout` is how long to wait for it."""
        with self.held:
            number, message = self._receive(timeout)
            if number != self._heard + 1:
                self._fail(f"a message came out of turn, after {self._heard}")
            self._heard = number
            return message

    def answer(self, message: Message) -> None:
        """Answer what was heard."""
        with self.held:
            self._send(message, self._heard)

    def is_silent(self) -> bool:
        """Whether the other side is still there, and waits as it should."""
        with self.held:
            return not (self.is_closed or self._secure.pending() or self._speaks(0))

    def watch(self, seconds: float) -> bool:
        """Return whether the other side is still there after that time, at once if it is not."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            # It speaks if it is asked, by another thread, and is silent when that is done.
            if self._speaks(left) and not self.is_silent():
                return False
        return True

    def _speaks(self, seconds: float) -> bool:
        with selectors.DefaultSelector() as selector:
            try:
                selector.register(self._secure, selectors.EVENT_READ)
            except (OSError, ValueError):  # closed
                return True
            return bool(selector.select(seconds))

    def refuse(self, why: str) -> NoReturn:
        """End the exchange because of what came."""
        self._fail(why)

    def close(self) -> None:
        """Close the connection; who waits for a message in another thread is woken."""
        self._closed.set()
        with contextlib.suppress(OSError):
            # Not the SSLSocket's own, which would go on in plain text.
            socket.socket.shutdown(self._secure, socket.SHUT_RDWR)
        with self.held:
            self._secure.close()

    def _send(self, message: Message, number: int) -> None:
        parts = message.parts(number)
        size = sum(map(len, parts))
        if size > self.max_bytes:
            raise ValueError(
                f"a message of {size:,} bytes is longer than max_bytes={self.max_bytes:,}; ask "
                "about fewer rows at once, or let both sides allow more."
            )
        end = time.monotonic() + self.timeout
        try:
            for part in _joined(parts):
                view = memoryview(part)
                while view:
                    self._until(end)
                    view = view[self._secure.send(view[:_PIECE]) :]
        except (OSError, ValueError) as error:
            self._lost(error)
        self._traffic.add(size)

    def _receive(self, timeout: float) -> tuple[int, Message]:
        try:
            start = self._read(START, time.monotonic() + timeout)
            # The rest of a message that has begun has a time of its own.
            end = time.monotonic() + self.timeout
            words, size = lengths(start.tobytes(), self.max_bytes)
            said, body = self._read(words, end).tobytes(), self._read(size, end)
            self._traffic.add(START + words + size)
            return read(said, body)
        except MessageError as error:
            self._fail(str(error))
        except (OSError, ValueError) as error:
            self._lost(error)

    def _read(self, size: int, end: float) -> Any:
        buffer = np.empty(size, np.uint8)  # of which memory is taken as it fills
        view = buffer.data
        while view:
            self._until(end)
            got = self._secure.recv_into(view)
            if not got:
                raise ConnectionResetError("it ended")
            view = view[got:]
        return buffer

    def _until(self, end: float) -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if self.is_closed:
            raise ConnectionResetError("it was closed here")
        self._secure.settimeout(left)

    def _lost(self, error: Exception) -> NoReturn:
        if isinstance(error, TimeoutError):
            self._fail("no message came, or could be sent, in time")
        if "BAD_RECORD_MAC" in str(error) or "DECRYPT" in str(error):
            self._fail("a message was altered on its way")
        self._fail(f"the connection was lost ({_short(error)})")

    def _fail(self, why: str) -> NoReturn:
        self.close()
        raise ChannelError(why)


def _short(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or type(error).__name__
    return str(error) or type(error).__name__


def _joined(parts: list[Any]) -> list[Any]:
    """Return the same bytes in fewer pieces, without copying what is large."""
    if sum(map(len, parts)) <= _PIECE:
        return [b"".join(parts)]
    return parts
