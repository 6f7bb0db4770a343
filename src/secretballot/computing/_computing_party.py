"""A computing party: it collects one share of each voter, adds them up, and compares the sums."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from secretballot.computing._mpyc import link, new_runtime, traffic, wait_linked, winners
from secretballot.computing._shared_vote import ShareSums, read_votes
from secretballot.computing._shares import N_COMPUTING, as_integers, from_integers
from secretballot.transport import (
    MAX_PIECE,
    Address,
    ChannelError,
    Connection,
    Credentials,
    Fields,
    Message,
    MessageError,
    Server,
    Stream,
    read_field,
)

if TYPE_CHECKING:
    from mpyc.runtime import Runtime

#: Seconds until the first message of a caller, and until the three are connected.
_SOON = 30.0
#: Seconds at the end in which refusals are still sent.
_GOODBYE = 0.2
#: Memory of all fields that are read at once.
_FIELDS = 2**24
#: Seconds to receive the shares of a voter.
_DELIVERY = 600.0

P = ParamSpec("P")
T = TypeVar("T")


class ComputingParty:
    """One of three computing parties.

    On one machine callers have the `token`. Elsewhere `credentials` prove names: that of the
    coordinator, those of voters, and the hosts of the panel. A coordinator that named these could
    invent voters, among whom noise is divided. `max_bytes` limits the shares of one voter, the sums
    of all, and all unfinished messages.
    """

    def __init__(
        self,
        token: str,
        credentials: Credentials | None = None,
        coordinator: str = "",
        voters: Collection[str] = (),
        panel: Sequence[Address] = (),
        max_bytes: int = 2**28,
    ) -> None:
        self._token, self._credentials, self._coordinator = token, credentials, coordinator
        self._voters, self._panel = frozenset(voters), [list(address) for address in panel]
        self._max_bytes = max_bytes
        self._index, self._addresses = -1, self._panel
        self._sums = ShareSums()
        self._runtime: Runtime | None = None
        self._linked: set[int] = set()
        self._joined, self._lock = threading.Event(), threading.Lock()
        self._coordination = threading.Lock()  # taken once: each vote has processes of its own
        self._connections: list[Connection] = []

    async def serve(self, address: Address, ready: Callable[[int], None]) -> None:
        """Serve one coordinator, until it hangs up or one of the others is lost."""
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        names = {self._coordinator, *self._voters, *(str(host) for host, _ in self._panel)}
        server = Server(
            address,
            {
                "coordinate": self._coordinate,
                "share": self._share,
                "withdraw": self._withdraw,
                "peer": self._peer,
            },
            credentials=self._credentials,
            names=names if self._credentials else set(),
            max_bytes=self._max_bytes + _FIELDS,
        ).start()
        ready(server.address[1])
        await self._over.wait()
        await asyncio.to_thread(server.close, _GOODBYE)

    def _share(self, stream: Stream) -> None:
        """Serve a voter that delivers its shares."""
        name, fields = self._read_voter(stream)
        if fields.get("at") != self._index or fields.get("panel") != self._addresses:
            raise MessageError(
                f"shares of {name!r} are for the computing parties {fields.get('panel')}, and "
                f"these are {self._addresses}; all must be given the same ones, in one order."
            )
        sums = self._sums
        n_bytes = sum(vote.n_bytes for vote in sums.votes_of(name, fields))
        stream.send(Message("send"))
        body = memoryview(stream.receive(_DELIVERY, n_bytes).body)
        sums.add(name, fields, body)
        stream.send(Message("added", {"digest": hashlib.sha256(body).hexdigest()}))

    def _withdraw(self, stream: Stream) -> None:
        """Serve a voter that was told that a vote is void."""
        name, fields = self._read_voter(stream)
        self._sums.withdraw(name, fields.get("session"))
        stream.send(Message("withdrawn"))

    def _coordinate(self, stream: Stream) -> None:
        """Serve the coordinator, whose requests come one after another."""
        self._require(stream, stream.caller == self._coordinator)
        self._read_hello(stream)
        if not self._coordination.acquire(blocking=False):
            raise PermissionError("another vote is going on; try again later.")
        try:
            stream.send(Message("ready"))
            while True:
                request = stream.receive(None, self._max_bytes)
                stream.send(self._answer(request.kind, request.fields))
        finally:
            self._end()

    def _peer(self, stream: Stream) -> None:
        """Serve a computing party before this one, until the vote is over."""
        self._require(stream, stream.caller in {host for host, _ in self._panel})
        index = read_field(self._read_hello(stream), "index", int)
        self._joined.wait(_SOON)
        if index >= self._index:
            raise MessageError(f"index={index!r} calls nobody here.")
        self._require(stream, stream.caller == self._addresses[index][0])
        with self._lock:
            if index in self._linked:
                raise PermissionError(f"computing party {index} has called before.")
            self._linked.add(index)
        self._link(stream, index, False)
        stream.send(Message("linked"))
        stream.wait_closed()

    def _require(self, stream: Stream, is_allowed: bool) -> None:
        """Refuse a caller whose certificate is for another role, before anything is read."""
        if self._credentials is not None and not is_allowed:
            raise PermissionError(f"{stream.caller!r} has another role.")

    def _read_hello(self, stream: Stream) -> Fields:
        """Return the fields of a caller's first message, if it has the token."""
        fields = stream.receive(_SOON, self._max_bytes).fields
        token = str(fields.get("token", "")).encode(errors="replace")
        if not hmac.compare_digest(token, self._token.encode()):
            raise PermissionError("the caller does not have the token.")
        return fields

    def _read_voter(self, stream: Stream) -> tuple[str, Fields]:
        """Return a voter's name and fields; the name must be that in its certificate, if any."""
        self._require(stream, stream.caller in self._voters)
        fields = self._read_hello(stream)
        name = read_field(fields, "name", str)
        if stream.caller not in ("", name):
            raise PermissionError(f"the certificate is that of {stream.caller!r}, not of {name!r}.")
        return name, fields

    def _answer(self, kind: str, fields: Fields) -> Message:
        """Return the answer to a request of the coordinator."""
        if kind == "join":
            self._join(fields)
            return Message("joined")
        if kind == "begin":
            votes = read_votes(fields, self._voters, self._max_bytes)
            self._sums = ShareSums(read_field(fields, "session", str), votes)
            return Message("begun")
        if kind == "traffic" and self._runtime is not None:
            return Message("sent", traffic(self._runtime))
        if fields.get("session") != self._sums.session:
            raise MessageError("there is no such vote.")
        if kind == "received":
            return Message("names", {"names": sorted(self._sums.senders)})
        if kind != "winners" or self._runtime is None:
            raise MessageError(f"{kind!r} is no request to a computing party.")
        start, stop = (read_field(fields, name, int) for name in ("start", "stop"))
        vote, shares = self._sums.begin(read_field(fields, "columns", list[int]), start, stop)
        computation = winners(self._runtime, as_integers(shares), vote.rule, vote.bits)
        won = from_integers(self._run(self._unless_over(computation)))
        return Message("won", {"shape": list(won.shape[:-1])}, won.data)

    def _join(self, fields: Fields) -> None:
        """Connect with the two others: each calls those after it.

        Once: shares are given for these three, and are not for others to compute with.
        """
        index = read_field(fields, "index", int)
        addresses = read_field(fields, "addresses", list[list[object]])
        if self._runtime is not None:
            raise MessageError("the computing parties of this vote have come together already.")
        if index >= N_COMPUTING or len(addresses) != N_COMPUTING:
            raise MessageError(f"index={index!r} of {addresses!r} is none of three.")
        if self._credentials is not None and addresses != self._panel:
            raise MessageError(f"the computing parties are {self._panel}, and not {addresses}.")
        self._index, self._addresses = index, addresses
        self._runtime = self._call(new_runtime, index)
        self._joined.set()
        for peer in range(index + 1, N_COMPUTING):
            host, port = addresses[peer]
            connection = Connection((str(host), int(str(port))), credentials=self._credentials)
            self._connections.append(connection)
            stream = connection.open("peer")
            hello = Message("peer", {"index": index, "token": self._token})
            stream.ask(hello, "linked", timeout=_SOON)
            self._link(stream, peer, True)
        self._run(asyncio.wait_for(self._unless_over(wait_linked(self._runtime)), _SOON))

    def _link(self, stream: Stream, peer: int, is_calling: bool) -> None:
        """Give MPyC a stream, and read it in a thread, no faster than MPyC takes it."""
        exchanger = self._call(link, self._runtime, stream, peer, is_calling)

        def read() -> None:
            try:
                while True:
                    data = bytes(stream.receive(None, MAX_PIECE).body)
                    self._call(exchanger.data_received, data)
            except Exception:  # a fault of a peer ends the vote, and nothing else
                stream.close()
                self._end()

        threading.Thread(target=read, daemon=True).start()

    def _run(self, coroutine: Coroutine[object, object, T]) -> T:
        """Run a coroutine in the thread of MPyC."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the thread of MPyC."""

        async def call() -> T:
            return function(*args, **kwargs)

        return self._run(call())

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)

    async def _unless_over(self, computation: Coroutine[object, object, T]) -> T:
        """Wait for a computation, or raise if another computing party is lost before."""
        over, result = asyncio.create_task(self._over.wait()), asyncio.create_task(computation)
        await asyncio.wait({over, result}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if not result.done():
            result.cancel()
            raise ChannelError("another computing party is gone.")
        return result.result()
