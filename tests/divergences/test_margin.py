"""The margin of votes: one ballot changes it by at most 1, and it bounds their cost."""

import json
from itertools import product

import numpy as np
import pytest

from secretballot._base._errors import LedgerError
from secretballot.costs import NoisyBit
from secretballot.costs._margin import (
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
    "three classes": (GNMax(sigma=0.8), 7, np.eye(3), 2.0, 1),
    "one outcome": (ConfidentGNMax(**CONFIDENT, n_votes=5), 5, np.eye(2), ORDER, 2),
    "labels": (BinaryVoting(sigma=1.5, n_votes=3), 3, LABELS, ORDER, 2),
}


def every_table(n_voters, ballots, n_rows=2):
    """All counts of rows that some voters can cast, and pairs of tables one voter apart."""
    rows_of_voter = [np.stack(rows) for rows in product(ballots, repeat=n_rows)]
    results = {}
    for cast in product(range(len(rows_of_voter)), repeat=n_voters):
        if list(cast) == sorted(cast):
            results[cast] = sum(rows_of_voter[position] for position in cast)
    pairs = []
    for cast in results:
        for place in range(n_voters):
            for second in range(len(rows_of_voter)):
                moved = tuple(sorted((*cast[:place], second, *cast[place + 1 :])))
                if moved != cast:
                    pairs.append((cast, moved))
    return results, pairs


def margin_and_cost(mechanism, counts, outcome, n_classes, order):
    votes = mechanism.check_counts(counts)
    records = record_gaps(mechanism, votes, outcome, n_classes)
    kinds = tuple(
        GapCosts.from_move(record.move, len(record.gap_counts) - 1, order) for record in records
    )
    numbers = tuple(int(record.gap_counts.sum()) for record in records)
    margin = Margin(kinds, numbers)
    cost = mechanism.cost(outcome, counts, n_columns=n_classes)["*"].sum().at(order)
    return margin, margin.margin_of([record.gap_counts for record in records]), cost


@pytest.mark.parametrize("name", CASES)
def test_one_ballot_changes_the_margin_by_at_most_one(name):
    mechanism, n_voters, ballots, order, n_rows = CASES[name]
    tables, pairs = every_table(n_voters, ballots, n_rows)
    first = next(iter(tables.values()))
    outcome = mechanism.sample(mechanism.check_counts(first), np.random.default_rng(0))
    results = {}
    for cast, counts in tables.items():
        margin, true_margin, cost = margin_and_cost(
            mechanism, counts, outcome, ballots.shape[1], order
        )
        results[cast] = true_margin
        assert cost <= margin.cost_at(true_margin) * (1 + 1e-9)
        assert 0 <= true_margin <= 2 * margin.furthest
    change = max(abs(results[first] - results[second]) for first, second in pairs)
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
    results = {}
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
        costs = tuple(GapCosts.from_move(record.move, 3, ORDER) for record in records)
        margin = Margin(costs, (1, 1, 1))
        results[cast] = margin.margin_of([record.gap_counts for record in records])
        assert cost <= margin.cost_at(results[cast]) * (1 + 1e-9)
    assert max(abs(results[first] - results[second]) for first, second in pairs) <= 1 + 1e-6


def test_the_link_begins_at_the_worst_case_and_falls():
    move = GNMax(sigma=40.0).laws(2)["*"][0].move
    margin = Margin((GapCosts.from_move(move, 250, ORDER),), (100,))
    costs = margin.cost_at(np.linspace(0, 250, 500))
    assert costs[0] == pytest.approx(100 * move.worst_case((ORDER,))[0])
    assert (np.diff(costs) <= 0).all()
    # The inverse is the largest margin that costs no less.
    for cost in np.geomspace(costs[-1], costs[0], 50):
        assert margin.cost_at(margin.margin_at(cost)) >= cost * (1 - 1e-12)
    assert margin.margin_at(2 * costs[0]) == 0


def test_many_voters_need_little_memory():
    """No array of 20,000 voters holds all gaps by all margins."""
    costs = GapCosts.from_costs(1 / (1 + np.arange(20_001) / 1_000) ** 4, 2)
    margin = Margin((costs,), (3,))
    unanimous = np.zeros(20_001, dtype=np.int64)
    unanimous[-1] = 3
    true_margin = margin.margin_of([unanimous])
    assert margin.cost_at(true_margin) >= costs.cost_after_replacing(unanimous, 0)[0] * (1 - 1e-9)
    # Chords between whole ballots, as they are looked up one by one.
    gaps = np.arange(20_001)
    for at_margin in (0.0, 37.125, 5_000.0, 9_999.5, 15_000.0):
        moved = np.interp(gaps + 2 * at_margin - 20_000, gaps, costs.costs)
        assert margin.cost_at(at_margin) == pytest.approx(
            3 * (0.2 * moved.mean() + 0.8 * moved[-1]), rel=1e-6, abs=1e-6
        )


def test_the_last_digit_of_a_cost_does_not_change_the_margin():
    """Sums of equal costs of wide gaps differ by rounding."""
    costs = GapCosts.from_costs(np.maximum(1 - np.arange(251) / 200, 0.5), 2)
    margin = Margin((costs,), (7,))
    true_margin, rounded = margin.margin_at(7 * 0.5 * (1 + np.array([0, 2e-15])))
    assert abs(true_margin - rounded) < 1e-3


@pytest.mark.parametrize("failure", [0.05, 0.3])
def test_the_bound_holds_with_its_probability(failure):
    rng = np.random.default_rng(0)
    move = GNMax(sigma=40.0).laws(2)["*"][0].move
    costs = GapCosts.from_move(move, 250, ORDER)
    gaps = np.where(rng.uniform(size=500) < 0.2, 250, rng.integers(251, size=500))
    gap_counts = np.bincount(gaps, minlength=251)
    margin, sigma = Margin((costs,), (500,)), 4.0
    true_cost = costs.cost_after_replacing(gap_counts, 0)[0]
    true_margin = margin.margin_of([gap_counts])
    noisy = true_margin + sigma * rng.normal(size=20_000)
    held = np.mean([margin.bound(number, sigma, failure) >= true_cost for number in noisy])
    # Six standard deviations of 20,000 draws.
    assert held >= 1 - failure - 6 * np.sqrt(failure * (1 - failure) / 20_000)
    # Without the tail the bound fails too often.
    assert np.mean(margin.cost_at(noisy) >= true_cost) < 1 - failure - 0.1


def test_records_are_written_and_read():
    mechanism = ConfidentGNMax(**CONFIDENT, n_votes=4)
    votes = np.array([[4.0, 0.0], [3.0, 1.0], [2.0, 2.0]])
    records = record_gaps(mechanism, votes, np.array([0, -1, 1]), 2)
    again = load_gap_records(dump_gap_records(records))
    assert [record.move for record in again] == [record.move for record in records]
    assert [record.gap_counts.tolist() for record in again] == [
        record.gap_counts.tolist() for record in records
    ]
    assert [record.gap_counts.tolist() for record in again] == [[1, 0, 1, 0, 1]]


def test_records_of_a_removed_bound_are_refused():
    record = {"kind": "NoisyBit", "scale": 2.0, "shift": 1.0}
    for bound, read in (("exact", True), ("papernot", False)):
        text = json.dumps([{"move": {**record, "bound": bound}, "gap_counts": [1, 0]}])
        if read:
            assert [each.move for each in load_gap_records(text)] == [NoisyBit(scale=2, shift=1)]
        else:
            with pytest.raises(LedgerError, match="was removed"):
                load_gap_records(text)


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
def test_votes_without_whole_gaps_are_not_recorded(mechanism, votes):
    if votes is None:
        votes = np.zeros((1, 1), dtype=[("ballot", "u1", 2), ("count", "f8")])
    assert record_gaps(mechanism, np.asarray(votes), np.zeros(len(votes)), 2) is None


def test_conditional_labels_are_not_recorded():
    """Not even if all were asked by chance."""
    mechanism = BinaryVoting(sigma=1.0, n_votes=4, hierarchy={1: 0})
    votes = np.array([[4.0, 4.0], [0.0, 1.0]])
    for outcome_rows in ([[1, 1], [1, 0]], [[1, 1], [0, 0]]):
        assert record_gaps(mechanism, votes, np.array(outcome_rows), 2) is None
