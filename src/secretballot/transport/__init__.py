"""Connections between processes: gRPC over mutual TLS, with limits and deadlines.

A server has methods. A caller opens a stream to one of them, on which both sides send messages
until one closes it. Callers are identified by their certificates alone::

    def double(stream):
        request = stream.receive(timeout=10, max_bytes=2**20)
        stream.send(Message("doubled", {"caller": stream.caller}, bytes(request.body) * 2))

    with Server(address, {"double": double}, credentials=own, names=["north"]) as server:
        with Connection(server.address, credentials=of_north) as connection:
            request = Message("please", {}, b"abc")
            answer = connection.ask("double", request, timeout=10, max_bytes=6)

For an exchange of several messages `Connection.open` returns a `Stream`. Errors close it and raise
`ChannelError`. The fields of a message are JSON, which `read_field` checks. Its body is bytes; a
reader states the longest one that it accepts (`max_bytes`), and a server the memory of all its
calls. A server answers gRPC's health check too.
"""

from secretballot.transport._connection import Connection
from secretballot.transport._credentials import Credentials
from secretballot.transport._grpc import SILENCE
from secretballot.transport._message import (
    MAX_PIECE,
    Buffer,
    Fields,
    Message,
    MessageError,
    read_field,
)
from secretballot.transport._server import DaemonThreads, Server
from secretballot.transport._stream import MAX_SECONDS, ChannelError, Stream, Traffic

__all__ = [
    "Buffer",
    "ChannelError",
    "Connection",
    "Credentials",
    "DaemonThreads",
    "Fields",
    "MAX_PIECE",
    "MAX_SECONDS",
    "Message",
    "MessageError",
    "SILENCE",
    "Server",
    "Stream",
    "Traffic",
    "read_field",
]
