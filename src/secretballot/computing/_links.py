"""MPyC between three computing parties, on connections that we make.

MPyC would listen on all interfaces, for anybody, and look for certificates in the directory that it
is started in. Here its messages go through connections that a computing party has accepted.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from secretballot.computing._random_bits import cheaper_bits
from secretballot.computing._shares import MASK_BITS, N_COMPUTING


def new_runtime(index: int) -> Any:
    """Return a runtime of MPyC that is connected with nobody yet."""
    given = sys.argv
    options = ["--no-log", f"-K{MASK_BITS}", "-T1", f"-I{index}"]
    options += [f"-Pparty:{at + 1}" for at in range(N_COMPUTING)]
    try:
        # MPyC reads its options from the command line, and takes them away: once as it is imported.
        sys.argv = [given[0], "--no-log"]
        import mpyc.runtime

        sys.argv = [given[0], *options]
        runtime = mpyc.runtime.setup()
    finally:
        sys.argv = given
    cheaper_bits(runtime)
    for party in runtime.parties:
        party.protocol = asyncio.Future() if party.pid == index else None
    return runtime


def link(
    runtime: Any, transport: asyncio.WriteTransport, peer: int | None, lost: Callable[[], None]
) -> None:
    """Let MPyC use a connection from now on.

    Parameters
    ----------
    runtime : mpyc.runtime.Runtime
    transport : asyncio.WriteTransport
        On which nothing is unread.
    peer : int or None
        With whom; None if it is the other one who called.
    lost : callable
        What to do when it breaks.
    """
    from mpyc.asyncoro import MessageExchanger

    class Link(MessageExchanger):  # type: ignore[misc]
        """Counts messages, and says when the other one is gone."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.n_sent = 0

        def send(self, pc: int, payload: bytes) -> None:
            self.n_sent += 1
            super().send(pc, payload)

        def connection_lost(self, exc: BaseException | None) -> None:
            lost()

    exchanger = Link(runtime, peer)
    transport.set_protocol(exchanger)
    exchanger.connection_made(transport)


async def all_linked(runtime: Any) -> None:
    """Wait until both others are connected."""
    await runtime.parties[runtime.pid].protocol


def sent(runtime: Any) -> dict[str, int]:
    """Return what this party has sent to the two others."""
    links = [party.protocol for party in runtime.parties if party.pid != runtime.pid]
    return {
        "bytes": sum(each.nbytes_sent for each in links),
        "messages": sum(each.n_sent for each in links),
    }
