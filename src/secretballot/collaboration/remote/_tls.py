"""Connections on which both sides have shown who they are."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Collection

from secretballot.collaboration.remote._channel import ChannelError
from secretballot.computing import certificate_names


def shake_hands(
    plain: socket.socket,
    context: ssl.SSLContext,
    timeout: float,
    *,
    server_name: str | None = None,
) -> ssl.SSLSocket:
    """Return a socket on which both sides are known; ChannelError if they don't become so.

    Parameters
    ----------
    plain : socket
        Closed if that fails.
    context : SSLContext
    timeout : float
        Seconds in all.
    server_name : str, default=None
        What the server's certificate must say; None on the server's side.
    """
    plain.settimeout(timeout)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wrapped = context.wrap_socket(
            plain,
            server_side=server_name is None,
            server_hostname=server_name,
            do_handshake_on_connect=False,
            suppress_ragged_eofs=False,
        )
    except (OSError, ValueError) as error:
        plain.close()
        raise ChannelError(f"no secure connection ({error})") from None
    try:
        wrapped.do_handshake()
    except (OSError, ValueError) as error:
        wrapped.close()
        raise ChannelError(f"no secure connection ({error})") from None
    return wrapped


def reach(
    address: tuple[str, int], context: ssl.SSLContext, timeout: float, server_name: str
) -> ssl.SSLSocket:
    """Return a socket to a server that has shown who it is; ChannelError if there is none."""
    try:
        plain = socket.create_connection(address, timeout)
    except OSError as error:
        raise ChannelError(f"nobody is at {address}: {error}") from None
    return shake_hands(plain, context, timeout, server_name=server_name)


def name_of(secure: ssl.SSLSocket, expected: Collection[str]) -> str:
    """Return who is at the other end, by its certificate alone.

    Raises
    ------
    ChannelError
        If the certificate names none of those expected, or several of them.
    """
    names = certificate_names(secure.getpeercert())
    known = sorted(names & set(expected))
    if len(known) != 1:
        which = f"more than one party, {known}" if known else "no party that is expected"
        raise ChannelError(f"the certificate of {sorted(names)} names {which}")
    return str(known[0])
