"""Errors that are patched into top-k mechanisms: brute force, or the draws' law, has to find them.

Without the patch every one of these passes: the same cases are in `test_brute_force`.
"""

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.mechanisms.top_k import test_brute_force as brute_force
from tests.mechanisms.top_k._neighbours import outcome_laws, share_of_price

from secretballot.mechanisms import ExponentialTopK, LimitedDomainTopK, StableTopK, TopK
from secretballot.mechanisms import _stable_top_k as stable_module
from secretballot.mechanisms import _top_k as limited_module
from secretballot.mechanisms._top_k import Draws, floor_height
from secretballot.testing import _top_k_law as law_module


def sensitivity_of_one(patch):
    patch(TopK, "_unit_sensitivity", 1.0)


def charging(kind, name, change):
    """Return an error in what a step is charged as."""

    def plant(patch):
        law = kind._law

        def changed(self, unit, n_columns):
            steps = law(self, unit, n_columns)
            assert name in {step.name for step in steps}
            return tuple(change(step) if step.name == name else step for step in steps)

        patch(kind, "_law", changed)

    return plant


def with_move(**factors):
    """Return a change of a step's move: its parameters, times a factor."""

    def change(step):
        scaled = {name: getattr(step.move, name) * factor for name, factor in factors.items()}
        return replace(step, move=replace(step.move, **scaled))

    return change


def without_delta(step):
    return replace(step, delta=0.0)


def half_the_delta(step):
    return replace(step, delta=step.delta / 2)


def drawn_once(step):
    return replace(step, times=1)


def the_same_noise_for_any_number(patch):
    patch(Draws, "scale", lambda self, number: np.full(np.shape(number), self.unit))


def floors(height):
    """Return an error in how high the floor is, wherever it is looked up."""

    def plant(patch):
        for module in (law_module, limited_module, stable_module):
            patch(module, "floor_height", height)

    return plant


def _floor(mechanism, below, scale, k_max, delta):
    return floor_height(mechanism, below, scale, k_max, delta) - mechanism._sensitivity


def _floor_below(mechanism, below, scale, k_max, delta):
    return below + mechanism._sensitivity


def _floor_for_one(mechanism, below, scale, k_max, delta):
    return below + mechanism._sensitivity - scale * np.log(delta)


def sizes_up_to_what_was_seen(patch):
    patch(StableTopK, "_max_size", lambda self, n: self.k_max if n is None else min(3, n))


def gaps_that_one_person_makes(patch):
    patch(StableTopK, "_sensitivity", 0.0)


WIDE, SHIFT = with_move(width=0.5), with_move(shift=0.5)
CHARGED = [
    (sensitivity_of_one, "stable"),
    (sensitivity_of_one, "wanted"),
    (sensitivity_of_one, "exponential"),
    (sensitivity_of_one, "limited, one"),
    (charging(StableTopK, "test", SHIFT), "stable"),
    (charging(StableTopK, "test", without_delta), "stable"),
    (charging(StableTopK, "test", half_the_delta), "stable"),
    (charging(StableTopK, "choice", WIDE), "stable, clear choice"),
    (charging(StableTopK, "draws", WIDE), "wanted, three"),
    (charging(StableTopK, "draws", without_delta), "wanted, unknown"),
    (charging(ExponentialTopK, "draws", WIDE), "exponential"),
    (charging(ExponentialTopK, "draws", drawn_once), "exponential"),
    (charging(LimitedDomainTopK, "draws", WIDE), "limited, one"),
    (charging(LimitedDomainTopK, "draws", drawn_once), "limited"),
    (charging(LimitedDomainTopK, "draws", without_delta), "limited"),
    (charging(LimitedDomainTopK, "draws", half_the_delta), "limited, one"),
    (the_same_noise_for_any_number, "wanted, three"),
    (floors(_floor), "limited"),
    (floors(_floor_below), "limited"),
    (floors(_floor_for_one), "limited, one"),
    (floors(_floor_below), "wanted, unknown"),
    (sizes_up_to_what_was_seen, "stable, unknown"),
    (gaps_that_one_person_makes, "stable"),
]


@pytest.mark.parametrize(("plant", "name"), CHARGED)
def test_a_charge_that_is_too_small_is_found(plant, name, monkeypatch):
    plant(monkeypatch.setattr)
    mechanism, pairs, _ = brute_force.case(name, "replace")
    assert share_of_price(mechanism, pairs).max() > 1.05


# Errors in the draw: what is released follows another law than the one that was held against the
# charge.


def noise_of(name, factor, kind=StableTopK):
    """Return an error in the noise that is drawn, and not in what is stated."""

    def plant(patch):
        sample, found = kind.sample, getattr(kind, name)
        stated = found.fget if isinstance(found, property) else found.func

        class Other(kind):
            """The same mechanism with other noise."""

        setattr(Other, name, property(lambda self: factor * stated(self)))

        def draw(self, counts, rng):
            parameters = {field.name: getattr(self, field.name) for field in fields(self)}
            return sample(Other(**parameters), counts, rng)

        patch(kind, "sample", draw)

    return plant


def part_of(name, **factors):
    """Return an error in a part of the mechanism that is drawn with: some numbers times others."""

    def plant(patch):
        sample, stated = StableTopK.sample, getattr(StableTopK, name).fget

        class Other(StableTopK):
            """The same mechanism with other noise."""

        def part(self):
            found = stated(self)
            return replace(
                found, **{each: getattr(found, each) * factors[each] for each in factors}
            )

        setattr(Other, name, property(part))

        def draw(self, counts, rng):
            parameters = {field.name: getattr(self, field.name) for field in fields(self)}
            return sample(Other(**parameters), counts, rng)

        patch(StableTopK, "sample", draw)

    return plant


def draws_of_any_number_alike(patch):
    class Other(Draws):
        def scale(self, number):
            return np.full(np.shape(number), self.unit)

    patch(stable_module, "Draws", Other)


def floor_for_one_name(patch):
    patch(limited_module, "floor_height", _floor_for_one)


DRAWN = [
    (part_of("_gap_test", rho=4.0), "stable"),
    (part_of("_gap_test", rho=4.0), "stable, Laplace test"),
    (part_of("_size_choice", rho=4.0), "stable"),
    (noise_of("_width", 2.0, ExponentialTopK), "exponential"),
    (noise_of("_width", 2.0, LimitedDomainTopK), "limited"),
    (noise_of("_sensitivity", 0.0), "stable"),
    (draws_of_any_number_alike, "wanted, three"),
    (floor_for_one_name, "limited"),
]


@pytest.mark.parametrize(("plant", "name"), DRAWN)
def test_draws_from_another_law_are_found(plant, name, monkeypatch):
    plant(monkeypatch.setattr)
    with pytest.raises(AssertionError, match="outcomes are drawn by the stated law"):
        brute_force.test_sets_are_drawn_by_the_law(name)


def test_sensitivity_to_a_replaced_ballot(monkeypatch):
    # (4, 4, 4) -> (5, 3, 5): two largest sets that differ, and a gap of 2 in one of them.
    pairs = np.array([[[4.0, 4.0, 4.0], [5.0, 3.0, 5.0]]])

    def named():
        # With a sensitivity of 1, noise of 1.3 on the gap.
        rho = 1 / (2 * 1.3**2)
        mechanism = StableTopK(rho=rho, delta_t=0.001, k_max=2, regularizer=(-np.inf, 0.0))
        laws = outcome_laws(mechanism, pairs)
        return laws.p[0, 0b011], laws.q[0, 0b101]

    assert named() == pytest.approx((0.001, 0.001))
    sensitivity_of_one(monkeypatch.setattr)
    assert named()[0] == pytest.approx(0.001)
    assert named()[1] == pytest.approx(0.0101, abs=5e-5)
