"""Sums are scaled before they are released: rounding moves no two people's vectors apart."""

import json
import warnings
from fractions import Fraction

import numpy as np
import pytest

from secretballot import PrivacyAccountant, PrivateLogisticRegression
from secretballot.linear import _response
from secretballot.linear._classes import ClassResponse
from secretballot.linear._response import RoundPlan
from secretballot.tables._levels import Levels


def furthest(total, radius, weight):
    """Return the largest distance of neighbours' scaled sums, as a part of what is charged."""
    asked, worst = [], Fraction(0)

    def release(_, sums):
        asked.append(sums)
        return sums

    plan = RoundPlan(None, total, None, None, release, 1.0, 1, total, weight)
    rng = np.random.default_rng(0)
    for _ in range(200):
        sums, moved = rng.normal(size=(2, 20))
        # All people have one vector of the largest length, and one of them another.
        sums *= 2 * radius * total / np.linalg.norm(sums)
        moved *= 2 * radius * weight / np.linalg.norm(moved)
        other = sums + moved
        change = exact_distance(sums, other) / (2 * Fraction(radius) * Fraction(weight)) ** 2
        asked.clear()
        plan.noisy_sums(sums, radius)
        plan.noisy_sums(other, radius)
        scaled = exact_distance(*asked) / (2 * Fraction(weight)) ** 2
        worst = max(worst, scaled / max(change, Fraction(1)))
    return worst


def exact_distance(one, other):
    """Return the squared distance of two vectors."""
    return sum(
        (Fraction(a) - Fraction(b)) ** 2 for a, b in zip(one.tolist(), other.tolist(), strict=True)
    )


@pytest.mark.parametrize("total", [1.0, 1e6, 2.0**40])
@pytest.mark.parametrize("radius", [2**-0.5, 1.0, 17**0.5])
@pytest.mark.parametrize("weight", [1.0, 1 / 64])
def test_neighbours_are_no_farther_apart_than_is_charged(total, radius, weight):
    assert 0.85 < furthest(total, radius, weight) <= 1


def test_without_a_margin_they_are(monkeypatch):
    monkeypatch.setattr(_response, "_LENGTH_ROUNDING", 0.0)
    monkeypatch.setattr(_response, "_SUM_ROUNDING", 0.0)
    assert furthest(2.0**40, 17**0.5, 1 / 64) > 1


def test_noise_is_that_of_the_sums():
    plan = RoundPlan(None, 100.0, None, None, None, 3.0, 1, 100.0, 1.0)
    assert plan.noise(2.0) == pytest.approx(6.0)
    assert plan.noise(2.0) > 6.0


def test_the_margin_of_a_fit_is_that_of_its_strictest_level(monkeypatch):
    """The strictest level's weight is 1, and may become smaller."""
    plans, run_rounds, weights = [], ClassResponse.run_rounds, Levels.weights.fget

    def keep_plan(self, plan):
        plans.append(plan)
        return run_rounds(self, plan)

    monkeypatch.setattr(ClassResponse, "run_rounds", keep_plan)
    monkeypatch.setattr(Levels, "weights", property(lambda self: weights(self) / 4))
    accountant = PrivacyAccountant({"low": 1.0, "high": 8.0}, 1e-5)
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=accountant, bounds=(-2, 2), rounds=0, n_bins=2
    )
    X = np.random.default_rng(0).normal(size=(2_000, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, (X[:, 0] > 0).astype(int), budgets=np.array(["low", "high"] * 1_000))
    (plan,) = plans
    mechanisms = [json.loads(entry.mechanism) for entry in accountant.entries()]
    weight = next(each["weight"] for each in mechanisms if each["mechanism"] == "VectorSum")
    assert plan.least_weight == min(weight.values()) == 0.25
    assert plan.total == pytest.approx(1_000 * sum(weight.values()))
