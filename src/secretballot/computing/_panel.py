"""The three computing parties as the coordinator of a vote sees them."""

from __future__ import annotations

import ssl
import time
import uuid
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._shares import N_COMPUTING, from_bytes, opened
from secretballot.computing._wire import Address, Line, LineError

#: Seconds until one is called again that served another coordinator, and starts anew.
_WAITS = (0.5, 1.0, 2.0, 4.0)


class Panel:
    """Three connected computing parties. Any error ends them: hang up and begin anew.

    Parameters
    ----------
    addresses : sequence of (str, int)
    token : str
        What proves that the coordinator may call; empty with TLS.
    timeout : float
        Seconds that any one step may take.
    context : SSLContext or None

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
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.addresses = tuple((host, int(port)) for host, port in addresses)
        assert len(self.addresses) == N_COMPUTING
        self.closed = False
        self._lines: list[Line] = []
        hello = {"role": "coordinator", "token": token}
        try:
            for address in self.addresses:
                self._lines.append(_called(address, hello, timeout, context))
            self._ask({"do": "join", "addresses": self.addresses}, index=True)
        except BaseException:
            self.close()
            raise

    def begin(self) -> str:
        """Return the name of a new vote; what was shared for another is forgotten."""
        session = uuid.uuid4().hex
        self._ask({"do": "begin", "session": session})
        return session

    def received(self, session: str) -> list[set[str]]:
        """Return whose shares have come, to each of them."""
        replies = self._ask({"do": "received", "session": session})
        return [set(words["names"]) for words, _ in replies]

    def winners(
        self,
        session: str,
        columns: Sequence[int],
        names: Collection[str],
        rows: slice,
    ) -> NDArray[np.int64]:
        """Let them find winners, which nobody learns but the caller.

        Parameters
        ----------
        session : str
        columns : sequence of int
            What the vote is about.
        names : collection of str
            Whose shares are added up; they refuse if anybody else's came, or somebody's did not.
        rows : slice
            Which rows: the first ones, and then those that follow, once each.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_columns)
        """
        replies = self._ask(
            {
                "do": "winners",
                "session": session,
                "columns": list(columns),
                "names": sorted(names),
                "rows": [rows.start, rows.stop],
            }
        )
        try:
            return opened([from_bytes(body, words["shape"]) for words, body in replies])
        except ValueError as error:
            raise LineError(f"a computing party failed: {error}") from error

    def traffic(self) -> list[dict[str, int]]:
        """Return how many bytes and messages each has sent to the others."""
        return [words["sent"] for words, _ in self._ask({"do": "traffic"})]

    def close(self) -> None:
        """Hang up, which ends them."""
        self.closed = True
        for line in self._lines:
            line.close()

    def _ask(
        self, words: dict[str, Any], *, index: bool = False
    ) -> list[tuple[dict[str, Any], bytes]]:
        try:
            for at, line in enumerate(self._lines):
                line.send({**words, "index": at} if index else words)
            return [line.receive() for line in self._lines]
        except BaseException:
            self.close()  # a reply that nobody read would be taken for another's
            raise


def _called(
    address: Address, hello: dict[str, Any], timeout: float, context: ssl.SSLContext | None
) -> Line:
    for wait in _WAITS if context is not None else ():
        try:
            return Line(address, hello, timeout, context)
        except LineError:
            time.sleep(wait)
    return Line(address, hello, timeout, context)
