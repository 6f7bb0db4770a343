"""What gets through: a run ends before the first row that might not fit."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests._fakes import Gaussian, Parallel, Pure, Thresholded, gaussian, votes
from tests.accounting.conftest import refused, room

from secretballot.accounting import ORDERS, PrivacyAccountant, RenyiCost
from secretballot.accounting._limits import PrivacyFilter
from secretballot.costs._groups import EVERYONE, level_cost


def test_a_run_ends_before_the_first_row_that_might_not_fit(accountant):
    # Ten rows and a half fit.
    rate = room(accountant) / accountant.spent().order / 10.5
    outcome = accountant.release(Gaussian(sigma=rate**-0.5), votes(25))
    assert len(outcome) == 10
    assert accountant.spent().n_rows == 10
    assert accountant.spent().share == pytest.approx(10 / 10.5)
    assert "does not fit what is left" in refused(accountant, Gaussian(sigma=rate**-0.5), votes(1))


def test_budget_left_for_a_bit_but_not_for_a_vote(accountant):
    """The run ends before such a row, whether or not it would have passed."""
    unit = room(accountant) / accountant.spent().order / 100
    mechanism = Thresholded(bit=unit, vote=9 * unit)
    # 9 answered rows and one more bit: 91 of 100, so a further bit would fit, a row would not.
    for last in (3.0, 0.0):
        fresh = PrivacyAccountant(1.0, 1e-5, order="renyi")
        counts = np.vstack([votes(9), [[0.0, 1.0]], [[last, 1.0]], [[0.0, 1.0]]])
        outcome = fresh.release(mechanism, counts)
        assert outcome.tolist() == [0] * 9 + [-1]
        assert fresh.spent().share == pytest.approx(0.91)
        # Nor can it be had by asking again.
        refused(fresh, mechanism, counts[10:])
        refused(fresh, mechanism, [[0.0, 1.0]])
        # What can cost no more than the bit still fits.
        assert len(fresh.release(Thresholded(bit=unit, vote=0.0), [[0.0, 1.0]])) == 1


def test_rows_are_charged_by_outcome(accountant):
    """Unanswered rows pay for their bit alone, so more rows are begun."""
    unit = room(accountant) / accountant.spent().order / 100
    mechanism = Thresholded(bit=unit, vote=9 * unit)
    counts = np.zeros((200, 2))
    # Each row may cost 10 and does cost 1: 90 + 10 fit before row 91, whose most does not.
    assert len(accountant.release(mechanism, counts)) == 91
    assert accountant.spent().share == pytest.approx(0.91)


def test_the_end_of_a_run_depends_on_earlier_rows_only():
    """Rows from the end on may be anything: neither the answer nor the charge changes."""
    mechanism = Thresholded(bit=0.002, vote=0.01)
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, size=(60, 2)).astype(float)
    first = PrivacyAccountant(1.0, 1e-5, order="renyi")
    outcome = first.release(mechanism, base)
    begun = len(outcome)
    assert 0 < begun < 60
    for _ in range(5):
        other = base.copy()
        other[begun:] = rng.integers(0, 2, size=(60 - begun, 2))
        again = PrivacyAccountant(1.0, 1e-5, order="renyi")
        np.testing.assert_array_equal(again.release(mechanism, other), outcome)
        assert again.spent().amount == first.spent().amount


def test_rows_that_were_not_begun_can_not_be_reached(accountant):
    outcome = accountant.release(Gaussian(sigma=20), votes(10_000))
    assert len(outcome) < 10_000
    assert outcome.base is None
    assert outcome.flags.owndata


def test_parallel_rows_are_all_or_nothing():
    accountant = PrivacyAccountant(1.0, 1e-5, order=math.inf)
    counts = np.array([[0.25], [0.5], [0.125]])
    # The dearest row is charged; its most, 1, had to fit.
    assert len(accountant.release(Parallel(epsilon=1.0), counts)) == 3
    assert accountant.spent().amount == 0.5
    assert accountant.spent().n_rows == 3
    refused(accountant, Parallel(epsilon=1.0), counts)
    assert len(accountant.release(Parallel(epsilon=0.5), counts)) == 3
    assert accountant.spent().amount == 0.75


def test_basic_composition_adds_pure_costs_and_deltas():
    accountant = PrivacyAccountant(1.0, 1e-5, order=math.inf)
    outcome = accountant.release(Pure(epsilon=0.25, delta=4e-6), votes(4))
    assert len(outcome) == 2  # epsilon would allow four, delta two
    assert accountant.spent().share == pytest.approx(0.8)
    assert accountant.remaining().delta == pytest.approx(2e-6)
    refused(accountant, Pure(epsilon=0.25, delta=4e-6), votes(1))
    assert len(accountant.release(Pure(epsilon=0.25), votes(9))) == 2
    assert accountant.spent().amount == 1.0


def test_tenths_use_up_a_budget():
    accountant = PrivacyAccountant(1.0, 0.0, order=math.inf)
    assert len(accountant.release(Pure(epsilon=0.1), votes(20))) == 10


def test_a_delta_of_its_own_needs_a_share_set_aside(accountant):
    with pytest.raises(ValueError, match="approximation_delta="):
        accountant.release(Pure(epsilon=0.01, delta=1e-9), votes(1))
    with pytest.raises(ValueError, match="approximation_delta="):
        accountant.calibrate(lambda s: Pure(epsilon=1 / s, delta=1e-9), 1)
    sharing = PrivacyAccountant(1.0, 1e-5, approximation_delta=1e-6, order="renyi")
    assert len(sharing.release(Pure(epsilon=1e-3, delta=3e-7), votes(9))) == 3
    assert sharing.spent().share == pytest.approx(0.9)


def test_a_release_without_rows_is_not_recorded(accountant):
    assert len(accountant.release(Gaussian(sigma=40), np.empty((0, 2)))) == 0
    assert accountant.entries() == []


def lines_run(function, *arguments):
    """Return how many lines of Python a call runs through."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count


def test_many_rows_run_through_as_many_lines_as_few(accountant):
    mechanism = Gaussian(sigma=1e4)
    accountant.release(mechanism, votes(1))
    few, many = (lines_run(accountant.release, mechanism, votes(n)) for n in (10, 10_000))
    assert many < 1.1 * few  # a loop over rows would run ten thousand times
    rows = range(10_000)
    assert lines_run(lambda: [row for row in rows if row]) > 1.1 * few  # and would be noticed


def naive_rows(base, cost, most, limit):
    """The rule as it is stated, row by row."""
    total = base
    for row, (did, at_most) in enumerate(zip(cost, most, strict=True)):
        if not total + at_most <= limit:
            return row
        total += did
    return len(cost)


@given(
    rows=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=30),
    spent=st.integers(0, 40),
    limit=st.integers(1, 60),
)
def test_the_prefix_rule_row_by_row(rows, spent, limit):
    # Sixteenths add up exactly, so that both sides of the comparison mean the same.
    cost = np.array([min(pair) for pair in rows]) / 16
    most = np.array([max(pair) for pair in rows]) / 16
    filter_ = PrivacyFilter("all", 2.0, limit / 16, 0.0)
    begun = filter_.count_rows(
        {"all": gaussian(spent / 32)},
        {EVERYONE: gaussian(cost / 2)},
        {EVERYONE: gaussian(most / 2)},
        len(rows),
    )
    assert begun == naive_rows(spent / 16, cost, most, limit / 16)


@given(
    owners=st.lists(st.integers(0, 2), min_size=1, max_size=20),
    spent=st.tuples(*[st.integers(0, 6)] * 4),
    limit=st.integers(1, 30),
)
def test_the_prefix_rule_with_members(owners, spent, limit):
    """A level has spent its own and everyone's charges, and its dearest member's."""
    common, *by_member = (value / 16 for value in spent)
    rate = 3 / 32  # 3/16 at order 2
    cost = {f"all/{m}": gaussian(rate * (np.array(owners) == m)) for m in range(3)}
    cost[EVERYONE] = gaussian(np.full(len(owners), 1 / 32))
    most = {EVERYONE: gaussian(1 / 32)} | {f"all/{m}": gaussian(rate) for m in range(3)}
    totals = {EVERYONE: gaussian(common / 2)}
    totals |= {f"all/{m}": gaussian(value / 2) for m, value in enumerate(by_member)}
    begun = PrivacyFilter("all", 2.0, limit / 16, 0.0).count_rows(totals, cost, most, len(owners))

    members, expected = list(by_member), 0
    for owner in owners:
        if common + 1 / 16 + max(members) + 3 / 16 > limit / 16:
            break
        common, expected = common + 1 / 16, expected + 1
        members[owner] += 3 / 16
    assert begun == expected
    recorded = {g: RenyiCost(c.curve[:begun].sum(axis=0)) for g, c in cost.items()}
    after = {g: totals.get(g, RenyiCost.zero()) + recorded[g] for g in recorded}
    assert float(level_cost(after, "all", 2.0).at(2.0)) == common + max(members)


def test_members_that_a_release_does_not_name_still_count():
    filter_ = PrivacyFilter("all", 2.0, 1.0, 0.0)
    spent = {"all/7": gaussian(0.45)}  # .9 of 1 at order 2
    assert filter_.count_rows(spent, {}, {"all": gaussian(0.1)}, 1) == 0
    assert filter_.count_rows(spent, {}, {"all/8": gaussian(0.1)}, 1) == 1


def test_an_infinite_cost_never_fits():
    filter_ = PrivacyFilter("all", math.inf, 1.0, 1.0)
    free = RenyiCost(np.zeros((3, len(ORDERS))))
    curves = np.zeros((3, len(ORDERS)))
    curves[1] = math.inf
    assert filter_.count_rows({}, {"all": free}, {"all": RenyiCost(curves)}, 3) == 1
