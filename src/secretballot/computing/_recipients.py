"""Where a voter sends its shares, and how it does."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._ballots import SharedVote
from secretballot.computing._server import Address
from secretballot.computing._shares import N_COMPUTING, split
from secretballot.transport import ChannelError, Connection, Credentials, Message


@dataclass(frozen=True)
class Recipients:
    """The computing parties of one vote.

    A voter on another machine must know their addresses itself: whoever may name all three to it
    may name three of his own. A computing party takes shares for these three in this order only.

    Attributes
    ----------
    session : str
        Under which they collect shares; of one attempt to vote, never used again.
    addresses : tuple of (str, int)
        Host and port of each.
    token : str
        What proves to processes of one machine that the sender may send; empty with certificates.
    timeout : float
        Seconds to hand its share to any one of them.
    credentials : Credentials or None
        With the voter's own certificate; it stays where it is.
    """

    session: str
    addresses: tuple[Address, ...]
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    credentials: Credentials | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Part:
    """A voter's numbers of one motion, and the terms on which it gives them.

    Attributes
    ----------
    vote : SharedVote
    numbers : ndarray of int64 of shape (n_rows, n_columns)
        Its ballots, with its part of the noise in them.
    """

    vote: SharedVote
    numbers: NDArray[np.int64]


def deliver(name: str, parts: Sequence[Part], recipients: Recipients) -> None:
    """Share a voter's numbers among the computing parties, and see that they arrive unaltered.

    Parameters
    ----------
    name : str
        Of the voter.
    parts : sequence of Part
        One for each motion that it votes on.
    recipients : Recipients

    Raises
    ------
    ChannelError
        If one of them has not got its share.
    """
    shares = [split(part.numbers) for part in parts]
    addresses = [list(each) for each in recipients.addresses]
    for at in range(N_COMPUTING):
        body = b"".join(each[at].tobytes() for each in shares)
        words = {"at": at, "panel": addresses, "votes": [part.vote.words() for part in parts]}
        with _line(name, recipients, at, "share", words) as (line, hello):
            line.ask(hello, "send", timeout=recipients.timeout)
            said = line.ask(Message("shares", {}, body), "added", timeout=recipients.timeout)
        if said.words.get("digest") != hashlib.sha256(body).hexdigest():
            where = recipients.addresses[at]
            raise ChannelError(f"{where}: the share of {name!r} was altered on the way.")


def withdraw(name: str, recipients: Recipients) -> bool:
    """Return whether nothing of a vote was opened, and nothing ever will be.

    So says a computing party itself, and one of them is enough: all three are needed to open.
    Whoever holds the vote need not be believed.

    Parameters
    ----------
    name : str
        Of a voter.
    recipients : Recipients
    """
    for at in range(N_COMPUTING):
        with (
            contextlib.suppress(ChannelError),
            _line(name, recipients, at, "withdraw", {}) as (line, hello),
        ):
            line.ask(hello, "withdrawn", timeout=recipients.timeout)
            return True
    return False


@contextlib.contextmanager
def _line(name: str, recipients: Recipients, at: int, method: str, words: dict[str, Any]) -> Any:
    """Yield a line to a computing party, and what the voter says first."""
    said = {**words, "name": name, "session": recipients.session, "token": recipients.token}
    with Connection(recipients.addresses[at], credentials=recipients.credentials) as connection:
        line = connection.open(method)
        try:
            yield line, Message(method, said)
        finally:
            line.close()
