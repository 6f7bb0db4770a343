"""Adversaries who spend from children and their parent in turn: never above the parent's claim."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, price_plan
from secretballot.costs._cost import GaussianCost, gaussian_budget
from secretballot.costs._noise import gaussian_delta
from secretballot.ledger._entry import Grant
from secretballot.mechanisms import GNMax, VectorSum

DELTA = 0.05
ROW = GNMax(sigma=3.0)


def epsilon_of(mu2):
    """Find an epsilon whose budget is about this mu^2."""
    low, high = 1e-3, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        amount = gaussian_budget(middle, DELTA, 0.01 * DELTA)
        low, high = (middle, high) if amount < mu2 else (low, middle)
    return high


class Family:
    """A budget of some rows, and two children of one row each."""

    def __init__(self):
        row = float(price_plan(ROW, 1, n_columns=2).gaussian_cost(1e-5).mu2)
        self.whole = PrivacyAccountant(epsilon_of(2.4 * row), DELTA)
        child = epsilon_of(1.1 * row)
        names = "ab"
        self.accounts = {"": self.whole}
        self.accounts |= {name: self.whole.child(name, epsilon=child) for name in names}

    def do(self, move):
        """Spend a row from an account, or close a child; False if that is refused."""
        verb, name = move
        try:
            if verb == "close":
                self.accounts[name].close()
            else:
                self.accounts[name].release(ROW, [[20, 20]])
        except (BudgetExceededError, ValueError):
            return False
        return True


MOVES = [("row", ""), ("row", "a"), ("row", "b"), ("close", "a")]


def worst_delta(depth):
    """Compute the best test of an adversary who chooses each move by the outcomes before."""

    @cache
    def are_allowed(moves):
        family = Family()
        return all(map(family.do, moves))

    def is_allowed(moves):
        # Rows before and after a child is closed are tried in one order each.
        closed = moves.index(("close", "a")) if ("close", "a") in moves else len(moves)
        return are_allowed(
            (*sorted(moves[:closed]), *moves[closed : closed + 1], *sorted(moves[closed + 1 :]))
        )

    epsilon = Family().whole.epsilon
    shift = math.sqrt(2) / 3.0
    outcomes = []
    for gap in shift / 2 + np.array([-0.6, 0.6]):
        p, q = ndtr(gap), ndtr(gap - shift)
        outcomes.append([(p, math.log(p / q)), (1 - p, math.log((1 - p) / (1 - q)))])

    @cache
    def worth(moves, loss):
        best = max(-math.expm1(epsilon - loss), 0.0)
        if len(moves) == depth:
            return best
        for move in MOVES:
            after = (*moves, move)
            if (move in moves and move[0] == "close") or not is_allowed(after):
                continue
            if move[0] == "close":
                best = max(best, worth(after, loss))
                continue
            for pair in outcomes:
                best = max(best, sum(p * worth(after, round(loss + more, 9)) for p, more in pair))
        return best

    return worth((), 0.0)


def test_every_order_of_spending_from_children_and_parent(monkeypatch):
    exact = worst_delta(3)
    assert 0.05 * DELTA < exact <= DELTA
    # Children that cost their parent nothing (planted) break the claim.
    monkeypatch.setattr(Grant, "costs", lambda self: {"everyone": GaussianCost.zero()})
    assert worst_delta(4) > DELTA


def spend(accounts, steps):
    """Run steps, and return mu^2 of all that was released."""
    released, numbers = 0.0, itertools.count()
    for verb, place, size in steps:
        name = list(accounts)[place % len(accounts)]
        account = accounts[name]
        try:
            if verb == "release":
                mu2 = size * account.remaining().amount * (1 - 1e-9)
                sigma = 2 / math.sqrt(max(mu2, 1e-12))
                account.release(VectorSum(sigma=sigma, norm=1.0), np.zeros((1, 2)))
                released += mu2
            elif verb == "carve":
                child = f"c{next(numbers)}"
                accounts[child] = accounts[""].child(child, epsilon=size)
            elif name:
                account.close()
        except (BudgetExceededError, ValueError):
            pass
    return released


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["release", "carve", "close"]),
        st.integers(0, 5),
        st.floats(0.2, 1.0, allow_nan=False),
    ),
    min_size=4,
    max_size=14,
)


def overspent(steps):
    """Return by how much everything released exceeds the budget's claim."""
    whole = PrivacyAccountant(1.0, DELTA)
    accounts = {"": whole}
    released = spend(accounts, steps)
    exact = float(gaussian_delta(math.sqrt(max(released, 1e-12)), 1.0))
    return whole, accounts, released, exact


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_all_that_is_released_stays_within_the_claim(steps):
    whole, accounts, released, exact = overspent(steps)
    assert exact <= DELTA
    # Nothing is lost either: the charge is what was released, and what open children have left.
    held = sum(
        account.remaining().amount
        for name, account in accounts.items()
        if name and not account._ledger.totals().children[name].is_closed
    )
    assert whole.spent().amount == pytest.approx(released + held, rel=1e-6, abs=1e-12)


def test_a_refund_of_what_was_spent_is_found(monkeypatch):
    """Planted: a child that is closed gives back all that it got."""
    steps = [("carve", 0, 0.6), ("release", 1, 1.0), ("close", 1, 0.5)] * 3 + [("release", 0, 1.0)]
    assert overspent(steps)[-1] <= DELTA
    monkeypatch.setattr(Grant, "refund", lambda self, child: self.costs())
    assert (
        overspent([("carve", 0, 0.9), ("release", 1, 1.0), ("close", 1, 1.0), ("release", 0, 1.0)])[
            -1
        ]
        > DELTA
    )
