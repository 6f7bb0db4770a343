"""The family's contract, on every registered mechanism and every kind of ensemble."""

import inspect

import numpy as np
import pytest

from secretballot import mechanisms
from secretballot.checks import (
    MechanismExample,
    check_mechanism,
    ensemble_checks,
    mechanism_checks,
    register,
    registered,
)
from secretballot.checks import _mechanism as mechanism_module
from secretballot.checks import _registry as registry_module
from secretballot.mechanisms import GNMax, Mechanism


@pytest.mark.parametrize("check", [pytest.param(c, id=name) for name, c in mechanism_checks()])
def test_mechanism(check):
    check()


@pytest.mark.parametrize("check", [pytest.param(c, id=name) for name, c in ensemble_checks()])
def test_ensemble(check):
    check()


def test_every_public_mechanism_is_registered():
    public = {
        value
        for name in mechanisms.__all__
        if inspect.isclass(value := getattr(mechanisms, name)) and not inspect.isabstract(value)
    }
    assert public
    assert public == set(registered())
    assert all(issubclass(one, Mechanism) for one in public)


def test_a_mechanism_of_ones_own_can_be_registered(monkeypatch):
    monkeypatch.setattr(registry_module, "_EXAMPLES", {})
    pair = np.array([[[3.0, 2.0]], [[2.0, 3.0]]])
    register(MechanismExample(mechanism=GNMax(sigma=2.0), counts=pair[:, 0], neighbours=(pair,)))
    names = [name for name, _ in mechanism_checks()]
    assert len(names) == len(mechanism_module._CHECKS)
    assert all(name.startswith("GNMax-") for name in names)


# Planted errors: each breaks one promise, and the check of that promise has to notice.


class HalfTheNoise(GNMax):
    def sample(self, counts, rng):
        return GNMax(sigma=self.sigma / 3).sample(counts, rng)


class NoiseOnOneCount(GNMax):
    def sample(self, counts, rng):
        noisy = counts.copy()
        noisy[:, 0] += rng.normal(scale=self.sigma, size=len(counts))
        return noisy.argmax(axis=1)


class ForgetsTheCount(GNMax):
    def begun(self, outcome):
        return {"vote": np.r_[1.0, np.zeros(len(outcome) - 1)]}


class ChargesMoreThanItsMost(GNMax):
    def begun(self, outcome):
        return {"vote": np.full(len(outcome), 2.0)}


class HidesItsNoise(GNMax):
    def describe(self):
        return {"mechanism": type(self).__name__}


@pytest.mark.parametrize(
    ("mechanism", "promise"),
    [
        (HalfTheNoise, "prove epsilon"),
        (NoiseOnOneCount, "prove epsilon"),
        (ChargesMoreThanItsMost, "than its max_cost"),
        (HidesItsNoise, "tells every parameter"),
    ],
)
def test_planted_errors_are_caught(mechanism, promise):
    example = registered()[GNMax]
    planted = MechanismExample(
        mechanism=mechanism(sigma=1.5), counts=example.counts, neighbours=example.neighbours
    )
    with pytest.raises((AssertionError, RuntimeError), match=promise):
        check_mechanism(planted)


def test_a_forgotten_count_is_caught_by_the_arithmetic():
    example = registered()[GNMax]
    forgetful = ForgetsTheCount(sigma=1.5)
    honest = GNMax(sigma=1.5).cost(np.zeros(5, int), n_columns=3)["*"].sum()
    lost = forgetful.cost(np.zeros(5, int), n_columns=3)["*"].sum()
    assert lost.at(2.0) == pytest.approx(float(honest.at(2.0)) / 5)
    assert example.mechanism == GNMax(sigma=1.5)
