"""Powerset voting: held against the same vote with all sets of labels written out."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2
from tests._fakes import calibrated

from secretballot.accounting import ORDERS, PrivacyAccountant
from secretballot.costs._divergence import renyi_divergence
from secretballot.costs._exact_max import largest_normal, level_quadrature, max_log_probabilities
from secretballot.mechanisms import GNMax, PowersetVoting, _powerset_voting, count_ballots
from secretballot.testing._outcome_laws import outcome_law

FINITE = ORDERS[:-1:6]
INDEX = np.arange(0, len(ORDERS) - 1, 6)
SIGMA = 1.7
#: Rate of false alarms of one comparison of frequencies.
NEVER = 1e-11


def all_sets(n_labels, max_positives=None):
    sets = np.array(list(itertools.product((0, 1), repeat=n_labels)))
    return sets if max_positives is None else sets[sets.sum(axis=1) <= max_positives]


def counted(votes, mechanism):
    """Ballots that name the sets so often, in the order of `all_sets`."""
    sets = all_sets(mechanism.n_labels, mechanism.max_positives)
    votes = np.atleast_2d(np.asarray(votes, dtype=float))
    return count_ballots(np.tile(sets, (len(votes), 1, 1)), votes)


def tables(n_ballots, n_sets):
    """All numbers of equal ballots, up to the names of the sets."""
    for votes in itertools.product(range(n_ballots + 1), repeat=n_sets):
        if sum(votes) == n_ballots and tuple(sorted(votes, reverse=True)) == votes:
            yield votes


def statistic(mechanism, votes, n_draws=60_000):
    """Chi-square of the winners drawn against those of a vote with all sets written out."""
    counts = np.repeat(counted(votes, mechanism), n_draws, axis=0)
    drawn = mechanism.sample(counts, np.random.default_rng(0))
    sets = all_sets(mechanism.n_labels, mechanism.max_positives)
    powers = 2 ** np.arange(mechanism.n_labels)
    codes = sets @ powers
    seen = np.bincount(drawn @ powers, minlength=2**mechanism.n_labels)
    assert seen[codes].sum() == n_draws, "only sets that may win do"
    row = np.asarray(votes, dtype=float)[None]
    expected = n_draws * np.exp(max_log_probabilities(row, mechanism.sigma)[0])
    assert expected.min() > 20
    return (((seen[codes] - expected) ** 2) / expected).sum(), chi2.isf(NEVER, len(codes) - 1)


VOTES = {
    "few": (PowersetVoting(sigma=SIGMA, n_labels=3), [5, 0, 4, 1, 0, 0, 0, 0]),
    "all": (PowersetVoting(sigma=SIGMA, n_labels=2), [2, 1, 1, 1]),
    "one left": (PowersetVoting(sigma=SIGMA, n_labels=2), [2, 0, 1, 1]),
    "many sets": (PowersetVoting(sigma=3.0, n_labels=8), [6, 3] + [0] * 253 + [5]),
    "at most 2": (PowersetVoting(sigma=3.0, n_labels=6, max_positives=2), [0, 4] + [0] * 19 + [3]),
}


@pytest.mark.parametrize("case", VOTES)
def test_winners_match_a_vote_between_enumerated_sets(case, monkeypatch):
    observed, most = statistic(*VOTES[case])
    assert observed < most
    if case == "all":
        return
    # Planted: no noise on the sets that nobody voted for.
    monkeypatch.setattr(_powerset_voting, "largest_normal", lambda rate: np.full(len(rate), -9.0))
    observed, most = statistic(*VOTES[case])
    assert observed > most


def test_the_largest_of_many_normals():
    several = largest_normal(np.log(2.0) - np.array([0.0, 1.0, 10.0, 300.0]) * np.log(2.0))
    assert largest_normal(np.array([-300 * np.log(2)]))[0] == pytest.approx(
        20.19985664254582, abs=1e-13
    )
    assert largest_normal(np.array([np.inf]))[0] == -np.inf
    assert (np.diff(several) > 0).all()
    # Of m normals the largest is below x with probability Phi(x)^m = exp(-E): a draw of it.
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(100_000, 5)).max(axis=1)
    ours = largest_normal(np.log(rng.standard_exponential(100_000) / 5))
    edges = np.quantile(drawn, np.linspace(0, 1, 21)[1:-1])
    seen, expected = (np.bincount(np.searchsorted(edges, each)) for each in (ours, drawn))
    assert (((seen - expected) ** 2) / (seen + expected)).sum() < chi2.isf(NEVER, 20)


def replaced(votes, moved=1):
    """All votes after `moved` ballots were moved, each from any set to any other."""
    neighbours = {tuple(votes)}
    for _ in range(moved):
        for row in list(neighbours):
            for i, j in itertools.permutations(range(len(row)), 2):
                if row[i] > 0:
                    other = list(row)
                    other[i] -= 1
                    other[j] += 1
                    neighbours.add(tuple(other))
    return np.array(sorted(neighbours - {tuple(votes)}), dtype=float)


def largest(mechanism, votes, moved=1, heavy=1.0):
    """The largest divergence from or to any neighbour, by enumeration of sets and neighbours."""
    scale = mechanism.sigma / heavy
    others = max_log_probabilities(replaced(votes, moved), scale)
    here = max_log_probabilities(np.array([votes], dtype=float), scale)
    here = np.broadcast_to(here, others.shape)
    curves = [renyi_divergence(*pair, FINITE) for pair in ((here, others), (others, here))]
    return np.max(curves, axis=(0, 1))


@pytest.mark.parametrize(
    ("parameters", "n_ballots"),
    [
        ({"n_labels": 1}, 4),
        ({"n_labels": 2}, 4),
        ({"n_labels": 3}, 3),
        ({"n_labels": 4}, 2),
        ({"n_labels": 3, "max_positives": 1}, 4),
        ({"n_labels": 2, "weight": 2.0}, 3),
        ({"n_labels": 3, "ballots": 2}, 3),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, dict) else None,
)
def test_no_neighbour_reveals_more_than_is_charged(parameters, n_ballots):
    mechanism = PowersetVoting(sigma=SIGMA, **parameters)
    heavy, moved = parameters.get("weight", 1.0), parameters.get("ballots", 1)
    if mechanism.n_labels == 4:  # of sixteen sets, some that four ballots may name
        votes = [(2, 0), (1, 1)]
    elif mechanism.n_labels == 3 and mechanism.max_positives is None:
        votes = [(3, 0, 0), (2, 1, 0), (1, 1, 1)]
    else:
        votes = list(tables(n_ballots, mechanism.n_outcomes))
    votes = [tuple(row) + (0,) * (mechanism.n_outcomes - len(row)) for row in votes]
    counts = counted(heavy * np.array(votes), mechanism)
    worst = mechanism.max_cost()["*"].curve[INDEX]
    charged = mechanism.max_cost(counts=counts)["*"].curve[:, INDEX]
    enumerated = np.array([largest(mechanism, row, moved, heavy) for row in votes])
    assert (enumerated <= charged * (1 + 1e-9)).all()
    assert (charged <= worst * (1 + 1e-9)).all()
    if moved == 1:
        np.testing.assert_allclose(charged, enumerated, rtol=1e-8)  # and no more than the truth
    # Planted: a mechanism that forgets the sets that nobody voted for charges too little.
    if mechanism.n_labels == 3 and moved == 1 and mechanism.max_positives is None:
        cheap = GNMax(sigma=SIGMA).max_cost(counts=[[3, 0], [2, 1]])["*"].curve[:, INDEX]
        assert (enumerated[:2] > 1.01 * cheap).any(axis=1).all()


def test_the_documented_vectors():
    quadrature = level_quadrature(np.array([50.0]), 2**20, 10.0, 0.1)
    here, there = quadrature.neighbours()
    ten = np.array([10.0])
    assert renyi_divergence(there, here, ten).max() == pytest.approx(0.028353, abs=5e-7)
    charged = PowersetVoting(sigma=10.0, n_labels=20).max_cost(counts=fifty_equal(20), order=None)
    order = int(np.searchsorted(ORDERS, 10.0))
    nearest = ORDERS[order : order + 1]
    assert charged["*"].curve[0, order] == pytest.approx(
        max(
            renyi_divergence(here, there, nearest).max(),
            renyi_divergence(there, here, nearest).max(),
        ),
        rel=1e-9,
    )


def fifty_equal(n_labels):
    return count_ballots(np.zeros((1, 50, n_labels), dtype=int))


@pytest.mark.parametrize("n_labels", [20, 60, 300, 2000])
@pytest.mark.parametrize("sigma", [2.0, 20.0])
def test_probabilities_of_very_many_sets_sum_to_one(n_labels, sigma):
    for votes in ([50.0], [30, 10, 5, 1, 1, 1], [1.0] * 50):
        quadrature = level_quadrature(np.array(votes), 2**n_labels, sigma, 1 / sigma)
        for law in quadrature.neighbours():
            assert np.abs(np.logaddexp.reduce(law, axis=1)).max() < 1e-15 * n_labels + 1e-13


def test_rows_of_many_ballots_are_charged_the_worst_case():
    for sigma, weights in ((0.06, np.ones(100)), (9.0, 1 + np.arange(100) / 7)):
        mechanism = PowersetVoting(sigma=sigma, n_labels=100, weight=1.0)
        far = np.zeros((1, 100, 100)) if sigma < 1 else np.eye(100)[None]
        charged = mechanism.max_cost(counts=count_ballots(far, weights))["*"].curve[0, :-1]
        worst = mechanism.max_cost()["*"].curve[:-1]
        np.testing.assert_array_equal(charged, worst)


def test_worst_case_is_that_of_a_vote_of_many_classes():
    for n_labels, n_classes in ((1, 2), (2, 4), (300, None)):
        powerset = PowersetVoting(sigma=9.0, n_labels=n_labels)
        classes = GNMax(sigma=9.0).max_cost(n_classes)["*"].curve
        np.testing.assert_array_equal(powerset.max_cost()["*"].curve, classes)
    assert PowersetVoting(sigma=9.0, n_labels=300, max_positives=2).n_outcomes == 1 + 300 + 44_850
    levels = PowersetVoting(sigma=9.0, n_labels=9, weight={"a": 1.0, "b": 2.0}).max_cost()
    assert levels["a"].at(2.0) < levels["b"].at(2.0)
    assert PowersetVoting(sigma=9.0, n_labels=9).scaled(2.0).sigma == 18.0


@pytest.mark.parametrize(
    ("accounting", "order"),
    [("worst_case", "gaussian"), ("worst_case", "renyi"), ("data_dependent", "renyi")],
)
@pytest.mark.filterwarnings("ignore:accounting='data_dependent'")
def test_a_budget_pays_for_as_many_rows_as_fit(order, accounting):
    rng = np.random.default_rng(0)
    ballots = np.repeat(rng.integers(0, 2, (30, 1, 6)), 20, axis=1)
    ballots[:, :4] = rng.integers(0, 2, (30, 4, 6))
    # (Of little noise plans are priced at once.)
    epsilon, sigma = (20.0, 1.3) if accounting == "worst_case" else (0.7, 8.0)
    accountant = PrivacyAccountant(epsilon, 1e-5, order=order, accounting=accounting)
    mechanism = PowersetVoting(sigma=sigma, n_labels=6)
    outcome = accountant.release(mechanism, count_ballots(ballots))
    assert 0 < len(outcome) < 30
    assert outcome.shape[1:] == (6,)
    assert set(np.unique(outcome)) <= {0, 1}
    assert 0.7 < accountant.spent().share <= 1


def test_rows_are_paid_in_advance_and_noise_is_calibrated():
    mechanism = calibrated(
        lambda noise: PowersetVoting(sigma=noise, n_labels=300),
        epsilon=8.0,
        delta=1e-5,
        n_rows=5,
        order="renyi",
    )
    accountant = PrivacyAccountant(8.0, 1e-5, order="renyi")
    reservation = accountant.reserve(mechanism, 5)
    for n_ballots in (50, 7):
        ballots = np.eye(300, dtype=int)[None, :n_ballots]
        drawn = accountant.release(mechanism, count_ballots(ballots), reservation=reservation)
        assert drawn.shape == (1, 300)
    assert 0.99 < accountant.spent().share <= 1
    # How many ballots differ is private: whether rows are drawn must not depend on it.
    columns = PrivacyAccountant(8.0, 1e-5, order="renyi")
    reservation = columns.reserve(mechanism, 5, n_columns=20)
    for n_ballots in (50, 7):
        ballots = np.eye(300, dtype=int)[None, :n_ballots]
        drawn = columns.release(mechanism, count_ballots(ballots), reservation=reservation)
        assert drawn.shape == (1, 300)
    assert columns.spent().share == accountant.spent().share


def test_ballots_are_counted():
    rng = np.random.default_rng(0)
    ballots = rng.integers(0, 2, (20, 30, 3))
    weights = rng.integers(0, 3, (20, 30)) / 2
    counts = count_ballots(ballots, weights)
    for row in range(20):
        wanted = {}
        for ballot, weight in zip(ballots[row], weights[row], strict=True):
            if weight:
                wanted[tuple(ballot)] = wanted.get(tuple(ballot), 0) + weight
        cast = counts[row][counts[row]["count"] > 0]
        sets = np.unpackbits(cast["ballot"], axis=1, count=3)
        assert {tuple(map(int, b)): c for b, c in zip(sets, cast["count"], strict=True)} == wanted
    shared = count_ballots(ballots[:1], [0.5] * 30)
    np.testing.assert_array_equal(shared["count"] * 2, count_ballots(ballots[:1])["count"])
    assert count_ballots(np.zeros((0, 4, 3)))["count"].shape == (0, 1)
    nobody = count_ballots(ballots[:1], np.zeros(30))
    assert PowersetVoting(sigma=1.0, n_labels=3).sample(nobody, rng).shape == (1, 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma": 0.0}, "sigma=0.0"),
        ({"n_labels": 0}, "n_labels=0 must be"),
        ({"n_labels": 2.5}, "n_labels=2.5 must be"),
        ({"max_positives": 12}, "max_positives=12 must be an integer from 1 to 11"),
        ({"ballots": 0}, "ballots=0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        PowersetVoting(**{"sigma": 9.0, "n_labels": 11, **parameters})


def spoilt(change):
    counts = count_ballots(np.array([[[1] + [0] * 10] * 2 + [[0] * 11]] * 2))
    return change(counts)


def with_(field, index, value):
    def change(counts):
        counts[field][index] = value
        return counts

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda counts: counts["count"], "pass count_ballots"),
        (lambda counts: counts[0], "pass count_ballots"),
        (lambda counts: np.ma.array(counts), "masked"),
        (lambda counts: count_ballots([[[1, 0, 1]]]), "takes 2 bytes of packed bits"),
        (with_("count", (1, 0), np.nan), "finite and non-negative"),
        (with_("count", (1, 0), -1.0), "finite and non-negative"),
        (with_("count", (1, 0), 1e17), "equal ballots"),
        (with_("count", (1, 0), 2.0**50), "too coarse"),
        (with_("ballot", (1, 0), [0, 1]), "row 1 with bits beyond n_labels=11"),
        (with_("ballot", (1, 0), [0b11100000, 0]), "3 positives in row 1, and max_positives=2"),
        (with_("ballot", (1, 0), [0b10000000, 0]), "names a ballot of row 1 twice"),
    ],
)
def test_bad_counts(change, message):
    mechanism = PowersetVoting(sigma=9.0, n_labels=11, max_positives=2)
    mechanism.check_counts(spoilt(lambda counts: counts))
    with pytest.raises(ValueError, match=message):
        mechanism.check_counts(spoilt(change))


@pytest.mark.parametrize(
    ("ballots", "weights", "message"),
    [
        ([[1, 0]], None, "has shape"),
        (np.zeros((1, 0, 3)), None, "has shape"),
        ([[[1, 2]]], None, "must be 0"),
        ([[[1, np.nan]]], None, "must be 0"),
        ([[["a", "b"]]], None, "must be 0"),
        ([[[1, 0]]], [1, 2], "weights has shape"),
        ([[[1, 0]]], [-1], "weights must be finite"),
    ],
)
def test_bad_ballots(ballots, weights, message):
    with pytest.raises(ValueError, match=message):
        count_ballots(ballots, weights)


def test_laws_of_few_labels_are_stated():
    mechanism = PowersetVoting(sigma=2.0, n_labels=3, max_positives=1)
    law = outcome_law(mechanism, counted([5, 2, 0, 1], mechanism))
    assert law.outcomes.tolist() == all_sets(3, 1).tolist()
    assert np.exp(law.log_probabilities).sum() == pytest.approx(1)
    many = PowersetVoting(sigma=2.0, n_labels=9)
    assert outcome_law(many, fifty_equal(9)) is None
