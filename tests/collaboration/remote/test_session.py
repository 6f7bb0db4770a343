"""What an aggregator may ask of a party, and in which order: nothing else is done or paid."""

import numpy as np
import pandas as pd
import pytest
from tests.collaboration.remote._site import NAMES, ROWS, budget, trained

from secretballot.mechanisms import BinaryVoting, ConfidentGNMax, GNMax
from secretballot.parties import Agreement
from secretballot.parties._membership import Session
from secretballot.parties._stream import Message, MessageError
from secretballot.parties._table import encode_table
from secretballot.parties._terms import VoteTerms

CONFIDENT = ConfidentGNMax(sigma=1, sigma_threshold=1, threshold=1, n_votes=4)
#: Their ballots weigh 4 together, of which one weighs 2.
VOTERS = ["east", "south", "west"]
VOTING = BinaryVoting(sigma=1, n_votes=3)


def invitation(**fields):
    table, body = encode_table(ROWS)
    return Message("invite", {**table, "question": "q", "asker": "centre", **fields}, body)


def session(mechanism=CONFIDENT, **kinds):
    party = trained("south", budget(), **kinds)
    agreement = Agreement(mechanism=mechanism, parties=NAMES, weights={"south": 2.0})
    names = None if party.labels is None else ("a", "b", "c")
    return Session(party, VoteTerms(agreement, party.classes, names, "trusted"))


def reserve(**fields):
    vote = {"columns": [0, 1], "weight": 2.0, "voters": VOTERS, **fields}
    return Message("reserve", {"question": "q", "motions": [vote]})


def close(*tallies):
    described = [{"n_rows": rows, "n_answers": answers} for rows, answers in tallies]
    return Message("close", {"question": "q", "tallies": described})


CAST, VOID = (Message(kind, {"question": "q"}) for kind in ("cast", "void"))


def said(here, *messages):
    """The kinds of the answers, the last of which may be a refusal."""
    kinds = []
    for message in messages:
        try:
            kinds.append(here.answer(message).kind)
        except MessageError:
            kinds.append("refused")
    return kinds


@pytest.mark.parametrize(
    "fields",
    [
        {"weight": 1.0},
        {"weight": True},
        {"columns": [0]},
        {"columns": [0, 1, 2]},
        {"columns": [1, 0]},
        {"columns": [0.0, 1.0]},
        {"columns": []},
        {"columns": None},
        {"voters": ["south"]},  # nobody but this party
        {"voters": ["south", "west"]},  # no whole number of such ballots
        {"voters": ["east", "west"]},
        {"voters": ["south", "west", "west"]},
        {"voters": ["south", 1]},
        {"voters": ["south", *(f"ghost {i}" for i in range(200))]},
        {"voters": [*VOTERS, "ghost"]},
        {"voters": [*VOTERS, "centre"]},  # who asks
        {"voters": None},
        {"total_weight": 4.0},
        {"mechanism": "GNMax"},
    ],
)
def test_votes_outside_the_agreement_are_refused(fields):
    here = session()
    assert said(here, invitation(), reserve(**fields)) == ["invited", "refused"]
    assert here._party.accountant.entries() == []
    nothing = Message("reserve", {"question": "q", "motions": []})
    assert said(here, nothing, CAST) == ["refused"] * 2


def test_votes_on_labels_that_the_party_does_not_know():
    here = session(VOTING, labels=["a", "c"])
    assert here.answer(invitation()).fields == {"columns": [0, 2]}
    for columns in ([1], [0, 1], [0, 0]):
        assert said(here, reserve(columns=columns)) == ["refused"]
    vote = {"columns": [0], "weight": 2.0, "voters": VOTERS}
    assert said(here, Message("reserve", {"question": "q", "motions": [vote] * 2})) == ["refused"]
    assert here._party.accountant.entries() == []
    assert said(here, reserve(columns=[0, 2]), CAST) == ["reserved", "cast"]


def test_the_charge_follows_from_the_party_s_own_agreement():
    here = session()
    said(here, invitation(), reserve())
    (entry,) = here._party.accountant.entries()
    # 4 votes in all, of which its own counts 2; the rest is its agreement.
    assert '"n_votes":4.0' in entry.mechanism.replace(" ", "")
    assert '"weight":2.0' in entry.mechanism.replace(" ", "")


@pytest.mark.parametrize(
    ("before", "refused"),
    [
        ([], [reserve(), CAST, VOID, close((2, 2))]),
        ([invitation()], [CAST, VOID, close((2, 2))]),
        ([invitation(), reserve()], [reserve(), invitation()]),
        ([invitation(), reserve(), CAST], [reserve(), invitation()]),
        ([invitation(), reserve(), CAST, VOID], [CAST, VOID, close((2, 2))]),
        ([invitation(), reserve(), CAST, close((2, 1))], [VOID, CAST, close((2, 2)), reserve()]),
        (
            [invitation(), reserve(), CAST],
            [
                close(),
                close((3, 1)),
                close((2, 3)),
                close((0, 0)),
                close((2.0, 1)),
                close((2, 1), (2, 1)),
                close((True, 1)),
            ],
        ),
        ([invitation()], [Message("learn"), Message("reserve", {"question": "r"})]),
        (
            [],
            [
                invitation(asker="south"),
                invitation(asker=["centre"]),
                invitation(question=""),
                invitation(question="q" * 65),
            ],
        ),
    ],
)
def test_messages_out_of_order_are_refused(before, refused):
    here = session()
    for message in before:
        here.answer(message)
    n_entries = len(here._party.accountant.entries())
    assert said(here, *refused) == ["refused"] * len(refused)
    assert len(here._party.accountant.entries()) == n_entries


def test_rows_that_a_party_cannot_read():
    here = session()
    assert said(here, invitation(table="pickle"), reserve()) == ["cannot", "refused"]


def test_rows_at_which_the_model_fails():
    # Of a frame scikit-learn warns, which is an error here; the party goes on all the same.
    here = session()
    fields, body = encode_table(pd.DataFrame(ROWS, columns=["a", "b"]))
    asked = Message("invite", {**fields, "question": "q", "asker": "centre"}, body)
    assert said(here, asked, invitation()) == ["cannot", "invited"]


def test_the_length_of_ballots_does_not_depend_on_them():
    here = session(GNMax(sigma=1.0), classes=list(range(300)))
    assert said(here, invitation(), reserve(columns=list(range(300)))) == ["invited", "reserved"]
    assert here.answer(CAST).body == np.array([1, 0], np.uint16).tobytes()


def test_a_question_of_a_connection_that_was_lost_is_not_paid_back():
    here = session()
    assert said(here, invitation(), reserve(), CAST) == ["invited", "reserved", "cast"]
    again = Session(here._party, here._terms)
    assert said(again, invitation(), reserve(), VOID) == ["invited", "refused", "refused"]
    (entry,) = here._party.accountant.entries()
    assert not entry.reservation.is_settled


def test_a_vote_from_the_invitation_to_its_end():
    here = session()
    assert said(here, invitation(), reserve(), VOID, reserve()) == [
        "invited",
        "reserved",
        "voided",
        "reserved",
    ]
    assert here.answer(CAST).body == bytes([1, 0])
    assert said(here, close((2, 1))) == ["closed"]
    assert here._party.accountant.entries()[-1].reservation.is_settled
    assert said(here, invitation(question="r")) == ["invited"]
