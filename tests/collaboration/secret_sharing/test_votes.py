"""Parties that ask each other with nobody to trust, and what goes wrong on the way."""

from __future__ import annotations

import os
import signal
import socket
import threading

import numpy as np
import pytest
from tests.collaboration._parties import agreed, several
from tests.collaboration.secret_sharing._voters import FixedVoter, motion, question, rich

from secretballot import GNMax, SkellamMax
from secretballot.collaboration import (
    Collaboration,
    SecretSharingAggregator,
    TrustedAggregator,
    VoteRefusedError,
)
from secretballot.collaboration._voter import Absent
from secretballot.collaboration.secret_sharing._contribution import shared_vote
from secretballot.computing import Panel, Recipients, withdraw
from secretballot.transport import ChannelError

ROWS = np.zeros((8, 2))


def of_skellam(n_parties=4, **settings):
    mechanism = SkellamMax(variance=1.0, n_parties=n_parties, n_colluders=1)
    return agreed(mechanism, **settings)


def shares_spent(collaboration):
    return {name: spent.share for name, spent in collaboration.spent().items()}


def test_parties_ask_each_other(sharing):
    together = Collaboration(rich(1, 1, 1, 1, 1), aggregator=sharing)
    answer = together.ask("a", ROWS, of_skellam())
    assert answer.labels.mean() > 0.5  # 4 votes against none, noise of a variance of 2.7
    assert set(answer.voters) == set("bcde")
    spent = shares_spent(together)
    assert spent.pop("a") == 0
    (share,) = set(spent.values())
    assert share > 0
    # The statement says what that relies on.
    statement = " ".join(str(together.parties["b"].accountant.statement()).split())
    assert "shared their ballots and their noise among three" in statement


def test_a_heavier_ballot_wins(sharing):
    made = rich(1, 1, 1, 1)
    together = Collaboration(made, aggregator=sharing)
    together.ask("a", ROWS, of_skellam(3, weights={"b": 2.0}))
    spent = shares_spent(together)
    assert spent["b"] > spent["c"] == spent["d"] > 0


@pytest.mark.parametrize(
    ("mechanism", "settings", "message"),
    [
        (GNMax(sigma=1.0), {}, "take SkellamMax"),
        (SkellamMax(variance=1.0, n_parties=9, n_colluders=5), {}, "n_colluders=5 of n_parties=4"),
        (of_skellam().mechanism, {"random_state": 1}, "voters draw their own noise"),
    ],
)
@pytest.mark.filterwarnings("ignore:Noise drawn with random_state")
def test_a_vote_that_can_not_be_held_costs_nothing(sharing, mechanism, settings, message):
    together = Collaboration(rich(1, 1, 1, 1, 1), aggregator=sharing)
    with pytest.raises((TypeError, ValueError), match=message):
        together.ask("a", ROWS, agreed(mechanism), **settings)
    assert set(shares_spent(together).values()) == {0}


def test_the_vote_is_held_again_without_a_voter_whose_share_is_missing(sharing, monkeypatch):
    made = rich(1, 1, 1, 1, 1)
    asked = []

    def two_of_three(question, recipients):
        asked.append(recipients.session)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("secretballot.computing._panel.N_COMPUTING", 2)
            type(made[2]).deliver(made[2], question, recipients)

    monkeypatch.setattr(made[2], "deliver", two_of_three, raising=False)
    together = Collaboration(made, aggregator=sharing)
    answer = together.ask("a", ROWS, of_skellam())
    assert answer.absent == {"c": "its shares are missing at a computing party"}
    assert set(answer.voters) == set("bde")
    assert shares_spent(together)["a"] == 0
    assert len(asked) == 1


def test_aggregators_of_shares_see_no_ballots(sharing):
    one = motion(2, 2)
    voters = {name: FixedVoter(name, [one], np.zeros(2, int)) for name in "ab"}
    gathered = sharing.gather(question(2), [one], voters)
    # It asked for deliveries, and was given nothing.
    assert [voter.asked for voter in voters.values()] == [["deliver", "cast"]] * 2
    session, votes = gathered
    assert isinstance(session, str)
    assert votes == (shared_vote(one, 2),)


@pytest.mark.parametrize("kind", ["trusted", "shares"])
def test_labels_are_rows_of_their_own(kind, request):
    aggregator = TrustedAggregator() if kind == "trusted" else request.getfixturevalue("sharing")
    made = rich(*[[0, 1, 1]] * 4)
    together = Collaboration(made, aggregator=aggregator)
    mechanism = SkellamMax(variance=0.02, n_parties=3, n_colluders=1)  # wrong once in 10^5 or so
    answer = together.ask("a", ROWS[:2], agreed(mechanism))
    np.testing.assert_array_equal(answer.labels, [[0, 1, 1]] * 2)
    # Each of two rows' three labels was paid for.
    (drawn,) = (each for each in made[1].accountant.entries() if each.n_rows)
    assert drawn.n_rows == 6


def made(noise):
    return SkellamMax(variance=noise**2, n_parties=4, n_colluders=1)


@pytest.mark.parametrize("said", [1, [0, 1, 1]])
def test_an_agreement_uses_up_the_smallest_budget(said):
    together = Collaboration(several(*[said] * 5))
    answer = together.ask("a", ROWS[:4], together.agree(made, n_rows=4))
    assert set(answer.absent) == set()
    assert 0.9 < shares_spent(together)["b"] <= 1


def test_counts_are_no_answer():
    with pytest.raises(ValueError, match="releases counts"):
        agreed(SkellamMax(variance=1.0, opens="counts"))


def test_computing_parties_that_are_killed(monkeypatch):
    pytest.importorskip("mpyc", reason="the mpc extra is not installed")
    with SecretSharingAggregator(timeout=60) as aggregator:
        together = Collaboration(rich(1, 1, 1, 1, 1), aggregator=aggregator)
        aggregator._connected()
        os.kill(aggregator._processes.pids[1], signal.SIGKILL)
        with pytest.raises(VoteRefusedError, match="before anything was opened.*given back"):
            together.ask("a", ROWS, of_skellam())
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
            together.ask("a", ROWS, of_skellam())
        assert "computing party 2 was killed by signal 9" in str(refused.value)
        assert "timed out" not in str(refused.value)  # the others have noticed
        spent = shares_spent(together)
        assert min(spent[name] for name in "bcde") > 0
        monkeypatch.undo()

        # The run goes on, with new processes; what was charged stays so.
        assert together.ask("a", ROWS, of_skellam()).answered.all()
        assert shares_spent(together)["b"] > spent["b"]
        pids = aggregator._processes.pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


class Unreachable(FixedVoter):
    def deliver(self, question, recipients):
        raise ChannelError("127.0.0.1:1 can't be reached.")


def test_a_voter_that_reaches_nobody_is_absent(sharing):
    one = motion(2, 2)
    voters = {
        "a": FixedVoter("a", [one], np.zeros(2, int)),
        "b": Unreachable("b", [one], np.zeros(2, int)),
    }
    with pytest.raises(Absent, match="'b': its shares did not arrive"):
        sharing.gather(question(2), [one], voters)


def test_a_silent_computing_party_times_out():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = silent.getsockname()
        with pytest.raises(ChannelError, match="no message came in time|no connection"):
            Panel([address] * 3, "", timeout=0.05)
    with pytest.raises(ChannelError, match="no connection"):
        Panel([address] * 3, "", timeout=60)
    assert not withdraw("a", Recipients("s", (address,) * 3))


def test_mpyc_is_an_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    together = Collaboration(rich(1, 1, 1, 1, 1), aggregator=SecretSharingAggregator())
    with pytest.raises(ImportError, match=r"its extra: secretballot\[mpc\]"):
        together.ask("a", ROWS, of_skellam())
    assert set(shares_spent(together).values()) == {0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"addresses": [("a", 1)]}, "three computing parties"),
        ({"addresses": [("a", 1)] * 3}, "go together"),
        ({"addresses": [("a", 1)] * 3, "credentials": "a.pem"}, "must be Credentials"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": 1e10}, "timeout"),  # no thread can wait so long
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SecretSharingAggregator(**settings)
