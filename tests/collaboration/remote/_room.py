"""Parties in threads of this process, around one server; for what needs no process to die."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

from tests.collaboration.remote._site import AGREEMENT, budget, trained

from secretballot.parties import Membership, VoteServer
from secretballot.parties._channel import Connection


class Room:
    """A server, and members as they are asked for."""

    def __init__(self, authority, stack, agreement=AGREEMENT, **options):
        self.authority, self.agreement, self._stack = authority, agreement, stack
        kinds = options if "labels" in options else {"classes": [0, 1], **options}
        kinds.setdefault("timeout", 20)
        self.server = stack.enter_context(
            VoteServer(agreement, credentials=authority.of_server(), **kinds)
        )

    def member(self, party, **options):
        """A membership that is not connected yet."""
        if isinstance(party, str):
            party = trained(party, budget())
        settings = {
            "credentials": self.authority.of_party(party.name),
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
def raw(here, name, method="join", says=None):
    """A stream of a party that says what it likes."""
    certificate = here.authority.of_party(name)
    with Connection(here.server.address, credentials=certificate) as connection:
        stream = connection.open(method)
        try:
            if says is not None:
                stream.send(says)
            yield stream
        finally:
            stream.close()
