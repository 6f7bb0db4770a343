"""Agreements whose noise drowns the votes of all: refused by `agree`, warned of by `ask`."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.collaboration._parties import agreed, budget, saying, several

from secretballot import BinaryVoting, BudgetExceededError, ConfidentGNMax, GNMax, SkellamMax
from secretballot.parties import Collaboration

ROWS = np.zeros((5, 2))
MANY = 200


def four(epsilon=8.0, n=4):
    parties = several(*[0, 1] * (n // 2))
    for party in parties:
        party.accountant = budget(epsilon)
    return Collaboration(parties)


def several_labels(sigma):
    return BinaryVoting(sigma=sigma, n_votes=3)


def test_noise_that_drowns_three_ballots_is_refused():
    together = four()
    with pytest.raises(BudgetExceededError, match="even if all 3 voters agree") as refused:
        together.agree(GNMax, n_rows=MANY)
    text = str(refused.value)
    assert "Agreement(mechanism=..., parties=...)" in text
    assert "teacher" not in text
    # What the error advises would do.
    said = r"some (\d+) voters, or about (\d+) rows, or about ([\d.]+) times"
    voters, rows, times = map(float, re.search(said, text).groups())
    four(n=2 * int(voters / 2 + 1)).agree(GNMax, n_rows=MANY)
    together.agree(GNMax, n_rows=int(rows))
    with pytest.raises(BudgetExceededError):
        together.agree(GNMax, n_rows=2 * int(rows))
    four(epsilon=8.0 * times).agree(GNMax, n_rows=MANY)


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (SkellamMax, {}),
        (GNMax, {"weighted": True}),
        (GNMax, {"share": 0.2}),
        (lambda sigma: ConfidentGNMax(sigma=sigma, sigma_threshold=sigma, threshold=2), {}),
    ],
)
def test_of_other_mechanisms_too(make, settings):
    with pytest.raises(BudgetExceededError, match="even if all 3 voters agree"):
        four().agree(make, n_rows=MANY, **settings)
    four(epsilon=1e3).agree(make, n_rows=MANY, **settings)


def test_labels_that_few_know_have_few_voters():
    def knowing(*labels):
        parties = [
            saying([1] * len(own), chr(97 + at), budget(20.0), labels=list(own))
            for at, own in enumerate(labels)
        ]
        return Collaboration(parties)

    make = several_labels
    knowing(*["xy"] * 9).agree(make, n_rows=20)
    with pytest.raises(BudgetExceededError, match="even if all 2 voters agree"):
        knowing(*["xy"] * 7, "xyz", "xyz").agree(make, n_rows=20)


def test_a_threshold_that_no_votes_pass():
    def make(sigma):
        return ConfidentGNMax(sigma=sigma, sigma_threshold=sigma, threshold=50)

    with pytest.raises(BudgetExceededError, match="Use a mechanism with a lower threshold"):
        four().agree(make, n_rows=5)


def test_who_insists_is_warned_before_anybody_pays():
    together, loud = four(), agreed(GNMax(sigma=9.6))
    with pytest.warns(UserWarning, match=r"probability 0.59 only, even if all 3 voters agree"):
        assert together.ask("a", ROWS, loud).answered.all()
    together = four()
    with pytest.raises(UserWarning, match="more voters"):  # warnings are errors here
        together.ask("a", ROWS, loud)
    assert all(party.accountant.entries() == [] for party in together.parties.values())
