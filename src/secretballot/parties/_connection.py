"""Connections of a caller to one server."""

from __future__ import annotations

from contextlib import closing
from typing import Self

from secretballot.parties._credentials import Credentials
from secretballot.parties._grpc import SILENCE, Address, channel_options, load_grpc, target
from secretballot.parties._message import Message
from secretballot.parties._server import SERVICE
from secretballot.parties._stream import Stream, Traffic


class Connection:
    """Connection to a `Server`, made with the first call of a method.

    The server's certificate must have the name `server_name`, by default the host of the address. A
    server that shows no sign of life for `silence` seconds is lost.
    """

    def __init__(
        self,
        address: Address,
        *,
        credentials: Credentials,
        server_name: str | None = None,
        silence: float = SILENCE,
    ) -> None:
        self._channel = load_grpc().secure_channel(
            target(address), credentials.for_caller(), channel_options(server_name, silence)
        )

    def open(self, method: str, *, timeout: float | None = None) -> Stream:
        """Open a stream to a method. gRPC ends it on both sides after `timeout` seconds."""
        stream = Stream("", Traffic())
        call = self._channel.stream_stream(f"/{SERVICE}/{method}")(
            stream.sent_pieces(), timeout=timeout
        )
        return stream.attach(call, call.cancel)

    def ask(self, method: str, message: Message, *, timeout: float, max_bytes: int = 0) -> Message:
        """Send one message to a method, and return its answer with a body of limited length."""
        with closing(self.open(method, timeout=timeout)) as stream:
            stream.send(message)
            stream.end()
            return stream.receive(None, max_bytes)

    def close(self) -> None:
        """End all streams."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
