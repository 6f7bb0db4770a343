"""Where a voter sends its shares, and how it does."""

from __future__ import annotations

import contextlib
import hashlib
import ssl
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._shares import N_COMPUTING, as_bytes, split
from secretballot.computing._wire import Address, Line, LineError


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
        What proves to processes of one machine that the sender may send; empty with TLS.
    timeout : float
        Seconds that any one step may take.
    context : SSLContext or None
        With the voter's own certificate; it stays where it is.
    """

    session: str
    addresses: tuple[Address, ...]
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    context: ssl.SSLContext | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Part:
    """A voter's numbers of one motion, and what it gives them for.

    Attributes
    ----------
    columns : tuple of int
        Positions of the classes or labels that they are about.
    numbers : ndarray of int64 of shape (n_rows, n_columns)
        Its ballots, with its part of the noise in them.
    how : {"plurality", "negative"}
        What may be opened: the lowest position of the largest number of each row; or, of each
        number, 1 where it is below 0, else 0.
    voters : collection of str
        Among whom the noise was divided; sums of others are not opened.
    bits : int
        How long the differences that are compared are at most, with their sign: they are hidden as
        numbers of that length.
    """

    columns: tuple[int, ...]
    numbers: NDArray[np.int64]
    how: str
    voters: Collection[str]
    bits: int


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
    LineError
        If one of them has not got its share.
    """
    shares = [split(part.numbers) for part in parts]
    for at in range(N_COMPUTING):
        body = b"".join(as_bytes(each[at]) for each in shares)
        words: dict[str, Any] = {
            "do": "share",
            "session": recipients.session,
            "name": name,
            "at": at,
            "panel": [list(each) for each in recipients.addresses],
            "parts": [
                {
                    "columns": list(part.columns),
                    "shape": list(part.numbers.shape),
                    "how": part.how,
                    "voters": sorted(part.voters),
                    "bits": part.bits,
                }
                for part in parts
            ],
        }
        reply = _told(name, recipients, at, words, body)
        if reply.get("digest") != hashlib.sha256(body).hexdigest():
            where = recipients.addresses[at]
            raise LineError(f"{where}: the share of {name!r} was altered on the way.")


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
    words = {"do": "withdraw", "session": recipients.session, "name": name}
    for at in range(N_COMPUTING):
        with contextlib.suppress(LineError):
            _told(name, recipients, at, words)
            return True
    return False


def _told(
    name: str, recipients: Recipients, at: int, words: dict[str, Any], body: bytes = b""
) -> dict[str, Any]:
    """Return a computing party's reply to a voter."""
    hello = {"role": "voter", "name": name, "token": recipients.token}
    line = Line(recipients.addresses[at], hello, recipients.timeout, recipients.context)
    try:
        return line.ask(words, body)[0]
    finally:
        line.close()
