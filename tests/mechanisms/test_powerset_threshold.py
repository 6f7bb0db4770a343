"""Sets of labels behind a threshold: every replaced ballot, and votes of classes."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from tests.mechanisms._outcomes import BUDGETS, UNDERCHARGED, all_sets, check_charges

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import ConfidentGNMax, PowersetVoting, count_ballots
from secretballot.testing._outcome_laws import outcome_law


@dataclass(frozen=True, kw_only=True)
class HalfNoisySets(PowersetVoting):
    """Planted: the threshold is drawn with half of the noise that is charged for."""

    def outcome_law(self, counts):
        noise = {"sigma": self.sigma, "sigma_threshold": self.sigma_threshold / 2}
        drawn = PowersetVoting(n_labels=self.n_labels, threshold=self.threshold, **noise)
        return outcome_law(drawn, counts)


def moved_sets(n_labels, n_ballots, moved=1):
    """All ballots on all sets, up to the names of the sets, and all that `moved` of them may be."""
    sets = all_sets(n_labels)
    unit = np.eye(len(sets))
    pairs = []
    for cast in itertools.combinations_with_replacement(range(len(sets)), n_ballots):
        votes = np.bincount(cast, minlength=len(sets))
        if (np.diff(votes) > 0).any():
            continue
        for some in itertools.product(range(len(sets)), repeat=2 * moved):
            other = votes + unit[list(some[:moved])].sum(0) - unit[list(some[moved:])].sum(0)
            if (other >= 0).all() and (other != votes).any():
                pairs.append((votes, other))
    pairs = np.unique(np.array(pairs), axis=0)
    both = np.concatenate([pairs[:, 0], pairs[:, 1]])
    cast = count_ballots(np.tile(sets, (len(both), 1, 1)), both)
    return cast[: len(pairs)], cast[len(pairs) :]


SETS = {"sigma": 1.7, "threshold": 2.3, "sigma_threshold": 1.1}


@pytest.mark.parametrize(
    ("n_labels", "n_ballots", "moved"), [(1, 4, 1), (2, 3, 1), (3, 3, 1), (2, 3, 2)]
)
def test_sets_behind_a_threshold(n_labels, n_ballots, moved):
    pairs = moved_sets(n_labels, n_ballots, moved)
    mechanism = PowersetVoting(n_labels=n_labels, ballots=moved, **SETS)
    check_charges(mechanism, *pairs)
    planted = HalfNoisySets(n_labels=n_labels, ballots=moved, **SETS)
    with pytest.raises(AssertionError, match=UNDERCHARGED):
        check_charges(planted, *pairs)


def test_sets_are_classes_behind_a_threshold():
    votes = np.array([[6.0, 0, 0, 0], [3, 2, 0, 1], [2, 2, 2, 0]])
    cast = count_ballots(np.tile(all_sets(2), (3, 1, 1)), votes)
    parameters = {"sigma": 5.0, "threshold": 4.0, "sigma_threshold": 6.0}
    sets, classes = PowersetVoting(n_labels=2, **parameters), ConfidentGNMax(**parameters)
    outcome = np.array([[1, 0], [-1, -1], [0, 0]])
    for known_rows in (None, 1):
        ours = sets.cost(outcome, None if known_rows is None else cast)["*"].curve
        theirs = classes.cost([2, -1, 0], known_rows and votes, n_columns=4)["*"].curve
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    nobody = count_ballots(np.zeros((200, 1, 2)), [0.0])
    far = PowersetVoting(n_labels=2, sigma=1.0, threshold=9.0, sigma_threshold=1.0)
    assert (far.sample(nobody, np.random.default_rng(0)) == -1).all()
    twice = sets.scaled(2)
    assert (twice.sigma, twice.threshold, twice.sigma_threshold) == (10, 8, 12)
    with pytest.raises(ValueError, match="threshold=3 and sigma_threshold=None belong together"):
        PowersetVoting(sigma=1.0, n_labels=2, threshold=3)
    fine = PowersetVoting(sigma=1.0, n_labels=2, threshold=3, sigma_threshold=1e-12)
    with pytest.raises(ValueError, match="too coarse for noise of sigma=1e-12"):
        fine.check_counts(cast)


@pytest.mark.parametrize("order", BUDGETS)
def test_budgets_pay_for_sets_behind_a_threshold(order):
    ballots = np.zeros((4, 60, 300), dtype=int)
    ballots[::2, np.arange(60), np.arange(60)] = 1  # no two ballots agree
    cast = count_ballots(ballots)
    # (Of little noise plans are priced at once.)
    mechanism = PowersetVoting(sigma=1.3, n_labels=300, threshold=40, sigma_threshold=1.2)
    accountant = PrivacyAccountant(60.0, 1e-5, order=order)
    outcome = accountant.release(mechanism, cast)
    assert (outcome[::2] == -1).all()
    assert (outcome[1::2] == 0).all()
    assert 0 < accountant.spent().share <= 1
    reservation = accountant.reserve(mechanism, 2, n_answers=1)
    drawn = accountant.release(mechanism, cast[:2], reservation=reservation)
    assert (drawn == outcome[:2]).all()
    accountant.settle(reservation)
