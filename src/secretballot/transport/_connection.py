"""A caller's connection to one server."""

from __future__ import annotations

from typing import Self

from secretballot._tables import visible
from secretballot.transport._credentials import Credentials
from secretballot.transport._grpc import Address, channel_options, load_grpc, target
from secretballot.transport._line import ChannelError, Line
from secretballot.transport._message import Message
from secretballot.transport._server import HEALTH, SERVICE, SERVING
from secretballot.transport._traffic import Traffic


class Connection:
    """Calls the methods of a `Server`; it connects with the first one.

    Parameters
    ----------
    address : tuple of str and int
    credentials : Credentials, default=None
        None: the server is on the same machine, and no certificates are shown.
    server_name : str, default=None
        What the server's certificate must name; None: the host of the address.
    """

    def __init__(
        self,
        address: Address,
        *,
        credentials: Credentials | None = None,
        server_name: str | None = None,
    ) -> None:
        grpc = load_grpc()
        made = grpc.local_channel_credentials() if credentials is None else credentials.for_caller()
        self.address = address
        self.traffic = Traffic()
        self._channel = grpc.secure_channel(target(address), made, channel_options(server_name))

    def open(self, method: str, *, timeout: float | None = None) -> Line:
        """Return a line to a method, to be closed by the caller.

        Parameters
        ----------
        method : str
        timeout : float, default=None
            Seconds until gRPC ends it, on both sides; None: when one side closes it.
        """
        line = Line("", self.traffic)
        sent = line.pieces(line.outgoing())
        call = self._channel.stream_stream(f"/{SERVICE}/{method}")(sent, timeout=timeout)
        return line.attach(call, call.cancel)

    def ask(self, method: str, message: Message, *, timeout: float, max_bytes: int = 0) -> Message:
        """Send one message to a method, and return its one answer.

        Parameters
        ----------
        method : str
        message : Message
        timeout : float
            Seconds for both.
        max_bytes : int, default=0
            The longest body of the answer.
        """
        line = self.open(method, timeout=timeout)
        try:
            line.send(message)
            line.end()
            return line.receive(None, max_bytes)
        finally:
            line.close()

    def check_health(self, *, timeout: float) -> None:
        """Raise `ChannelError` unless the server says that it serves (gRPC's health protocol)."""
        grpc = load_grpc()
        try:
            said = self._channel.unary_unary(HEALTH)(b"", timeout=timeout)
        except grpc.RpcError as error:
            raise ChannelError(
                f"{target(self.address)} does not serve ({visible(str(error.details()))})"
            ) from None
        if said != SERVING:
            raise ChannelError(f"{target(self.address)} does not serve")

    def close(self) -> None:
        """End all lines."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
