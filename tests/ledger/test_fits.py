"""Parts of a level are other people in every fit: fits add up, and people are within budget."""

import dataclasses
import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests._fakes import Grouped, gaussian, votes

from secretballot.accounting import EVERYONE, BudgetExceededError, PrivacyAccountant, RenyiCost
from secretballot.accounting._report import replay
from secretballot.costs._groups import level_cost
from secretballot.ledger._budget import budget_levels
from secretballot.ledger._entry import LedgerEntry
from secretballot.ledger._totals import Totals
from secretballot.mechanisms import GNMax
from secretballot.mechanisms import RoundRobin as Turns

ROWS = np.tile([60.0, 40.0], (4, 1))


def test_nobody_pays_more_than_the_budget_over_many_fits():
    """Each fit divides the people anew: whoever had the dear part twice has paid twice."""
    accountant = PrivacyAccountant({"strict": 0.5, "generous": 3.0}, 1e-5, order="renyi")
    turns = {"strict": (1, 3), "generous": (1, 1)}
    paid_in_fit, people = [], np.zeros(3000)
    rng = np.random.default_rng(0)
    for fit in range(40):
        scope = accountant.scope()
        parts = np.zeros(3)
        mechanism = Turns(mechanism=GNMax(sigma=32.0), turns=turns, first_row=fit)
        try:
            begun = len(accountant.release(mechanism, ROWS, scope=scope))
        except BudgetExceededError:
            break
        names = [mechanism.part("strict", number) for number in range(3)]
        one_row = float(mechanism.max_cost(2)[names[0]].at(accountant.levels[0].order))
        for part, name in enumerate(names):
            parts[part] = one_row * mechanism.participation(begun)[name].sum()
        paid_in_fit.append(parts)
        people += parts[rng.integers(3, size=len(people))]
    strict = accountant.levels[0]
    unlucky = sum(parts.max() for parts in paid_in_fit)
    assert fit > 5  # so that it matters who is with whom
    assert people.max() <= unlucky
    assert accountant.spent()["strict"].amount == pytest.approx(unlucky)
    assert unlucky <= strict.amount
    # Names of parts say nothing about people: added up over fits, some seemed to have much left.
    assert sum(parts for parts in paid_in_fit).max() < 0.8 * unlucky
    replay(accountant._ledger)


def test_parts_of_one_fit_take_the_most_of_them_over_all_its_releases():
    """What is asked of a fit later is asked of the same people."""
    accountant = PrivacyAccountant(1.0, 1e-5, order="renyi")
    order = accountant.levels[0].order
    unit = accountant.levels[0].amount / 10
    first, second = accountant.scope(), accountant.scope()
    other = pickle.loads(pickle.dumps(accountant))
    for scope, part, spent in (
        (first, 0, 1),
        (second, 1, 2),
        (None, 1, 3),
        (None, 0, 4),  # without a scope each release is a fit
        (first, 1, 4),
        (first, 1, 5),
    ):
        mechanism = Grouped(rates={f"everyone/x/{part}": unit / order})
        accountant.release(mechanism, votes(1), scope=scope)
        assert accountant.spent().amount == pytest.approx(spent * unit)
    # So does another handle: part 1 of the first fit has paid 2 there and has 5 left; then part 0,
    # which had paid 1, may pay 6 until it has paid as much.
    for part, fitting in ((1, 5), (0, 6)):
        mechanism = Grouped(rates={f"everyone/x/{part}": 0.999 * unit / order})
        assert len(other.release(mechanism, votes(9), scope=first)) == fitting
    for scope in (None, first):
        with pytest.raises(BudgetExceededError):
            other.release(mechanism, votes(1), scope=scope)
    assert (
        other.spent().amount
        == accountant.spent().amount
        == replay(other._ledger)["everyone"].amount
    )


def entry(scope, charges):
    return LedgerEntry(
        mechanism="{}",
        n_rows=1,
        scope_id=scope,
        scope_epsilon=None,
        seeded=False,
        charges={group: gaussian(rate / 16) for group, rate in charges.items()},
    )


def at(cost):
    return float(cost.at(2.0)) * 8


LEVELS = budget_levels({"a": 1.0, "b": 1.0}, 1e-5, order="renyi")
GROUPS = (EVERYONE, "a", "a/x/0", "a/x/1", "a/x/2", "a/y/0", "a/y/1", "b", "b/x/0")


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, "one", "two"]),
            st.dictionaries(st.sampled_from(GROUPS), st.integers(0, 9), min_size=1),
        ),
        max_size=12,
    )
)
def test_the_sum_of_a_level_by_brute_force(entries):
    """The dearest of all people: one for each choice of a part in each division of each fit."""
    totals = Totals(digest="", levels=LEVELS)
    for number, (scope, charges) in enumerate(entries, start=1):
        totals = totals.after(entry(scope, charges).chained(number, "", totals.digest))
    divisions = {}
    for number, (scope, charges) in enumerate(entries):
        for group, rate in charges.items():
            if "/" in group:
                level, division, part = group.split("/")
                parts = divisions.setdefault((level, scope or number, division), Counter())
                parts[part] += rate
    for level in "ab":
        shared = sum(c.get(EVERYONE, 0) + c.get(level, 0) for _, c in entries)
        paid = [parts.values() for (of, *_), parts in divisions.items() if of == level]
        dearest = max(map(sum, itertools.product(*paid)))
        assert at(level_cost(totals.charges, level, 2.0)) == shared + dearest
        # Seen from a fit, its parts are apart, and nothing is lost.
        for scope in ("one", "two", None):
            seen = totals.charges_with_parts(scope)
            assert at(level_cost(seen, level, 2.0)) == shared + dearest
            named = {group for group in seen if group.startswith(f"{level}/")}
            assert named == {
                group
                for fit, charges in entries
                for group in charges
                if scope and fit == scope and group.startswith((f"{level}/x/", f"{level}/y/"))
            }


def test_infinite_costs_of_parts_stay_infinite():
    infinite = RenyiCost(np.append(np.zeros(149), math.inf))
    totals = Totals(digest="", levels=LEVELS)
    for number in (1, 2):
        one = dataclasses.replace(entry("one", {}), charges={"a/x/0": infinite})
        totals = totals.after(one.chained(number, "", totals.digest))
    for scope in ("one", None):
        cost = level_cost(totals.charges_with_parts(scope), "a", 2.0)
        assert math.isinf(cost.at(math.inf))
        assert not cost.curve[:-1].any()


def test_everyone_has_no_parts():
    """Nobody would be charged for one."""
    accountant = PrivacyAccountant(1.0, 1e-5, order="renyi")
    with pytest.raises(ValueError, match=r"a part of '\*'"):
        accountant.release(Grouped(rates={EVERYONE: 0.0, f"{EVERYONE}/0": 1.0}), votes(1))
    assert accountant.entries() == []
