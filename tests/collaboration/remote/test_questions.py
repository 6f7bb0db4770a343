"""Votes over connections: as in one process; two at once, other columns, spent budgets."""

import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from tests.collaboration.remote._room import room
from tests.collaboration.remote._site import AGREEMENT, NAMES, ROWS, Halting, budget, trained

from secretballot.mechanisms import BinaryVoting, ConfidentGNMax, SkellamMax
from secretballot.parties import Agreement, ChannelError, Collaboration, VoteRefusedError

VOTERS = ("east", "south", "west")
#: Which labels each party knows, of three.
KNOWN = {"centre": "abc", "east": "ab", "south": "abc", "west": "bc"}
CONFIDENT = ConfidentGNMax(sigma=0.02, sigma_threshold=0.02, threshold=2.5, n_votes=3)
CASES = {
    "classes": (AGREEMENT, {"classes": [0, 1]}),
    "texts": (AGREEMENT, {"classes": ["no", "yes"]}),
    "threshold": (Agreement(mechanism=CONFIDENT, parties=NAMES), {"classes": [0, 1]}),
    "labels": (
        Agreement(
            mechanism=BinaryVoting(sigma=0.02, n_votes=3), parties=NAMES, weights={"south": 2.0}
        ),
        {"labels": list("abc")},
    ),
    "labels of whole counts": (
        Agreement(
            mechanism=SkellamMax(variance=1e-4, n_parties=3, n_colluders=1),
            parties=NAMES,
            weights={"south": 2.0},
        ),
        {"labels": list("abc")},
    ),
}


def made(name, kinds):
    if "labels" in kinds:
        kinds = {"labels": list(KNOWN[name])}
    return trained(name, budget(), **kinds)


@pytest.mark.parametrize("case", CASES)
def test_remote_votes_equal_votes_in_one_process(case, authority):
    agreement, kinds = CASES[case]
    here = {name: made(name, kinds) for name in KNOWN}
    there = {name: made(name, kinds) for name in KNOWN}
    expected = Collaboration(list(here.values())).ask("centre", ROWS, agreement)
    with room(authority, agreement=agreement, **kinds) as votes:
        for name in VOTERS:
            votes.voter(there[name])
        answer = votes.member(there["centre"]).ask(ROWS)
        for name in VOTERS:
            mine, theirs = (
                [
                    (entry.mechanism, entry.n_rows, repr(entry.charges))
                    for entry in parties[name].accountant.entries()
                ]
                for parties in (here, there)
            )
            assert theirs == mine
            spent = (parties[name].accountant.spent().share for parties in (here, there))
            assert len(set(spent)) == 1
    assert there["centre"].accountant.spent().share == 0
    for field in ("labels", "answered"):
        np.testing.assert_array_equal(getattr(answer, field), getattr(expected, field))
        assert getattr(answer, field).dtype == getattr(expected, field).dtype
    assert replace(answer, labels=0, answered=0, id="") == replace(
        expected, labels=0, answered=0, id=""
    )
    assert answer.answered.any()
    there["centre"].learn(ROWS, answer)


def test_fewer_voters_than_may_collude(authority):
    mechanism = SkellamMax(variance=1.0, n_parties=4, n_colluders=2)
    with room(authority, agreement=Agreement(mechanism=mechanism, parties=NAMES)) as here:
        members = [here.voter(name) for name in ("east", "west")]
        with pytest.raises(VoteRefusedError, match="n_colluders=2 of n_parties=2.*nothing spent"):
            here.member("centre").ask(ROWS)
        assert [member.party.accountant.entries() for member in members] == [[], []]


def test_rows_of_other_columns(authority):
    with room(authority) as here:
        for name in ("east", "west"):
            here.voter(name)
        other = here.voter(trained("south", budget(), n_columns=3))
        answer = here.member("centre").ask(ROWS)
        assert answer.voters == ("east", "west")
        assert answer.absent == {"south": "the rows do not have the columns of its own"}
        assert other.party.accountant.entries() == []
        # It stays: its next question is heard, and nobody else has its columns.
        with pytest.raises(
            VoteRefusedError, match="'east', 'west': the rows do not have the columns"
        ):
            other.ask(np.zeros((2, 3)))
        with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 3"):
            other.ask(ROWS)


def test_a_party_whose_budget_is_spent(authority):
    with room(authority) as here:
        poor = here.voter(trained("south", budget(epsilon=1)))
        others = [here.voter(name) for name in ("east", "west")]
        for _ in range(2):
            answer = here.member("centre").ask(ROWS)
            assert answer.voters == ("east", "west")
            assert answer.absent == {"south": "its budget does not allow it"}
        assert poor.party.accountant.entries() == []
        assert poor.fault is None
        others[0].close()
        with pytest.raises(VoteRefusedError, match="'south': its budget does not allow it"):
            here.member("centre").ask(ROWS)


class Held:
    """Holds a party where it is, until the test lets it go on."""

    def __init__(self):
        self.there, self.may_go = threading.Event(), threading.Event()

    def send(self, stage):
        self.there.set()

    def recv(self):
        assert self.may_go.wait(60)


@pytest.mark.parametrize("waits", [True, False])
def test_two_questions_at_once(waits, authority):
    # A second one waits as long as a message may take, and is refused clearly.
    held, answers = Held(), {}
    with room(authority, timeout=60 if waits else 1.5) as here:
        here.voter("east")
        slow = trained("south", budget(), kind=Halting)
        slow.waits, slow.connection = "cast", held
        member = here.member(slow)
        member.start()
        here.voter("west")

        def ask(name):
            try:
                answers[name] = here.member(name).ask(ROWS)
            except VoteRefusedError as error:
                answers[name] = str(error)

        asking = [
            threading.Thread(target=ask, args=[name], daemon=True) for name in ("centre", "north")
        ]
        asking[0].start()
        assert held.there.wait(60)
        if waits:
            asking[1].start()
            held.may_go.set()
        else:
            with here.server._one_at_a_time:
                asking[1].start()
                asking[1].join(60)
            assert answers["north"].startswith("another question is being voted on")
            held.may_go.set()
        for thread in asking:
            thread.join(60)
        if waits:
            assert [answers[name].voters for name in ("centre", "north")] == [VOTERS] * 2
            notes = [json.loads(entry.note) for entry in slow.accountant.entries()]
            assert [note["asked_by"] for note in notes if "asked_by" in note] == [
                "centre",
                "north",
            ]
        member.close()


def test_leaving_in_the_middle(authority):
    # Who has paid votes first, and is then gone.
    held, answers = Held(), []
    with room(authority) as here:
        for name in ("east", "west"):
            here.voter(name)
        slow = trained("south", budget(), kind=Halting)
        slow.waits, slow.connection = "cast", held
        member = here.member(slow).start()
        asking = threading.Thread(
            target=lambda: answers.append(here.member("centre").ask(ROWS)), daemon=True
        )
        asking.start()
        assert held.there.wait(60)
        leaving = threading.Thread(target=member.close, daemon=True)
        leaving.start()
        held.may_go.set()
        for thread in (asking, leaving):
            thread.join(60)
        assert answers[0].voters == VOTERS
        assert slow.accountant.entries()[-1].reservation.is_settled
        assert member.fault is None
        assert here.member("centre").ask(ROWS).voters == ("east", "west")


def test_leaving_and_the_end_of_the_server(authority):
    with room(authority) as here:
        members = [here.voter(name) for name in VOTERS]
        assert here.server.wait_for(VOTERS, 0)
        answer = members[0].ask(ROWS)  # whoever asks has no ballot, and stays
        assert (answer.voters, dict(answer.absent)) == (("south", "west"), {})
        assert here.server.present == VOTERS
        members[0].close()
        assert members[0].fault is None
        with pytest.raises(ChannelError, match="no connection"):
            here.member("north", address=("127.0.0.1", 1)).connect()
        here.server.close()
        for member in members[1:]:
            member._thread.join(60)
            assert member.fault is None  # the aggregator said that it is the end
        with pytest.raises(ChannelError):
            members[1].connect()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agreement": None}, "agreement=None must be"),
        ({"classes": [0, 1], "labels": ["a", "b"]}, "give classes"),
        ({"timeout": 0}, "timeout=0"),
        ({"classes": [b"a", b"b"]}, "not JSON serializable"),
        ({"classes": None, "labels": ["a", "b"]}, "GNMax"),
    ],
)
def test_settings_that_are_refused(settings, message, authority):
    from secretballot.parties import VoteServer

    arguments = {
        "agreement": AGREEMENT,
        "classes": [0, 1],
        "credentials": authority.of_server(),
        **settings,
    }
    with pytest.raises((ValueError, TypeError), match=message):
        VoteServer(arguments.pop("agreement"), **arguments)
