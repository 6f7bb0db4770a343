"""Binary voting: held against every neighbour of tiny votes, and against votes of one label."""

import itertools

import numpy as np
import pytest

from secretballot.accounting import ORDERS, PrivacyAccountant, price_plan
from secretballot.mechanisms import BinaryVoting, ConfidentGNMax, GNMax, RoundRobin
from secretballot.testing._outcome_laws import outcome_law

FINITE = ORDERS[:-1:6]
INDEX = np.arange(0, len(ORDERS) - 1, 6)
N_BALLOTS = 4
PLAIN = BinaryVoting(sigma=1.7, n_votes=N_BALLOTS)
CONFIDENT = BinaryVoting(sigma=1.7, n_votes=N_BALLOTS, threshold=3.2, sigma_threshold=1.1)


def replaced(positives, moved):
    """All votes after one ballot, counted `moved` times, was replaced by any other."""
    for change in itertools.product((-moved, 0, moved), repeat=len(positives)):
        other = positives + np.array(change)
        if np.any(change) and other.min() >= 0 and other.max() <= N_BALLOTS:
            yield other


def divergences(log_p, log_q):
    with np.errstate(over="ignore"):
        terms = np.logaddexp.reduce(FINITE * log_p[:, None] + (1 - FINITE) * log_q[:, None], axis=0)
    return terms / (FINITE - 1)


def largest(mechanism, positives, moved=1):
    """The largest divergence from or to any neighbour, by enumeration of all outcomes."""
    here = outcome_law(mechanism, positives[None]).log_probabilities[0]
    largest_divergences = np.zeros(len(FINITE))
    for other in replaced(positives, moved):
        there = outcome_law(mechanism, other[None]).log_probabilities[0]
        largest_divergences = np.maximum(largest_divergences, divergences(here, there))
        largest_divergences = np.maximum(largest_divergences, divergences(there, here))
    return largest_divergences


def test_draws_follow_the_stated_law():
    for mechanism in (PLAIN, CONFIDENT):
        votes = np.tile([3.0, 1.0], (100_000, 1))
        outcome = mechanism.sample(votes, np.random.default_rng(0))
        law = outcome_law(mechanism, votes[:1])
        for which, log_p in zip(law.outcomes, law.log_probabilities[0], strict=True):
            share = (outcome == which).all(axis=1).mean()
            # Seven standard deviations: a rate below 1e-10.
            assert abs(share - np.exp(log_p)) < 7 * np.sqrt(np.exp(log_p) / 1e5)
    assert outcome_law(PLAIN, np.ones((1, 9))) is None


@pytest.mark.parametrize(
    ("mechanism", "n_labels", "moved"),
    [
        (PLAIN, 3, 1),
        (CONFIDENT, 2, 1),
        (BinaryVoting(sigma=1.7, n_votes=N_BALLOTS, weight=2.0), 2, 2),
        (BinaryVoting(sigma=1.7, n_votes=N_BALLOTS, ballots=2), 2, 2),
    ],
    ids=["plain", "threshold", "weight", "ballots"],
)
def test_no_replaced_ballot_reveals_more_than_is_charged(mechanism, n_labels, moved):
    votes = np.array(list(itertools.product(range(N_BALLOTS + 1), repeat=n_labels)), dtype=float)
    votes = votes[np.all(np.diff(votes, axis=1) >= 0, axis=1)]  # labels are alike
    worst = mechanism.max_cost(n_labels)["*"].curve[INDEX]
    charged = mechanism.max_cost(n_labels, votes)["*"].curve[:, INDEX]
    enumerated = np.array([largest(mechanism, row, moved) for row in votes])
    assert (enumerated <= charged * (1 + 1e-9)).all()
    assert (charged <= worst * (1 + 1e-9)).all()
    # And hardly less: the worst votes use up most of it.
    assert enumerated.max() > 0
    assert (enumerated.max(axis=0) > 0.8 * worst).any()
    if mechanism is PLAIN:
        # Planted: noise of half the variance, as if it were charged for all of it.
        cheap = BinaryVoting(sigma=1.7 * np.sqrt(2), n_votes=N_BALLOTS).max_cost(n_labels)["*"]
        assert (enumerated.max(axis=0) > 1.5 * cheap.curve[INDEX]).any()


@pytest.mark.parametrize(
    ("mechanism", "one"),
    [
        (PLAIN, GNMax(sigma=1.7)),
        (
            CONFIDENT,
            ConfidentGNMax(sigma=1.7, sigma_threshold=1.1, threshold=3.2, n_votes=N_BALLOTS),
        ),
    ],
)
def test_labels_cost_votes_of_two_classes(mechanism, one):
    for order in (2.0, 30.0):
        cost = mechanism.max_cost(5, order=order)["*"].at(order)
        assert cost == pytest.approx(5 * one.max_cost(2, order=order)["*"].at(order), rel=1e-12)
    votes = np.array([[4.0, 1.0, 2.0], [0.0, 3.0, 4.0]])
    pairs = np.stack([N_BALLOTS - votes, votes], axis=-1)
    outcome = mechanism.sample(votes, np.random.default_rng(1))
    together = mechanism.cost(outcome, votes)["*"].curve[:, INDEX]
    apart = [one.cost(outcome[:, j], pairs[:, j])["*"].curve[:, INDEX] for j in range(3)]
    np.testing.assert_allclose(together, sum(apart), rtol=1e-12)
    whole = price_plan(mechanism, 2, n_columns=3)
    single = price_plan(one, 6, n_columns=2)
    # (The gaps that are tried go with the number of rows.)
    assert whole.delta(2.0) == pytest.approx(single.delta(2.0), rel=1e-4)


def test_a_budget_pays_for_labels(tmp_path):
    for order in ("gaussian", "renyi"):
        accountant = PrivacyAccountant(8.0, 1e-5, order=order)
        mechanism = accountant.calibrate(
            lambda noise: BinaryVoting(sigma=noise, n_votes=50), 5, n_columns=4
        )
        outcome = accountant.release(mechanism, np.tile([48, 2, 50, 1], (6, 1)))
        assert outcome.shape == (5, 4)
        assert 0.997 < accountant.spent().share <= 1
    accountant = PrivacyAccountant(8.0, 1e-5)
    reservation = accountant.reserve(mechanism, 3, n_columns=4)
    assert accountant.release(mechanism, [[50, 1]], reservation=reservation).shape == (1, 2)
    with pytest.raises(ValueError, match="have 5 columns, and 4 were paid for"):
        accountant.release(mechanism, [[1, 2, 3, 4, 5]], reservation=reservation)


def test_levels_and_turns():
    mechanism = BinaryVoting(sigma=9, n_votes=50, weight={"a": 1.0, "b": 2.0})
    costs = mechanism.max_cost(3)
    assert set(costs) == {"a", "b"}
    assert costs["a"].at(2.0) == pytest.approx(3 * GNMax(sigma=9).max_cost(2)["*"].at(2.0))
    turns = RoundRobin(mechanism=mechanism, turns={"a": (1, 2), "b": (1, 1)})
    assert turns.max_cost(3)[turns.part("a", 1)].at(2.0) == costs["a"].at(2.0)
    plain = mechanism.for_plain_ballots()
    assert plain.max_cost(3)["*"].at(2.0) == costs["a"].at(2.0)
    twice = CONFIDENT.scaled(2.0)
    assert (twice.sigma, twice.n_votes, twice.threshold) == (3.4, 8.0, 6.4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma": 0.0}, "sigma=0.0"),
        ({"n_votes": -1}, "n_votes=-1 must be"),
        ({"weight": 60.0}, "n_votes=50 must be"),
        ({"threshold": 40}, "threshold=40 and sigma_threshold=None belong together"),
        ({"sigma_threshold": 40}, "threshold=None and sigma_threshold=40 belong together"),
        ({"threshold": 40, "sigma_threshold": -1}, "sigma_threshold=-1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        BinaryVoting(**{"sigma": 9.0, "n_votes": 50, **parameters})


def test_bad_counts():
    mechanism = BinaryVoting(sigma=9.0, n_votes=50)
    with pytest.raises(ValueError, match="51 ballots for label 1 in row 0, and n_votes=50"):
        mechanism.check_counts([[3, 51]])
    with pytest.raises(ValueError, match="one column per class"):
        mechanism.check_counts([3, 5])
    # Of any number of labels nothing can be promised.
    assert mechanism.max_cost()["*"].at(2.0) == np.inf
    with pytest.raises(ValueError, match="no amount of noise"):
        PrivacyAccountant(8.0, 1e-5).calibrate(
            lambda noise: BinaryVoting(sigma=noise, n_votes=50), 5
        )
