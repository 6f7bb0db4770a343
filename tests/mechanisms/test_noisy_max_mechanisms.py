"""GNMax and Confident GNMax: what they draw is what they charge for."""

import itertools
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import ndtr
from scipy.stats import chi2

from secretballot.accounting import EVERYONE, ORDERS
from secretballot.costs import NoisyBit
from secretballot.costs._exact_max import max_log_probabilities
from secretballot.mechanisms import ConfidentGNMax, GNMax, RoundRobin

FINITE = ORDERS[:-1]


def probabilities(mechanism, row):
    """Outcome probabilities of one row: unanswered first, then each class."""
    row = np.asarray(row, dtype=float)
    win = np.exp(max_log_probabilities(row[None], mechanism.sigma)[0])
    if not isinstance(mechanism, ConfidentGNMax):
        return np.concatenate([[0.0], win])
    passes = ndtr((row.max() - mechanism.threshold) / mechanism.sigma_threshold)
    return np.concatenate([[1 - passes], passes * win])


def neighbours(row, weight=1):
    for i, j in itertools.permutations(range(len(row)), 2):
        if row[i] >= weight:
            other = list(row)
            other[i] -= weight
            other[j] += weight
            yield other


MECHANISMS = [
    GNMax(sigma=3.0),
    ConfidentGNMax(sigma=3.0, sigma_threshold=4.0, threshold=7.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("row", [[9, 4], [6, 5, 3], [10, 0, 0, 2]])
def test_draws_have_the_stated_law(mechanism, row):
    n = 200_000
    outcome = mechanism.sample(np.tile(np.array(row, float), (n, 1)), np.random.default_rng(0))
    seen = np.bincount(outcome + 1, minlength=len(row) + 1)
    expected = n * probabilities(mechanism, row)
    used = expected > 0
    assert seen[~used].sum() == 0
    statistic = ((seen[used] - expected[used]) ** 2 / expected[used]).sum()
    assert statistic < chi2.isf(1e-6, used.sum() - 1)


def test_half_the_noise_is_found():
    # The test above catches a planted error: the same statistic with sigma / 2.
    n, row = 200_000, [9, 4]
    wrong = GNMax(sigma=1.5).sample(np.tile([9.0, 4.0], (n, 1)), np.random.default_rng(0))
    seen = np.bincount(wrong + 1, minlength=3)[1:]
    expected = n * probabilities(GNMax(sigma=3.0), row)[1:]
    assert ((seen - expected) ** 2 / expected).sum() > 100 * chi2.isf(1e-6, 1)


HEAVY = [
    GNMax(sigma=3.0, weight=2.0),
    ConfidentGNMax(sigma=3.0, sigma_threshold=4.0, threshold=7.0, weight=2.0),
]


@pytest.mark.parametrize("mechanism", [*MECHANISMS, *HEAVY])
@given(st.lists(st.integers(0, 8), min_size=2, max_size=4).filter(lambda v: max(v) > 1), st.data())
@settings(max_examples=30)
def test_charged_outcomes_satisfy_the_filter_at_every_order(mechanism, row, data):
    # Charging by outcome is sound at one fixed order if E_Q[(P/Q)^a e^{-(a-1) cost}] <= 1
    # (Feldman and Zrnic): enumerate the outcomes, for any neighbour and both directions.
    other = data.draw(st.sampled_from(list(neighbours(row, mechanism.weight))))
    n_classes = len(row)
    outcomes = np.arange(-1, n_classes)
    p, q = probabilities(mechanism, row), probabilities(mechanism, other)
    worst = mechanism.cost(outcomes, n_columns=n_classes)[EVERYONE]
    counts = np.tile(np.array(row, float), (len(outcomes), 1))
    exact = mechanism.cost(outcomes, counts)[EVERYONE]
    possible = (p > 0) & (q > 0)
    p, q = p[possible, None], q[possible, None]
    for cost in (worst, exact):
        curve = cost.curve[possible][:, :-1]
        for one, two in ((p, q), (q, p)):
            with np.errstate(over="ignore"):
                logs = np.log(one) * FINITE + np.log(two) * (1 - FINITE) - (FINITE - 1) * curve
                moment = np.exp(logs).sum(axis=0)
            assert np.all(moment <= 1 + 1e-9)


def test_dropping_the_threshold_charge_breaks_the_filter():
    mechanism = MECHANISMS[1]
    row, other = [8, 4], [7, 5]
    p, q = probabilities(mechanism, row), probabilities(mechanism, other)
    vote_only = np.stack([np.zeros(len(FINITE)), *[
        GNMax(sigma=3.0).max_cost(2)[EVERYONE].curve[:-1] for _ in range(2)
    ]])  # fmt: skip
    logs = (
        np.log(p)[:, None] * FINITE + np.log(q)[:, None] * (1 - FINITE) - (FINITE - 1) * vote_only
    )
    assert np.any(np.exp(logs[:, :60]).sum(axis=0) > 1 + 1e-6)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_cost_exceeds_max_cost(mechanism):
    rng = np.random.default_rng(0)
    for n_columns in (2, 4):
        counts = rng.multinomial(12, np.ones(n_columns) / n_columns, size=40).astype(float)
        outcome = mechanism.sample(counts, rng)
        most = mechanism.max_cost(n_columns)[EVERYONE]
        known_most = mechanism.max_cost(n_columns, counts)[EVERYONE]
        did = mechanism.cost(outcome, n_columns=n_columns)[EVERYONE]
        did_known = mechanism.cost(outcome, counts)[EVERYONE]
        assert did.shape == did_known.shape == known_most.shape == (40,)
        slack = 1 + 1e-9
        assert np.all(did.curve <= most.curve * slack)
        assert np.all(did_known.curve <= known_most.curve * slack)
        assert np.all(known_most.curve[:, :-1] <= most.curve[:-1] * slack)
        assert np.all(most.curve <= mechanism.max_cost()[EVERYONE].curve * slack)


def test_an_unanswered_row_pays_for_its_threshold_only():
    mechanism = MECHANISMS[1]
    cost = mechanism.cost(np.array([-1, 0, 1]), n_columns=3)[EVERYONE]
    vote = GNMax(sigma=3.0).max_cost(3)[EVERYONE].curve[:-1]
    bit = cost.curve[0, :-1]
    assert np.all(bit > 0)
    np.testing.assert_allclose(cost.curve[1, :-1] - bit, vote, rtol=1e-9)


def test_weights_are_charged_per_level():
    mechanism = GNMax(sigma=20.0, weight={"strict": 0.5, "generous": 2.0})
    most = mechanism.max_cost(3)
    assert set(most) == {"strict", "generous"}
    for level, weight in mechanism.weight.items():
        alone = GNMax(sigma=20.0, weight=weight).max_cost(3)[EVERYONE]
        np.testing.assert_array_equal(most[level].curve, alone.curve)
    assert json.loads(json.dumps(mechanism.describe()))["weight"]["generous"] == 2.0


def test_one_order_alone_agrees_with_the_whole_curve():
    for n_columns in (2, 5):
        whole = GNMax(sigma=25.0).max_cost(n_columns)[EVERYONE]
        alone = GNMax(sigma=25.0).max_cost(n_columns, order=12.0)[EVERYONE]
        # Squares are shared between orders, so the last digits of the bound may differ.
        assert alone.at(12.0) == pytest.approx(float(whole.at(12.0)), rel=6e-4)
        assert np.isinf(alone.at(13.0))


def test_a_single_class_reveals_nothing():
    assert np.all(GNMax(sigma=1.0).max_cost(1)[EVERYONE].curve == 0)
    cost = GNMax(sigma=1.0).cost(np.zeros(2, int), [[3.0], [4.0]])[EVERYONE]
    assert np.all(cost.curve == 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GNMax(sigma=0), "sigma=0 must be a finite number above 0"),
        (lambda: GNMax(sigma=float("nan")), "sigma=nan must be a finite number above 0"),
        (lambda: GNMax(sigma="40"), "sigma='40' must be a finite number above 0"),
        (lambda: GNMax(sigma=1, weight={"a": -1}), "weight=-1 of the level 'a' must be"),
        (
            lambda: ConfidentGNMax(sigma=1, sigma_threshold=-2, threshold=3),
            "sigma_threshold=-2 must be a finite number above 0",
        ),
        (
            lambda: ConfidentGNMax(sigma=1, sigma_threshold=2, threshold=float("inf")),
            "threshold=inf must be a finite number",
        ),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], "counts has shape"),
        ([["a", "b"]], "counts has dtype"),
        ([[1.0, float("nan")]], "finite and non-negative"),
        ([[-1, 3]], "finite and non-negative"),
        (np.zeros((3, 0)), "counts has shape"),
        (np.array([[2**60, 2**60 + 128]]), r"above 2\*\*53, which floats can't hold apart"),
        (np.array([[2**63, 2**63 + 1]], dtype=np.uint64), r"above 2\*\*53"),
        ([[2**53 + 1, 0]], r"above 2\*\*53"),
        ([[1e300, 0.0]], r"above 2\*\*53"),
        (np.array([[1e300, 0.0]], dtype=np.longdouble), r"above 2\*\*53"),
        ([[2**64, 1]], "counts has dtype object"),
        (np.array([[1, 2]], dtype=object), "counts has dtype object"),
        (np.array([[1 + 0j, 2]]), "counts has dtype complex128"),
        (np.array([["2024-01-01"]], dtype="M8[D]"), "counts has dtype datetime64"),
        (np.array([[3]], dtype="m8[s]"), "counts has dtype timedelta64"),
        (np.ma.masked_array([[1, 2]], mask=[[True, False]]), "a masked array.*give a plain array"),
        (sparse.csr_array([[1, 2]]), r"sparse matrix; pass counts.toarray\(\)"),
        ([[2**53, 0]], "too coarse for noise of sigma(_threshold)?=1: it would be rounded away"),
        ([[90, 10], [0.3, 0.7]], "a row that sums to one vote or less, in parts: shares"),
        ([[0.2, 0.3]], "a row that sums to one vote or less, in parts: shares"),
    ],
)
@pytest.mark.parametrize("kind", ["vote", "threshold", "turns"])
def test_bad_counts(counts, message, kind):
    mechanism = {
        "vote": GNMax(sigma=1),
        "threshold": ConfidentGNMax(sigma=9e9, sigma_threshold=1, threshold=1),
        "turns": RoundRobin(mechanism=GNMax(sigma=1), turns={"a": (1, 2)}),
    }[kind]
    with pytest.raises(ValueError, match=message):
        mechanism.check_counts(counts)


def test_one_vote_of_any_weight_is_a_count():
    for counts, weight in (([[1, 0]], 1.0), ([[0.5, 0]], 0.5), ([[0, 0]], 1.0)):
        assert GNMax(sigma=9, weight=weight).check_counts(counts).tolist() == counts
    levels = {"strict": 0.25, "generous": 1.0}
    votes = GNMax(sigma=9, weight=levels).check_counts([[0.25, 0.5]])
    assert votes.sum() == 0.75


def test_counts_of_a_billion():
    votes = np.array([[10**9, 0]])
    np.testing.assert_array_equal(GNMax(sigma=1).check_counts(votes), votes)
    np.testing.assert_array_equal(GNMax(sigma=1).check_counts([[True, False]]), [[1, 0]])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_immutable_descriptions(mechanism):
    with pytest.raises(AttributeError):
        mechanism.sigma = 1.0
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with pytest.raises(TypeError):
        type(mechanism)(3.0)


def test_several_ballots_at_worst():
    once, twice = GNMax(sigma=20.0), GNMax(sigma=20.0, ballots=2)
    heavy = GNMax(sigma=20.0, weight=2.0)
    # It makes no difference whether two ballots move, or one that weighs as much.
    for n_columns in (2, 3, 10, None):
        both = twice.max_cost(n_columns)[EVERYONE], heavy.max_cost(n_columns)[EVERYONE]
        np.testing.assert_array_equal(both[0].curve, both[1].curve)
        assert np.all(both[0].curve[:-1] > once.max_cost(n_columns)[EVERYONE].curve[:-1])
    levels = GNMax(sigma=20.0, ballots={"a": 1, "b": 3}).max_cost(2)
    np.testing.assert_array_equal(levels["a"].curve, once.max_cost(2)[EVERYONE].curve)
    threshold = ConfidentGNMax(sigma=1e9, sigma_threshold=20.0, threshold=5.0, ballots=2)
    alone = NoisyBit(scale=1.0, shift=2 / 20.0).worst_case()
    np.testing.assert_allclose(threshold.max_cost(2)[EVERYONE].curve[:-1], alone[:-1], rtol=1e-6)


@pytest.mark.parametrize("ballots", [0, 1.5, True, {"a": 2, "b": 0}])
def test_ballots_are_whole(ballots):
    with pytest.raises(ValueError, match="ballots=.* must be an integer of at least 1"):
        GNMax(sigma=1.0, ballots=ballots)


def test_weight_and_ballots_name_the_same_levels():
    with pytest.raises(ValueError, match="must name the same levels"):
        GNMax(sigma=1.0, weight={"a": 1.0}, ballots={"b": 2})
    laws = GNMax(sigma=1.0, weight=2.0, ballots={"a": 1, "b": 2}).laws(2)
    assert [law[0].move.ratio for law in laws.values()] == [2.0, 4.0]
