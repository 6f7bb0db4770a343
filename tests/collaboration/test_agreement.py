"""Who may vote is agreed on by name, and the noise of each voter follows from it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.collaboration._parties import several

from secretballot import BinaryVoting, GNMax, SkellamMax
from secretballot.parties import Agreement, Collaboration

NAMES = ("a", "b", "c", "d", "e")


def shared(n_parties, n_colluders, variance=60.0, parties=NAMES, **settings):
    mechanism = SkellamMax(variance=variance, n_parties=n_parties, n_colluders=n_colluders)
    return Agreement(mechanism=mechanism, parties=parties, **settings)


def test_invented_voters_take_no_noise_away():
    agreement = shared(3, 2)
    ghosts = [f"ghost {at}" for at in range(200)]
    with pytest.raises(ValueError, match=r"'ghost 0'.* 188 more did not agree; those who may vote"):
        agreement.motion((0, 1), ["a", *ghosts], None)
    alone = agreement.motion((0, 1), ["a", "b", "c"], None).mechanism
    # Two of the others collude: all the noise is this party's own. Among 203 it would be .3.
    assert np.var(alone.share(20_000, np.random.default_rng(0))) == pytest.approx(60.0, rel=0.05)


def test_the_noise_of_those_who_do_not_collude_is_never_less_than_what_is_charged():
    n_votes = 0
    for n_parties, n_colluders in itertools.product(range(2, 6), range(1, 5)):
        if n_colluders >= n_parties:
            continue
        agreement = shared(n_parties, n_colluders)
        for size in range(1, 6):
            for voters in itertools.combinations(NAMES, size):
                try:
                    mechanism = agreement.motion((0, 1), voters, None).mechanism
                except ValueError:
                    assert size > n_parties or size <= max(n_colluders, 1)
                    continue
                n_votes += 1
                assert 2 <= size <= n_parties
                honest = size - n_colluders
                assert honest * mechanism.share_variance >= 60.0 * (1 - 1e-12)
                assert mechanism.share_variance >= 60.0 / (n_parties - n_colluders) * (1 - 1e-12)
    assert n_votes > 100


@pytest.mark.parametrize(
    ("voters", "asker", "message"),
    [
        (("a", "b", "z"), None, "'z' did not agree"),
        (("a", "b", "b"), None, "some are named twice"),
        (("a", "b", "c"), "c", "'c' asks, and has no ballot"),
        (("a",), None, "1 parties vote, and agreed are from min_voters=2 to 3"),
        (("a", "b", "c", "d"), None, "4 parties vote, and agreed are from min_voters=2 to 3"),
    ],
)
def test_votes_that_were_not_agreed_on(voters, asker, message):
    with pytest.raises(ValueError, match=message):
        shared(3, 1).motion((0, 1), voters, None, asker=asker)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parties": "abc"}, "once each"),
        ({"parties": ["a", "b", "b"]}, "once each"),
        ({"parties": ["a", "b", 3]}, "once each"),
        ({"parties": ["a", "b", ""]}, "once each"),
        ({"parties": ["a", "b"]}, "one asks and min_voters=2 others answer"),
        ({"min_voters": 1}, "min_voters=1"),
        ({"weights": {"z": 2.0}}, "weights name 'z'"),
        ({"parties": ["a", "b", "c"]}, r"n_parties=5.* more than the 3 parties 'a', 'b', 'c'"),
    ],
)
def test_agreements_that_can_not_be_kept(settings, message):
    with pytest.raises(ValueError, match=message):
        shared(5, 1, **settings)


def test_counts_are_no_answer():
    with pytest.raises(ValueError, match="releases counts"):
        Agreement(mechanism=SkellamMax(variance=1.0, opens="counts"), parties=NAMES)


def test_parties_that_did_not_agree_are_refused():
    parties = several(0, 1, 1, 1)
    together = Collaboration(parties)
    less = Agreement(mechanism=GNMax(sigma=3.0), parties=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"\['d'\] are none of them"):
        together.ask("a", np.zeros((1, 2)), less)
    assert all(party.accountant.entries() == [] for party in parties)
    agreement = together.agree(GNMax, n_rows=2, min_voters=3)
    assert (agreement.parties, agreement.min_voters) == (("a", "b", "c", "d"), 3)


def test_numbers_of_voters_are_filled_in():
    weights = {"a": 3.0}
    agreement = Agreement(
        mechanism=BinaryVoting(sigma=1.0, n_votes=1), parties=NAMES, weights=weights
    )
    motion = agreement.motion((0, 2), ("a", "c"), ("x", "y", "z"))
    assert motion.mechanism.n_votes == 4.0
    assert motion.voters == {"a": 3.0, "c": 1.0}
