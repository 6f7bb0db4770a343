"""Wrong bytes, messages and tables, as few as are fast; `tests/attacks` has the many."""

import socket
from contextlib import suppress

import numpy as np
import pytest
from tests.attacks._hostile_messages import (
    client_hello,
    hostile_call,
    http2,
    lie_to_a_party,
    lie_to_a_server,
    lie_to_an_asker,
)
from tests.attacks._hostile_tables import hostile_table, read
from tests.attacks._mutations import mutated_bytes
from tests.collaboration.remote._room import raw, room
from tests.collaboration.remote._site import AGREEMENT, ROWS, budget, trained

from secretballot.parties import ChannelError, VoteRefusedError
from secretballot.parties._channel import Connection, Server
from secretballot.parties._stream import Message
from secretballot.parties._terms import VoteTerms


def generators(n):
    """Seeds that the attacks don't have."""
    return (np.random.default_rng([7, seed]) for seed in range(n))


def test_tables():
    tables = [read(*hostile_table(rng)) for rng in generators(300)]
    assert 0 < sum(table is not None for table in tables) < 100


@pytest.mark.parametrize(
    ("lie", "n"), [(lie_to_a_party, 3), (lie_to_a_server, 30), (lie_to_an_asker, 30)]
)
def test_lies(lie, n):
    assert sum(map(lie, generators(n))) < 20 * n


def test_messages_and_bytes(authority):
    with room(authority) as here:
        voters = [here.voter(name) for name in ("east", "west")]
        with Connection(here.server.address, credentials=authority.of_party("north")) as calling:
            for rng in generators(30):
                hostile_call(rng, calling)
        for rng in generators(30):
            with socket.create_connection(here.server.address) as plain, suppress(OSError):
                plain.sendall(mutated_bytes(rng, client_hello(), [http2()]))
        answer = here.member("centre").ask(ROWS)
        assert (answer.voters, answer.labels.tolist()) == (("east", "west"), [1, 0])
        for voter in voters:
            assert voter.fault is None
            paid = [entry for entry in voter.party.accountant.entries() if entry.n_rows]
            assert voter.party.accountant.entries()[-1].reservation.is_settled
            assert paid


@pytest.mark.parametrize("columns", [[0], [1, 2], []])
def test_a_party_that_votes_on_some_classes(columns, authority):
    classes = [0, 1, 2]
    with room(authority, classes=classes) as here:
        voters = [here.voter(trained(name, budget(), classes=classes)) for name in ("east", "west")]
        with raw(here, "north", says=Message("join", {"ledger": "its own"})) as stream:
            assert stream.receive(20).kind == "joined"
            stream.send(Message("invited", {"columns": columns}))
            answer = here.member(trained("centre", budget(), classes=classes)).ask(ROWS)
        # It is absent, and the others vote.
        assert (answer.voters, answer.labels.tolist()) == (("east", "west"), [1, 0])
        assert answer.absent == {"north": "it answered nonsense: columns"}
        assert [voter.fault for voter in voters] == [None, None]


def test_messages_of_a_server_have_no_control_characters(authority):
    acting = "\x1b[2J\n\u202e"

    def tell_terms(stream):
        stream.receive(20)
        terms = VoteTerms(AGREEMENT, (0, 1), None, "trusted")
        stream.send(Message("terms", {**terms.fields(), "name": "south"}))

    def refuse(stream):
        stream.receive(20, 2**20)
        stream.send(Message("refused", {"why": acting}))

    def fail(stream):
        raise ChannelError(acting)

    authority.made("south")
    for ask, error in ((refuse, VoteRefusedError), (fail, ChannelError)):
        methods = {"terms": tell_terms, "ask": ask}
        with (
            Server(
                ("127.0.0.1", 0), methods, credentials=authority.of_server(), names=["south"]
            ) as server,
            room(authority) as here,
            pytest.raises(error) as refusal,
        ):
            here.member("south", address=server.address).ask(ROWS)
        assert str(refusal.value).isprintable()
