"""The family's contract, on every registered mechanism and every kind of ensemble."""

import inspect
from dataclasses import replace

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


# What `check_mechanism` refuses as a whole; errors planted in the library are in
# test_planted_errors.


class HalfTheNoise(GNMax):
    def sample(self, counts, rng):
        return GNMax(sigma=self.sigma / 2).sample(counts, rng)


class ChargesMoreThanItsMost(GNMax):
    def executed(self, outcome):
        return {"vote": np.full(len(outcome), 2.0)}


class HidesItsNoise(GNMax):
    def describe(self):
        return {"mechanism": type(self).__name__}


@pytest.mark.parametrize(
    ("mechanism", "promise"),
    [
        (HalfTheNoise, "outcomes are drawn by the stated law"),
        (ChargesMoreThanItsMost, "than its max_cost"),
        (HidesItsNoise, "tells every parameter"),
    ],
)
def test_broken_mechanisms_are_refused(mechanism, promise):
    planted = replace(registered()[GNMax], mechanism=mechanism(sigma=1.5))
    with pytest.raises((AssertionError, RuntimeError), match=promise):
        check_mechanism(planted)


def test_neighbours_that_tell_little_have_to_be_owned_up_to():
    example = registered()[GNMax]
    dull = replace(example, neighbours=example.neighbours[:1])
    with pytest.raises(AssertionError, match=r"less than tightness=0\.7 of it"):
        check_mechanism(dull)
    check_mechanism(replace(dull, tightness=0.3))
