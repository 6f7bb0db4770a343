"""Messages between programs: a few words in JSON, and shares as bytes."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from typing import Any

Address = tuple[str, int]

_HEAD = struct.Struct(">II")

#: The longest header, and the longest body, that anybody sends.
_MOST_WORDS, _MOST_BYTES = 2**20, 2**31


class LineError(RuntimeError):
    """A computing party can't be reached, broke off, or refused."""


def packed(words: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a message as it is sent."""
    header = json.dumps(words).encode()
    return b"".join((_HEAD.pack(len(header), len(body)), header, body))


def _lengths(head: bytes, most_words: int, most_bytes: int) -> tuple[int, int]:
    n_words, n_bytes = _HEAD.unpack(head)
    if n_words > most_words or n_bytes > most_bytes:
        raise LineError(f"a message of {n_words} + {n_bytes} bytes is too long.")
    return n_words, n_bytes


def _words(header: bytes) -> dict[str, Any]:
    try:
        words = json.loads(header)
    except ValueError as error:
        raise LineError("a message is not JSON.") from error
    if not isinstance(words, dict):
        raise LineError("a message is no object of JSON.")
    return words


async def read_message(
    reader: asyncio.StreamReader, most_words: int = _MOST_WORDS, most_bytes: int = _MOST_BYTES
) -> tuple[dict[str, Any], bytes]:
    """Return the next message; `asyncio.IncompleteReadError` at the end of the line."""
    n_words, n_bytes = _lengths(await reader.readexactly(_HEAD.size), most_words, most_bytes)
    words = _words(await reader.readexactly(n_words))
    return words, await reader.readexactly(n_bytes)


class Line:
    """A line to a computing party.

    Parameters
    ----------
    address : tuple of str and int
        Host and port.
    hello : dict
        Who calls, and what proves that it may.
    timeout : float
        Seconds that any one step may take.
    context : SSLContext or None
        Mutual TLS; None on one machine.
    """

    def __init__(
        self,
        address: Address,
        hello: dict[str, Any],
        timeout: float,
        context: ssl.SSLContext | None = None,
    ) -> None:
        host, port = address
        self.address = (host, int(port))
        try:
            self._socket = socket.create_connection(self.address, timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except OSError as error:
            raise LineError(f"{host}:{port} can't be reached ({error}).") from error
        try:
            self.ask(hello)
        except BaseException:
            self.close()
            raise

    def send(self, words: dict[str, Any], body: bytes = b"") -> None:
        """Send a message."""
        try:
            self._socket.sendall(packed(words, body))
        except OSError as error:
            raise self._broken(error) from error

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Return the next message; LineError if it is a refusal, or none comes."""
        try:
            n_words, n_bytes = _lengths(self._exactly(_HEAD.size), _MOST_WORDS, _MOST_BYTES)
            words, body = _words(self._exactly(n_words)), self._exactly(n_bytes)
        except OSError as error:
            raise self._broken(error) from error
        if "error" in words:
            raise LineError(f"{self}: {words['error']}")
        return words, body

    def ask(self, words: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """Send a message, and return the reply."""
        self.send(words, body)
        return self.receive()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = self._socket.recv(min(count, 2**20))
            if not part:
                raise ConnectionError("it hung up")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _broken(self, error: OSError) -> LineError:
        return LineError(f"{self}: the line broke ({error}).")

    def __str__(self) -> str:
        return "{}:{}".format(*self.address)
