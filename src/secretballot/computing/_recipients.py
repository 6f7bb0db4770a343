"""Where a voter sends its shares, and how it does."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Mapping
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
    may name three of his own.

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


def deliver(
    name: str, values: Mapping[tuple[int, ...], NDArray[np.int64]], recipients: Recipients
) -> None:
    """Share a voter's numbers among the computing parties, and see that they arrive unaltered.

    Parameters
    ----------
    name : str
        Of the voter.
    values : dict of tuple of int to ndarray of shape (n_rows, n_columns)
        Its numbers, by the positions of the classes or labels that they are about.
    recipients : Recipients

    Raises
    ------
    LineError
        If one of them has not got its share.
    """
    shares = {columns: split(each) for columns, each in values.items()}
    for at, address in enumerate(recipients.addresses[:N_COMPUTING]):
        body = b"".join(as_bytes(each[at]) for each in shares.values())
        words: dict[str, Any] = {
            "do": "share",
            "session": recipients.session,
            "name": name,
            "parts": [[list(columns), list(each.shape)] for columns, each in values.items()],
        }
        hello = {"role": "voter", "name": name, "token": recipients.token}
        line = Line(address, hello, recipients.timeout, recipients.context)
        try:
            reply, _ = line.ask(words, body)
        finally:
            line.close()
        if reply.get("digest") != hashlib.sha256(body).hexdigest():
            raise LineError(f"{line}: the share of {name!r} was altered on the way.")
