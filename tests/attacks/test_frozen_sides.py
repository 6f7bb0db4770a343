"""A server or an asker that stops in the middle, without a word or the end of its connection."""

from __future__ import annotations

import os
import signal
import time

import pytest
from tests.attacks.test_hostile_messages import VOTERS
from tests.collaboration.remote._processes import Sites
from tests.collaboration.remote._site import AGREEMENT, ROWS, budget, trained
from tests.transport._certificates import Authority

from secretballot.parties import ChannelError, Membership, VoteRefusedError

#: Noise of servers in other processes is not seeded; it would have to be 100 deviations off.
pytestmark = pytest.mark.unseeded


@pytest.fixture
def sites(tmp_path):
    authority = Authority(tmp_path)
    made = Sites(authority, tmp_path)
    yield made
    made.close()


def member(sites, address, name="centre"):
    certificate = sites.authority.of_party(name)
    party = trained(name, budget())
    return Membership(party, address, credentials=certificate, agreement=AGREEMENT, timeout=10)


def test_a_server(sites, counts):
    server, address = sites.serve()
    voters = [sites.start(name, address) for name in VOTERS]
    asker = member(sites, address)
    assert asker.ask(ROWS).voters == VOTERS
    spent = [sites.spent(name) for name in VOTERS]
    os.kill(server.process.pid, signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.raises(ChannelError, match="in time|lost|connection"):
        asker.ask(ROWS)
    counts("seconds until who asks notices", round(time.monotonic() - begun))
    for voter in voters:
        assert voter.heard().startswith("lost: ")
    counts("seconds until voters notice", round(time.monotonic() - begun))
    assert time.monotonic() - begun < 60
    os.kill(server.process.pid, signal.SIGCONT)
    for voter in voters:
        voter.connection.send(address)
        assert voter.heard() == "there"
    assert asker.outcome().state == "opened"
    assert [sites.spent(name) for name in VOTERS] == spent


def test_an_asker(sites, counts):
    _, address = sites.serve()
    south = sites.start("south", address, waits="cast")
    sites.start("east", address)
    asking = sites.start("north", address, asks=True)
    assert south.heard() == "cast"
    os.kill(asking.process.pid, signal.SIGSTOP)
    begun = time.monotonic()
    south.go_on()
    # Its answer is not opened, and others may ask.
    other = member(sites, address)
    other.timeout = 60
    south.kill()
    with pytest.raises(VoteRefusedError, match="fewer than min_voters"):
        other.ask(ROWS)
    counts("seconds until another may ask", round(time.monotonic() - begun))
    assert time.monotonic() - begun < 60
    assert sites.spent("east") == 0
    assert asking.kill()
