"""Forged voters, shares that are sent again, and a coordinator that lies."""

from __future__ import annotations

import itertools
import random
import threading
from dataclasses import replace

import pytest
from tests.attacks._hostile_votes import (
    LIMIT,
    SOON,
    VOTERS,
    refused,
    there,
)
from tests.collaboration.remote._site import NAMES, budget, trained
from tests.computing._machines import HOST
from tests.computing._votes import part
from tests.transport._certificates import credentials

from secretballot import SkellamMax
from secretballot.collaboration import Agreement
from secretballot.collaboration.remote._vote_terms import VoteTerms
from secretballot.computing import Panel, deliver, withdraw
from secretballot.transport import ChannelError, Connection, Message, MessageError

pytestmark = pytest.mark.unseeded


# Votes as a server says them.


def test_voters_that_a_server_invents(counts):
    rng = random.Random(0)
    agreement = Agreement(
        mechanism=SkellamMax(variance=60.0, n_parties=4, n_colluders=2), parties=NAMES
    )
    party = trained("south", budget())
    terms = VoteTerms(agreement, party.classes, None, "secret sharing")
    odd = ["ghost", "South", "south ", "", "south\0", "ŝouth", None, 3, ["south"], {"a": 1}]
    n_refused, n_paid = 0, 0
    for _ in range(4_000):
        voters = rng.sample(NAMES, rng.randint(0, 5))
        if rng.random() < 0.5:
            voters += [f"ghost {at}" for at in range(rng.choice([1, 2, 200]))]
        if rng.random() < 0.3:
            voters.append(rng.choice([*odd, *NAMES]))
        rng.shuffle(voters)
        fields = {"columns": [0, 1], "weight": 1.0, "voters": voters}
        try:
            motion = terms.motion(fields, "south", (0, 1), "centre")
        except MessageError:
            n_refused += 1
            continue
        n_paid += 1
        # Who votes was agreed on, and two who tell their noise leave what is paid for.
        assert set(motion.voters) <= set(NAMES) - {"centre"}
        assert len(motion.voters) == len(voters) <= 4
        assert (len(voters) - 2) * motion.mechanism.share_variance >= 60.0 * (1 - 1e-12)
    assert min(n_refused, n_paid) > 50
    counts("lists of voters that were invented or doubled, refused", n_refused)
    counts("lists of voters that were agreed on", n_paid)


# Certificates, and shares.


def test_certificates_of_many_names(addresses, panel, authority, counts):
    roles = [*VOTERS, "votes", HOST]
    one = part([[1]], voters=VOTERS)
    session = panel.begin([one.vote])
    n_refused, sets = 0, [()]
    sets += [two for n in (2, 3, 5) for two in itertools.combinations(roles, n)]
    for at, names in enumerate(sets):
        unknown = [f"name-{other}" for other in range(200)]
        authority.issue(f"forged {at}", *names, *unknown)
        for name in VOTERS:
            where = there(session, panel, authority, f"forged {at}")
            n_refused += refused(deliver, name, [one], where)
        forged = credentials(authority.folder, f"forged {at}")
        for method in ("coordinate", "peer", "withdraw"):
            with Connection(addresses[0], credentials=forged) as connection:
                asked = Message(method, {"name": "a", "session": session, "index": 0})
                n_refused += refused(connection.ask, method, asked, timeout=SOON)
    assert n_refused == 6 * len(sets)
    assert panel.received(session) == [set()] * 3
    counts("calls with forged certificates refused", n_refused)


def test_shares_that_are_sent_again(panel, authority, counts):
    one = part([[-1], [2]], voters="ab")
    first = panel.begin([one.vote])
    a, b = (there(first, panel, authority, name) for name in "ab")
    deliver("a", [one], a)
    attempts = [
        lambda: deliver("a", [one], a),  # again
        lambda: deliver("a", [replace(one, numbers=-one.numbers)], a),  # and with other noise
        lambda: deliver("b", [one], a),  # in another's name
        lambda: deliver("c", [one], there(first, panel, authority, "c")),  # who does not vote
        lambda: deliver("b", [one, one], b),
        lambda: deliver("b", [part([[-1], [2]], voters="abc")], b),
        lambda: deliver("b", [part([[-1], [2]], voters="ab", digest="other noise")], b),
        lambda: deliver("b", [part([[-1], [2]], voters="ab", bits=6)], b),
        lambda: deliver("b", [part([[-1]], voters="ab")], b),
        lambda: deliver("b", [one], replace(b, session="another")),
        lambda: deliver("b", [one], replace(b, addresses=b.addresses[::-1])),
    ]
    n_refused = sum(map(refused, attempts))
    assert n_refused == len(attempts)
    # Together at once, they come in once.
    threads = [
        threading.Thread(target=refused, args=(deliver, "b", [one], b), daemon=True)
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert panel.received(first) == [{"a", "b"}] * 3
    assert panel.winners(first, one.vote).tolist() == [[1], [0]]
    # What was opened is not withdrawn, and shares of one vote are not those of the next one.
    assert not withdraw("a", a)
    second = panel.begin([one.vote])
    again = [lambda: deliver("a", [one], a), lambda: deliver("b", [one], b)]
    n_refused += sum(map(refused, again))
    assert panel.received(second) == [set()] * 3
    assert n_refused == len(attempts) + 2
    # What was withdrawn is not opened, whoever else delivers.
    deliver("a", [one], replace(a, session=second))
    assert withdraw("a", replace(a, session=second))
    n_refused += refused(deliver, "b", [one], replace(b, session=second))
    n_refused += refused(panel.winners, second, one.vote)
    assert n_refused == len(attempts) + 4
    counts("shares sent again, for another vote, or withdrawn, refused", n_refused)


def test_a_coordinator_that_lies(addresses, authority, counts):
    one, ghosts = part([[1], [2]], voters="ab"), [f"ghost {at}" for at in range(200)]
    fields = one.vote.fields()
    lies = [
        ("begin", {"votes": [{**fields, "voters": ["a", *ghosts]}]}),
        ("begin", {"votes": [{**fields, "voters": ["a", "b", "votes"]}]}),
        ("begin", {"votes": [{**fields, "voters": ["a", "a", "b"]}]}),
        ("begin", {"votes": [{**fields, "shape": [2**50, 1]}]}),
        ("begin", {"votes": [{**fields, "shape": [LIMIT // 16 + 1, 1]}]}),
        ("begin", {"votes": [fields, fields]}),
        ("winners", {"columns": [0], "start": 0, "stop": 2}),  # before b has shared
        ("winners", {"columns": [1], "start": 0, "stop": 2}),
        ("winners", {"columns": [0], "start": 1, "stop": 2}),
        ("winners", {"columns": None, "start": None}),
        ("join", {"addresses": [list(each) for each in addresses]}),
        ("open everything", {}),
    ]
    for kind, more in lies:
        # A lie ends a vote, and the three serve the next coordinator.
        panel = Panel(addresses, "", SOON, credentials(authority.folder, "votes"))
        session = panel.begin([one.vote])
        deliver("a", [one], there(session, panel, authority, "a"))
        fields = {"session": session, **more}
        with pytest.raises(ChannelError):
            panel._ask(kind, "won", **fields)
        assert panel.closed
    counts("lies of a coordinator refused", len(lies))


@pytest.mark.parametrize("at", range(3))
def test_computing_parties_that_are_lost_and_start_anew(at, addresses, authority, counts):
    one, coordinator = part([[1], [-2]], voters="a"), credentials(authority.folder, "votes")
    for n_opened in (0, 1):
        panel = Panel(addresses, "", SOON, coordinator)
        session = panel.begin([one.vote])
        where = there(session, panel, authority, "a")
        deliver("a", [one], where)
        asked = {"session": session, "columns": [0], "start": 0, "stop": 1}
        if n_opened:
            panel._ask("winners", "won", LIMIT, **asked)
        addresses.lose(at)
        with pytest.raises(ChannelError):
            panel.winners(session, one.vote)
        addresses.restart(at)
        # Nobody has the shares any more, nor says that nothing was opened; the next vote is held.
        panel = Panel(addresses, "", SOON, coordinator)
        assert not withdraw("a", where)
        session = panel.begin([one.vote])
        deliver("a", [one], replace(where, session=session))
        assert panel.winners(session, one.vote).tolist() == [[0], [1]]
        panel.close()
    counts("computing parties lost in the middle of a vote", 2)


def test_a_coordinator_that_opens_twice(addresses, authority, counts):
    one = part([[1], [-2], [3]], voters="a")
    for start, stop in ([0, 1], [0, 3], [1, 1], [2, 3]):
        panel = Panel(addresses, "", SOON, credentials(authority.folder, "votes"))
        session = panel.begin([one.vote])
        deliver("a", [one], there(session, panel, authority, "a"))
        asked = {"session": session, "columns": [0], "start": 0, "stop": 1}
        panel._ask("winners", "won", LIMIT, **asked)
        with pytest.raises(ChannelError, match="not those that come next"):
            panel._ask("winners", "won", LIMIT, **{**asked, "start": start, "stop": stop})
        # And who has lost its coordinator does not hear that nothing was opened.
        assert not withdraw("a", there(session, panel, authority, "a"))
    counts("rows that were asked for twice", 4)
