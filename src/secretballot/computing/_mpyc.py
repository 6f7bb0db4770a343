"""MPyC between three computing parties: comparisons of shared numbers, on authenticated streams.

MPyC by itself would listen on all interfaces, for anybody, look for certificates in the current
directory, take messages of any length, and unpickle them. Here its bytes go through streams of a
computing party's server, are numbers alone, and only a limited amount of them may wait.
"""

from __future__ import annotations

import asyncio
import os
import sys
from types import MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._shares import (
    MASK_BITS,
    N_COMPUTING,
    PRIME,
    VALUE_BITS,
    as_integers,
    from_integers,
    read_shares,
)
from secretballot.transport import MAX_PIECE, Message, Stream

if TYPE_CHECKING:
    from mpyc.asyncoro import MessageExchanger
    from mpyc.runtime import Runtime

#: Bytes that came from one peer and nobody has read.
MOST_WAITING = 2**26
#: Length of MPyC's header of a message: its place, and its length.
_HEAD = 12
#: Memory of a message beside its own bytes.
_OVERHEAD = 256
#: The parties that share random signs: neither knows the other's, and the third none.
_SENDERS = (0, 1)


def new_runtime(index: int) -> Runtime:
    """Create a runtime of MPyC that is connected with nobody yet."""
    argv = sys.argv
    options = ["--no-log", f"-K{MASK_BITS}", "-T1", f"-I{index}"]
    options += [f"-Pparty:{at + 1}" for at in range(N_COMPUTING)]
    try:
        # MPyC reads its options from the command line, once as it is imported, and removes them.
        sys.argv = [argv[0], "--no-log"]
        import mpyc.runtime

        sys.argv = [argv[0], *options]
        runtime = mpyc.runtime.setup()
    finally:
        sys.argv = argv
    mpyc.runtime.pickle = SimpleNamespace(dumps=_to_bytes, loads=_from_bytes)
    runtime.np_random_bits = MethodType(runtime.coroutine(_random_bits), runtime)
    for party in runtime.parties:
        party.protocol = asyncio.Future() if party.pid == index else None
    return runtime


def _to_bytes(numbers: NDArray[np.object_]) -> bytes:
    return from_integers(np.asarray(numbers, dtype=object)).tobytes()


def _from_bytes(data: bytes) -> NDArray[np.object_]:
    return as_integers(read_shares(data, (len(data) // 16,)))


# MPyC evaluates annotations, and would need the types at run time.
async def _random_bits(runtime, field, n):  # type: ignore[no-untyped-def]
    """Share random bits, each the sign of a product of two parties' random signs.

    MPyC opens the square of a random number, and takes a root, a power modulo the prime for each
    bit; that was seven tenths of a vote's time.
    """
    await runtime.returnType(asyncio.Future)
    signs = np.zeros(n, dtype=object)
    if runtime.pid in _SENDERS:
        bits = np.unpackbits(np.frombuffer(os.urandom(-(-n // 8)), np.uint8), count=n)
        signs = 2 * bits.astype(object) - 1
    numbers = runtime.SecFld(PRIME).array
    first, second = runtime.input(numbers(field.array(signs)), senders=list(_SENDERS))
    product = await runtime.gather(first * second)
    return field.array((product.value + 1) * ((PRIME + 1) // 2) % PRIME)


class _Outgoing:
    """Transport on which MPyC writes; what it writes in one step becomes one message."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._waiting = stream, bytearray()

    def write(self, data: bytes) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting += data

    def writelines(self, parts: list[bytes]) -> None:
        self.write(b"".join(parts))

    def close(self) -> None:
        self._stream.close()

    def _flush(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        for start in range(0, len(data), MAX_PIECE):
            self._stream.send(Message("bytes", {}, data[start : start + MAX_PIECE]))


def link(runtime: Runtime, stream: Stream, peer: int, is_calling: bool) -> MessageExchanger:
    """Let MPyC use a stream to a peer, called or calling; return the receiver of its bytes."""
    from mpyc.asyncoro import MessageExchanger

    class Link(MessageExchanger):  # type: ignore[misc]
        """Exchanger that counts messages, and limits those that wait."""

        def __init__(self) -> None:
            super().__init__(runtime, peer if is_calling else None)
            self.n_sent = 0

        def send(self, pc: int, payload: bytes) -> None:
            self.n_sent += 1
            super().send(pc, payload)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.peer_pid not in (None, peer):
                raise ConnectionError(f"party {peer} says that it is {self.peer_pid}.")
            announced = int.from_bytes(self.bytes[8:_HEAD], "little")
            waiting = [part for part in self.buffers.values() if isinstance(part, bytes)]
            if announced + sum(map(len, waiting)) + _OVERHEAD * len(waiting) > MOST_WAITING:
                raise ConnectionError(f"more than {MOST_WAITING:,} bytes of party {peer} wait.")

    exchanger = Link()
    exchanger.connection_made(_Outgoing(stream))
    return exchanger


async def wait_linked(runtime: Runtime) -> None:
    """Wait until both others are connected."""
    await runtime.parties[runtime.pid].protocol


def traffic(runtime: Runtime) -> dict[str, object]:
    """Count the bytes and messages that this party has sent to the two others."""
    links = [party.protocol for party in runtime.parties if party.pid != runtime.pid]
    return {
        "bytes": sum(exchanger.nbytes_sent for exchanger in links),
        "messages": sum(exchanger.n_sent for exchanger in links),
    }


async def winners(
    runtime: Runtime, shares: NDArray[np.object_], rule: str, bits: int
) -> NDArray[np.object_]:
    """Compute a share of each winner, by the rule and the bits of a `SharedVote`.

    The numbers compared differ by less than 2^(bits - 1).
    """
    kind = runtime.SecInt(VALUE_BITS, p=PRIME)
    table = kind.array(kind.field.array(shares.T))
    rows = _argmax(runtime, table, bits) if rule == "plurality" else _signs(runtime, table, bits)
    share = await runtime.gather(rows)
    return np.asarray(share.value).T


# Arrays of MPyC's, whose classes it makes for each field.
def _signs(runtime: Runtime, numbers: Any, bits: int) -> Any:
    """Compute 1 where a number is below 0, else 0."""
    return runtime.np_sgn(numbers, l=bits, LT=True)


def _argmax(runtime: Runtime, table: Any, bits: int) -> Any:
    """Compute the lowest position of the largest number of each column of a table.

    In each round of a knock-out neighbours are compared, and the second wins if it is larger: the
    order stays, and ties go to the lowest.
    """
    position: Any = np.arange(table.shape[0])[:, None]
    while (n := table.shape[0]) > 1:
        even = n - n % 2
        first, second = table[0:even:2], table[1:even:2]
        second_wins = _signs(runtime, first - second, bits)
        table_left = first + second_wins * (second - first)
        ahead, behind = position[0:even:2], position[1:even:2]
        position_left = ahead + second_wins * (behind - ahead)
        if n % 2:
            last = position[even:] + second_wins[:1] * 0
            table_left = runtime.np_concatenate((table_left, table[even:]), axis=0)
            position_left = runtime.np_concatenate((position_left, last), axis=0)
        table, position = table_left, position_left
    return position[0]
