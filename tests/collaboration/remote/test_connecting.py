"""Who is let in: certificates, names, terms; and who is not."""

import socket
import ssl
from contextlib import suppress

import pytest
from tests.collaboration.remote._certificates import HOST, Authority, context
from tests.collaboration.remote._room import raw, room
from tests.collaboration.remote._site import AGREEMENT, ROWS, budget, trained

from secretballot.collaboration import Agreement, ChannelError, Membership, TermsError, VoteServer
from secretballot.collaboration.remote._message import Message
from secretballot.mechanisms import BinaryVoting, GNMax

ROWS_TOLD = {"table": "array"}


@pytest.fixture(scope="module")
def open_room(authority):
    with room(authority) as made:
        yield made


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """An authority that nobody trusts."""
    return Authority(tmp_path_factory.mktemp("others"))


def refused_context(what, authority, others):
    if what == "of another authority":
        others.issue("south", common_name="south")
        return context(others.folder, "south", trusted=authority.folder)
    if what == "none":
        return context(authority.folder, None)
    names = {"of a stranger": ["zoe"], "of two": ["south", "west"], "expired": ["south"]}[what]
    authority.issue(what, *names, common_name=None, expired=what == "expired")
    return context(authority.folder, what)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("of another authority", "lost \\(TLSV1_ALERT_UNKNOWN_CA\\)"),
        ("none", "lost \\(.*CERTIFICATE_REQUIRED\\)"),
        ("expired", "lost \\(.*CERTIFICATE_EXPIRED\\)"),
        ("of a stranger", "certificate of \\['zoe'\\] names no party that is expected"),
        ("of two", "names more than one party, \\['south', 'west'\\]"),
    ],
)
def test_certificates_that_are_refused(what, message, open_room, others):
    made = refused_context(what, open_room.authority, others)
    member = open_room.member("south", context=made)
    for how in (member.connect, lambda: member.ask(ROWS)):
        with pytest.raises(ChannelError, match=message):
            how()
    assert open_room.server.present == ()


def test_a_party_is_who_its_certificate_says(open_room):
    # Its messages, and its own opinion, don't count.
    member = open_room.member("south", context=open_room.authority.of_party("west"))
    with pytest.raises(TermsError, match="certificate is that of 'west', and the party is 'south'"):
        member.connect()
    open_room.authority.issue("by dns", "south")
    member = open_room.member("south", context=context(open_room.authority.folder, "by dns"))
    with member:
        assert open_room.server.present == ("south",)


def test_names_in_messages_do_not_count(open_room):
    claims = {"name": "west", "asker": "west", "party": "west", "ledger": "its own"}
    ask = Message("ask", {**claims, **ROWS_TOLD}, [ROWS])
    with raw(open_room, "south", Message("join", claims)) as channel:
        assert channel.hear(60).kind == "joined"
        channel.answer(Message("here"))
        assert open_room.server.present == ("south",)
        # It says that it is "west", and is "north".
        with raw(open_room, "north", ask) as asking:
            assert channel.hear(60).words["asker"] == "north"
            channel.close()
            assert "'south'" in asking.hear(60).words["why"]
    with raw(open_room, "south", Message("join", {})) as channel, pytest.raises(ChannelError):
        channel.hear(60)


@pytest.mark.parametrize("what", ["of another authority", "of a party"])
def test_an_aggregator_that_is_another(what, authority, others):
    impostor = (others if what == "of another authority" else authority).folder
    if impostor == authority.folder:
        authority.issue("west", common_name="west")
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_verify_locations(authority.folder / "authority.pem")
    made.load_cert_chain(impostor / ("server.pem" if impostor == others.folder else "west.pem"))
    with VoteServer(AGREEMENT, parties=["a", "b", "c"], classes=[0, 1], context=made) as server:
        member = Membership(
            trained("south", budget()),
            server.address,
            context=authority.of_party("south"),
            agreement=AGREEMENT,
        )
        with pytest.raises(ChannelError, match="CERTIFICATE_VERIFY_FAILED"):
            member.connect()


@pytest.mark.parametrize("says", [b"GET / HTTP/1.1\r\n\r\n", b"", bytes(2**12)])
def test_who_does_not_speak_tls(says, authority):
    # Who says nothing is waited for as long as for any message.
    with room(authority, timeout=60 if says else 0.2) as here:
        with (
            socket.create_connection(here.server.address) as plain,
            suppress(ConnectionResetError),
        ):
            plain.sendall(says)
            while plain.recv(2**10):  # an alert, at most
                pass
        if says:
            here.voter("south")
            assert here.server.present == ("south",)


def test_terms_that_differ(open_room):
    for agreement, what in (
        (Agreement(mechanism=GNMax(sigma=0.03), weights={"south": 2.0}), "mechanism"),
        (Agreement(mechanism=GNMax(sigma=0.02), weights={"south": 3.0}), "weights"),
        (Agreement(mechanism=GNMax(sigma=0.02)), "weights"),
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


def test_labels_that_nobody_votes_on(authority):
    voting = Agreement(mechanism=BinaryVoting(sigma=1, n_votes=3))
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


def spoilt(authority, **settings):
    made = authority.of_party("south")
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def test_contexts_that_let_anybody_in(authority, open_room):
    for settings, message in (
        ({"check_hostname": False, "verify_mode": ssl.CERT_NONE}, "verify_mode=.*CERT_REQUIRED"),
        ({"check_hostname": False}, "check_hostname=False would take any party"),
        ({"minimum_version": ssl.TLSVersion.MINIMUM_SUPPORTED}, "minimum_version"),
    ):
        with pytest.raises(ValueError, match=message):
            open_room.member("south", context=spoilt(authority, **settings))
    optional = authority.of_server()
    optional.verify_mode = ssl.CERT_OPTIONAL
    for made, message in (
        (optional, "verify_mode=.*lets in who shows no certificate"),
        (authority.of_party("south"), "PROTOCOL_TLS_SERVER"),
    ):
        with pytest.raises(ValueError, match=message):
            VoteServer(AGREEMENT, parties=["a", "b", "c"], classes=[0, 1], context=made)
    with pytest.raises(ValueError, match="PROTOCOL_TLS_CLIENT"):
        open_room.member("south", context=authority.of_server())
    assert HOST == open_room.member("south").server_name
