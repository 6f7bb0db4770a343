"""A computing party: it collects one share of each voter, adds them up, and compares the sums."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.computing._certificate import certificate_names
from secretballot.computing._links import all_linked, link, new_runtime, sent
from secretballot.computing._shares import N_COMPUTING, PRIME, WIDTH, as_bytes, from_bytes
from secretballot.computing._winner import winners
from secretballot.computing._wire import Address, LineError, packed, read_message

#: Seconds in which who calls must have said who it is, and peers must have come together.
_SOON = 30.0

Words = dict[str, Any]


@dataclass
class Sum:
    """The sum of voters' shares of one motion, and what they gave them for."""

    how: str
    voters: frozenset[str]
    bits: int
    share: NDArray[np.object_]
    names: set[str] = field(default_factory=set)
    n_opened: int = 0

    @property
    def use(self) -> tuple[Any, ...]:
        """What the numbers may be used for, which all who share them say alike."""
        return self.how, self.voters, self.bits, self.share.shape


class Sums:
    """What has come for one vote."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.names: set[str] = set()
        self.is_void = False
        self._sums: dict[tuple[int, ...], Sum] = {}

    def add(self, words: Words, body: bytes) -> None:
        """Add a voter's shares; all of them or, if one is refused, none."""
        name, at, parts = str(words["name"]), 0, {}
        if name in self.names:
            raise ValueError(f"{name!r} has sent shares before.")
        for told in words["parts"]:
            columns, shape = tuple(map(int, told["columns"])), told["shape"]
            end = at + WIDTH * int(np.prod(shape, dtype=object))
            part = Sum(
                told["how"],
                frozenset(map(str, told["voters"])),
                told["bits"],
                from_bytes(body[at:end], shape),
            )
            known = self._sums.get(columns, part)
            if columns in parts or known.use != part.use or name not in part.voters:
                raise ValueError(f"the shares of {name!r} are for another vote than the others'.")
            parts[columns], at = part, end
        if at != len(body):
            raise ValueError(f"the shares of {name!r} are too long.")
        for columns, part in parts.items():
            known = self._sums.setdefault(columns, part)
            if known is not part:
                known.share = (known.share + part.share) % PRIME
            known.names.add(name)
        self.names.add(name)

    def begin(self, columns: tuple[int, ...], names: set[str], start: int, stop: int) -> Sum:
        """Return rows of the sum of exactly these voters' shares, once.

        Whoever asks gets winners of the sum that voters shared for, with the noise of all in it,
        and not, by asking for sums of fewer or again in another way, more than that.
        """
        known = self._sums.get(columns)
        if self.is_void:
            raise ValueError("a voter was told that the vote is void.")
        if known is None or known.names != names or names != known.voters:
            raise ValueError("the shares that have come are not of those who vote.")
        if start != known.n_opened or not start < stop <= len(known.share):
            raise ValueError(f"rows from {start} to {stop} are not those that come next.")
        known.n_opened = stop
        return Sum(known.how, known.voters, known.bits, known.share[start:stop])

    def withdraw(self, name: str) -> None:
        """Open nothing any more; refused if something was opened already.

        Or if the voter's shares are not here: whoever holds votes may have opened them, and begun
        anew under the same name since.
        """
        if name not in self.names:
            raise ValueError(f"no shares of {name!r} are here.")
        if any(each.n_opened for each in self._sums.values()):
            raise ValueError("winners have been opened.")
        self.is_void = True


class ComputingParty:
    """One of three.

    Parameters
    ----------
    token : str
        What callers must know; empty where TLS proves who they are.
    calling : SSLContext or None
        With what it calls the two others. Then everybody is who its certificate says: a voter sends
        under its own name, a computing party calls from the host where it was said to be.
    coordinator : str, default=""
        Who may hold votes, with `calling`.
    panel : sequence of (str, int), default=()
        Where the three are, with `calling`. Who holds votes doesn't say it: the three run each
        other's messages, and it would name itself.
    """

    def __init__(
        self,
        token: str,
        calling: ssl.SSLContext | None = None,
        coordinator: str = "",
        panel: Sequence[Address] = (),
    ) -> None:
        self._token, self._calling, self._coordinator = token, calling, coordinator
        self._panel = [list(each) for each in panel]
        self._index, self._addresses = -1, list[list[Any]]()
        self._sums = Sums("")
        self._runtime: Any = None
        self._joined = asyncio.Event()
        self._over = asyncio.Event()
        self._coordinated = False
        # A writer that nobody holds closes its connection.
        self._kept: list[asyncio.StreamWriter] = []

    async def serve(
        self, host: str, port: int, context: ssl.SSLContext | None, ready: Callable[[int], None]
    ) -> None:
        """Serve one coordinator, until it hangs up or one of the others is lost."""
        server = await asyncio.start_server(self._answer, host, port, ssl=context)
        ready(server.sockets[0].getsockname()[1])
        await self._over.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        linked = False
        try:
            hello, _ = await asyncio.wait_for(read_message(reader, 2**12, 0), _SOON)
            role = hello.get("role")
            if not hmac.compare_digest(str(hello.get("token", "")).encode(), self._token.encode()):
                writer.write(packed({"error": "who calls does not know the token."}))
            elif (wanted := await self._expected(hello)).isdisjoint(shown := self._shown(writer)):
                why = f"the certificate is that of {sorted(shown)}, and not of {sorted(wanted)}."
                writer.write(packed({"error": why}))
            elif role == "peer":
                linked = True
                await self._let_in(writer)
            elif role == "coordinator":
                await self._serve_coordinator(reader, writer)
            elif role == "voter":
                writer.write(packed({}))
                words, body = await asyncio.wait_for(read_message(reader), _SOON)
                writer.write(packed(self._take(words, body, hello)))
            else:
                writer.write(packed({"error": f"role={role!r} is unknown."}))
        except (EOFError, ConnectionError):
            pass  # who calls has gone
        except Exception as error:
            writer.write(packed({"error": f"{type(error).__name__}: {error}"}))
        finally:
            if not linked:
                writer.close()

    def _shown(self, writer: asyncio.StreamWriter) -> set[str]:
        """Return who calls; anybody with the token, where there are no certificates."""
        if self._calling is None:
            return {""}
        return certificate_names(writer.get_extra_info("peercert"))

    async def _expected(self, hello: Words) -> set[str]:
        """Return who may call in a role."""
        if hello.get("role") == "peer":
            await asyncio.wait_for(self._joined.wait(), _SOON)
        if self._calling is None:
            return {""}
        if hello.get("role") == "peer":
            return {host for host, _ in self._addresses[: self._index]}
        return {self._coordinator if hello.get("role") == "coordinator" else str(hello.get("name"))}

    def _take(self, words: Words, body: bytes, hello: Words) -> Words:
        if words["session"] != self._sums.session or words["name"] != hello["name"]:
            raise ValueError("there is no such vote.")
        if words["do"] == "withdraw":
            self._sums.withdraw(hello["name"])
            return {}
        if words["at"] != self._index or words["panel"] != self._addresses:
            raise ValueError(
                f"shares of {words['name']!r} are for the computing parties {words['panel']}, and "
                f"these are {self._addresses}; all must be given the same ones, in one order."
            )
        self._sums.add(words, body)
        return {"digest": hashlib.sha256(body).hexdigest()}

    async def _let_in(self, writer: asyncio.StreamWriter) -> None:
        self._kept.append(writer)
        link(self._runtime, writer.transport, None, self._over.set)
        writer.transport.write(packed({}))

    async def _serve_coordinator(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._coordinated:
            writer.write(packed({"error": "another vote is going on; try again later."}))
            return
        self._coordinated = True
        writer.write(packed({}))
        try:
            while not self._over.is_set():
                words, _ = await read_message(reader)
                writer.write(packed(*await self._command(words)))
                await writer.drain()
        finally:
            self._over.set()

    async def _command(self, words: Words) -> tuple[Words, bytes]:
        match words["do"]:
            case "join":
                await asyncio.wait_for(self._join(words["index"], words["addresses"]), _SOON)
                return {}, b""
            case "begin":
                self._sums = Sums(str(words["session"]))
                return {}, b""
            case "traffic":
                return {"sent": sent(self._runtime)}, b""
        if words["session"] != self._sums.session:
            raise ValueError("there is no such vote.")
        if words["do"] == "received":
            return {"names": sorted(self._sums.names)}, b""
        if words["do"] != "winners":
            raise ValueError(f"do={words['do']!r} is unknown.")
        asked = self._sums.begin(tuple(words["columns"]), set(words["names"]), *words["rows"])
        share = await self._unless_over(winners(self._runtime, asked.share, asked.how, asked.bits))
        return {"shape": list(share.shape)}, as_bytes(share)

    async def _unless_over(self, computing: Any) -> Any:
        over, result = asyncio.ensure_future(self._over.wait()), asyncio.ensure_future(computing)
        await asyncio.wait({over, result}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if not result.done():
            result.cancel()
            raise LineError("another computing party is gone.")
        return result.result()

    async def _join(self, index: int, addresses: list[list[Any]]) -> None:
        """Connect with the two others: each calls those after it.

        Once: shares are given for these three, and are not for others to compute with.
        """
        if self._runtime is not None:
            raise ValueError("the computing parties of this vote have come together already.")
        if self._calling is not None and addresses != self._panel:
            raise ValueError(f"the computing parties are {self._panel}, and not {addresses}.")
        self._index, self._addresses = index, addresses
        self._runtime = new_runtime(index)
        self._joined.set()
        for peer in range(index + 1, N_COMPUTING):
            host, port = addresses[peer]
            reader, writer = await asyncio.open_connection(host, port, ssl=self._calling)
            self._kept.append(writer)
            writer.write(packed({"role": "peer", "token": self._token}))
            words, _ = await read_message(reader)
            if "error" in words:
                raise ValueError(words["error"])
            link(self._runtime, writer.transport, peer, self._over.set)
        await all_linked(self._runtime)
