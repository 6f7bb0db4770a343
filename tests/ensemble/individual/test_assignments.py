"""Plans of who votes: copies, weights, turns, and which rows are with which teacher."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import Upsampling, Vanishing, Weighting
from secretballot.ensemble._ensemble_data import split_rows
from secretballot.ensemble._partition import spread_rows
from secretballot.ensemble.individual import Assignment
from secretballot.ensemble.individual._weighting import largest_remainder
from secretballot.mechanisms import ConfidentGNMax, GNMax
from secretballot.tables._levels import affordable, check_levels
from secretballot.tables._owners import Owners
from secretballot.tables._randomness import Randomness

RANDOMNESS = Randomness(7, seeded=True)
VARIANTS = [Upsampling(), Weighting(), Weighting(balance=False), Vanishing()]


def levels_of(epsilons, people, owners=None, order="renyi"):
    """Levels 'a', 'b', ... with some rows each, mixed up."""
    names = [chr(97 + index) for index in range(len(epsilons))]
    budget = dict(zip(names, epsilons, strict=True))
    of_row = np.random.default_rng(0).permutation(np.repeat(names, people))
    unit = "row" if owners is None else "owner"
    accountant = PrivacyAccountant(budget, 1e-5, unit=unit, order=order)
    return check_levels(of_row, sum(people), owners, accountant)


def rows_of(assignment, n_rows, owners=None):
    ids = None if owners is None else Owners.read(owners, n_rows)
    return split_rows(assignment, RANDOMNESS, n_rows, ids, getattr(assignment, "levels", None))


@pytest.mark.parametrize(
    ("epsilons", "copies"),
    [
        (np.log([2, 4]), (1, 2)),
        (np.log([2, 16]), (1, 4)),
        (np.log([3, 24]), (1, 3)),  # the published rule makes 91 and 263 copies of these
        ((1.0, 1.5), (2, 3)),
        ((1.0, 1.02), (1, 1)),
    ],
)
def test_copies_are_small(epsilons, copies):
    assignment = Upsampling().assignment(levels_of(epsilons, [300, 300]), 60)
    assert getattr(assignment, "copies", (1, 1)) == copies


def test_copies_are_nearly_the_best_there_are():
    levels = levels_of((0.7, 1.1, 2.9), [300, 200, 100])
    share, rates = levels.people / levels.people.sum(), levels.rates

    def answers(copies):
        return float((copies @ share) ** 2 * (rates / copies**2).min())

    every = np.stack(np.meshgrid(*[np.arange(1, 9)] * 3), axis=-1).reshape(-1, 3)
    best = max(answers(copies) for copies in every)
    chosen = np.array(Upsampling().assignment(levels, 60).copies)
    assert answers(chosen) >= 0.9 * best
    choices = affordable(rates, np.arange(1.0, 9), power=2)
    assert max(answers(copies) for copies in choices) == pytest.approx(best)
    # Fewer copies would not do as well.
    fewer = [copies for copies in every if copies @ share < chosen @ share]
    assert max(answers(copies) for copies in fewer) < 0.9 * best


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=120),
    st.integers(6, 25),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60)
def test_no_teacher_has_a_row_twice(copies, n_teachers, seed):
    copies = np.array(copies)
    rows, teachers = spread_rows(copies, n_teachers, np.random.SeedSequence(seed))
    assert Counter(rows.tolist()) == Counter(np.repeat(np.arange(len(copies)), copies).tolist())
    assert len(set(zip(rows.tolist(), teachers.tolist(), strict=True))) == copies.sum()


def test_copies_are_spread_evenly():
    assignment = Upsampling().assignment(levels_of((0.7, 2.8), [3000, 1000]), 100)
    shards = rows_of(assignment, 4000)
    assert assignment.n_teachers == len(shards) == 175
    sizes = [len(shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 6  # 40 rows each
    # No two teachers share more than a few of their rows.
    shared = [len(np.intersect1d(shards[i], shards[j])) for i in range(0, 175, 5) for j in range(i)]
    assert max(shared) <= 10


def test_shards_depend_on_levels_and_positions_only():
    levels = levels_of((0.7, 2.8), [300, 100])
    for variant in VARIANTS:
        assignments = [variant.assignment(levels, 20) for _ in range(2)]
        for a, b in zip(rows_of(assignments[0], 400), rows_of(assignments[1], 400), strict=True):
            np.testing.assert_array_equal(a, b)


def test_owners_stay_together():
    owners = np.repeat(np.arange(120), 5)
    budget = {"a": 0.7, "b": 2.8}
    accountant = PrivacyAccountant(budget, 1e-5, unit="owner")
    of_row = np.where(owners % 3 == 0, "b", "a")
    levels = check_levels(of_row, 600, owners, accountant)
    assert levels.people.tolist() == [80, 40]
    for variant in VARIANTS:
        assignment = variant.assignment(levels, 20)
        shards = rows_of(assignment, 600, owners)
        assert len(shards) == assignment.n_teachers == len(assignment.groups)
        seen = [set(shard.tolist()) for shard in shards]
        for owner in range(120):
            rows = set(range(5 * owner, 5 * owner + 5))
            holders = [index for index, each in enumerate(seen) if each & rows]
            assert all(rows <= seen[index] for index in holders)
            wanted = assignment.copies[int(owner % 3 == 0)] if variant == Upsampling() else 1
            assert len(holders) == wanted
    # Another id moves that owner alone.
    renamed = np.where(owners == 7, 1000, owners)
    assignment = Upsampling().assignment(levels, 20)
    for before, after in zip(
        rows_of(assignment, 600, owners), rows_of(assignment, 600, renamed), strict=True
    ):
        assert set(np.setxor1d(before, after).tolist()) <= set(range(35, 40))


def test_upsampling_scales_the_mechanism():
    assignment = Upsampling().assignment(levels_of(np.log([2, 4]), [500, 500]), 100)
    assert assignment.n_teachers == 150
    base = ConfidentGNMax(sigma=40, sigma_threshold=200, threshold=70)
    assert assignment.individualize(base, 2) == ConfidentGNMax(
        sigma=60, sigma_threshold=300, threshold=105, ballots={"a": 1, "b": 2}
    )


GNMAX, CONFIDENT = GNMax(sigma=20), ConfidentGNMax(sigma=8, sigma_threshold=20, threshold=30)


@pytest.mark.parametrize(
    ("base", "n_columns", "order"),
    [
        (GNMAX, 2, "renyi"),
        (GNMAX, 2, 20.0),
        (CONFIDENT, 2, "renyi"),
        (CONFIDENT, 2, 20.0),
        (CONFIDENT, 5, "renyi"),
        (CONFIDENT, 5, 20.0),
        (GNMAX, 5, "renyi"),
        (GNMAX, 5, 20.0),
    ],
)
def test_balanced_weights_run_out_together(base, n_columns, order):
    levels = levels_of((0.5, 1.0, 3.0), [500, 300, 200], order=order)
    assignment = Weighting().assignment(levels, 50)
    mechanism = assignment.individualize(base, n_columns)
    loads = [
        float(mechanism.max_cost(n_columns)[level.name].at(level.order)) / level.amount
        for level in levels.budgets
    ]
    assert max(loads) / min(loads) < 1.002
    ballots = Counter(assignment.groups)
    assert ballots == {"a": 25, "b": 15, "c": 10}
    total = sum(mechanism.weight[group] for group in assignment.groups)
    assert total == pytest.approx(50)


def test_weights_proportional_to_epsilon():
    assignment = Weighting(balance=False).assignment(levels_of((0.5, 1.5), [600, 200]), 40)
    weight = assignment.individualize(GNMax(sigma=20), 2).weight
    # A small generous level weighs more, not less, than a large strict one.
    assert weight["b"] == pytest.approx(3 * weight["a"])
    assert 30 * weight["a"] + 10 * weight["b"] == pytest.approx(40)


def test_each_teacher_has_rows_of_one_level():
    levels = levels_of((0.5, 1.0, 3.0), [500, 300, 200])
    for variant in VARIANTS[1:]:
        assignment = variant.assignment(levels, 50)
        shards = rows_of(assignment, 1000)
        assert np.array_equal(np.sort(np.concatenate(shards)), np.arange(1000))
        for group, shard in zip(assignment.groups, shards, strict=True):
            names = {levels.names[level] for level in levels.of_row[shard]}
            assert names == {group.partition("/")[0]}


def test_a_small_level_joins_the_next_stricter_one():
    levels = levels_of((0.5, 1.0, 3.0), [500, 490, 10])
    for variant in VARIANTS[1:]:
        assignment = variant.assignment(levels, 50)
        assert {group.partition("/")[0] for group in assignment.groups} == {"a", "b"}
        shards = rows_of(assignment, 1000)
        loose = np.flatnonzero(levels.of_row == 2)
        with_b = np.concatenate(
            [s for g, s in zip(assignment.groups, shards, strict=True) if g.startswith("b")]
        )
        assert np.isin(loose, with_b).all()
    # It is charged, and protected, like those it joined.
    mechanism = Weighting().assignment(levels, 50).individualize(GNMax(sigma=20), 2)
    assert mechanism.weight["c"] == mechanism.weight["b"]


def test_a_strictest_level_that_is_too_small_is_refused():
    levels = levels_of((0.5, 1.0), [10, 990])
    for variant in VARIANTS[1:]:
        with pytest.raises(ValueError, match="strictest level 'a' has 10 rows.*at least 100"):
            variant.assignment(levels, 50)
        assert variant.assignment(levels, 100).n_teachers == 100
    assert Upsampling().assignment(levels, 50).n_teachers > 50


@pytest.mark.parametrize("variant", VARIANTS, ids=repr)
def test_equal_budgets_are_the_plain_assignment(variant):
    assert variant.assignment(levels_of((1.0, 1.0), [300, 100]), 20) == Assignment(20)
    assert variant.assignment(levels_of((1.0,), [400]), 20) == Assignment(20)


@pytest.mark.parametrize("epsilons", [(0.5, 1.0, 3.0), (1.0, 1.4, 1.9)])
def test_turns_keep_the_number_of_voters(epsilons):
    levels = levels_of(epsilons, [500, 300, 200])
    assignment = Vanishing().assignment(levels, 100)
    mechanism = assignment.individualize(GNMax(sigma=20), 2)
    there = assignment.presence(mechanism, 200)
    voters = sum(
        there.get(group, np.ones(200, dtype=bool)).astype(int) for group in assignment.groups
    )
    assert voters.max() - voters.min() <= 3
    assert mechanism.mechanism.sigma == pytest.approx(20 * voters.mean() / 100, rel=0.01)
    # The parts of a level vote equally often, and an odd start only goes on where it ended.
    for group, rows in there.items():
        present, of = mechanism.turns[group.partition("/")[0]]
        assert abs(rows.sum() - 200 * present / of) <= present
    later = assignment.presence(assignment.individualize(GNMax(sigma=20), 2, first_row=37), 163)
    for group, rows in later.items():
        np.testing.assert_array_equal(rows, there[group][37:])


def test_largest_remainder():
    assert largest_remainder(np.array([1.0, 1.0, 1.0]), 10).tolist() == [4, 3, 3]
    assert largest_remainder(np.array([0.55, 0.45]), 10).sum() == 10


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (Upsampling(copies={"a": 1}), "copies=.* must be a dict of the levels 'a', 'b'"),
        (Upsampling(copies={"a": 1, "b": 0}), "copies=0 of the level 'b'"),
        (Upsampling(copies={"a": 1, "b": 1.5}), "copies=1.5 of the level 'b'"),
        (Upsampling(max_copies=0), "max_copies=0"),
        (Upsampling(copies={"a": 1, "b": 90}), "fewer than the 90 copies"),
        (Weighting(balance="yes"), "balance='yes'"),
    ],
)
def test_bad_parameters(variant, message):
    with pytest.raises(ValueError, match=message):
        variant.assignment(levels_of((0.5, 1.0), [999, 1]), 20)
