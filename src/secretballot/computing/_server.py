"""A computing party: it collects one share of each voter, adds them up, and compares the sums."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from typing import Any

from secretballot.computing._ballots import Sums, read_votes
from secretballot.computing._links import PIECE, all_linked, link, new_runtime, sent
from secretballot.computing._shares import N_COMPUTING, as_integers, from_integers
from secretballot.computing._winner import winners
from secretballot.transport import (
    ChannelError,
    Connection,
    Credentials,
    Line,
    Message,
    MessageError,
    Server,
)

Address = tuple[str, int]
Method = Callable[[Line], Iterator[Message]]

#: Seconds in which who calls must have said what it wants, and peers must have come together.
_SOON = 30.0
#: Seconds at the end in which refusals are still told.
_GOODBYE = 0.2
#: Bytes of all words that are read at once.
_WORDS = 2**24
#: Seconds in which the shares of a voter must be here.
_DELIVERY = 600.0


def _told(method: Method) -> Method:
    """Return a method that tells callers what is wrong with their words."""

    def serve(line: Line) -> Iterator[Message]:
        try:
            yield from method(line)
        except (TypeError, ValueError) as error:
            raise MessageError(str(error)) from error

    return serve


class ComputingParty:
    """One of three.

    Parameters
    ----------
    token : str
        What callers must know; empty where certificates prove who they are.
    credentials : Credentials or None
        With them everybody is who its certificate says: a voter sends under its own name, a
        computing party calls from the host where it was said to be. None: processes of one machine.
    coordinator : str, default=""
        Who may hold votes, with `credentials`.
    voters : collection of str, default=()
        Who may vote, with `credentials`. Who holds votes doesn't say it: it would name voters of
        its own making, and noise is divided among voters.
    panel : sequence of (str, int), default=()
        Where the three are, with `credentials`. Who holds votes doesn't say it: the three compute
        with each other's messages, and it would name itself.
    max_bytes : int, default=2**28
        The most that the shares of one voter may take, the sums of all, and all unfinished
        messages.
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
        self._voters, self._panel = frozenset(voters), [list(each) for each in panel]
        self._max_bytes = max_bytes
        self._index, self._addresses = -1, list[list[Any]]()
        self._sums = Sums()
        self._runtime: Any = None
        self._linked: set[int] = set()
        self._joined, self._lock = threading.Event(), threading.Lock()
        self._is_coordinated = False
        self._kept: list[Connection] = []

    async def serve(self, address: Address, ready: Callable[[int], None]) -> None:
        """Serve one coordinator, until it hangs up or one of the others is lost."""
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        names = {self._coordinator, *self._voters, *(str(host) for host, _ in self._panel)}
        server = Server(
            address,
            {
                "coordinate": _told(self._coordinate),
                "share": _told(self._share),
                "withdraw": _told(self._withdraw),
                "peer": _told(self._peer),
            },
            credentials=self._credentials,
            names=names if self._credentials else set(),
            max_bytes=self._max_bytes + _WORDS,
        ).start()
        ready(server.address[1])
        await self._over.wait()
        await asyncio.to_thread(server.close, _GOODBYE)

    # Each of these serves a line, in a thread of its own.

    def _share(self, line: Line) -> Iterator[Message]:
        name, words = self._voter(line)
        if words.get("at") != self._index or words.get("panel") != self._addresses:
            raise MessageError(
                f"shares of {name!r} are for the computing parties {words.get('panel')}, and these "
                f"are {self._addresses}; all must be given the same ones, in one order."
            )
        sums = self._sums
        n_bytes = sum(vote.n_bytes for vote in sums.expected(name, words))
        yield Message("send")
        body = line.receive(_DELIVERY, n_bytes).body
        sums.add(name, words, body)
        yield Message("added", {"digest": hashlib.sha256(body).hexdigest()})

    def _withdraw(self, line: Line) -> Iterator[Message]:
        name, words = self._voter(line)
        self._sums.withdraw(name, words.get("session"))
        yield Message("withdrawn")

    def _coordinate(self, line: Line) -> Iterator[Message]:
        self._require(line, line.caller == self._coordinator)
        with self._lock:
            if self._is_coordinated:
                raise PermissionError("another vote is going on; try again later.")
            self._is_coordinated = True
        try:
            self._said(line)
            yield Message("ready")
            while True:
                message = line.receive(None)
                yield self._command(message.kind, message.words)
        finally:
            self._end()

    def _peer(self, line: Line) -> Iterator[Message]:
        hosts = {host for host, _ in self._panel}
        self._require(line, line.caller in hosts)
        index = self._said(line).get("index")
        self._joined.wait(_SOON)
        if type(index) is not int or not 0 <= index < self._index:
            raise MessageError(f"index={index!r} calls nobody here.")
        self._require(line, line.caller in (self._addresses[index][0], ""))
        with self._lock:
            if index in self._linked:
                raise PermissionError(f"computing party {index} has called before.")
            self._linked.add(index)
        self._link(line, index, calls=False)
        yield Message("linked")
        yield from line.outgoing()

    # What these need.

    def _require(self, line: Line, holds: bool) -> None:
        """Refuse a role to who has another one by its certificate, before anything is read."""
        if self._credentials is not None and not holds:
            raise PermissionError(f"{line.caller!r} has another role.")

    def _said(self, line: Line) -> dict[str, Any]:
        """Return what who calls says first, if it knows the token."""
        words = dict(line.receive(_SOON).words)
        given = str(words.pop("token", "")).encode()
        if not hmac.compare_digest(given, self._token.encode()):
            raise PermissionError("who calls does not know the token.")
        return words

    def _voter(self, line: Line) -> tuple[str, dict[str, Any]]:
        """Return who votes, and what it says: its name is that of its certificate, if it has one.

        Of one machine it is what it says.
        """
        self._require(line, line.caller in self._voters)
        words = self._said(line)
        name = words.pop("name", None)
        if not isinstance(name, str) or line.caller not in ("", name):
            raise PermissionError(f"the certificate is that of {line.caller!r}, not of {name!r}.")
        return name, words

    def _command(self, kind: str, words: Any) -> Message:
        """Return the answer to what who holds votes asks."""
        if kind == "join":
            self._join(words.get("index"), words.get("addresses"))
            return Message("joined")
        if kind == "begin":
            votes = read_votes(words.get("votes"), self._voters, self._max_bytes)
            self._sums = Sums(str(words.get("session")), votes)
            return Message("begun")
        if kind == "traffic" and self._runtime is not None:
            return Message("sent", sent(self._runtime))
        if words.get("session") != self._sums.session:
            raise MessageError("there is no such vote.")
        if kind == "received":
            return Message("names", {"names": sorted(self._sums.names)})
        if kind != "winners":
            raise MessageError(f"{kind!r} is nothing that a computing party is asked.")
        start, stop = words.get("rows")
        vote, shares = self._sums.begin(words.get("columns"), start, stop)
        made = winners(self._runtime, as_integers(shares), vote.rule, vote.bits)
        won = from_integers(self._run(self._unless_over(made)))
        return Message("won", {"shape": list(won.shape[:-1])}, won)

    def _join(self, index: Any, addresses: Any) -> None:
        """Connect with the two others: each calls those after it.

        Once: shares are given for these three, and are not for others to compute with.
        """
        if self._runtime is not None:
            raise MessageError("the computing parties of this vote have come together already.")
        is_one = type(index) is int and index in range(N_COMPUTING)
        if not is_one or len(addresses) != N_COMPUTING:
            raise MessageError(f"index={index!r} of {addresses!r} is none of three.")
        if self._credentials is not None and addresses != self._panel:
            raise MessageError(f"the computing parties are {self._panel}, and not {addresses}.")

        async def made() -> Any:
            return new_runtime(index)

        self._index, self._addresses = index, addresses
        self._runtime = self._run(made())
        self._joined.set()
        for peer in range(index + 1, N_COMPUTING):
            host, port = addresses[peer]
            connection = Connection((host, port), credentials=self._credentials)
            self._kept.append(connection)
            line = connection.open("peer")
            hello = Message("peer", {"index": index, "token": self._token})
            line.ask(hello, "linked", timeout=_SOON)
            self._link(line, peer, calls=True)
        self._run(asyncio.wait_for(self._unless_over(all_linked(self._runtime)), _SOON))

    def _link(self, line: Line, peer: int, *, calls: bool) -> None:
        """Give MPyC a line, and read it in a thread, no faster than MPyC takes it."""

        async def made() -> Any:
            return link(self._runtime, line, peer, calls=calls)

        async def take(exchanger: Any, data: bytes) -> None:
            exchanger.data_received(data)

        exchanger = self._run(made())

        def read() -> None:
            try:
                while True:
                    self._run(take(exchanger, bytes(line.receive(None, PIECE).body)))
            except Exception:  # whatever a peer sends or leaves out ends the vote, and no more
                line.close()
                self._end()

        threading.Thread(target=read, daemon=True).start()

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine that runs beside MPyC."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)

    async def _unless_over(self, computing: Any) -> Any:
        over, result = asyncio.ensure_future(self._over.wait()), asyncio.ensure_future(computing)
        await asyncio.wait({over, result}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if not result.done():
            result.cancel()
            raise ChannelError("another computing party is gone.")
        return result.result()
