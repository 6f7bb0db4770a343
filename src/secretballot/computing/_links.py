"""MPyC between three computing parties, on lines between those who have shown who they are.

MPyC would listen on all interfaces, for anybody, look for certificates in the directory that it is
started in, take messages of any length, and run what comes in them (pickles). Here its bytes go
through lines of a computing party's server, with a limit to what may wait, and are numbers alone.
"""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._random_bits import cheaper_bits
from secretballot.computing._shares import (
    MASK_BITS,
    N_COMPUTING,
    as_integers,
    from_integers,
    read_shares,
)
from secretballot.transport import Line, Message

#: Bytes of one message on a line, and of all that came and nobody has read.
PIECE, MOST_WAITING = 2**20, 2**26
#: What MPyC puts before a message: where it belongs, and how long it is.
_HEAD = 12
#: Bytes that are counted for a message beside its own.
_BESIDE = 256


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
    mpyc.runtime.pickle = SimpleNamespace(dumps=_as_bytes, loads=_as_numbers)
    cheaper_bits(runtime)
    for party in runtime.parties:
        party.protocol = asyncio.Future() if party.pid == index else None
    return runtime


def _as_bytes(numbers: Any) -> bytes:
    return from_integers(np.asarray(numbers, dtype=object)).tobytes()


def _as_numbers(data: bytes) -> NDArray[np.object_]:
    return as_integers(read_shares(data, (len(data) // 16,)))


class _Outgoing:
    """Sends on a line what MPyC writes; what it writes at one time, together."""

    def __init__(self, line: Line) -> None:
        self._line, self._waiting = line, bytearray()

    def write(self, data: bytes) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting += data

    def writelines(self, parts: list[bytes]) -> None:
        self.write(b"".join(parts))

    def close(self) -> None:
        self._line.close()

    def _flush(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        for at in range(0, len(data), PIECE):
            self._line.send(Message("bytes", {}, data[at : at + PIECE]))


def link(runtime: Any, line: Line, peer: int, *, calls: bool) -> Any:
    """Let MPyC use a line to a peer, called or calling; return what takes its bytes."""
    from mpyc.asyncoro import MessageExchanger

    class Link(MessageExchanger):  # type: ignore[misc]
        """Counts messages, and takes no more than may wait."""

        def __init__(self) -> None:
            super().__init__(runtime, peer if calls else None)
            self.n_sent = 0

        def send(self, pc: int, payload: bytes) -> None:
            self.n_sent += 1
            super().send(pc, payload)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.peer_pid not in (None, peer):
                raise ConnectionError(f"party {peer} says that it is {self.peer_pid}.")
            announced = int.from_bytes(self.bytes[8:_HEAD], "little")
            kept = [each for each in self.buffers.values() if isinstance(each, bytes)]
            if announced + sum(map(len, kept)) + _BESIDE * len(kept) > MOST_WAITING:
                raise ConnectionError(f"more than {MOST_WAITING:,} bytes of party {peer} wait.")

    exchanger = Link()
    exchanger.connection_made(_Outgoing(line))
    return exchanger


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
