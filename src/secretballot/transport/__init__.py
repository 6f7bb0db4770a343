"""Connections between processes: gRPC over mutual TLS, with limits and deadlines.

A server has methods. A caller opens a stream to one of them, on which both sides send messages
until one closes it. Callers are identified by their certificates alone.

>>> from secretballot.transport import Connection, Message, Server
>>> def double(stream):
...     request = stream.receive(timeout=10, max_bytes=2**20)
...     stream.send(Message("doubled", {"caller": stream.caller}, bytes(request.body) * 2))
>>> with Server(("127.0.0.1", 0), {"double": double}) as server:
...     with Connection(server.address) as connection:
...         request = Message("please", {}, b"abc")
...         answer = connection.ask("double", request, timeout=10, max_bytes=6)
>>> answer.kind, answer.fields, bytes(answer.body)
('doubled', {'caller': ''}, b'abcabc')

Between machines both sides have `Credentials`, and the server the names of all callers. For an
exchange of several messages `Connection.open` returns a `Stream`. Errors close it and raise
`ChannelError`. The fields of a message are JSON, which `read_field` checks. Its body is bytes; a
reader states the longest one that it accepts (`max_bytes`), and a server the memory of all its
calls. A server answers gRPC's health check too.
"""

from secretballot.transport._connection import Connection
from secretballot.transport._credentials import Credentials
from secretballot.transport._grpc import SILENCE, Address
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
    "Address",
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
