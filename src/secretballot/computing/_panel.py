"""Callers of the three computing parties: the coordinator of a vote, and voters."""

from __future__ import annotations

import contextlib
import hashlib
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._shared_vote import SharedVote
from secretballot.computing._shares import N_COMPUTING, WIDTH, opened, read_shares, split
from secretballot.transport import (
    Address,
    ChannelError,
    Connection,
    Credentials,
    Message,
    Stream,
    read_field,
)

#: Calls of a computing party that starts anew after another coordinator, and seconds between them.
_CALLS, _WAIT = 30, 0.25
#: The longest answer but for shares: names of all voters.
_ANSWER = 2**23


class Panel:
    """Three connected computing parties. Any error closes the panel, and ends them.

    `token` is the secret of processes of this machine, and empty with certificates. `timeout`
    limits the seconds of any one step.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        token: str,
        timeout: float,
        credentials: Credentials | None = None,
    ) -> None:
        self.addresses = tuple((host, int(port)) for host, port in addresses)
        assert len(self.addresses) == N_COMPUTING
        self.closed = False
        self._timeout = timeout
        self._connections: list[Connection] = []
        self._streams: list[Stream] = []
        try:
            for address in self.addresses:
                self._streams.append(self._call(address, token, credentials))
            self._ask("join", "joined", addresses=list(map(list, self.addresses)))
        except BaseException:
            self.close()
            raise

    def begin(self, votes: Sequence[SharedVote]) -> str:
        """Begin a vote and return its name; shares of an earlier one are forgotten."""
        session = uuid.uuid4().hex
        self._ask("begin", "begun", session=session, votes=[vote.fields() for vote in votes])
        return session

    def received(self, session: str) -> list[set[str]]:
        """Ask each computing party for the names of voters whose shares have come."""
        answers = self._ask("received", "names", session=session)
        return [set(read_field(answer.fields, "names", list[str])) for answer in answers]

    def winners(self, session: str, vote: SharedVote) -> NDArray[np.int64]:
        """Open the winners of one of the votes that were begun, to the coordinator alone.

        Computing parties refuse if a voter's shares did not come, and do it once.
        """
        (n_rows, n_columns), step = vote.shape, vote.n_rows_at_once
        parts = []
        for start in range(0, n_rows, step):
            stop = min(start + step, n_rows)
            answers = self._ask(
                "winners",
                "won",
                WIDTH * (stop - start) * n_columns,
                session=session,
                columns=list(vote.columns),
                start=start,
                stop=stop,
            )
            try:
                shares = [
                    read_shares(answer.body, read_field(answer.fields, "shape", list[int]))
                    for answer in answers
                ]
                parts.append(opened(shares))
            except ValueError as error:
                raise ChannelError(f"a computing party failed: {error}") from error
        return np.concatenate(parts)

    def traffic(self) -> list[dict[str, int]]:
        """Return the numbers of bytes and messages that each has sent to the others."""
        return [
            {name: read_field(answer.fields, name, int) for name in ("bytes", "messages")}
            for answer in self._ask("traffic", "sent")
        ]

    def close(self) -> None:
        """Hang up, which ends the three."""
        self.closed = True
        for stream in self._streams:
            stream.close()
        for connection in self._connections:
            connection.close()

    def _call(self, address: Address, token: str, credentials: Credentials | None) -> Stream:
        """Open a stream to one of them; one that is starting anew is called again."""
        n_left = 1 if credentials is None else _CALLS
        while True:
            connection = Connection(address, credentials=credentials)
            self._connections.append(connection)
            stream = connection.open("coordinate")
            try:
                stream.ask(Message("hello", {"token": token}), "ready", timeout=self._timeout)
                return stream
            except ChannelError as error:
                connection.close()
                if (n_left := n_left - 1) == 0:
                    raise ChannelError(f"{address[0]}:{address[1]}: {error}") from error
                time.sleep(_WAIT)

    def _ask(
        self, kind: str, answer_kind: str, max_bytes: int = _ANSWER, **fields: object
    ) -> list[Message]:
        """Ask all three for an answer of one kind."""
        try:
            for index, stream in enumerate(self._streams):
                stream.send(Message(kind, {**fields, "index": index}))
            return [
                stream.receive(self._timeout, max_bytes, (answer_kind,)) for stream in self._streams
            ]
        except BaseException:
            self.close()  # an answer that nobody read would be taken for another's
            raise


@dataclass(frozen=True)
class Contribution:
    """A voter's numbers of one motion, with its part of the noise, and the terms of the vote."""

    vote: SharedVote
    numbers: NDArray[np.int64]


@dataclass(frozen=True)
class Recipients:
    """The computing parties of one vote.

    A voter on another machine must have their addresses itself, in this order: a coordinator could
    name three of its own. They collect shares under the name `session`, of one attempt to vote.
    `token` is the secret of processes of one machine, and empty with certificates.
    """

    session: str
    addresses: tuple[Address, ...]
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    credentials: Credentials | None = field(default=None, repr=False, compare=False)


def deliver(name: str, contributions: Sequence[Contribution], recipients: Recipients) -> None:
    """Share a voter's numbers among the computing parties, and check that they arrive unaltered."""
    shares = [split(part.numbers) for part in contributions]
    addresses = [list(address) for address in recipients.addresses]
    votes = [part.vote.fields() for part in contributions]
    for at in range(N_COMPUTING):
        address = recipients.addresses[at]
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
    with (
        Connection(address, credentials=recipients.credentials) as connection,
        contextlib.closing(connection.open(method)) as stream,
    ):
        yield stream, Message(method, fields)
