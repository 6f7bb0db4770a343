"""Delivery of a voter's shares to the three computing parties, and their withdrawal."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._shared_vote import SharedVote
from secretballot.computing._shares import split
from secretballot.transport import Address, ChannelError, Connection, Credentials, Message, Stream


@dataclass(frozen=True)
class Contribution:
    """A voter's numbers of one motion, with its part of the noise, and the terms of the vote."""

    vote: SharedVote
    numbers: NDArray[np.int64]


@dataclass(frozen=True)
class Recipients:
    """The computing parties of one vote.

    A voter on another machine must have their addresses itself: a coordinator that named them to it
    could name three of its own. A computing party takes shares for these three in this order only.

    Attributes
    ----------
    session : str
        Name under which they collect shares; of one attempt to vote, never used again.
    addresses : tuple of (str, int)
        Host and port of each.
    token : str
        Secret that processes of one machine know; empty with certificates.
    timeout : float
        Seconds to hand its share to any one of them.
    credentials : Credentials or None
        With the voter's own certificate.
    """

    session: str
    addresses: tuple[Address, ...]
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    credentials: Credentials | None = field(default=None, repr=False, compare=False)


def deliver(name: str, contributions: Sequence[Contribution], recipients: Recipients) -> None:
    """Share a voter's numbers among the computing parties, and check that they arrive unaltered.

    Raises
    ------
    ChannelError
        If one of them has not got its share.
    """
    shares = [split(part.numbers) for part in contributions]
    addresses = [list(address) for address in recipients.addresses]
    votes = [part.vote.fields() for part in contributions]
    for at, address in enumerate(recipients.addresses):
        body = b"".join(share[at].tobytes() for share in shares)
        fields = {"at": at, "panel": addresses, "votes": votes}
        with _stream(name, recipients, address, "share", fields) as (stream, hello):
            stream.ask(hello, "send", timeout=recipients.timeout)
            answer = stream.ask(Message("shares", {}, body), "added", timeout=recipients.timeout)
        if answer.fields.get("digest") != hashlib.sha256(body).hexdigest():
            raise ChannelError(f"{address}: the share of {name!r} was altered on the way.")


def withdraw(name: str, recipients: Recipients) -> bool:
    """Return True if a computing party confirms that it opened nothing, and never will.

    One of them is enough: all three are needed to open a vote. The coordinator is not asked.
    """
    for address in recipients.addresses:
        with (
            contextlib.suppress(ChannelError),
            _stream(name, recipients, address, "withdraw", {}) as (stream, hello),
        ):
            stream.ask(hello, "withdrawn", timeout=recipients.timeout)
            return True
    return False


@contextlib.contextmanager
def _stream(
    name: str, recipients: Recipients, address: Address, method: str, fields: dict[str, object]
) -> Iterator[tuple[Stream, Message]]:
    """Yield a stream to a computing party, and the voter's first message on it."""
    fields = {**fields, "name": name, "session": recipients.session, "token": recipients.token}
    with Connection(address, credentials=recipients.credentials) as connection:
        stream = connection.open(method)
        try:
            yield stream, Message(method, fields)
        finally:
            stream.close()
