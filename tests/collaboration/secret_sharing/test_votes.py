"""Parties that ask each other with nobody to trust, and what goes wrong on the way."""

from __future__ import annotations

import os
import signal
import socket
import threading

import numpy as np
import pytest
from tests.collaboration.secret_sharing._voters import FixedVoter, motion, parties, question

from secretballot import GNMax, SkellamMax
from secretballot.collaboration import (
    Agreement,
    Collaboration,
    SecretSharingAggregator,
    VoteRefusedError,
)
from secretballot.collaboration._voter import Absent
from secretballot.computing import LineError, Panel
from secretballot.computing._wire import Line

ROWS = np.zeros((8, 2))


def agreed(n_parties=4, **settings):
    mechanism = SkellamMax(variance=1.0, n_parties=n_parties, n_colluders=1)
    return Agreement(mechanism=mechanism, **settings)


def shares_spent(collaboration):
    return {name: spent.share for name, spent in collaboration.spent().items()}


def test_parties_ask_each_other(sharing):
    together = Collaboration(parties(5), aggregator=sharing)
    answer = together.ask("site 0", ROWS, agreed())
    assert answer.labels.mean() > 0.5  # 4 votes against none, noise of a variance of 2.7
    assert set(answer.voters) == {f"site {i}" for i in range(1, 5)}
    spent = shares_spent(together)
    assert spent.pop("site 0") == 0
    (share,) = set(spent.values())
    assert share > 0
    # The statement says what that relies on.
    statement = " ".join(str(together.parties["site 1"].accountant.statement()).split())
    assert "shared their ballots and their noise among three" in statement


def test_a_heavier_ballot_wins(sharing):
    made = parties(4)
    together = Collaboration(made, aggregator=sharing)
    together.ask("site 0", ROWS, agreed(3, weights={"site 1": 2.0}))
    spent = shares_spent(together)
    assert spent["site 1"] > spent["site 2"] == spent["site 3"] > 0


@pytest.mark.parametrize(
    ("mechanism", "settings", "message"),
    [
        (GNMax(sigma=1.0), {}, "take SkellamMax"),
        (SkellamMax(variance=1.0, n_parties=4, n_colluders=1, opens="counts"), {}, "opens='winn"),
        (SkellamMax(variance=1.0, n_parties=9, n_colluders=5), {}, "n_colluders=5 of n_parties=4"),
        (agreed().mechanism, {"random_state": 1}, "voters draw their own noise"),
    ],
)
@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
def test_a_vote_that_can_not_be_held_costs_nothing(sharing, mechanism, settings, message):
    together = Collaboration(parties(5), aggregator=sharing)
    with pytest.raises((TypeError, ValueError), match=message):
        together.ask("site 0", ROWS, Agreement(mechanism=mechanism), **settings)
    assert set(shares_spent(together).values()) == {0}


def test_the_vote_is_held_again_without_whose_share_is_missing(sharing, monkeypatch):
    made = parties(5)
    asked = []

    def two_of_three(question, recipients):
        asked.append(recipients.session)
        short = type(recipients)(
            recipients.session, recipients.addresses[:2], recipients.token, recipients.timeout
        )
        type(made[2]).deliver(made[2], question, short)

    monkeypatch.setattr(made[2], "deliver", two_of_three, raising=False)
    together = Collaboration(made, aggregator=sharing)
    answer = together.ask("site 0", ROWS, agreed())
    assert answer.absent == {"site 2": "its shares are missing at a computing party"}
    assert set(answer.voters) == {"site 1", "site 3", "site 4"}
    assert shares_spent(together)["site 0"] == 0
    assert len(asked) == 1


def test_labels_are_rows_of_their_own(sharing):
    one = motion(2, 3, variance=1e-6)
    one = type(one)((0, 1, 2), one.mechanism, apart=True)
    asked, ballots = question(2, labels=("x", "y", "z")), np.array([[0, 1, 1], [1, 0, 1]])
    voters = {name: FixedVoter(name, [one], ballots) for name in "ab"}
    gathered = sharing.gather(asked, voters)
    # Who adds up has asked for deliveries, and seen none.
    assert [voter.asked for voter in voters.values()] == [["deliver", "cast"]] * 2
    (won,) = sharing.open(gathered, [one], [dict.fromkeys("ab", 1.0)], None)
    np.testing.assert_array_equal(won.reshape(2, 3), ballots)


def test_computing_parties_that_are_killed(monkeypatch):
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    with SecretSharingAggregator(timeout=60) as aggregator:
        together = Collaboration(parties(5), aggregator=aggregator)
        aggregator._connected()
        os.kill(aggregator._processes.pids[1], signal.SIGKILL)
        with pytest.raises(VoteRefusedError, match="before anything was opened.*given back"):
            together.ask("site 0", ROWS, agreed())
        assert set(shares_spent(together).values()) == {0}

        # While they compute: one stands still when the others begin, and then is killed.
        find = Panel.winners

        def killed_at_work(*arguments):
            last = aggregator._processes.pids[2]
            os.kill(last, signal.SIGSTOP)
            threading.Timer(0.2, os.kill, (last, signal.SIGKILL)).start()
            return find(*arguments)

        monkeypatch.setattr(Panel, "winners", killed_at_work)
        with pytest.raises(VoteRefusedError, match=r"stays charged.*ask again") as refused:
            together.ask("site 0", ROWS, agreed())
        assert "computing party 2 was killed by signal 9" in str(refused.value)
        spent = shares_spent(together)
        assert min(spent[f"site {i}"] for i in range(1, 5)) > 0
        monkeypatch.undo()

        # The run goes on, with new processes; what was charged stays so.
        assert together.ask("site 0", ROWS, agreed()).answered.all()
        assert shares_spent(together)["site 1"] > spent["site 1"]
        pids = aggregator._processes.pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


class Unreachable(FixedVoter):
    def deliver(self, question, recipients):
        raise LineError("127.0.0.1:1 can't be reached.")


def test_a_voter_that_reaches_nobody_is_absent(sharing):
    one = motion(2, 2)
    voters = {
        "a": FixedVoter("a", [one], np.zeros(2, int)),
        "b": Unreachable("b", [one], np.zeros(2, int)),
    }
    with pytest.raises(Absent, match="'b': its shares did not arrive"):
        sharing.gather(question(2), voters)


def test_a_computing_party_that_says_nothing_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = silent.getsockname()
        with pytest.raises(LineError, match="timed out"):
            Line(address, {"role": "voter"}, timeout=0.05)
    with pytest.raises(LineError, match="can't be reached"):
        Line(address, {"role": "voter"}, timeout=1)


def test_mpyc_is_an_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    together = Collaboration(parties(5), aggregator=SecretSharingAggregator())
    with pytest.raises(ImportError, match=r"pip install 'secretballot\[mpc\]'"):
        together.ask("site 0", ROWS, agreed())
    assert set(shares_spent(together).values()) == {0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"addresses": [("a", 1)]}, "three computing parties"),
        ({"addresses": [("a", 1)] * 3}, "go together"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        SecretSharingAggregator(**settings)
