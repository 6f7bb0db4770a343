"""What became of a vote, asked later: nothing is paid twice for an answer that was lost."""

import json
import threading

import pytest
from tests.collaboration.remote._room import raw, room
from tests.collaboration.remote._site import ROWS, Halting, budget, trained
from tests.collaboration.remote.test_questions import CASES, VOTERS, Held, made

from secretballot.parties import ChannelError, VoteServer
from secretballot.parties._stream import Message
from secretballot.parties._table import encode_table
from secretballot.parties._vote_server import VoteRecords

EVERYBODY = ("centre", *VOTERS)


def ask(stream):
    """Ask as a party does, and return the question's id."""
    fields, body = encode_table(ROWS)
    return stream.ask(Message("ask", fields, body), "heard", timeout=60).fields["question"]


def settled(here, question, state):
    """Wait until a vote is in a state."""
    with here.server._one_at_a_time:
        assert here.server._records._records[question].state == state


@pytest.mark.parametrize("case", CASES)
def test_an_answer_that_was_lost(case, authority):
    agreement, kinds = CASES[case]
    parties = {name: made(name, kinds) for name in EVERYBODY}
    with room(authority, agreement=agreement, **kinds) as here:
        members = {name: here.voter(parties[name]) for name in VOTERS}
        asking = here.member(parties["centre"])
        expected = asking.ask(ROWS)
        assert asking.asked == expected.id
        spent = {name: parties[name].accountant.spent().share for name in VOTERS}

        state, answer = asking.outcome()[1:]
        assert state == "opened"
        assert (answer.id, answer.labels.tolist()) == (expected.id, expected.labels.tolist())
        assert (answer.voters, answer.names) == (expected.voters, expected.names)
        assert (answer.answered == expected.answered).all()
        # Others hear that it was opened, under the name that is in their ledgers, and no labels.
        note = json.loads(parties["east"].accountant.entries()[0].note)
        assert members["east"].outcome(note["question"])[1:] == ("opened", None)
        assert {name: parties[name].accountant.spent().share for name in VOTERS} == spent


def test_an_asker_that_breaks_off(authority):
    with room(authority) as here:
        voters = [here.voter(name) for name in VOTERS]
        for opens, state in ((False, "void"), (True, "opened")):
            with raw(here, "centre", "ask") as stream:
                question = ask(stream)
                assert stream.receive(60).kind == "ready"
                if opens:
                    stream.send(Message("open"))
                    stream.receive(60, 2)
            settled(here, question, state)
            outcome = here.member("centre").outcome(question)
            assert (outcome.state, outcome.answer is not None) == (state, opens)
            for voter in voters:
                assert (voter.party.accountant.spent().share > 0) == opens
                assert voter.party.accountant.entries()[-1].reservation.is_settled


def test_a_vote_that_goes_on(authority):
    held, answers = Held(), []
    with room(authority) as here:
        here.voter("east")
        here.voter("west")
        slow = trained("south", budget(), kind=Halting)
        slow.waits, slow.connection = "cast", held
        member = here.member(slow).start()
        asking = here.member("centre")
        thread = threading.Thread(target=lambda: answers.append(asking.ask(ROWS)), daemon=True)
        thread.start()
        assert held.there.wait(60)
        assert asking.outcome()[1:] == ("voting", None)
        held.may_go.set()
        thread.join(60)
        assert asking.outcome().answer.id == answers[0].id
        member.close()


def test_a_server_that_was_started_again(authority):
    with room(authority) as here:
        for name in ("east", "west"):
            here.voter(name)
        asking = here.member("centre")
        question = asking.ask(ROWS).id
        assert asking.outcome("of nobody")[1:] == ("unknown", None)
        again = {"credentials": authority.of_server(), "classes": [0, 1]}
        with VoteServer(here.agreement, **again) as second:
            asking.address = second.address
            assert asking.outcome(question)[1:] == ("unknown", None)
        with pytest.raises(ChannelError, match="no connection"):
            asking.outcome(question)
        asking.address = here.server.address
        with pytest.raises(ValueError, match="question=None must be"):
            here.member("centre").outcome()


def test_records_of_votes_are_bounded():
    records = VoteRecords()
    for at in range(2_000):
        records.begin(str(at), "centre", 1).answer = Message("answer", {}, bytes(1_000))
    assert len(records._records) == 1_000
    assert sum(record.answer is not None for record in records._records.values()) == 1
    assert records.outcome("1999", "south").body == b""
    assert records.outcome("1999", "centre").body
    for other in ("0", None, ["1999"]):
        assert records.outcome(other, "centre").fields == {"state": "unknown"}
