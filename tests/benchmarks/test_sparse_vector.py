"""Top Stable, which the benchmarks compare with: charges, law of its draws, planted errors."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.topk.sparse_vector import SparseVectorTopK
from tests.checks._promises import check_promise
from tests.mechanisms.top_k._neighbours import (
    EPSILONS,
    faults,
    neighbours,
    outcome_laws,
    share_of_price,
    shares,
)
from tests.mechanisms.top_k.test_planted_errors import (
    charging,
    half_the_delta,
    noise_of,
    sensitivity_of_one,
    with_move,
    without_delta,
)

from secretballot.mechanisms.top_k import Draws
from secretballot.testing import MechanismExample, _top_k_law, check_mechanism
from secretballot.testing._outcome_laws import outcome_law

#: Segments and reach of the integral over Laplace noise, in its scale.
SEGMENTS, REACH = 100, 50.0
QUARTER = int(np.flatnonzero(EPSILONS == 0.25)[0])

#: Mechanisms, and the part of its price that some neighbours reach at epsilon .25. It is charged as
#: randomised response, which large gaps come near: they are beyond the few voters.
VECTOR = SparseVectorTopK(k=2, k_max=2, epsilon=3.0, delta_t=0.02)
CASES = {
    "vector": (VECTOR, 0.1),
    "vector, clear": (replace(VECTOR, epsilon=12.0, delta_t=0.1), 0.7),
    "vector, draws": (replace(VECTOR, k=1, k_max=3, draw_share=0.5), 0.02),
}
RELATIONS = ("replace", "add_remove")


@_top_k_law._law_of.register
def sparse_vector_law(mechanism: SparseVectorTopK, votes: np.ndarray):
    wanted, most = mechanism._set_size, mechanism.k_max
    values, tops = _top_k_law._largest_sets(votes, most)
    sizes = [*range(wanted, most + 1), *range(wanted - 1, 0, -1)]
    gaps = np.stack([values[:, size - 1] - values[:, size] for size in sizes], axis=1)
    heights = mechanism._threshold - np.maximum(gaps - mechanism._sensitivity, 0.0)
    passes = first_passing(heights, *mechanism._scales)
    n_columns = max(votes.shape[1], most)
    sets = np.zeros((len(votes), 2**n_columns))
    for place, size in enumerate(sizes):
        law = np.equal.outer(tops[:, size], np.arange(2**n_columns)).astype(float)
        if size > wanted:
            draws = Draws(mechanism._unit_sensitivity / mechanism._width, mechanism._max_draws)
            law = _top_k_law._shrink(values, tops, size, wanted, draws, n_columns)
        sets += passes[:, place, None] * law
    return sets, passes[:, -1]


def first_passing(heights, first, second):
    """Compute the probability that each height is the first one passed; last, that none is.

    All heights have the same Laplace noise of scale `first` added. Laplace noise of scale `second`,
    drawn anew for each height, passes it or not.
    """
    kinks = np.clip(-heights, -REACH * first, REACH * first)
    even = np.linspace(-REACH * first, REACH * first, SEGMENTS + 1)
    ends = np.sort(np.hstack([kinks, np.tile(even, (len(heights), 1))]), axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(ends, axis=1)[..., None] / 2
    x = (ends[:, :-1, None] + half * (1 + nodes)).reshape(len(heights), -1)
    density = np.exp(-np.abs(x) / first) / (2 * first)
    mass = (half * weights).reshape(len(heights), -1) * density
    passes = []
    for height in heights.T:
        at = (height[:, None] + x) / second
        tail = np.exp(-np.abs(at)) / 2
        passes.append((mass * np.where(at > 0, tail, 1 - tail)).sum(axis=1))
        mass = mass * np.where(at > 0, 1 - tail, tail)
    return np.stack([*passes, mass.sum(axis=1)], axis=1)


def case(name, relation):
    return replace(CASES[name][0], relation=relation), neighbours(3, 4, relation=relation)


def check_draws(name):
    mechanism, pairs = case(name, "add_remove")
    counts = pairs[len(pairs) // 3 :: len(pairs) // 3, 0]
    example = MechanismExample(mechanism=mechanism, counts=counts, neighbours=())
    check_promise("draws_follow_the_stated_law", example)


def test_it_satisfies_the_contract_of_mechanisms():
    pairs = ([[15, 4, 0], [16, 3, 1]], [[21, 0, 2], [22, 1, 1]])
    check_mechanism(
        MechanismExample(
            mechanism=SparseVectorTopK(k=2, k_max=2, epsilon=4.0, delta_t=0.0005),
            counts=np.array([[9.0, 1.0, 0.0], [40.0, 30.0, 3.0]]),
            neighbours=tuple(np.array(pair, float)[:, None] for pair in pairs),
            tightness=0.2,
        )
    )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_neighbours_reveals_more_than_is_charged(name, relation):
    reached = shares(*case(name, relation))
    assert faults(reached) == []
    price = reached.get("the price of 1", reached["Renyi"])
    assert price[QUARTER] >= CASES[name][1], "the claim is not too large"


@pytest.mark.parametrize("name", CASES)
def test_sets_are_drawn_by_the_law(name):
    check_draws(name)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["vector", "vector, draws"])
def test_items_of_one_person_are_rarely_named(name, relation):
    mechanism, pairs = case(name, relation)
    laws = outcome_laws(mechanism, pairs)
    named = []
    for law, here, there in ((laws.p, 0, 1), (laws.q, 1, 0)):
        brought = (pairs[:, here] > 0) & (pairs[:, there] == 0)
        revealing = (laws.outcomes[None] == 1) & brought[:, None]
        named.append((law * revealing.any(axis=-1)).sum(axis=1).max())
    assert 0.1 * mechanism.delta_t < max(named) <= mechanism.delta_t * (1 + 1e-15)


def test_sets_of_many_items_are_not_enumerated():
    assert outcome_law(replace(VECTOR, k_max=7), np.ones((1, 3))) is None


def all_gaps_count(patch):
    patch(SparseVectorTopK, "_sensitivity", 0.0)


def threshold_for_one_gap(patch):
    def lower(self):
        return float(replace(self, k=self.k_max)._scales[1] * np.log(1 / (2 * self.delta_t)))

    patch(SparseVectorTopK, "_threshold", property(lower))


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (sensitivity_of_one, "vector"),
        (charging(SparseVectorTopK, "search", without_delta), "vector"),
        (charging(SparseVectorTopK, "search", half_the_delta), "vector"),
        (charging(SparseVectorTopK, "search", with_move(epsilon=0.25)), "vector, clear"),
        (all_gaps_count, "vector"),
        (threshold_for_one_gap, "vector, draws"),
    ],
)
def test_a_charge_that_is_too_small_is_found(plant, name, monkeypatch):
    plant(monkeypatch.setattr)
    assert share_of_price(*case(name, "replace")).max() > 1.05


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (noise_of("_width", 2.0, SparseVectorTopK), "vector, draws"),
        (noise_of("_threshold", 0.5, SparseVectorTopK), "vector"),
    ],
)
def test_draws_from_another_law_are_found(plant, name, monkeypatch):
    plant(monkeypatch.setattr)
    with pytest.raises(AssertionError, match="outcomes are drawn by the stated law"):
        check_draws(name)
