"""Sums are scaled before they are released: rounding moves no two people's vectors apart."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from secretballot.linear import _response
from secretballot.linear._response import RoundPlan


def furthest(total, radius, weight):
    """Return the largest distance of neighbours' scaled sums, as a part of what is charged."""
    asked, worst = [], Fraction(0)

    def release(_, sums):
        asked.append(sums)
        return sums

    plan = RoundPlan(SimpleNamespace(total=total), None, None, release, 1.0, 1, total, weight)
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
    plan = RoundPlan(SimpleNamespace(total=100.0), None, None, None, 3.0, 1, 100.0, 1.0)
    assert plan.noise(2.0) == pytest.approx(6.0)
    assert plan.noise(2.0) > 6.0
