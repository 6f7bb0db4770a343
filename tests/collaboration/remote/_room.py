"""Parties in threads of this process, around one server; for what needs no process to die."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

from tests.collaboration.remote._certificates import HOST
from tests.collaboration.remote._site import AGREEMENT, NAMES, budget, trained

from secretballot.collaboration import Membership, VoteServer
from secretballot.collaboration.remote._channel import Channel
from secretballot.collaboration.remote._tls import reach


class Room:
    """A server, and members as they are asked for."""

    def __init__(self, authority, stack, agreement=AGREEMENT, **options):
        self.authority, self.agreement, self._stack = authority, agreement, stack
        kinds = options if "labels" in options else {"classes": [0, 1], **options}
        kinds.setdefault("timeout", 20)
        self.server = stack.enter_context(
            VoteServer(agreement, parties=NAMES, context=authority.of_server(), **kinds)
        )

    def member(self, party, **options):
        """A membership that is not connected yet."""
        if isinstance(party, str):
            party = trained(party, budget())
        settings = {
            "context": self.authority.of_party(party.name),
            "agreement": self.agreement,
            "address": self.server.address,
            **options,
        }
        return Membership(party, **settings)

    def voter(self, party, **options):
        """A member that votes until the room is closed."""
        return self._stack.enter_context(self.member(party, **options))


@contextmanager
def room(authority, **options):
    with ExitStack() as stack:
        yield Room(authority, stack, **options)


@contextmanager
def raw(here, name, says=None):
    """A connection of a party that says what it likes, to begin with after the welcome."""
    secure = reach(here.server.address, here.authority.of_party(name), 60, HOST)
    channel = Channel(secure, 60, 2**30)
    try:
        assert channel.hear(60).kind == "welcome"
        if says is not None:
            channel.answer(says)
        yield channel
    finally:
        channel.close()
