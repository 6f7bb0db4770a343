"""What voters share, and that no comparison wraps around."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import besseli, exp, mp, mpf
from scipy.stats import chi2
from tests.collaboration.secret_sharing._voters import FixedVoter, motion, question

from secretballot import GNMax, SkellamMax
from secretballot.collaboration import SecretSharingAggregator
from secretballot.collaboration.secret_sharing._contribution import (
    comparison_bits,
    noisy_numbers,
    skellam_reach,
    terms_digest,
)
from secretballot.computing import Recipients, opened
from secretballot.computing._shares import read_shares
from secretballot.transport import Connection, Message


@pytest.mark.parametrize("variance", [0.01, 3.0, 1_000.0])
@pytest.mark.parametrize("tail", [2.0**-20, 2.0**-76])
def test_the_bound_on_noise_holds(variance, tail):
    mp.dps = 50
    reach = skellam_reach(variance, tail)
    weight = exp(-mpf(variance))
    probability = mpf(0)
    for k in range(reach, reach + 2_000):
        more = 2 * weight * besseli(k, variance)
        probability += more
        if more < probability * mpf(10) ** -12:
            break
    assert probability <= tail
    # And it is not much longer than it must be: no more than one bit.
    assert 2 * weight * besseli(reach // 2, variance) > tail


def test_bits_hold_all_ballots_and_all_noise():
    one = motion(10, 3, variance=100.0, n_colluders=8)

    def of(weight, n_rows=1_000):
        return comparison_bits(replace(one, voters=dict.fromkeys(one.voters, weight)), n_rows)

    bits = of(2.0)
    # Of 3,000 comparisons of two counts, each with five times the noise that is charged for.
    reach = skellam_reach(2 * 500.0, 2.0**-60 / 3_000)
    assert 2 ** (bits - 2) <= 20 + reach < 2 ** (bits - 1)
    assert of(1e6) > bits
    with pytest.raises(ValueError, match=r"up to \d+ bits, and computing parties compare 62"):
        of(2.0**60)


@pytest.mark.parametrize(
    ("mechanism", "error", "message"),
    [
        (GNMax(sigma=5.0), TypeError, "GNMax.*take SkellamMax"),
        (
            SkellamMax(variance=1.0, n_parties=2, n_colluders=1, opens="counts"),
            TypeError,
            "opens='counts'.*is not charged for the winner",
        ),
        (SkellamMax(variance=1.0, n_parties=3, n_colluders=1), ValueError, "n_parties=3, and 2"),
    ],
)
def test_mechanisms_that_are_not_charged_for_winners_are_refused(mechanism, error, message):
    with pytest.raises(error, match=message):
        SecretSharingAggregator().check([replace(motion(2, 2), mechanism=mechanism)])


def test_weights_are_whole():
    with pytest.raises(ValueError, match="1.5.*must be a whole number"):
        SecretSharingAggregator().check([replace(motion(2, 2), voters={"a": 1.5, "b": 1.0})])


def test_numbers_that_a_voter_shares():
    # All but no noise: ballots times weight, of two classes what the first is ahead.
    rng = np.random.default_rng(0)
    one = replace(motion(2, 3, variance=1e-9), weight=3.0)
    assert noisy_numbers(one, np.array([1, 0]), rng).tolist() == [[0, 3, 0], [3, 0, 0]]
    one = replace(motion(2, 2, variance=1e-9), weight=3.0)
    assert noisy_numbers(one, np.array([1, 0]), rng).tolist() == [[-3], [3]]
    # Labels are rows of their own: against one, for the other.
    labels = replace(one, columns=(4, 7, 9), apart=True)
    assert noisy_numbers(labels, np.array([[0, 1, 1]]), rng).ravel().tolist() == [3, -3, -3]
    # And its own part of the noise, on both counts.
    one = motion(5, 2, variance=8.0, n_colluders=1)
    added = noisy_numbers(one, np.zeros(20_000, int), rng)
    assert np.var(added) == pytest.approx(2 * 8.0 / 4, rel=0.05)


def test_terms_digest_depends_on_the_noise_and_all_weights():
    one = motion(3, 2, n_colluders=1)
    same = [replace(one, voters=dict(reversed(one.voters.items()))), one.sent_to("b")]
    assert {terms_digest(each) for each in same} == {terms_digest(one)}
    others = [
        motion(3, 2, variance=2.0),
        motion(3, 2, n_colluders=2),
        motion(4, 2),
        replace(one, voters={**one.voters, "b": 2.0}),
    ]
    assert len({terms_digest(each) for each in (one, *others)}) == 5


class _Recorder:
    """A stream that writes down what goes to a computing party."""

    sent: list = []

    def ask(self, message, *kinds, timeout):
        self.sent.append(message)
        return Message("", {"digest": hashlib.sha256(message.body).hexdigest()})

    def close(self):
        pass


@pytest.mark.unseeded
def test_shares_sent_to_a_computing_party_are_uniform_for_any_ballots(monkeypatch):
    monkeypatch.setattr(Connection, "open", lambda *_: _Recorder())
    n_rows, there = 4_096, Recipients("s", (("127.0.0.1", 1),) * 3)
    for ballot in (0, 1):
        monkeypatch.setattr(_Recorder, "sent", [])
        voter = FixedVoter("a", [motion(2, 2)], np.full(n_rows, ballot))
        voter.deliver(question(n_rows), there)
        shares = []
        for hello, sent in zip(_Recorder.sent[::2], _Recorder.sent[1::2], strict=True):
            (vote,) = hello.fields["votes"]
            assert vote == {
                "columns": [0, 1],
                "shape": [n_rows, 1],
                "rule": "negative",
                "voters": ["a", "b"],
                "bits": comparison_bits(motion(2, 2), n_rows),
                "digest": terms_digest(motion(2, 2)),
            }
            shares.append(read_shares(sent.body, (n_rows, 1)))
        # Together they are the ballots and the noise; each is uniform. 6 tests, 1e-7 in all.
        assert abs(opened(shares).mean() - (1 - 2 * ballot)) < 6 * math.sqrt(2 / n_rows)
        for share in shares:
            frequencies = np.bincount(
                (share[..., 1].ravel() >> np.uint64(59)).astype(int), minlength=16
            )
            assert chi2.sf(((frequencies - n_rows / 16) ** 2 / (n_rows / 16)).sum(), 15) > 1e-7 / 6
