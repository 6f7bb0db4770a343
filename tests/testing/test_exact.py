"""Exact figures: closed forms, and brute force over all events."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secretballot.accounting import EVERYONE, ORDERS
from secretballot.costs._divergence import bit_logs, renyi_divergence
from secretballot.mechanisms import ConfidentGNMax, GNMax
from secretballot.testing._outcome_laws import (
    compose_rows,
    exact_divergence,
    exact_epsilon,
    hockey_stick,
    outcome_law,
)


def log_law(weights):
    return np.log(np.array(weights) / np.sum(weights))


weights = st.lists(st.integers(1, 50), min_size=5, max_size=5)


@given(weights, weights, st.sampled_from([0.0, 0.01, 0.1, 0.3]))
def test_epsilon_is_the_worst_of_all_events(one, two, delta):
    p, q = np.exp(log_law(one)), np.exp(log_law(two))
    events = [list(e) for k in range(1, 6) for e in itertools.combinations(range(5), k)]
    worst = max(
        np.log((a[e].sum() - delta) / b[e].sum())
        for e in events
        for a, b in ((p, q), (q, p))
        if a[e].sum() > delta
    )
    epsilon = exact_epsilon(np.log(p), np.log(q), delta)
    assert epsilon == pytest.approx(max(worst, 0.0), abs=1e-12)


@given(weights, weights, st.sampled_from([0.01, 0.1, 0.3]))
def test_epsilon_is_where_the_hockey_stick_meets_delta(one, two, delta):
    p, q = log_law(one), log_law(two)
    epsilon = exact_epsilon(p, q, delta)
    assert hockey_stick(p, q, epsilon) <= delta + 1e-12
    if epsilon > 0:
        assert hockey_stick(p, q, epsilon - 1e-6) > delta


def test_impossible_outcomes():
    p, q = np.log([0.5, 0.5]), np.array([0.0, -np.inf])
    assert exact_epsilon(p, q, 0.1) == np.inf
    assert exact_epsilon(p, q, 0.5) == pytest.approx(0.0)
    assert hockey_stick(p, q, 50.0) == pytest.approx(0.5)
    assert np.all(exact_divergence(p, q).curve == np.inf)


def test_the_divergence_of_a_noisy_bit():
    # Two classes are a noisy bit with s = sqrt(2) sigma and a gap that moves by 2.
    law = outcome_law(GNMax(sigma=3.0), [[9.0, 4.0], [8.0, 5.0]])
    curve = exact_divergence(*law.log_probabilities).curve
    gaps = np.array([5.0, 3.0]) / (3 * np.sqrt(2))
    there, back = renyi_divergence(bit_logs(gaps), bit_logs(gaps[::-1]), ORDERS)
    np.testing.assert_allclose(curve[:-1], np.maximum(there, back)[:-1], rtol=1e-9)
    assert np.all(curve <= GNMax(sigma=3.0).max_cost(2)[EVERYONE].curve)


def test_the_divergence_of_a_known_pair():
    p, q = np.array([0.75, 0.25]), np.array([0.25, 0.75])
    cost = exact_divergence(np.log(p), np.log(q))
    for order in (2.0, 10.0):
        expected = np.log((p**order * q ** (1 - order)).sum()) / (order - 1)
        assert float(cost.at(order)) == pytest.approx(expected)
    assert len(cost.curve) == len(ORDERS)


def test_rows_are_composed():
    rows = np.log([[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_allclose(np.exp(compose_rows(rows)), [0.05, 0.45, 0.05, 0.45])
    assert compose_rows(np.log(np.full((30, 2), 0.5))) is None


def test_confident_law_adds_up_and_names_the_outcomes():
    mechanism = ConfidentGNMax(sigma=2.0, sigma_threshold=3.0, threshold=6.0)
    law = outcome_law(mechanism, [[7.0, 2.0, 1.0], [0.0, 0.0, 10.0]])
    assert law.outcomes.tolist() == [-1, 0, 1, 2]
    np.testing.assert_allclose(np.exp(law.log_probabilities).sum(axis=1), 1, rtol=1e-12)


def test_a_mechanism_may_offer_its_law_or_not():
    class Coin:
        def outcome_law(self, counts):
            return [0, 1], np.log(np.full((len(counts), 2), 0.5))

    assert outcome_law(Coin(), np.zeros((3, 2))).log_probabilities.shape == (3, 2)
    assert outcome_law(object(), np.zeros((3, 2))) is None

    class NoisyCoin(Coin, GNMax):
        """What a mechanism states itself comes before what its class would."""

    assert (np.exp(outcome_law(NoisyCoin(sigma=1.0), [[9.0, 1.0]]).log_probabilities) == 0.5).all()


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        (np.log([0.5, 0.4]), np.log([0.5, 0.5]), r"log_p has shape \(2,\) .* add up to 0\.9;"),
        (np.log([0.5, 0.5]), np.zeros(1), r"log_q has shape \(1,\)"),
        (np.log([[0.5, 0.5]]), np.log([[0.5, 0.5]]), r"log_p has shape \(1, 2\)"),
    ],
)
def test_bad_laws(p, q, message):
    with pytest.raises(ValueError, match=message):
        exact_epsilon(p, q, 0.1)
