"""Labels that depend on others: what follows, and who is charged for."""

import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest
from tests.mechanisms._outcomes import BUDGETS, UNDERCHARGED, check_charges

from secretballot.accounting import PrivacyAccountant, price_plan
from secretballot.mechanisms import BinaryVoting
from secretballot.testing._outcome_laws import outcome_law


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
        executed = super().executed(outcome)
        return {step: times * (step not in free) for step, times in executed.items()}


@pytest.mark.parametrize(
    ("kind", "labels"),
    [(kind, "plain") for kind in HIERARCHIES] + [("chain", "threshold"), ("diamond", "threshold")],
)
def test_dependants_are_charged_where_they_are_voted_on(kind, labels):
    # (Every third pair, where there are many outcomes.)
    pairs = [votes[:: 3 if labels == "threshold" else 1] for votes in moved_labels(3, 2)]
    parameters = {**LABELS[labels], "hierarchy": HIERARCHIES[kind]}
    check_charges(BinaryVoting(**parameters), *pairs)
    if kind == "diamond":
        with pytest.raises(AssertionError, match=UNDERCHARGED):
            check_charges(FreeDependants(**parameters), *pairs)


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


def test_labels_without_a_vote_are_not_charged():
    votes, hierarchy = np.array([[1.0, 30, 30, 30]]), {3: 1, 1: 0}
    mechanism = BinaryVoting(sigma=9.0, n_votes=30, hierarchy=hierarchy)
    flat = BinaryVoting(sigma=9.0, n_votes=30)
    one = flat.max_cost(1)["*"].at(10.0)
    for outcome, n_asked in (([0, 0, 1, 0], 2), ([1, 0, 1, 0], 3), ([1, 1, 1, 0], 4)):
        cost = mechanism.cost([outcome], n_columns=4)["*"].at(10.0)
        assert cost == pytest.approx(n_asked * one)
        known_cost = mechanism.cost([outcome], votes)["*"].at(10.0)
        alone = flat.cost([outcome], votes[:, :1])["*"].at(10.0)
        assert known_cost < flat.cost([outcome], votes)["*"].at(10.0) or n_asked == 4
        assert known_cost > alone
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
def test_bad_hierarchies(hierarchy, message):
    with pytest.raises(ValueError, match=message):
        BinaryVoting(sigma=9.0, n_votes=30, hierarchy=hierarchy)


def test_hierarchies_of_missing_labels_are_refused():
    mechanism = BinaryVoting(sigma=9.0, n_votes=30, hierarchy={1: 0, 5: 1})
    accountant = PrivacyAccountant(60.0, 1e-5)
    for ask in (
        lambda: accountant.release(mechanism, [[1, 2, 3]]),
        lambda: accountant.reserve(mechanism, 1, n_columns=3),
        lambda: mechanism.counting(3),  # before a teacher is trained
    ):
        with pytest.raises(ValueError, match="names the label 5, and there are 3 labels"):
            ask()
    assert not accountant.entries()
