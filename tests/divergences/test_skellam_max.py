"""Winners of integer counts with Skellam noise: all neighbours, and every case of the bound."""

import itertools
import math

import numpy as np
import pytest

from secretballot.costs._cost import best_order, gate_budget
from secretballot.costs._divergence import renyi_divergence
from secretballot.costs._integer_moves import (
    _NODES,
    Cells,
    IntegerCounts,
    IntegerMax,
    WinnerSearch,
    _sums_from,
    worst_integer_bit,
)
from secretballot.costs._noise import skellam, winner_log_probabilities
from secretballot.costs._orders import ORDERS, order_index
from secretballot.costs._worst_max import worst_max

AT = np.array([1.9, 2.0, 4.0, 10.0])


def over_all_neighbours(n_voters, n_classes, variance, orders=AT):
    counts = np.array(
        [c for c in itertools.product(range(n_voters + 1), repeat=n_classes) if sum(c) == n_voters]
    )
    logs = winner_log_probabilities(counts, variance)
    place = {tuple(row): at for at, row in enumerate(counts)}
    pairs = [
        (at, place[tuple(row - np.eye(n_classes, dtype=int)[i] + np.eye(n_classes, dtype=int)[j])])
        for at, row in enumerate(counts)
        for i, j in itertools.permutations(range(n_classes), 2)
        if row[i]
    ]
    first, second = np.array(pairs).T
    return renyi_divergence(logs[first], logs[second], orders).max(axis=0)


def over_all_levels(variance, moved, far=40):
    """The supremum that `worst_integer_max` bounds, over every integer (u, v)."""
    table, y = skellam(variance, 300), np.arange(120)[:, None]
    u = np.arange(-far - moved, far + moved + 1)
    worst = np.zeros(len(AT))
    for tie in (0, 1):
        law = np.empty((len(u), len(u), 3))
        for place, count in enumerate(u):
            i = table.pmf_at(y - count) + table.cdf_at(y - tie - u)
            j = table.pmf_at(y - u) + table.cdf_at(y - 1 + tie - count)
            law[place, :, 0] = np.logaddexp.reduce(i)
            law[place, :, 1] = np.logaddexp.reduce(j)
            law[place, :, 2] = table.cdf_at(-1 - count) + table.cdf_at(-1 - u)
        p, q = law[moved:, :-moved].reshape(-1, 3), law[:-moved, moved:].reshape(-1, 3)
        worst = np.maximum(worst, renyi_divergence(p, q, AT).max(axis=0))
    return worst


def test_probabilities_of_winners():
    # By hand: all pairs of noise, the first of equal counts winning.
    noise = np.arange(-40, 41)
    f = np.exp(skellam(1.5, 40).log_pmf)
    joint = f[:, None, None] * f[:, None] * f
    x = np.stack(np.meshgrid(2 + noise, 1 + noise, 2 + noise, indexing="ij"))
    by_hand = np.bincount(x.argmax(axis=0).ravel(), weights=joint.ravel())
    assert np.exp(winner_log_probabilities([[2, 1, 2]], 1.5))[0] == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize("variance", [1.0, 4.0])
def test_every_neighbour_of_seven_voters_costs_no_more(variance):
    value = over_all_neighbours(7, 3, variance)
    bound = IntegerMax.from_variance(variance, 1).worst_case(tuple(AT))
    assert (value <= bound).all()
    if variance == 4.0:
        assert value[1] == pytest.approx(0.33283, abs=1e-5)
        assert bound[1] == pytest.approx(0.33841, abs=1e-5)
    # Four classes are covered too, and two, where every gap is there.
    assert (over_all_neighbours(5, 4, variance) <= bound).all()
    pair = worst_integer_bit(2 * variance, 2, tuple(AT))
    largest = np.maximum(*(over_all_neighbours(n, 2, variance) for n in (30, 31)))
    assert largest == pytest.approx(pair, rel=1e-9)
    assert (pair <= bound).all()


@pytest.mark.parametrize(("variance", "moved"), [(1.0, 1), (4.0, 1), (4.0, 2)])
def test_the_bound_is_the_supremum_over_all_integers(variance, moved):
    worst = over_all_levels(variance, moved)
    bound = IntegerMax.from_variance(variance, moved).worst_case(tuple(AT))
    assert (worst <= bound).all()
    assert (bound <= worst * 1.002).all()


@pytest.mark.parametrize("variance", [2e3, 1e6])
def test_much_noise_costs_like_gaussian_noise(variance):
    bound = IntegerMax.from_variance(variance, 1).worst_case((4.0,))
    assert bound == pytest.approx(worst_max(variance**-0.5, (4.0,)), rel=6e-3)


def test_orders_searched_together_agree_with_single_orders():
    curve = IntegerMax.from_variance(30.0, 1).worst_case()
    for order in (ORDERS[3], 2.0, 7.25, 40.0):
        (alone,) = IntegerMax.from_variance(30.0, 1).worst_case((float(order),))
        assert alone * (1 - 1e-3) <= curve[np.searchsorted(ORDERS, order)] <= alone * 1.004
    assert (curve <= IntegerCounts.from_variance(30.0, 1).worst_case()).all()
    assert np.isinf(curve[-1])


@pytest.mark.parametrize(
    ("epsilon", "searched", "as_counts"),
    [(math.log(2), 38, 24), (1, 75, 48), (2, 269, 173), (4, 931, 596), (8, 3066, 1964)],
)
def test_a_renyi_budget_buys_more_labels_by_the_search(epsilon, searched, as_counts):
    """The table of the theory page: charged as counts the same budget buys 36 % less."""
    order = best_order(epsilon, 1e-5)
    budget, k = gate_budget(epsilon, 1e-5, order), order_index(order)
    winner, counts = (
        move.from_variance(1600.0, 1).worst_case()[k] for move in (IntegerMax, IntegerCounts)
    )
    assert (int(budget / winner), int(budget / counts)) == (searched, as_counts)


def test_more_noise_costs_less():
    costs = [
        IntegerMax.from_variance(v, 1).worst_case((2.0, 8.0))
        for v in (3.0, 3.1, 9.0, 7000.0, 7100.0)
    ]
    assert (np.diff(costs, axis=0) < 0).all()


def test_sums_in_steps_agree_with_all_levels():
    step, sigma = 25, 1000.0
    levels = step * np.arange(1 - len(_NODES) // 2, 401 + len(_NODES) // 2)
    law = np.exp(-(((levels - 4000) / sigma) ** 2) / 2)
    full_law = np.exp(-(((np.arange(levels[-1] + 1) - 4000) / sigma) ** 2) / 2)
    sums = np.cumsum(full_law[::-1])[::-1]
    ours = _sums_from(law[None], step)[0]
    # What lies beyond the last step is missing from both, in another place.
    missing = sums[step * (len(ours))] if step * len(ours) < len(sums) else 0.0
    at = np.arange(len(ours) - 120)
    assert ours[at] + missing == pytest.approx(sums[step * at], rel=1e-9)


@pytest.mark.parametrize("tie", [0, 1])
@pytest.mark.parametrize(("variance", "moved"), [(6.0, 2), (900.0, 1), (1e4, 3)])
def test_nothing_inside_a_cell_is_above_its_bound(variance, moved, tie):
    search = WinnerSearch(variance, moved, np.array([1.5, 4.0, 25.0]))
    rng = np.random.default_rng(0)
    sigma = int(variance**0.5)
    for _ in range(12):
        gap, level = rng.integers(-2 * sigma, 2 * sigma), rng.integers(-sigma, sigma)
        level //= search._step
        wide, deep = (int(size) for size in rng.integers(0, 8, size=2))
        cell = Cells(*((np.array([low]), np.array([low + extent]))
                       for low, extent in ((gap, wide), (level, deep))))  # fmt: skip
        _, bound, _ = search._bounds(cell, tie)
        g, z = (axis.ravel() for axis in np.mgrid[gap : gap + wide + 1, level : level + deep + 1])
        value, alone, _ = search._bounds(Cells((g, g), (z, z)), tie)
        assert value == pytest.approx(alone, rel=1e-12)  # of one gap and level it is what it is
        assert (value <= bound[0] * (1 + 1e-9)).all()
        if wide + deep:
            assert (value < bound[0]).all()
