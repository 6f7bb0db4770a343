"""The candidate with most right answers: closed form, brute force, planted errors."""

from itertools import product

import mpmath
import numpy as np
import pytest
from tests.checks._promises import check_promise
from tests.checks._registry import EXAMPLES

from secretballot.accounting import PrivacyAccountant
from secretballot.costs import BoundedRange
from secretballot.costs._groups import EVERYONE
from secretballot.mechanisms import BestOfCounts
from secretballot.testing._outcome_laws import exact_divergence, outcome_law


def moves(n_candidates, relation):
    """All that one person can change counts by: scores of 0, 1/2 or 1, and another's instead."""
    scores = np.array(list(product((0.0, 0.5, 1.0), repeat=n_candidates)))
    if relation == "add_remove":
        return scores
    return np.unique((scores[:, None] - scores).reshape(-1, n_candidates), axis=0)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
@pytest.mark.parametrize("scale", [0.5, 2.0, 9.0])
def test_no_neighbour_reveals_more_than_is_charged(scale, relation):
    mechanism = BestOfCounts(scale=scale, relation=relation)
    gaps = scale * np.linspace(-6, 6, 121)
    counts = 100 + np.stack([gaps, 0 * gaps, 0 * gaps], axis=1)
    both = counts[:, None] + np.vstack([np.zeros(3), moves(3, relation)])
    law = outcome_law(mechanism, both.reshape(-1, 3)).log_probabilities.reshape(both.shape)
    p, q = law[:, :1], law[:, 1:]
    for order in (2.0, 8.0, 32.0):
        ways = (order * a + (1 - order) * b for a, b in ((p, q), (q, p)))
        seen = max(np.logaddexp.reduce(each, axis=-1).max() for each in ways) / (order - 1)
        charged = mechanism.max_cost(3)[EVERYONE].at(order)
        # Of these counts some are nearly the worst ones.
        assert 0.99 * charged <= seen <= charged


def test_probability_of_the_better_candidate():
    charged = BestOfCounts(scale=2.0).max_cost(3)[EVERYONE].at(8.0)
    with mpmath.workdps(30):
        r, a = mpmath.mpf(1), mpmath.mpf(8)

        def divergence(t):
            q = (mpmath.exp(-t) - mpmath.exp(-r)) / (1 - mpmath.exp(-r))
            moment = q * mpmath.exp(a * t) + (1 - q) * mpmath.exp(a * (t - r))
            return mpmath.log(moment) / (a - 1)

        truth = max(divergence(r * k / 400) for k in range(1, 400))
    assert float(charged) == pytest.approx(0.635459, abs=5e-7)
    assert float(truth) == pytest.approx(float(charged), rel=1e-5)


def test_levels_pay_for_their_weight():
    costs = BestOfCounts(scale=4.0, weight={"low": 0.5, "high": 2.0}).max_cost()
    for level, weight in (("low", 0.5), ("high", 2.0)):
        expected = BoundedRange(width=2 * weight / 4.0).worst_case()
        np.testing.assert_array_equal(costs[level].curve, expected)


def test_cost_does_not_depend_on_the_number_of_candidates():
    mechanism = BestOfCounts(scale=3.0)
    assert (mechanism.max_cost(2)[EVERYONE].curve == mechanism.max_cost(500)[EVERYONE].curve).all()
    accountant = PrivacyAccountant(epsilon=1e4, delta=1e-5, order="renyi")
    with pytest.warns(UserWarning, match="reproducible"):
        drawn = accountant.release(mechanism, np.full((4000, 4), 7.0), random_state=0)
    # Each a quarter; more than six standard deviations off is a chance of 1e-8.
    assert np.abs(np.bincount(drawn) - 1000).max() < 165


def half_the_noise(patch):
    sample = BestOfCounts.sample

    def quiet(self, counts, rng):
        return sample(self, 2 * counts, rng)

    patch.setattr(BestOfCounts, "sample", quiet)


def one_way_only(patch):
    patch.setattr(
        "secretballot.mechanisms._noisy_counts.difference_sensitivity", lambda relation: 1.0
    )


@pytest.mark.parametrize(
    ("plant", "promises"),
    [
        (half_the_noise, ("draws_follow_the_stated_law", "claim_survives_the_audit")),
        (one_way_only, ("gaussian_charges_cover_the_law",)),
    ],
)
def test_planted_errors_are_found(monkeypatch, plant, promises):
    example = EXAMPLES["BestOfCounts"]
    plant(monkeypatch)
    for promise in promises:
        with pytest.raises(AssertionError):
            check_promise(promise, example)
    if plant is one_way_only:  # and by brute force
        mechanism = BestOfCounts(scale=2.0)
        p = outcome_law(mechanism, [[6.0, 5.0, 5.0], [7.0, 4.0, 4.0]]).log_probabilities
        assert (exact_divergence(*p).curve > mechanism.max_cost(3)[EVERYONE].curve).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": 0}, r"scale=0 must be a finite number above 0"),
        ({"scale": 2, "relation": "swap"}, r"relation='swap' is unknown"),
        ({"scale": 2, "weight": {}}, r"weight=\{\} has no level"),
        ({"scale": 2, "weight": {"a": -1}}, r"weight=-1 of the level 'a'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        BestOfCounts(**parameters)


def test_counts_too_large_for_the_noise_are_refused():
    with pytest.raises(ValueError, match="too coarse"):
        BestOfCounts(scale=1e-6).check_counts([[1e9, 0.0]])
