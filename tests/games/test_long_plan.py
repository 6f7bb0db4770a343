"""Plans of more rows than are played: what their last rows, and those before, are taken for."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from secretballot.costs import NoisyBit, Step, _split_plan
from secretballot.costs._cost import GaussianCost
from secretballot.costs._grid import FINE, ValueFunction
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._price import GroupPlan, PlanPrice, price_law
from secretballot.costs._split_plan import LongPlan, price_in_mu2

MOST, RATIO = 300, 0.05
BIT = (Step("label", NoisyBit(scale=1.0, shift=RATIO)),)
DELTAS = (1e-10, 5e-8, 1e-5)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """A shorter game is looser, and quick enough to be compared with that of the whole plan."""
    monkeypatch.setattr(_split_plan, "MOST_MOVES", MOST)


def rows(n_rows, law=BIT):
    return GroupPlan(law, np.ones(n_rows, dtype=bool))


def long_plan(n_rows, law=BIT):
    return price_in_mu2(rows(n_rows, law), FINE)


def game(n_rows, law=BIT):
    return rows(n_rows, law).price()


def mu2(price, delta):
    return float(price.gaussian_cost(delta).mu2)


@pytest.mark.parametrize("n_rows", [MOST + 1, 450])
def test_long_plan_costs_little_more_than_the_game_and_refunds_less(n_rows):
    long, whole = long_plan(n_rows), game(n_rows)
    for delta in DELTAS:
        assert mu2(whole, delta) <= mu2(long, delta) <= 1.002 * mu2(whole, delta)
    assert 0.998 * whole.refund() <= long.refund() <= whole.refund()


def test_short_plans_cost_the_price_of_the_game():
    assert isinstance(long_plan(MOST), PlanPrice)
    assert mu2(long_plan(MOST), 5e-8) == mu2(game(MOST), 5e-8)
    assert long_plan(MOST).refund() == game(MOST).refund()


def test_rows_of_many_moves_cost_as_much_as_many_rows_of_one_move():
    labels = (*BIT, *(Step(f"label {k}", BIT[0].move) for k in range(1, 30)))
    assert mu2(long_plan(15, labels), 5e-8) == pytest.approx(mu2(long_plan(450), 5e-8), rel=2e-3)
    # Longer than what is played, they are divided.
    labels = (*BIT, *(Step(f"label {k}", BIT[0].move) for k in range(1, 450)))
    for law in (labels, (Step("label", BIT[0].move, times=450),)):
        assert mu2(long_plan(2, law), 5e-8) == mu2(long_plan(900), 5e-8)
        assert long_plan(2, law).refund() == long_plan(900).refund()


def test_votes_behind_thresholds_are_long_plans_too(monkeypatch):
    monkeypatch.setattr(_split_plan, "MOST_MOVES", 80)
    law = (*BIT, Step("vote", NoisyBit(scale=1.0, shift=2 * RATIO), after="label"))
    long, whole = long_plan(44, law), game(44, law)
    assert isinstance(long, LongPlan)
    assert mu2(whole, 5e-8) <= mu2(long, 5e-8) <= 1.005 * mu2(whole, 5e-8)


@pytest.mark.parametrize("n_left", [MOST, MOST + 1, 359])
@pytest.mark.parametrize("extra", [0, 1])
def test_spending_the_refund_gains_nothing_in_long_plans(n_left, extra):
    """An adversary who stops a plan of 360 rows buys a Gaussian pair with what comes back.

    With what a row more would give back (planted) it would be worth more than was paid.
    """
    n_rows, delta = 360, 1e-5
    paid, back = mu2(long_plan(n_rows), delta), price_in_mu2(rows(n_left + extra), FINE).refund()
    step = rows(n_left).price()._value_functions[0]
    loss = step.grid.step * (step.first + np.arange(len(step.values)))
    pair = ValueFunction(step.grid, gaussian_delta(math.sqrt(back), -loss), step.first)
    drawn = price_law(BIT, n_rows, start=(n_left, pair))
    assert (mu2(drawn, delta) <= paid) == (extra == 0)


@dataclass
class Asked:
    """A price that notes which deltas it was asked for."""

    size: float
    tail: float = 0.0
    deltas: list = field(default_factory=list)

    def gaussian_cost(self, delta):
        self.deltas.append(delta)
        return GaussianCost(self.size if delta >= self.tail else math.inf, delta)

    def delta(self, epsilon):
        return self.tail


@pytest.mark.parametrize(("tail", "n_more"), [(0.0, 10), (0.0, 10**5), (1e-13, 10**5)])
def test_every_row_is_paid_for_beside_its_own_delta(tail, n_more):
    last, row = Asked(4.0), Asked(3.5, tail)
    cost = LongPlan(last, 3.0, row, n_more).gaussian_cost(5e-8)
    assert float(cost.mu2) == pytest.approx(4.0 + 0.5 * n_more)
    assert float(cost.delta) == 5e-8
    assert last.deltas[0] + n_more * row.deltas[0] == pytest.approx(5e-8, rel=1e-12)
    assert last.deltas[0] > 0


def test_cost_is_at_least_the_refunded_pair():
    assert float(LongPlan(Asked(2.0), 3.0, Asked(3.5), 4).gaussian_cost(0.1).mu2) == 5.0
    # Beside a large delta the last rows cost less than what comes back for them alone.
    long = long_plan(450)
    assert mu2(long.played, 0.02) < long.base
    assert mu2(long, 0.02) >= long.refund()


def test_too_small_deltas_have_no_price():
    for tail in (1e-9, 1e-11):
        long = LongPlan(Asked(4.0), 3.0, Asked(3.5, tail), 10**4)
        assert long.gaussian_cost(5e-8).mu2 == math.inf
