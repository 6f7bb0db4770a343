"""The audit of a mechanism: below the exact figure and near it, and able to refute."""

import math

import numpy as np
import pytest

from secretballot.mechanisms import ConfidentGNMax, GNMax
from secretballot.testing import Neighbours, PairAudit, audit_epsilon
from secretballot.testing._audit import claimed_cost, mechanism_draws
from secretballot.testing._outcome_laws import compose_rows, exact_epsilon, outcome_law

DELTA = 1e-2


def pair(one, two, n_rows=1, group="*"):
    data = (np.tile(np.array([votes], float), (n_rows, 1)) for votes in (one, two))
    return Neighbours(*data, group)


TIED = [[5, 5], [6, 4]]


@pytest.mark.parametrize(
    ("sigma", "n_classes"),
    [
        *((1.5, 2), (2.0, 3), (4.0, 2)),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1.5, 3), (2.0, 2), (4.0, 3))),
    ],
)
def test_five_composed_tied_queries_against_enumeration(sigma, n_classes):
    mechanism = GNMax(sigma=sigma)
    votes = [each + [0] * (n_classes - 2) for each in TIED]
    neighbours = pair(*votes, n_rows=5)
    laws = [compose_rows(outcome_law(mechanism, data).log_probabilities) for data in neighbours[:2]]
    assert len(laws[0]) == n_classes**5
    exact = exact_epsilon(*laws, DELTA)
    audit = audit_epsilon(mechanism, [neighbours], DELTA, n_draws=400_000, random_state=1)
    (found,) = audit.pairs
    claim = (5 * mechanism.max_cost(n_classes)["*"]).epsilon(DELTA)
    assert found.exact == pytest.approx(exact)
    assert found.claim == pytest.approx(float(claim))
    assert 0.75 * exact < found.lower_bound <= exact <= claim
    assert found.renyi_share <= 1
    assert audit.holds


@pytest.mark.parametrize(
    ("mechanism", "neighbours"),
    [
        (GNMax(sigma=1.0), pair([12, 7], [11, 8])),
        (GNMax(sigma=1.5), pair([8, 12, 0], [7, 13, 0])),
        (GNMax(sigma=3.0), pair([9, 16], [8, 17])),
        (
            ConfidentGNMax(sigma=1.5, sigma_threshold=5.0, threshold=10.0),
            pair([19, 23, 0], [18, 24, 0]),
        ),
        # Where the threshold is what costs.
        (
            ConfidentGNMax(sigma=3.0, sigma_threshold=0.5, threshold=10.0),
            pair([9, 3, 0], [8, 4, 0]),
        ),
    ],
)
def test_a_single_release_nearly_spends_its_claim(mechanism, neighbours):
    audit = audit_epsilon(mechanism, [neighbours], DELTA, n_draws=300_000, random_state=0)
    audit.check()
    assert audit.share > 0.7
    assert 0.85 * audit.tightest.claim < audit.tightest.exact <= audit.tightest.claim


def test_groups_are_compared_with_their_own_charge():
    mechanism = GNMax(sigma=1.5, weight={"light": 1.0, "heavy": 2.0})
    light = pair([8, 12], [7, 13], group="light")
    heavy = pair([8, 12], [6, 14], group="heavy")
    honest = audit_epsilon(mechanism, [light, heavy], DELTA, n_draws=200_000, random_state=0)
    honest.check()
    assert honest.pairs[0].claim < honest.pairs[1].claim
    # Were the heavy ballot charged as a light one:
    mistaken = [heavy._replace(group="light")]
    audit = audit_epsilon(mechanism, mistaken, DELTA, n_draws=200_000, random_state=0)
    with pytest.raises(AssertionError, match="the exact epsilon is .* a Renyi divergence is"):
        audit.check()
    with pytest.raises(ValueError, match=r"group='\*' is charged nothing .* 'light', 'heavy'"):
        claimed_cost(mechanism)


def test_each_of_many_pairs_is_held_to_a_stricter_level():
    # Every bound at confidence 0.5 is too high half the time; the family's must not be.
    coin = GNMax(sigma=1e6)  # all pairs alike: true epsilon 0
    pairs = [pair([5, 5], [6, 4])] * 20
    refuted = [
        not audit_epsilon(
            coin, pairs, 0.0, claim=1e-9, outcome_law=lambda data: None, n_draws=200,
            confidence=0.5, random_state=seed,
        ).holds
        for seed in range(20)
    ]  # fmt: skip
    assert sum(refuted) <= 10


def test_a_drawing_function_can_be_audited():
    def noisy_sum(data, n_draws, rng):
        return data + rng.laplace(scale=1.0, size=n_draws)

    claim = {"honest": 1.0, "bold": 0.5}
    neighbours = [Neighbours(3.0, 4.0, "honest"), Neighbours(3.0, 4.0, "bold")]
    audit = audit_epsilon(None, neighbours, 1e-3, claim=claim, draw=noisy_sum, random_state=0)
    honest, bold = audit.pairs
    assert 0.9 < honest.lower_bound <= 1.0
    assert honest.exact is None
    assert not honest.faults
    assert len(bold.faults) == 1
    assert str(audit).startswith("the claim is refuted: epsilon >= ")
    with pytest.raises(
        AssertionError, match=r"epsilon = 0\.5 is claimed at delta=0\.001 for group"
    ):
        audit.check()


@pytest.mark.parametrize("unknown", ["claim", "lower_bound", "exact", "renyi_share"])
def test_nan_refutes_a_claim(unknown):
    figures = {"claim": 1.0, "lower_bound": 0.9, "exact": 0.95, "renyi_share": 0.99}
    honest = PairAudit(neighbours=pair(*TIED), **figures)
    assert not honest.faults
    assert PairAudit(neighbours=pair(*TIED), **{**figures, unknown: math.nan}).faults


def test_zero_claims():
    audit = audit_epsilon(GNMax(sigma=1), [pair([5], [5])], DELTA, n_draws=100)
    assert (audit.tightest.claim, audit.share) == (0.0, 0.0)
    assert audit.holds
    audit = audit_epsilon(GNMax(sigma=1), [pair(*TIED)], DELTA, claim=0, random_state=0)
    assert audit.share == np.inf
    assert not audit.holds


def test_the_seed_decides():
    def drawn(seed):
        seen = []

        def draw(data, n_draws, rng):
            outcomes = rng.random(n_draws)
            seen.append(outcomes[:50])
            return outcomes

        audit_epsilon(None, [pair(*TIED)], DELTA, claim=1.0, draw=draw, random_state=seed)
        return np.concatenate(seen)

    first = drawn(0)
    assert np.array_equal(first, drawn(0))
    assert not np.isin(drawn(1), first).any()
    # Here no seed is ours; that two of 200 numbers are the same happens once in 1e11 times.
    assert not np.isin(drawn(None), drawn(None)).any()


def test_draws_of_several_rows_keep_their_shape():
    draws = mechanism_draws(GNMax(sigma=1e-6))
    outcome = draws([[5, 1, 0], [0, 1, 5]], 30_000, np.random.default_rng(0))
    assert outcome.shape == (30_000, 2)
    assert (outcome == [0, 2]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"neighbours": []}, "neighbours is empty"),
        ({"neighbours": [np.zeros((3, 2))]}, r"give pairs \(data, neighbour\), or Neighbours"),
        (
            {"neighbours": [(np.zeros((1, 2)), np.zeros((1, 3)))]},
            r"pair of shapes \(1, 2\) and \(1, 3\)",
        ),
        ({"claim": math.nan}, "claim=nan must be a finite number of at least 0"),
        ({"claim": {"level": 1.0}}, r"claim\['\*'\]=None must be a finite number"),
        ({"mechanism": None}, "mechanism=None leaves nothing to audit"),
        ({"delta": -0.1}, r"delta=-0\.1 must be"),
        ({"confidence": 1.0}, r"confidence=1\.0 must be a finite number above 0 and below 1"),
    ],
)
def test_bad_input(arguments, message):
    known = {"mechanism": GNMax(sigma=1), "neighbours": [pair(*TIED)], "delta": DELTA}
    with pytest.raises(ValueError, match=message):
        audit_epsilon(**{**known, **arguments})
