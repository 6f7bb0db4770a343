"""Joint and Gaussian top k, which the benchmarks compare with: charges, laws, planted errors."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.topk.joint_and_gaussian import GaussianTopK, JointTopK
from scipy.stats import binom
from tests.checks._promises import check_promise
from tests.mechanisms.top_k._neighbours import EPSILONS, faults, neighbours, share_of_price, shares
from tests.mechanisms.top_k.test_planted_errors import noise_of, sensitivity_of_one

from secretballot import PrivacyAccountant
from secretballot.testing import MechanismExample, check_mechanism
from secretballot.testing._outcome_laws import outcome_law

JOINT = JointTopK(k=2, epsilon=4.0)
GAUSSIAN = GaussianTopK(k=2, max_items=1, sigma=1.0)
QUARTER = int(np.flatnonzero(EPSILONS == 0.25)[0])

#: Mechanisms; items and voters; and the part of its price that some neighbours reach at .25.
CASES = {
    "joint": (JOINT, (4, 2), 0.5),
    "gaussian": (GAUSSIAN, (3, 4), 0.65),
    "gaussian, three items": (replace(GAUSSIAN, max_items=3, sigma=2.0), (3, 4), 0.25),
}
RELATIONS = ("replace", "add_remove")


def case(name, relation):
    mechanism, size, _ = CASES[name]
    pairs = neighbours(*size, relation=relation, max_items=mechanism.max_items)
    return replace(mechanism, relation=relation), pairs


@pytest.mark.parametrize(
    ("mechanism", "pairs", "tightness"),
    [
        (
            JointTopK(k=2, epsilon=3.0),
            ([[11, 6, 1], [12, 5, 2]], [[11, 4, 1], [10, 5, 0]]),
            0.4,
        ),
        (
            GaussianTopK(k=1, max_items=1, sigma=2.0),
            ([[8, 3, 0], [9, 2, 0]], [[7, 1, 2], [8, 1, 1]]),
            0.6,
        ),
    ],
    ids=["joint", "gaussian"],
)
def test_they_satisfy_the_contract_of_mechanisms(mechanism, pairs, tightness):
    check_mechanism(
        MechanismExample(
            mechanism=mechanism,
            counts=np.array([[9.0, 1.0, 0.0], [40.0, 30.0, 3.0]]),
            neighbours=tuple(np.array(pair, float)[:, None] for pair in pairs),
            tightness=tightness,
        )
    )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_neighbours_reveals_more_than_is_charged(name, relation):
    reached = shares(*case(name, relation))
    assert faults(reached) == []
    assert reached["the price of 1"][QUARTER] >= CASES[name][2], "the claim is not too large"


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_person_in_several_teachers(relation):
    mechanism = replace(GAUSSIAN, relation=relation, ballots={"once": 1, "twice": 2})
    for level, copies in mechanism.ballots.items():
        pairs = neighbours(4, 2, relation=relation, max_items=1, copies=copies)
        assert faults(shares(mechanism, pairs, level)) == []
    assert faults(shares(mechanism, pairs, "once")) != []


def test_sets_chosen_at_once_are_drawn_by_the_law():
    # Row by row, and so fewer: an honest one fails with a probability of 1e-12.
    counts = np.array([[5.0, 3.0, 2.0, 5.0]])
    outcomes, log_p = outcome_law(JOINT, counts)
    drawn = JOINT.sample(np.repeat(counts, 4000, axis=0), np.random.default_rng(0))
    seen = (drawn[:, None] == outcomes).all(axis=-1).sum(axis=0)
    assert seen.sum() == 4000
    p = np.exp(log_p[0])
    tails = np.minimum(binom.cdf(seen, 4000, p), binom.sf(seen - 1, 4000, p))
    assert (tails > 1e-12 / len(p)).all()


def check_draws(name):
    mechanism, pairs = case(name, "add_remove")
    counts = pairs[len(pairs) // 3 :: len(pairs) // 3, 0]
    example = MechanismExample(mechanism=mechanism, counts=counts, neighbours=())
    check_promise("draws_follow_the_stated_law", example)


@pytest.mark.parametrize("name", ["gaussian", "gaussian, three items"])
def test_sets_are_drawn_by_the_law(name):
    check_draws(name)


@pytest.mark.parametrize("name", ["joint", "gaussian"])
def test_a_charge_that_is_too_small_is_found(name, monkeypatch):
    sensitivity_of_one(monkeypatch.setattr)
    assert share_of_price(*case(name, "replace")).max() > 1.05


def test_draws_from_another_law_are_found(monkeypatch):
    noise_of("_sigma", 0.5, GaussianTopK)(monkeypatch.setattr)
    with pytest.raises(AssertionError, match="outcomes are drawn by the stated law"):
        check_draws("gaussian")


def test_parameters_and_counts_out_of_range():
    with pytest.raises(ValueError, match="max_items=None"):
        GaussianTopK(k=2, sigma=1.0)
    with pytest.raises(ValueError, match="give one of them"):
        GaussianTopK(k=2, max_items=1)
    with pytest.raises(ValueError, match="whole numbers"):
        PrivacyAccountant(9.0, 1e-4).release(JOINT, [[10.5, 0.25, 10.25, 0.0]])
