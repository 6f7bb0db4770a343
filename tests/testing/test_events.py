"""Families of events: what is searched, and that the search sees one half only."""

import numpy as np
import pytest

from secretballot.testing import epsilon_lower_bound
from secretballot.testing._audit import MEASURE, SEARCH, find_event


def normals(mean, n, seed):
    return np.random.default_rng(seed).normal(mean, size=n)


def test_floating_point_outcomes_are_cut_at_the_best_level():
    one, two = normals(0.0, 200_000, 0), normals(1.0, 200_000, 1)
    # (epsilon, delta) of a Gaussian with shift 1 at epsilon = 2: delta = 0.0209 (closed form).
    bound = epsilon_lower_bound(one, two, 0.0209)
    assert 1.6 < bound < 2.0


def test_several_coordinates_are_combined():
    # Each coordinate alone shifts by 1, their mean by 2 of its standard deviations.
    one = np.random.default_rng(0).normal(0.0, size=(100_000, 4))
    two = np.random.default_rng(1).normal(1.0, size=(100_000, 4))
    alone = epsilon_lower_bound(one[:, 0], two[:, 0], 1e-2)
    assert epsilon_lower_bound(one, two, 1e-2) > 1.5 * alone


def test_custom_events():
    # The sign tells nothing, the size does.
    one, two = normals(0.0, 50_000, 0), 3 * normals(0.0, 50_000, 1)
    assert epsilon_lower_bound(one, two, 0.0, events=np.sign) < 0.1
    assert epsilon_lower_bound(one, two, 0.0, events=np.abs) > 2
    with pytest.raises(ValueError, match=r"events gave an array of shape \(3,\) for 50000"):
        epsilon_lower_bound(one, two, 0.0, events=lambda outcomes: outcomes[:3])


@pytest.mark.parametrize("kind", ["integers", "floats"])
def test_the_event_is_chosen_by_the_first_half_alone(kind):
    rng = np.random.default_rng(0)
    one, two = rng.integers(20, size=400), rng.integers(20, size=400)
    if kind == "floats":
        one, two = rng.normal(size=4000), rng.normal(size=4000)
    in_one, _ = find_event(one, two, None, 0.0, 0.01)
    changed_one, changed_two = one.copy(), two.copy()
    changed_one[MEASURE], changed_two[MEASURE] = one[MEASURE][::-1], 7 - two[MEASURE]
    again, _ = find_event(changed_one, changed_two, None, 0.0, 0.01)
    assert (in_one[SEARCH] == again[SEARCH]).all()
    assert (in_one[MEASURE][::-1] == again[MEASURE]).all()


def test_unseen_outcomes_are_in_no_event():
    one, two = np.zeros(2000, int), np.ones(2000, int)
    one[1::2], two[1::2] = 5, 5  # only in the half that is measured
    assert epsilon_lower_bound(one, two, 0.0) == 0


def test_labels_of_any_kind():
    one = np.array(["yes", None] * 4000, dtype=object)[np.random.default_rng(0).permutation(8000)]
    two = np.array(["yes", "no"] * 4000, dtype=object)[np.random.default_rng(1).permutation(8000)]
    assert epsilon_lower_bound(one, two, 1e-2) > 4
    assert epsilon_lower_bound(one, one, 1e-2) == 0


def test_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"outcomes has shape \(9, 2\)"):
        epsilon_lower_bound(np.zeros((9, 2)), np.zeros((9, 3)), 0.1)
