"""Ballots that go in shares from the parties' processes to three computing parties' own."""

import pytest
from tests.collaboration.remote._room import room
from tests.collaboration.remote._site import NAMES, ROWS, SHARED, budget, sharing, trained
from tests.computing._machines import machines
from tests.transport._certificates import HOST

from secretballot.collaboration import (
    Agreement,
    Membership,
    SecretSharingAggregator,
    TermsError,
    TrustedAggregator,
    VoteRefusedError,
    VoteServer,
)
from secretballot.collaboration._motion import Motion
from secretballot.collaboration._question import Question
from secretballot.computing import Recipients
from secretballot.mechanisms import GNMax, SkellamMax

#: Noise of other processes is not seeded.
pytestmark = pytest.mark.unseeded

VOTERS = ("east", "south", "west")
#: Where nobody is asked to compute.
NOWHERE = [(HOST, at) for at in (1, 2, 3)]


@pytest.fixture(scope="module")
def computing(authority):
    authority.made("votes")
    with machines(
        authority.folder / "authority.pem", authority.folder / "server.pem", NAMES
    ) as computing_parties:
        yield list(computing_parties)


def asker(authority, address, computing, **kinds):
    party = trained("centre", budget(), **kinds)
    settings = sharing(authority.folder, authority.made(party.name), computing)
    return Membership(party, address, credentials=authority.of_party(party.name), **settings)


def price(n_rows):
    accountant = budget()
    accountant.reserve(SHARED.mechanism, n_rows, n_columns=2)
    return accountant.spent().share


def test_a_party_that_is_killed_before_it_delivers(authority, sites, computing):
    authority.of_party("centre")
    _, address = sites.serve(shares=computing)
    for name in ("east", "west"):
        sites.start(name, address, shares=computing)
    south = sites.start("south", address, shares=computing, dies="after reserve")

    asking = asker(authority, address, computing)
    answer = asking.ask(ROWS)

    assert south.died()
    assert answer.labels.tolist() == [1, 0]
    assert (answer.voters, list(answer.absent)) == (("east", "west"), ["south"])
    for name in VOTERS:  # void, and held again: the others have paid once
        assert sites.spent(name) == pytest.approx(price(2), rel=1e-9)

    sites.start("south", address, shares=computing)
    again = asking.ask(ROWS)
    assert again.labels.tolist() == [1, 0]
    assert again.voters == VOTERS
    assert sites.spent("south") == pytest.approx(2 * price(2), rel=1e-9)


def test_labels(authority, sites, computing):
    kinds = {"labels": ["a", "b", "c"]}
    _, address = sites.serve(shares=computing, **kinds)
    for name in VOTERS:
        own_kinds = {"labels": ["a", "b"]} if name == "east" else kinds
        sites.start(name, address, shares=computing, kinds=own_kinds)
    answer = asker(authority, address, computing, **kinds).ask(ROWS)
    assert answer.labels.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert answer.voters == {"a": VOTERS, "b": VOTERS, "c": ("south", "west")}
    for name in VOTERS:
        assert sites.spent(name) == pytest.approx(price(4 if name == "east" else 6), rel=1e-9)


def test_a_void_vote_stays_charged_if_it_may_have_been_opened():
    party = trained("south", budget())
    asked = Question(id="q", asker="centre", X=ROWS, classes=(0, 1), labels=None)
    party.reserve(asked, [Motion((0, 1), SHARED.mechanism, {})])
    # Nobody is there who could say that it was not.
    party.withdraw(asked, Recipients("s", tuple(NOWHERE)))
    assert party.accountant.spent().share == pytest.approx(price(2), rel=1e-9)


class Lying(TrustedAggregator):
    """Says that it sees no ballots, and asks for them."""

    trust = SecretSharingAggregator.trust


def test_ballots_are_not_cast_with_secret_sharing(authority):
    with room(authority, agreement=SHARED, aggregator=Lying()) as here:
        members = [
            here.voter(name, **sharing(authority.folder, authority.made(name), NOWHERE))
            for name in VOTERS
        ]
        asking = here.member(
            "centre", **sharing(authority.folder, authority.made("centre"), NOWHERE)
        )
        with pytest.raises(VoteRefusedError, match="fewer than min_voters=2"):
            asking.ask(ROWS)
        for member in members:
            member._thread.join(60)
            assert "it was agreed that none is seen" in str(member.fault)


@pytest.mark.parametrize("server_shares", [True, False])
def test_an_aggregator_other_than_the_agreed_one(server_shares, authority):
    authority.made("votes")
    sharing_settings = sharing(authority.folder, authority.made("south"), NOWHERE)
    shared, plain = sharing_settings["aggregator"], TrustedAggregator()
    of_server, of_party = (shared, plain) if server_shares else (plain, shared)
    with room(authority, agreement=SHARED, aggregator=of_server) as here:
        member = here.member("south", aggregator=of_party)
        with pytest.raises(TermsError, match="aggregator is not what party 'south' agreed to"):
            member.connect()


def test_fewer_voters_than_may_collude(authority):
    mechanism = SkellamMax(variance=1.0, n_parties=4, n_colluders=2)
    with room(authority, agreement=Agreement(mechanism=mechanism, parties=NAMES)) as here:
        members = [here.voter(name) for name in ("east", "west")]
        with pytest.raises(VoteRefusedError, match="n_colluders=2 of n_parties=2.*nothing spent"):
            here.member("centre").ask(ROWS)
        assert [member.party.accountant.entries() for member in members] == [[], []]


def test_aggregators_on_one_machine_are_refused(authority):
    with room(authority, agreement=SHARED) as here:
        for aggregator, error, message in (
            (SecretSharingAggregator(), ValueError, "computes on one machine"),
            ("secret sharing", TypeError, "must be an Aggregator"),
        ):
            with pytest.raises(error, match=message):
                here.member("south", aggregator=aggregator)
    sharing_settings = sharing(authority.folder, authority.made("votes"), NOWHERE)
    settings = {"classes": [0, 1], "credentials": authority.of_server()}
    agreement = Agreement(mechanism=GNMax(sigma=1.0), parties=NAMES)
    with pytest.raises(TypeError, match="take SkellamMax"):
        VoteServer(agreement, aggregator=sharing_settings["aggregator"], **settings)


def test_three_addresses_differ(authority):
    certificate = authority.of_party("votes")
    # Who has two shares of a number knows it.
    for addresses in ([("a", 1)] * 3, [("a", 1), ("b", 1), ["a", 1]]):
        with pytest.raises(ValueError, match="name a computing party twice"):
            SecretSharingAggregator(addresses, credentials=certificate)
