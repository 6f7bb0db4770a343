"""Bounds of local sensitivities against all data sets of tiny ensembles, and published values."""

from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from benchmarks.publication.smooth_bit import (
    line_sensitivities,
    two_class_costs,
    two_class_sensitivities,
)
from benchmarks.publication.smooth_papernot import PapernotCurve, papernot_sensitivities
from benchmarks.publication.smooth_release import smooth_sensitivity

from secretballot.divergences import ConfidentMax, NoisyMax, order_index
from secretballot.divergences._papernot import papernot_bound

# Teachers, queries, classes. Three teachers' votes on two classes all cost the same.
TWO = [(4, 2, 2), (5, 2, 2), (6, 1, 2)]
MORE = [(3, 2, 3), (6, 1, 3), (4, 2, 2)]
BETAS = (0.05, 0.3, 1.0)


@lru_cache
def ensembles(teachers, queries, classes):
    """All data sets' counts (n_sets, queries, classes), and how many teachers are between two."""
    ballots = np.array(list(product(range(classes), repeat=queries)))
    sets = np.array(list(product(range(len(ballots)), repeat=teachers)))
    counts = np.eye(classes)[ballots[sets]].sum(axis=1)
    return counts, (sets[:, None] != sets[None]).sum(axis=-1)


def brute_force(totals, apart):
    """Largest local sensitivity within each distance, shape (n_sets, n_distances)."""
    change = np.abs(totals[:, None] - totals[None])
    local = np.where(apart <= 1, change, 0.0).max(axis=1)
    return np.stack(
        [np.where(apart <= t, local, 0.0).max(axis=1) for t in range(apart.max() + 1)], axis=1
    )


def bounds(counts, sensitivities):
    """A_t of all data sets, filled up to the same number of distances."""
    found = {}
    for rows in counts:
        found.setdefault(rows.tobytes(), None)
        if found[rows.tobytes()] is None:
            found[rows.tobytes()] = sensitivities(rows)
    longest = max(len(values) for values in found.values())
    return np.stack(
        [
            np.pad(values, (0, longest - len(values)), mode="edge")
            for values in (found[rows.tobytes()] for rows in counts)
        ]
    )


def is_bound(upper, true):
    common = min(upper.shape[1], true.shape[1])
    missing = np.repeat(upper[:, -1:], true.shape[1] - common, axis=1)
    return np.all(np.hstack([upper[:, :common], missing]) >= true * (1 - 1e-12) - 1e-300)


def is_smooth(upper, apart, beta):
    smooth = np.array([smooth_sensitivity(values, beta) for values in upper])
    return np.all((smooth[:, None] <= np.exp(beta) * smooth[None] * (1 + 1e-12))[apart == 1])


@pytest.mark.parametrize("setting", TWO)
@pytest.mark.parametrize("confident", [False, True])
def test_two_classes_against_all_data_sets(setting, confident):
    teachers = setting[0]
    order = 5.0
    move = NoisyMax(sigma=0.8, weight=1)
    if confident:
        move = ConfidentMax(
            sigma=0.8, sigma_threshold=1.0, threshold=teachers - 0.5, n_votes=teachers, weight=1
        )
    counts, apart = ensembles(*setting)
    costs = move.exact(counts.reshape(-1, 2))[:, order_index(order)]
    true = brute_force(costs.reshape(len(counts), -1).sum(axis=1), apart)
    upper = bounds(counts, lambda rows: two_class_sensitivities(move, rows, order))
    assert is_bound(upper, true)
    if setting[1] == 1:  # One query: nothing is lost.
        np.testing.assert_allclose(upper[:, : true.shape[1]], true, rtol=1e-12)
    assert all(is_smooth(upper, apart, beta) for beta in BETAS)

    # Planted: an interval one ballot short, gaps that move by 1, and beta forgotten.
    short = np.hstack([upper[:, :1], upper[:, :-1]])
    assert not is_bound(short, true)
    gap_costs = np.repeat(two_class_costs(move, teachers, order), 2)[:-1]
    half = bounds(counts, lambda rows: line_sensitivities(gap_costs, 2 * rows[:, 0].astype(int)))
    assert not is_bound(half, true)
    assert not is_smooth(upper[:, :1], apart, BETAS[0])


def test_teachers_with_several_heavy_ballots():
    # Each casts two ballots of weight 1.5, one after the other.
    move = NoisyMax(sigma=2.0, weight=1.5, ballots=2)
    sets = np.array(list(product(range(3), repeat=4)))
    apart = (sets[:, None] != sets[None]).sum(axis=-1)
    first = sets.sum(axis=1)
    counts = 1.5 * np.stack([first, 8 - first], axis=-1)[:, None]
    true = brute_force(move.exact(counts[:, 0])[:, order_index(4.0)], apart)
    upper = bounds(counts, lambda rows: two_class_sensitivities(move, rows, 4.0))
    assert is_bound(upper, true)
    assert all(is_smooth(upper, apart, beta) for beta in BETAS)
    one = NoisyMax(sigma=2.0, weight=1.5, ballots=1)
    assert not is_bound(bounds(counts, lambda rows: two_class_sensitivities(one, rows, 4.0)), true)


def test_rows_of_different_numbers_of_votes_add_up():
    move, rows = NoisyMax(sigma=2.0, weight=1), np.array([[7, 2], [5, 0], [5, 4]])
    each = [two_class_sensitivities(move, row[None], 3.0) for row in rows]
    got = two_class_sensitivities(move, rows, 3.0)
    assert len(got) == 10
    # Either all rise or all fall, so the sum may be less than the sum of the rows.
    padded = [np.pad(part, (0, 10 - len(part)), mode="edge") for part in each]
    assert np.all(got <= np.sum(padded, axis=0) * (1 + 1e-12))
    assert np.all(got >= np.max(padded, axis=0))
    # At the end each can rise, or fall, from end to end.
    assert got[-1] == pytest.approx(np.sum(padded, axis=0)[-1], rel=1e-12)


@pytest.mark.parametrize(
    ("move", "counts", "match"),
    [
        (NoisyMax(sigma=2.0, weight=1), [[1, 2, 3]], "two columns"),
        (NoisyMax(sigma=2.0, weight=2), [[1, 2]], "whole numbers"),
        (NoisyMax(sigma=2.0, weight=1, n_classes=3), [[1, 2]], "3 classes"),
        (
            ConfidentMax(sigma=2, sigma_threshold=2, threshold=2, n_votes=4, weight=1),
            [[1, 2]],
            "must sum to",
        ),
    ],
)
def test_what_two_classes_do_not_tell_is_refused(move, counts, match):
    with pytest.raises(ValueError, match=match):
        two_class_sensitivities(move, counts, 2.0)


@pytest.mark.parametrize("setting", MORE)
@pytest.mark.parametrize(("sigma", "order"), [(0.5, 1.5), (0.8, 1.25)])
def test_papernot_against_all_data_sets(setting, sigma, order):
    counts, apart = ensembles(*setting)
    at = np.array([order])
    costs = papernot_bound(counts.reshape(-1, setting[2]), sigma, orders=at)[:, 0]
    assert len(np.unique(costs)) > 1
    true = brute_force(costs.reshape(len(counts), -1).sum(axis=1), apart)
    upper = bounds(counts, lambda rows: papernot_sensitivities(rows, sigma, order))
    assert is_bound(upper, true)
    assert all(is_smooth(upper, apart, beta) for beta in BETAS)
    assert not is_bound(np.hstack([upper[:, :1], upper[:, :-1]]), true)
    assert not is_smooth(upper[:, :1], apart, BETAS[0])


@pytest.mark.parametrize(("sigma", "order", "classes"), [(4.0, 3.0, 3), (3.0, 2.0, 3), (3, 2, 2)])
def test_the_walk_finds_the_worst_votes_at_each_distance(sigma, order, classes):
    """Against the largest value at any counts that so many replaced ballots lead to."""
    teachers = 24
    counts = np.array(
        [row for row in product(range(teachers + 1), repeat=classes) if sum(row) == teachers]
    )
    apart = np.abs(counts[:, None] - counts[None]).sum(axis=-1) // 2
    curve = PapernotCurve(sigma=sigma, n_classes=classes, order=order)
    costs = papernot_bound(counts, sigma, orders=np.array([order]))[:, 0]
    upper = bounds(counts[:, None], lambda row: papernot_sensitivities(row, sigma, order))
    each = upper[:, 0]  # at distance 0
    for distance in range(upper.shape[1]):
        reached = np.where(apart <= distance, each, 0.0).max(axis=1)
        # Votes on the plateau may be stepped over.
        assert np.all(upper[:, distance] >= reached * (1 - 1e-12))
        plateau = float(curve.changes(np.array([curve.log_q1]))[0])
        below = upper[:, distance] < plateau
        np.testing.assert_allclose(upper[below, distance], reached[below], rtol=1e-11)
    assert is_bound(upper, brute_force(costs, apart))
    assert all(is_smooth(upper, apart, beta) for beta in BETAS)


def test_published_local_sensitivities():
    got = papernot_sensitivities([[10, 0, 0]], 0.5, 1.5)
    np.testing.assert_allclose(got[:3], [3.13503646e-17, 1.60178280e-08, 5.90681786e-03], rtol=2e-9)
    # The published plateau, 5.9998, is of a q0 that was set too low; this one has 30 digits.
    assert got[-1] == pytest.approx(5.975779739406479, rel=1e-12)
    got = papernot_sensitivities([[1000, 500, 300, 200, 0]], 250.0, 10.0)
    assert len(got) == 301
    np.testing.assert_array_equal(got[:298], 0.0)
    np.testing.assert_allclose(
        got[298:], [2.77693450548e-7, 2.10853979548e-6, 2.73113623988e-6], rtol=1e-9
    )


def test_rows_add_up_and_unseen_classes_count():
    rows = np.array([[14, 6, 4], [4, 14, 6], [20, 4, 0], [24, 0, 0]])
    each = [papernot_sensitivities(row[None], 4.0, 3.0) for row in rows]
    got = papernot_sensitivities(rows, 4.0, 3.0)
    padded = [np.pad(part, (0, len(got) - len(part)), mode="edge") for part in each]
    np.testing.assert_allclose(got, np.sum(padded, axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        papernot_sensitivities(rows[2:, :2], 4.0, 3.0, n_classes=3),
        papernot_sensitivities(rows[2:], 4.0, 3.0),
        rtol=1e-12,
    )


def test_conditions():
    assert PapernotCurve(sigma=20, n_classes=10, order=25.0).conditions() == (True, False)
    assert PapernotCurve(sigma=30, n_classes=10, order=25.0).conditions() == (True, True)
    # Where q0 is so small that nothing below it can be computed, C6 is not taken for granted.
    assert PapernotCurve(sigma=5, n_classes=2, order=150.0).conditions() == (True, False)
    with pytest.raises(ValueError, match=r"condition C6 at order=25"):
        papernot_sensitivities([[100] + [0] * 9], 20.0, 25.0)
    with pytest.raises(ValueError, match="whole numbers"):
        papernot_sensitivities([[1.5, 0.5]], 4.0, 3.0)
    with pytest.raises(ValueError, match="n_classes=1"):
        papernot_sensitivities([[3]], 4.0, 3.0)
