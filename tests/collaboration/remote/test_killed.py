"""Processes that are killed at every stage: nothing is answered unpaid, and the rest go on."""

import pytest
from tests.collaboration.remote._site import (
    AGREEMENT,
    PLENTY,
    ROWS,
    budget,
    trained,
)
from tests.transport._certificates import HOST

from secretballot.accounting import PrivacyAccountant
from secretballot.parties import ChannelError, Membership, VoteRefusedError, VoteServer

#: Noise of servers in other processes is not seeded; it would have to be 100 deviations off.
pytestmark = pytest.mark.unseeded

STEADY = ("east", "west")


def price(name):
    """What one vote costs a party's people, in full."""
    accountant = PrivacyAccountant(PLENTY, 1e-5)
    mechanism = AGREEMENT.mechanism
    if AGREEMENT.weight(name) != 1:
        mechanism = type(mechanism)(sigma=mechanism.sigma, weight=AGREEMENT.weight(name))
    accountant.reserve(mechanism, len(ROWS), n_columns=2)
    return accountant.spent().share


@pytest.fixture(scope="module")
def server(authority):
    with VoteServer(
        AGREEMENT, classes=[0, 1], credentials=authority.of_server(), timeout=60
    ) as serving:
        yield serving


@pytest.fixture(scope="module")
def voters(steady, server):
    """Two parties that nothing happens to."""
    for name in STEADY:
        steady.start(name, server.address)
    return steady


def member(authority, address, name="centre"):
    party = trained(name, budget())
    return Membership(
        party, address, credentials=authority.of_party(name), agreement=AGREEMENT, server_name=HOST
    )


@pytest.fixture
def asker(authority, server, voters):
    return member(authority, server.address)


@pytest.mark.parametrize(
    ("dies", "votes", "paid"),
    [
        ("before reserve", False, 0),
        ("after reserve", False, 1),
        ("while casting", False, 1),
        ("cast", False, 1),
        ("before close", True, 1),
        ("during close", True, 1),
    ],
)
def test_a_voter(dies, votes, paid, asker, voters, sites, server):
    before = {name: voters.spent(name) for name in STEADY}
    south = sites.start("south", server.address, dies=dies)

    answer = asker.ask(ROWS)

    assert south.died()
    assert answer.labels.tolist() == [1, 0]
    assert answer.voters == (("east", "south", "west") if votes else STEADY)
    assert list(answer.absent) == ([] if votes else ["south"])
    assert sites.spent("south") == pytest.approx(paid * price("south"), rel=1e-9)
    # Where a vote was void the others took back what it cost, and paid for the next one.
    for name in STEADY:
        assert voters.spent(name) - before[name] == pytest.approx(price(name), rel=1e-9)

    again = sites.start("south", server.address)
    assert asker.ask(ROWS).voters == ("east", "south", "west")
    assert sites.spent("south") == pytest.approx((paid + 1) * price("south"), rel=1e-9)
    again.kill()


@pytest.mark.parametrize(("stage", "paid"), [("cast", 0), ("before close", 1)])
def test_the_asker(stage, paid, asker, voters, sites, server):
    before = {name: voters.spent(name) for name in STEADY}
    south = sites.start("south", server.address, waits=stage)
    north = sites.start("north", server.address, asks=True)
    assert south.heard() == stage
    assert north.kill()
    south.go_on()

    # Nothing is opened for nobody; what was opened is paid. The next question comes after that.
    asking = sites.start("north", server.address, asks=True)
    assert south.heard() == stage
    assert sites.spent("south") == pytest.approx((paid + 1) * price("south"), rel=1e-9)
    south.go_on()
    assert asking.heard() == "there"
    south.kill()
    for name in STEADY:
        paid_for = voters.spent(name) - before[name]
        assert paid_for == pytest.approx((paid + 1) * price(name), rel=1e-9)
    asking.kill()


@pytest.mark.parametrize("stage", ["after reserve", "cast", "before close"])
def test_the_server(stage, authority, sites):
    first, address = sites.serve()
    names = ("east", "south")
    east = sites.start("east", address)
    south = sites.start("south", address, waits=stage)
    asking = sites.start("north", address, asks=True)
    assert south.heard() == stage

    assert first.kill()
    south.go_on()

    for each in (east, south):
        assert each.heard().startswith("lost: the connection was lost")
    asking.process.join(60)
    assert asking.process.exitcode == 1  # ChannelError, where nobody catches it
    # It may have been opened: whoever was not told that it was void has paid, once and in full.
    for name in names:
        assert sites.spent(name) == pytest.approx(price(name), rel=1e-9)

    second, address = sites.serve()
    for each in (east, south):
        each.connection.send(address)
        assert each.heard() == "there"
    south.kill()
    asker = member(authority, address)
    with pytest.raises(VoteRefusedError, match="fewer than min_voters=2"):
        asker.ask(ROWS)
    sites.start("south", address)
    assert asker.ask(ROWS).voters == names
    for name in names:
        assert sites.spent(name) == pytest.approx(2 * price(name), rel=1e-9)
    assert second.kill()
    with pytest.raises(ChannelError, match="no connection"):
        asker.ask(ROWS)
