"""Votes on labels that are charged by what came out, held against every replaced ballot.

At every fixed order a, E_Q[(P/Q)^a e^{-(a-1) charged}] is at most 1, whichever of two neighbours
comes first, for what is charged in the worst case and for what is charged on the votes of either.
"""

import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest

from secretballot.accounting import PrivacyAccountant, price_plan
from secretballot.audit import Neighbours, outcome_law
from secretballot.checks import MechanismExample
from secretballot.checks._mechanism_noise import check_charges_pass_the_filter
from secretballot.mechanisms import BinaryVoting, ConfidentGNMax, PowersetVoting, count_ballots

BUDGETS = ("gaussian", "renyi", float("inf"))


def all_sets(n_labels):
    return np.array(list(itertools.product((0, 1), repeat=n_labels)))


def example_of(mechanism, one, two):
    return MechanismExample(mechanism=mechanism, counts=one, neighbours=(Neighbours(one, two),))


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
    check_charges_pass_the_filter(example_of(mechanism, *pairs))
    planted = HalfNoisySets(n_labels=n_labels, ballots=moved, **SETS)
    with pytest.raises(AssertionError, match="charged, each its own, covers what they reveal"):
        check_charges_pass_the_filter(example_of(planted, *pairs))


def test_sets_are_classes_behind_a_threshold():
    votes = np.array([[6.0, 0, 0, 0], [3, 2, 0, 1], [2, 2, 2, 0]])
    cast = count_ballots(np.tile(all_sets(2), (3, 1, 1)), votes)
    parameters = {"sigma": 5.0, "threshold": 4.0, "sigma_threshold": 6.0}
    sets, classes = PowersetVoting(n_labels=2, **parameters), ConfidentGNMax(**parameters)
    outcome = np.array([[1, 0], [-1, -1], [0, 0]])
    for known in (None, 1):
        ours = sets.cost(outcome, None if known is None else cast)["*"].curve
        theirs = classes.cost([2, -1, 0], known and votes, n_columns=4)["*"].curve
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    ours, theirs = price_plan(sets, 3, counts=cast), price_plan(classes, 3, counts=votes)
    assert ours.delta(0.3) >= theirs.delta(0.3) * (1 - 1e-6)
    assert ours.delta(0.3) < price_plan(sets, 3).delta(0.3)
    # Sets that nobody voted for are neighbours too, also where few were voted for.
    few = price_plan(sets, 1, counts=cast[:1, :1])
    assert few.delta(0.0) >= price_plan(classes, 1, counts=votes[:1]).delta(0.0) * (1 - 1e-6) > 0
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
    reservation = accountant.reserve(mechanism, 2, n_answers=None if order == float("inf") else 1)
    drawn = accountant.release(mechanism, cast[:2], reservation=reservation)
    assert (drawn == outcome[:2]).all()
    accountant.settle(reservation)


def moved_labels(n_labels, n_votes):
    """All numbers of ballots for labels, and what they may be after one ballot was replaced."""
    votes = np.array(list(itertools.product(range(n_votes + 1), repeat=n_labels)), dtype=float)
    change = np.array(list(itertools.product((-1, 0, 1), repeat=n_labels)))
    pairs = np.stack(np.broadcast_arrays(votes[:, None], votes[:, None] + change), axis=2)
    pairs = pairs.reshape(-1, 2, n_labels)
    there = ((pairs[:, 1] >= 0) & (pairs[:, 1] <= n_votes)).all(axis=1)
    # Both directions are looked at, so one of two orders is enough.
    code = pairs @ (n_votes + 1.0) ** np.arange(n_labels)
    pairs = pairs[there & (code[:, 0] < code[:, 1])]
    return pairs[:, 0], pairs[:, 1]


HIERARCHIES = {
    "chain": {1: 0, 2: 1},
    "two parents": {0: (2, 1)},
    "diamond": {1: 0, 2: (0, 1)},
    "apart": {1: 0},
}
LABELS = {
    "plain": {"sigma": 1.7, "n_votes": 2},
    "threshold": {"sigma": 1.7, "n_votes": 2, "threshold": 1.6, "sigma_threshold": 1.1},
}


@dataclass(frozen=True, kw_only=True)
class FreeDependants(BinaryVoting):
    """Planted: whoever has a parent is never charged for."""

    def executed(self, outcome):
        free = {f"{step} {label}" for step in ("row", "vote") for label, _ in self.hierarchy}
        found = super().executed(outcome)
        return {step: times * (step not in free) for step, times in found.items()}


@pytest.mark.parametrize(
    ("kind", "labels"),
    [(kind, "plain") for kind in HIERARCHIES] + [("chain", "threshold"), ("diamond", "threshold")],
)
def test_dependants_are_charged_for_where_they_are_asked(kind, labels):
    # (Every third pair, where there are many outcomes.)
    pairs = [votes[:: 3 if labels == "threshold" else 1] for votes in moved_labels(3, 2)]
    parameters = {**LABELS[labels], "hierarchy": HIERARCHIES[kind]}
    check_charges_pass_the_filter(example_of(BinaryVoting(**parameters), *pairs))
    if kind == "diamond":
        with pytest.raises(AssertionError, match="charged, each its own, covers what they reveal"):
            check_charges_pass_the_filter(example_of(FreeDependants(**parameters), *pairs))


@pytest.mark.parametrize("kind", HIERARCHIES)
def test_labels_follow_their_parents(kind):
    mechanism = BinaryVoting(
        sigma=3.0, n_votes=9, threshold=6, sigma_threshold=2.0, hierarchy=HIERARCHIES[kind]
    )
    votes = np.array([[7.0, 4.0, 6.0]])
    drawn = mechanism.sample(np.repeat(votes, 40_000, axis=0), np.random.default_rng(0))
    law = outcome_law(mechanism, votes)
    assert np.exp(law.log_probabilities).sum() == pytest.approx(1)
    seen = (drawn[:, None] == law.outcomes).all(axis=-1)
    assert seen.any(axis=1).all()
    expected = np.exp(law.log_probabilities[0])
    # Seven standard deviations: a rate below 1e-10.
    assert (abs(seen.mean(axis=0) - expected) < 7 * np.sqrt(expected / 40_000)).all()
    begun = mechanism.executed(law.outcomes)
    flat = BinaryVoting(sigma=3.0, n_votes=9, threshold=6, sigma_threshold=2.0)
    everyone = flat.executed(law.outcomes)
    for label in range(3):
        above = np.atleast_1d(HIERARCHIES[kind].get(label, ()))
        for row, outcome in enumerate(law.outcomes):
            parents = [outcome[int(parent)] for parent in above]
            asked = all(parent == 1 for parent in parents)
            assert asked or outcome[label] == (0 if 0 in parents else -1)
            assert begun[f"row {label}"][row] == everyone[f"row {label}"][row] * asked


def test_who_is_not_asked_is_not_charged_for():
    votes, hierarchy = np.array([[1.0, 30, 30, 30]]), {3: 1, 1: 0}
    mechanism = BinaryVoting(sigma=9.0, n_votes=30, hierarchy=hierarchy)
    flat = BinaryVoting(sigma=9.0, n_votes=30)
    one = flat.max_cost(1)["*"].at(10.0)
    for outcome, n_asked in (([0, 0, 1, 0], 2), ([1, 0, 1, 0], 3), ([1, 1, 1, 0], 4)):
        cost = mechanism.cost([outcome], n_columns=4)["*"].at(10.0)
        assert cost == pytest.approx(n_asked * one)
        known = mechanism.cost([outcome], votes)["*"].at(10.0)
        alone = flat.cost([outcome], votes[:, :1])["*"].at(10.0)
        assert known < flat.cost([outcome], votes)["*"].at(10.0) or n_asked == 4
        assert known > alone
    # A plan pays for all of them, whatever will come out.
    assert price_plan(mechanism, 2, n_columns=4).delta(1) == price_plan(flat, 2, n_columns=4).delta(
        1
    )
    counts = np.tile(votes, (40, 1))
    answered = {}
    for order in BUDGETS:
        for each in (mechanism, flat):
            accountant = PrivacyAccountant(4.0, 1e-5, order=order)
            outcome = accountant.release(each, counts)
            answered[order, each.hierarchy is None] = len(outcome)
            assert 0.7 < accountant.spent().share <= 1
        assert (outcome[outcome[:, 0] == 0][:, 1:2] >= 0).all()
    assert answered["renyi", False] > 1.5 * answered["renyi", True]
    assert answered["gaussian", False] == answered["gaussian", True]


def test_hierarchies_are_kept_as_pairs():
    mechanism = BinaryVoting(sigma=9.0, n_votes=30, hierarchy={2: [np.int64(1), 0, 1], 1: 0})
    assert mechanism.hierarchy == ((1, (0,)), (2, (0, 1)))
    same = BinaryVoting(
        sigma=9.0, n_votes=30, hierarchy=json.loads(json.dumps(mechanism.hierarchy))
    )
    assert same == mechanism
    assert hash(same) == hash(mechanism)
    assert mechanism.scaled(2).hierarchy == mechanism.hierarchy
    assert mechanism.for_plain_ballots().hierarchy == mechanism.hierarchy
    assert BinaryVoting(sigma=9.0, n_votes=30, hierarchy={}).hierarchy is None
    accountant = PrivacyAccountant(60.0, 1e-5)
    reservation = accountant.reserve(mechanism, 1, n_columns=3)
    resumed = accountant.resume(reservation.id, same)
    assert accountant.release(same, [[1, 2, 3]], reservation=resumed).shape == (1, 3)


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        (3, "hierarchy=3 must map labels to their parents"),
        ({1: None}, "names the label None"),
        ({"car": 0}, "names the label 'car'; it must map labels"),
        ({True: 0}, "names the label True"),
        ({1: -1}, "names the label -1"),
        ({1: 0.5}, "names the label 0.5"),
        ({1: ()}, "gives label 1 no parent"),
        ([(1, 0), (1, 2)], "names a label twice"),
        ({1: 1}, "in a circle, 1 -> 1"),
        ({4: 1, 1: 2, 2: (0, 3), 3: 1}, "in a circle, 1 -> 2 -> 3 -> 1"),
    ],
)
def test_hierarchies_that_are_none(hierarchy, message):
    with pytest.raises(ValueError, match=message):
        BinaryVoting(sigma=9.0, n_votes=30, hierarchy=hierarchy)


def test_a_hierarchy_of_labels_that_there_are_none_of():
    mechanism = BinaryVoting(sigma=9.0, n_votes=30, hierarchy={1: 0, 5: 1})
    accountant = PrivacyAccountant(60.0, 1e-5)
    for ask in (
        lambda: accountant.release(mechanism, [[1, 2, 3]]),
        lambda: accountant.reserve(mechanism, 1, n_columns=3),
    ):
        with pytest.raises(ValueError, match="names the label 5, and there are 3 labels"):
            ask()
    assert not accountant.entries()
