"""The three computing parties as the coordinator of a vote uses them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._shared_vote import SharedVote
from secretballot.computing._shares import N_COMPUTING, WIDTH, opened, read_shares
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
    """Three connected computing parties. Any error ends them: hang up and begin anew.

    Parameters
    ----------
    addresses : sequence of (str, int)
    token : str
        Secret of processes of this machine; empty with certificates.
    timeout : float
        Seconds that any one step may take.
    credentials : Credentials or None

    Attributes
    ----------
    closed : bool
        True when it has ended.
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

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_columns)
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
