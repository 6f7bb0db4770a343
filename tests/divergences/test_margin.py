"""The margin of votes: one ballot changes it by one, and it bounds what they did cost."""

from itertools import product

import numpy as np
import pytest

from secretballot.divergences import (
    GapCosts,
    Margin,
    dump_gap_records,
    load_gap_records,
    record_gaps,
)
from secretballot.mechanisms import BinaryVoting, ConfidentGNMax, GNMax, PowersetVoting

ORDER = 8.0

LABELS = np.array(list(product((0, 1), repeat=2)))
CONFIDENT = {"sigma": 1.5, "sigma_threshold": 2.0, "threshold": 3.5}

#: Mechanisms, voters, what a ballot on one row can be, the order, and rows.
CASES = {
    "two classes": (GNMax(sigma=1.5), 5, np.eye(2), ORDER, 2),
    "published": (GNMax(sigma=1.0, bound="papernot"), 9, np.eye(2), 2.0, 2),
    "three classes": (GNMax(sigma=0.8), 7, np.eye(3), 2.0, 1),
    "one outcome": (ConfidentGNMax(**CONFIDENT, n_votes=5), 5, np.eye(2), ORDER, 2),
    "labels": (BinaryVoting(sigma=1.5, n_votes=3), 3, LABELS, ORDER, 2),
}


def every_table(n_voters, ballots, n_rows=2):
    """All counts of two rows that some voters can cast, and which tables one voter apart are."""
    one = [np.stack(rows) for rows in product(ballots, repeat=n_rows)]  # a voter's ballots
    found = {}
    for cast in product(range(len(one)), repeat=n_voters):
        if list(cast) == sorted(cast):
            found[cast] = sum(one[each] for each in cast)
    pairs = []
    for cast in found:
        for place in range(n_voters):
            for other in range(len(one)):
                moved = tuple(sorted((*cast[:place], other, *cast[place + 1 :])))
                if moved != cast:
                    pairs.append((cast, moved))
    return found, pairs


def margin_and_cost(mechanism, counts, outcome, n_classes, order):
    votes = mechanism.check_counts(counts)
    records = record_gaps(mechanism, votes, outcome, n_classes)
    kinds = tuple(
        GapCosts.from_move(each.move, len(each.gap_counts) - 1, order) for each in records
    )
    numbers = tuple(int(each.gap_counts.sum()) for each in records)
    margin = Margin(kinds, numbers)
    cost = mechanism.cost(outcome, counts, n_columns=n_classes)["*"].sum().at(order)
    return margin, margin.margin_of([each.gap_counts for each in records]), cost


@pytest.mark.parametrize("name", CASES)
def test_one_ballot_changes_it_by_one_and_it_bounds_the_cost(name):
    mechanism, n_voters, ballots, order, n_rows = CASES[name]
    tables, pairs = every_table(n_voters, ballots, n_rows)
    first = next(iter(tables.values()))
    outcome = mechanism.sample(mechanism.check_counts(first), np.random.default_rng(0))
    found = {}
    for cast, counts in tables.items():
        margin, known, cost = margin_and_cost(mechanism, counts, outcome, ballots.shape[1], order)
        found[cast] = known
        assert cost <= margin.cost_at(known) * (1 + 1e-9)
        assert 0 <= known <= 2 * margin.furthest
    change = max(abs(found[one] - found[other]) for one, other in pairs)
    assert change <= 1 + 1e-9
    assert change > 0.3  # it does change


def test_one_ballot_on_rows_of_several_kinds():
    """One voter's ballot on a row of each kind moves all gaps at once."""
    tables, pairs = every_table(3, np.eye(2), 3)
    kinds = (
        GNMax(sigma=1.5),
        ConfidentGNMax(**CONFIDENT, n_votes=3),
        BinaryVoting(sigma=30.0, n_votes=3),
    )
    found = {}
    for cast, counts in tables.items():
        records, cost = [], 0.0
        for place, mechanism in enumerate(kinds):
            row = counts[place : place + 1]
            if isinstance(mechanism, BinaryVoting):
                row = row[:, 1:]
            votes = mechanism.check_counts(row)
            outcome = mechanism.sample(votes, np.random.default_rng(0))
            records += record_gaps(mechanism, votes, outcome, row.shape[1])
            charged = mechanism.cost(outcome, row, n_columns=row.shape[1])["*"]
            cost += charged.sum().at(ORDER)
        costs = tuple(GapCosts.from_move(each.move, 3, ORDER) for each in records)
        margin = Margin(costs, (1, 1, 1))
        found[cast] = margin.margin_of([each.gap_counts for each in records])
        assert cost <= margin.cost_at(found[cast]) * (1 + 1e-9)
    assert max(abs(found[one] - found[other]) for one, other in pairs) <= 1 + 1e-6


def test_the_guess_begins_at_the_worst_case_and_falls():
    move = GNMax(sigma=40.0).laws(2)["*"][0].move
    margin = Margin((GapCosts.from_move(move, 250, ORDER),), (100,))
    costs = margin.cost_at(np.linspace(0, 250, 500))
    assert costs[0] == pytest.approx(100 * move.worst_case((ORDER,))[0])
    assert (np.diff(costs) <= 0).all()
    # The inverse is the largest margin that costs no less.
    for cost in np.geomspace(costs[-1], costs[0], 50):
        assert margin.cost_at(margin.margin_at(cost)) >= cost * (1 - 1e-12)
    assert margin.margin_at(2 * costs[0]) == 0


def test_of_many_voters():
    """Of 20,000 voters: nothing is as large as all gaps by all margins."""
    costs = GapCosts.from_costs(1 / (1 + np.arange(20_001) / 1_000) ** 4, 2)
    margin = Margin((costs,), (3,))
    unanimous = np.zeros(20_001, dtype=np.int64)
    unanimous[-1] = 3
    known = margin.margin_of([unanimous])
    assert margin.cost_at(known) >= costs.totals(unanimous, 0)[0] * (1 - 1e-9)
    # Chords between whole ballots, as they are looked up one by one.
    gaps = np.arange(20_001)
    for here in (0.0, 37.125, 5_000.0, 9_999.5, 15_000.0):
        moved = np.interp(gaps + 2 * here - 20_000, gaps, costs.costs)
        assert margin.cost_at(here) == pytest.approx(
            3 * (0.2 * moved.mean() + 0.8 * moved[-1]), rel=1e-6, abs=1e-6
        )


def test_no_margin_hangs_on_the_last_digit():
    """Where wide gaps all cost the same, sums of them differ by how they are rounded."""
    costs = GapCosts.from_costs(np.maximum(1 - np.arange(251) / 200, 0.5), 2)
    margin = Margin((costs,), (7,))
    known, rounded = margin.margin_at(7 * 0.5 * (1 + np.array([0, 2e-15])))
    assert abs(known - rounded) < 1e-3


@pytest.mark.parametrize("failure", [0.05, 0.3])
def test_the_bound_holds_as_often_as_promised(failure):
    rng = np.random.default_rng(0)
    move = GNMax(sigma=40.0).laws(2)["*"][0].move
    costs = GapCosts.from_move(move, 250, ORDER)
    gaps = np.where(rng.uniform(size=500) < 0.2, 250, rng.integers(251, size=500))
    gap_counts = np.bincount(gaps, minlength=251)
    margin, sigma = Margin((costs,), (500,)), 4.0
    did_cost = costs.totals(gap_counts, 0)[0]
    known = margin.margin_of([gap_counts])
    noisy = known + sigma * rng.normal(size=20_000)
    held = np.mean([margin.bound(each, sigma, failure) >= did_cost for each in noisy])
    # Six standard deviations of 20,000 draws.
    assert held >= 1 - failure - 6 * np.sqrt(failure * (1 - failure) / 20_000)
    # What is not moved by the tail holds too seldom.
    assert np.mean(margin.cost_at(noisy) >= did_cost) < 1 - failure - 0.1


def test_records_are_written_and_read():
    mechanism = ConfidentGNMax(**CONFIDENT, n_votes=4)
    votes = np.array([[4.0, 0.0], [3.0, 1.0], [2.0, 2.0]])
    records = record_gaps(mechanism, votes, np.array([0, -1, 1]), 2)
    again = load_gap_records(dump_gap_records(records))
    assert [each.move for each in again] == [each.move for each in records]
    assert [each.gap_counts.tolist() for each in again] == [
        each.gap_counts.tolist() for each in records
    ]
    assert [each.gap_counts.tolist() for each in again] == [[1, 0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("mechanism", "votes"),
    [
        (GNMax(sigma=1.0, weight=2.0), [[4.0, 0.0]]),
        (GNMax(sigma=1.0, weight={"a": 1.0, "b": 2.0}), [[4.0, 0.0]]),
        (GNMax(sigma=1.0), [[4.0, 0.0], [4.0, 1.0]]),
        (GNMax(sigma=1.0), [[3.5, 0.5]]),
        (ConfidentGNMax(**CONFIDENT), [[4.0, 0.0]]),
        (PowersetVoting(sigma=1.0, n_labels=12), None),
    ],
    ids=[
        "weights",
        "levels",
        "other numbers of ballots",
        "parts of ballots",
        "a vote by chance",
        "sets",
    ],
)
def test_what_has_no_whole_gaps_is_not_recorded(mechanism, votes):
    if votes is None:
        votes = np.zeros((1, 1), dtype=[("ballot", "u1", 2), ("count", "f8")])
    assert record_gaps(mechanism, np.asarray(votes), np.zeros(len(votes)), 2) is None


def test_labels_that_may_not_be_asked_are_not_recorded():
    """Not even if all were: that it came so is chance."""
    mechanism = BinaryVoting(sigma=1.0, n_votes=4, hierarchy={1: 0})
    votes = np.array([[4.0, 4.0], [0.0, 1.0]])
    for asked in ([[1, 1], [1, 0]], [[1, 1], [0, 0]]):
        assert record_gaps(mechanism, votes, np.array(asked), 2) is None
