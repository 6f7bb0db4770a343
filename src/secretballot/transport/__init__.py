"""Connections between processes: gRPC over mutual TLS, with limits, deadlines and health.

A server has methods; a caller opens a line to one of them, on which both sides send messages until
one closes it. Who calls is known by its certificate alone.

>>> from secretballot.transport import Connection, Credentials, Message, Server
>>> def double(line):  # a method: takes a line, and yields messages
...     asked = line.receive(timeout=10, max_bytes=2**20)
...     yield Message("doubled", {"caller": line.caller}, bytes(asked.body) * 2)
>>> with Server(("127.0.0.1", 0), {"double": double}) as server:
...     with Connection(server.address) as connection:
...         asked = Message("please", {}, b"abc")
...         answer = connection.ask("double", asked, timeout=10, max_bytes=6)
...         connection.check_health(timeout=10)
>>> answer.kind, answer.words, bytes(answer.body)
('doubled', {'caller': ''}, b'abcabc')

Between machines both sides have `Credentials`, and the server the names that it knows::

    credentials = Credentials("authority.pem", "north.pem", "north.key")
    Server(address, methods, credentials=credentials, names={"north", "south"})
    Connection(address, credentials=credentials, server_name="votes.example.org")

`Server` refuses a certificate that names none of them, or two. For an exchange of several messages
`Connection.open` returns a `Line`; a method then yields from ``line.outgoing()`` while other
threads use ``line.ask``. What goes wrong closes the line and raises `ChannelError`. Words of a
message are JSON, and checking them is up to their reader; its body is bytes, of which a reader
accepts as many as it says (`max_bytes`), and a server as many as its own `max_bytes` in all calls.
"""

from secretballot.transport._connection import Connection
from secretballot.transport._credentials import Credentials
from secretballot.transport._line import MAX_SECONDS, ChannelError, Line
from secretballot.transport._message import MAX_PIECE, Message, MessageError
from secretballot.transport._server import Server
from secretballot.transport._traffic import Traffic

__all__ = [
    "ChannelError",
    "Connection",
    "Credentials",
    "Line",
    "MAX_PIECE",
    "MAX_SECONDS",
    "Message",
    "MessageError",
    "Server",
    "Traffic",
]
