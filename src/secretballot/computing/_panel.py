"""The three computing parties as the coordinator of a vote sees them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._ballots import SharedVote
from secretballot.computing._server import Address
from secretballot.computing._shares import N_COMPUTING, WIDTH, opened, read_shares
from secretballot.transport import ChannelError, Connection, Credentials, Line, Message

#: How often one is called that served another coordinator and starts anew, and after what seconds.
_CALLS, _WAIT = 30, 0.25


class Panel:
    """Three connected computing parties. Any error ends them: hang up and begin anew.

    Parameters
    ----------
    addresses : sequence of (str, int)
    token : str
        What proves that the coordinator may call; empty with certificates.
    timeout : float
        Seconds that any one step may take.
    credentials : Credentials or None

    Attributes
    ----------
    closed : bool
        Whether it has ended.
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
        self._lines: list[Line] = []
        try:
            for address in self.addresses:
                self._lines.append(self._called(address, token, credentials))
            self._ask("join", "joined", {"addresses": list(map(list, self.addresses))})
        except BaseException:
            self.close()
            raise

    def begin(self, votes: Sequence[SharedVote]) -> str:
        """Return the name of a new vote; what was shared for another is forgotten."""
        session = uuid.uuid4().hex
        self._ask("begin", "begun", {"session": session, "votes": [each.words() for each in votes]})
        return session

    def received(self, session: str) -> list[set[str]]:
        """Return whose shares have come, to each of them."""
        replies = self._ask("received", "names", {"session": session})
        return [set(each.words["names"]) for each in replies]

    def winners(self, session: str, vote: SharedVote) -> NDArray[np.int64]:
        """Let them find winners, which nobody learns but the caller.

        Parameters
        ----------
        session : str
        vote : SharedVote
            One of those that were begun. They refuse if anybody's shares did not come, and do it
            once.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_columns)
        """
        (n_rows, n_columns), step = vote.shape, vote.n_rows_at_once
        parts = []
        for at in range(0, n_rows, step):
            rows = [at, min(at + step, n_rows)]
            words = {"session": session, "columns": list(vote.columns), "rows": rows}
            n_bytes = WIDTH * (rows[1] - rows[0]) * n_columns
            replies = self._ask("winners", "won", words, max_bytes=n_bytes)
            try:
                parts.append(opened([read_shares(m.body, m.words["shape"]) for m in replies]))
            except (ValueError, TypeError, KeyError) as error:
                raise ChannelError(f"a computing party failed: {error}") from error
        return np.concatenate(parts)

    def traffic(self) -> list[dict[str, int]]:
        """Return how many bytes and messages each has sent to the others."""
        return [dict(each.words) for each in self._ask("traffic", "sent", {})]

    def close(self) -> None:
        """Hang up, which ends them."""
        self.closed = True
        for line in self._lines:
            line.close()
        for connection in self._connections:
            connection.close()

    def _called(self, address: Address, token: str, credentials: Credentials | None) -> Line:
        """Return a line to one of them; who is starting anew is called again."""
        left = 1 if credentials is None else _CALLS
        while True:
            connection = Connection(address, credentials=credentials)
            self._connections.append(connection)
            line = connection.open("coordinate")
            try:
                line.ask(Message("hello", {"token": token}), "ready", timeout=self._timeout)
                return line
            except ChannelError as error:
                connection.close()
                if (left := left - 1) == 0:
                    raise ChannelError(f"{address[0]}:{address[1]}: {error}") from error
                time.sleep(_WAIT)

    def _ask(
        self, what: str, answer: str, words: dict[str, Any], *, max_bytes: int = 0
    ) -> list[Message]:
        try:
            for at, line in enumerate(self._lines):
                line.send(Message(what, {**words, "index": at}))
            replies = [line.receive(self._timeout, max_bytes) for line in self._lines]
            if any(reply.kind != answer for reply in replies):
                raise ChannelError(f"a computing party said no {answer!r} to {what!r}.")
            return replies
        except BaseException:
            self.close()  # a reply that nobody read would be taken for another's
            raise
