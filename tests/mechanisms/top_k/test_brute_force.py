"""Charges of sets of largest counts against all neighbours of a few voters."""

from dataclasses import replace

import numpy as np
import pytest
from tests.checks._promises import check_promise
from tests.mechanisms.top_k._neighbours import (
    EPSILONS,
    faults,
    neighbours,
    outcome_laws,
    share_of_price,
    shares,
)

from secretballot.accounting import EVERYONE, ORDERS
from secretballot.mechanisms import ExponentialTopK, LimitedDomainTopK, StableTopK
from secretballot.testing import MechanismExample
from secretballot.testing._outcome_laws import outcome_law

THREE, FOUR = (3, 4), (4, 2)
QUARTER = int(np.flatnonzero(EPSILONS == 0.25)[0])
STABLE = StableTopK(rho=1.0, delta_t=0.02)
WANTED = replace(STABLE, k=2, regularizer=0.0)
LIMITED = LimitedDomainTopK(k=2, k_max=2, epsilon=1.0, delta_t=0.02)
EXPONENTIAL = ExponentialTopK(k=2, epsilon=1.0)


def of(mechanism, **changes):
    return replace(mechanism, **changes)


#: Mechanisms; items, and voters beside those who are always there; and what part of its claim (as
#: a plan, or where there is none in Renyi divergences) some neighbours reach at epsilon .25.
CASES = {
    "stable": (STABLE, THREE, 0.85),
    "stable, four items": (STABLE, FOUR, 0.8),
    "stable, few sizes": (of(STABLE, k_max=2), THREE, 0.85),
    "stable, one size": (of(STABLE, k_max=1), THREE, 0.95),
    "stable, one item each": (of(STABLE, max_items=1), (4, 3), 0.75),
    "stable, clear choice": (
        StableTopK(rho=2.0, delta_t=0.1, choice_share=0.5),
        THREE,
        0.85,
    ),
    "stable, Laplace test": (of(STABLE, test="laplace"), THREE, 0.6),
    "stable, mostly choice": (of(STABLE, choice_share=0.9), THREE, 0.2),  # few choices are seen
    "stable, preferences": (
        of(STABLE, k_max=3, regularizer=(0.0, 1.5, -np.inf)),
        THREE,
        0.85,
    ),
    "stable, or none": (of(STABLE, n_votes=11), THREE, 0.8),
    "stable, Gaussian choice": (of(STABLE, selector="gaussian"), THREE, 0.4),
    "stable, unknown": (of(STABLE, unknown_domain=True, k_max=3), THREE, 0.85),
    "wanted": (WANTED, FOUR, 0.55),
    "wanted alone": (of(WANTED, regularizer=None), THREE, 0.75),
    "wanted, another size": (
        of(WANTED, k_max=3, regularizer=(-np.inf, -np.inf, 0.0)),
        FOUR,
        0.5,
    ),
    "wanted, three": (of(WANTED, k=3, draw_share=0.9), FOUR, 0.7),
    "wanted, one": (of(WANTED, k=1, draw_share=0.2), FOUR, 0.4),
    "wanted alone, unknown": (
        of(WANTED, regularizer=None, unknown_domain=True, k_max=3),
        THREE,
        0.45,
    ),
    "wanted, unknown": (of(WANTED, unknown_domain=True, k_max=3), THREE, 0.5),
    "wanted, unknown, one item": (
        of(WANTED, unknown_domain=True, k_max=3, max_items=1),
        THREE,
        0.4,
    ),
    "exponential": (EXPONENTIAL, THREE, 0.85),
    "exponential, one": (of(EXPONENTIAL, k=1), THREE, 0.99),
    "limited": (LIMITED, FOUR, 0.5),
    "limited, one": (of(LIMITED, k=1), FOUR, 0.8),
    "limited, one item": (of(LIMITED, k=1, k_max=3, max_items=1), (4, 3), 0.7),
}
BOTH = [(name, relation) for name in CASES for relation in ("replace", "add_remove")]
BOTH.remove(("stable, or none", "add_remove"))


def case(name, relation):
    mechanism, size, share = CASES[name]
    mechanism = replace(mechanism, relation=relation)
    return mechanism, neighbours(*size, relation=relation, max_items=mechanism.max_items), share


@pytest.mark.parametrize(("name", "relation"), BOTH)
def test_no_pair_of_neighbours_reveals_more_than_is_charged(name, relation):
    mechanism, pairs, share = case(name, relation)
    shares_of_claims = shares(mechanism, pairs)
    assert faults(shares_of_claims) == []
    priced = shares_of_claims.get("the price of 1", shares_of_claims["Renyi"])
    assert priced[QUARTER] >= share, "the claim is not too large"


@pytest.mark.parametrize("name", CASES)
def test_sets_are_drawn_by_the_law(name):
    # In so many draws an honest one fails with a probability of 1e-12.
    mechanism, pairs, _ = case(name, "replace" if name == "stable, or none" else "add_remove")
    counts = pairs[len(pairs) // 3 :: len(pairs) // 3, 0]
    example = MechanismExample(mechanism=mechanism, counts=counts, neighbours=())
    check_promise("draws_follow_the_stated_law", example)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("choice_share", [0.1, 0.9])
def test_renyi_divergences_without_the_delta(relation, choice_share):
    # Where sets differ both pass with delta_t, and otherwise nothing of that is outcome_laws.
    mechanism = replace(STABLE, relation=relation, choice_share=choice_share)
    exact = outcome_laws(mechanism, neighbours(*THREE, relation=relation))
    differ = (exact.p > 0) != (exact.q > 0)
    laws = []
    for law in (exact.p, exact.q):
        rest = np.where(differ, 0.0, law)
        lost = 1 - rest.sum(axis=1)
        assert (lost <= mechanism.delta_t * (1 + 1e-9)).all()
        rest[:, -1] += lost
        laws.append(np.log(np.maximum(rest, 1e-300)))
    cost = mechanism.max_cost(3)[EVERYONE]
    reached = []
    for order, charged in list(zip(ORDERS, cost.curve, strict=True))[5::30]:
        worst = max(
            (np.logaddexp.reduce(order * p + (1 - order) * q, axis=1) / (order - 1)).max()
            for p, q in (laws, laws[::-1])
        )
        reached.append(worst / charged)
    assert 0.6 < max(reached) <= 1 + 1e-9


WEIGHTS = {"light": 0.5, "heavy": 1.0}
TIMES = {"once": 1, "twice": 2}


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("name", ["stable", "wanted", "exponential", "limited, one"])
def test_levels_pay_for_what_they_weigh(name, relation):
    mechanism = replace(CASES[name][0], relation=relation, weight=WEIGHTS)
    for level, unit in WEIGHTS.items():
        pairs = neighbours(3, 3, relation=relation, units=(1.0, 0.5), unit=unit)
        assert faults(shares(mechanism, pairs, level)) == []
    # What the light ones pay is not enough for the heavy ones.
    assert faults(shares(mechanism, pairs, "light")) != []


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(
    "name", ["stable, one item each", "wanted, unknown, one item", "limited, one item"]
)
def test_a_person_in_several_teachers(name, relation):
    # One item each: two ballots may be for two.
    mechanism = replace(CASES[name][0], relation=relation, ballots=TIMES)
    for level, copies in TIMES.items():
        pairs = neighbours(4, 2, relation=relation, max_items=1, copies=copies)
        assert faults(shares(mechanism, pairs, level)) == []
    assert faults(shares(mechanism, pairs, "once")) != []


def test_people_with_several_items_need_the_wider_range():
    # Gaps move by 2 and by -2 then, and by no more than 3 apart where each has one item.
    narrow = replace(CASES["stable, clear choice"][0], max_items=1)
    assert faults(shares(narrow, neighbours(*THREE, max_items=1))) == []
    assert share_of_price(narrow, neighbours(*THREE)).max() > 1.05


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("stable, unknown", 1),
        ("wanted, unknown", 2),  # the set, and the draws
        ("limited", 1),
        ("limited, one item", 1),
    ],
)
def test_items_of_one_person_are_rarely_named(name, times, relation):
    mechanism, pairs, _ = case(name, relation)
    laws = outcome_laws(mechanism, pairs)
    named = []
    for law, here, there in ((laws.p, 0, 1), (laws.q, 1, 0)):
        brought = (pairs[:, here] > 0) & (pairs[:, there] == 0)
        telling = (laws.outcomes[None] == 1) & brought[:, None]
        named.append((law * telling.any(axis=-1)).sum(axis=1).max())
    # It is reached, and what is added up to it may end an ulp or two beside it.
    most = times * mechanism.delta_t * (1 + 4 * np.finfo(float).eps)
    assert 0.1 * mechanism.delta_t < max(named) <= most


def test_sets_of_many_items_are_not_enumerated():
    assert outcome_law(EXPONENTIAL, np.ones((1, 7))) is None
    assert outcome_law(replace(LIMITED, k_max=7), np.ones((1, 3))) is None
    outcomes, log_p = outcome_law(replace(EXPONENTIAL, k=3), np.arange(12.0).reshape(2, 6))
    assert len(outcomes) == 2**6
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=1e-12)
    assert (np.isfinite(log_p[0]) == (outcomes.sum(axis=1) == 3)).all()
