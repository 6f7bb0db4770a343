"""Who is let in: certificates, names, terms; and who is not."""

import socket
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest
from tests.collaboration.remote._room import raw, room
from tests.collaboration.remote._site import AGREEMENT, NAMES, ROWS, budget, trained
from tests.transport._certificates import HOST, Authority, credentials

from secretballot.mechanisms import BinaryVoting, GNMax
from secretballot.parties import (
    Agreement,
    ChannelError,
    Membership,
    TermsError,
    TrustedAggregator,
    VoteServer,
)
from secretballot.parties._stream import Message
from secretballot.parties._table import encode_table


@pytest.fixture(scope="module")
def open_room(authority):
    with room(authority) as made:
        yield made


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """An authority that nobody trusts."""
    return Authority(tmp_path_factory.mktemp("others"))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["zoe"], "certificate of \\['zoe'\\] names no party that is expected"),
        (["south", "west"], "names more than one party, \\['south', 'west'\\]"),
    ],
)
def test_certificates_that_are_refused(names, message, open_room):
    open_room.authority.issue("refused", *names)
    certificate = credentials(open_room.authority.folder, "refused")
    member = open_room.member("south", credentials=certificate)
    for how in (member.connect, lambda: member.ask(ROWS), lambda: member.outcome("q")):
        with pytest.raises(ChannelError, match=message):
            how()
    assert open_room.server.present == ()


def test_party_names_come_from_certificates(open_room):
    # Its messages, and its own opinion, don't count.
    member = open_room.member("south", credentials=open_room.authority.of_party("west"))
    with pytest.raises(TermsError, match="certificate is that of 'west', and the party is 'south'"):
        member.connect()
    open_room.authority.issue("by dns", "south")
    certificate = credentials(open_room.authority.folder, "by dns")
    member = open_room.member("south", credentials=certificate)
    with member:
        assert open_room.server.present == ("south",)


def test_names_in_messages_do_not_count(open_room):
    claims = {"name": "west", "asker": "west", "party": "west", "ledger": "its own"}
    fields, body = encode_table(ROWS)
    with raw(open_room, "south", "join", Message("join", claims)) as stream:
        assert stream.receive(60).kind == "joined"
        assert open_room.server.present == ("south",)
        # It says that it is "west", and is "north".
        with raw(open_room, "north", "ask", Message("ask", {**claims, **fields}, body)) as asking:
            assert stream.receive(60, 2**20).fields["asker"] == "north"
            stream.close()
            assert asking.receive(60).kind == "heard"
            assert "'south'" in asking.receive(60).fields["why"]
    with (
        raw(open_room, "south", "join", Message("join")) as stream,
        pytest.raises(ChannelError, match="ledger=None is not"),
    ):
        stream.receive(60)


@pytest.mark.parametrize("what", ["of another authority", "of a party"])
def test_an_aggregator_that_is_another(what, authority, others):
    impostor = others if what == "of another authority" else authority
    certificate = credentials(
        impostor.folder,
        "server" if impostor is others else authority.made("west"),
        authority.folder,
    )
    with VoteServer(AGREEMENT, classes=[0, 1], credentials=certificate) as server:
        member = Membership(
            trained("south", budget()),
            server.address,
            credentials=authority.of_party("south"),
            agreement=AGREEMENT,
        )
        with pytest.raises(ChannelError, match="no connection"):
            member.connect()


def test_silent_and_slow_connections(authority):
    # Once 26 of them kept everybody out for as long as a message may take.
    with room(authority, timeout=300) as here, ExitStack() as stack:
        for at in range(200):
            plain = stack.enter_context(socket.create_connection(here.server.address))
            plain.sendall([b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02"][at % 3])
        # Parties that begin to say something are as slow, and no more of them come in.
        for at in range(20):
            stack.enter_context(raw(here, "north", ("join", "ask", "terms")[at % 3]))
        begun = time.monotonic()
        member = here.member("south").start()
        assert time.monotonic() - begun < 1
        assert here.server.present == ("south",)
        member.close()


def test_terms_that_differ(open_room):
    for agreement, what in (
        (replace(AGREEMENT, mechanism=GNMax(sigma=0.03)), "mechanism"),
        (replace(AGREEMENT, weights={"south": 3.0}), "weights"),
        (replace(AGREEMENT, weights={}), "weights"),
        (replace(AGREEMENT, parties=(*NAMES, "ghost")), "parties"),
        (replace(AGREEMENT, min_voters=3), "min_voters"),
    ):
        member = open_room.member("south", agreement=agreement)
        for how in (member.connect, lambda member=member: member.ask(ROWS)):
            with pytest.raises(TermsError, match=f"{what} is not what party 'south' agreed to"):
                how()
    party = trained("south", budget(), classes=[0, 1, 2])
    with pytest.raises(TermsError, match="classes is not what"):
        open_room.member(party).connect()
    party = trained("south", budget(), labels=["a", "b"])
    with pytest.raises(TermsError, match="classes is not what"):
        open_room.member(party).connect()


class Another(TrustedAggregator):
    trust = "nobody"


@pytest.mark.parametrize(
    ("of_server", "of_party"),
    [(Another(), TrustedAggregator()), (TrustedAggregator(), Another())],
)
def test_an_aggregator_other_than_the_agreed_one(of_server, of_party, authority):
    with room(authority, aggregator=of_server) as here:
        member = here.member("south", aggregator=of_party)
        with pytest.raises(TermsError, match="aggregator is not what party 'south' agreed to"):
            member.connect()


def test_labels_that_nobody_votes_on(authority):
    voting = Agreement(mechanism=BinaryVoting(sigma=1, n_votes=3), parties=NAMES)
    with room(authority, agreement=voting, labels=["a", "b"]) as here:
        party = trained("south", budget(), labels=["b", "c"])
        with pytest.raises(TermsError, match="knows labels \\['c'\\] that nobody votes on"):
            here.member(party).connect()


def test_one_budget_has_one_ballot(open_room):
    accountant = budget()
    with open_room.member(trained("east", accountant)):
        with pytest.raises(ChannelError, match="'west' has the ledger of 'east'"):
            open_room.member(trained("west", accountant)).connect()
        # The same party again, from another process say: the first connection ends.
        with open_room.member(trained("east", accountant)) as again:
            assert open_room.server.present == ("east",)
            assert again.fault is None


def test_settings_that_are_refused(authority, open_room):
    for settings, message in (
        ({"credentials": None}, "credentials=None must be Credentials"),
        ({"timeout": 1e10}, "timeout=10000000000.0 must"),
        ({"aggregator": "trusted"}, "aggregator='trusted' must be a TrustedAggregator"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            open_room.member("south", **settings)
        with pytest.raises((TypeError, ValueError), match=message):
            VoteServer(
                AGREEMENT, classes=[0, 1], **{"credentials": authority.of_server(), **settings}
            )
    assert HOST == open_room.member("south").server_name
    with pytest.raises(ValueError, match="timeout=10000000000.0 must"):
        open_room.member("south").ask(ROWS, timeout=1e10)
