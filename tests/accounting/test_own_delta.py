"""Steps with a delta of their own: it is added to what they tell, in every kind of budget."""

import math
from functools import partial

import numpy as np
import pytest
from tests._fakes import calibrated
from tests.games._references import best_move, bit_laws, end

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.costs import BoundedRange, NoisyBit, Step, _split_plan
from secretballot.costs._grid import FINE, ValueFunction
from secretballot.costs._law import own_delta, realised_cost, worst_case_cost
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._price import GroupPlan, PlanPrice, price_law
from secretballot.costs._selection import FewDraws, StableTest
from secretballot.costs._split_plan import (
    LongPlan,
    PlanPiece,
    answer_steps,
    price_in_mu2,
    threshold_steps,
)
from secretballot.mechanisms import StableTopK

RATIO, OWN = 0.3, 1e-3
BIT = NoisyBit(scale=1.0, shift=RATIO)
TEST = StableTest(scale=1.0, shift=RATIO)
KINDS = [(order, {"approximation_delta": 4e-6}) for order in ("renyi", "gaussian")]


def one(move=TEST, delta=OWN, **options):
    return (Step("test", move, delta=delta, **options),)


def piece(law, n_rows):
    return PlanPiece(GroupPlan(law, np.ones(n_rows, dtype=bool)), FINE)


def mu2(price, delta):
    return float(price.gaussian_cost(delta).mu2)


def top_k(delta_t=1e-7, rho=0.01, **options):
    return StableTopK(rho=rho, delta_t=delta_t, **options)


def votes(n_rows):
    return np.tile([900.0, 880.0, 20.0, 10.0, 0.0], (n_rows, 1))


@pytest.mark.parametrize("n_rows", [1, 2, 7])
@pytest.mark.parametrize("move", [BIT, BoundedRange(width=0.4), FewDraws(width=0.4, most=2)])
def test_a_move_that_may_fail_reveals_all_or_its_outcome(move, n_rows):
    whole, silent = price_law(one(move), n_rows), (1 - OWN) ** n_rows
    without = price_law(one(move, 0.0), n_rows)
    for epsilon in (0.0, 0.3, 1.0, 4.0):
        expected = 1 - silent * (1 - without.delta(epsilon))
        assert whole.delta(epsilon) == pytest.approx(expected, rel=1e-8)


def test_a_move_without_cost_may_still_fail():
    floor = Step("floor", BoundedRange(width=0.0), delta=OWN)
    both, bit = price_law((*one(BIT, 0.0), floor), 3), price_law(one(BIT, 0.0), 3)
    for epsilon in (0.0, 0.5, 4.0):
        expected = 1 - (1 - OWN) ** 3 * (1 - bit.delta(epsilon))
        assert both.delta(epsilon) == pytest.approx(expected, rel=1e-4)  # gaps are others


def test_rows_that_only_fail_have_the_price_of_that():
    law = (*one(BoundedRange(width=0.0)), Step("again", FewDraws(width=0.0, most=2), delta=1e-4))
    expected = 1 - ((1 - OWN) * (1 - 1e-4)) ** 3
    assert price_law(law, 3).delta(4.0) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05])
def test_a_stable_test_is_a_bit_or_may_fail(delta):
    laws = bit_laws(np.linspace(-6, 6, 241), RATIO)
    for epsilon in (0.0, 0.2, 0.6, 3.0):
        bit = best_move(laws, partial(end, epsilon=epsilon))
        claimed = price_law(one(delta=delta), 1).delta(epsilon)
        truth = max(float(bit(1.0)), delta)
        assert truth * (1 - 1e-9) <= claimed <= 1.02 * truth + 1e-8


@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05])
def test_two_stable_tests(delta):
    laws = bit_laws(np.linspace(-6, 6, 121), RATIO)

    def before(worth):
        bit = best_move(laws, worth)
        return lambda u: np.maximum(bit(u), delta + (1 - delta) * worth(u))

    for epsilon in (0.0, 0.2, 0.6, 3.0):
        truth = float(before(before(partial(end, epsilon=epsilon)))(1.0))
        claimed = price_law(one(delta=delta), 2).delta(epsilon)
        assert truth * (1 - 1e-9) <= claimed <= 1.03 * truth + 1e-8
    # Where no bits lead, only failures are left.
    assert claimed == pytest.approx(1 - (1 - delta) ** 2, rel=1e-3)


def test_costs_of_rows_add_the_deltas_of_begun_steps():
    law = (*one(), Step("vote", BIT, times=3, after="test", delta=1e-4))
    assert own_delta(law) == pytest.approx(OWN + 3e-4)
    for order in (None, 8.0):
        assert float(worst_case_cost(law, order).delta) == pytest.approx(OWN + 3e-4)
    begun = {"test": np.array([1.0, 1.0, 0.0]), "vote": np.array([3.0, 0.0, 0.0])}
    state = {"test": np.zeros(3), "vote": np.zeros(3)}
    for known in (None, {}, state):
        cost = realised_cost(law, begun, known)
        assert cost.delta == pytest.approx([OWN + 3e-4, OWN, 0.0])
    alike = realised_cost(law, {name: np.ones(4) for name in begun}, None)
    assert alike.delta == pytest.approx(np.full(4, OWN + 1e-4))


def test_beside_less_than_their_own_delta_rows_have_no_price():
    rows, bits = piece(one(delta=1e-8), 20), piece(one(BIT, 0.0), 20)
    for delta in (0.0, 1e-9, 1.999e-7):
        assert rows.gaussian_cost(delta).mu2 == math.inf
    for delta in (2.0001e-7, 3e-7, 1e-5):
        assert mu2(bits, delta) * (1 - 1e-9) <= mu2(rows, delta) <= rows.noisy_numbers_mu2
    assert mu2(rows, 1e-6) < 0.9 * rows.noisy_numbers_mu2
    # Without a game noisy numbers are charged, and no less delta.
    loud = piece(one(NoisyBit(scale=1.0, shift=9.0), 1e-8), 20)
    assert loud.gaussian_cost(1.99e-7).mu2 == math.inf
    assert mu2(loud, 2.01e-7) == loud.noisy_numbers_mu2


def test_thresholds_and_answers_have_deltas_of_their_own():
    law = (*one(BIT, 1e-8), Step("vote", BIT, after="test", delta=1e-7))
    thresholds, answers = piece(threshold_steps(law), 10), piece(answer_steps(law), 10)
    assert thresholds.gaussian_cost(0.99e-7).mu2 == math.inf
    assert thresholds.gaussian_cost(1.1e-7).mu2 < math.inf
    assert answers.gaussian_cost(0.99e-6).mu2 == math.inf
    assert answers.gaussian_cost(1.1e-6).mu2 < math.inf
    whole = price_law(law, 2)
    votes_only = price_law((*one(BIT, 0.0), Step("vote", BIT, after="test")), 2)
    for epsilon in (0.3, 4.0):
        # Both votes may fail too, if their thresholds are passed.
        assert whole.delta(epsilon) > votes_only.delta(epsilon)
    assert whole.delta(4.0) == pytest.approx(2 * (1e-8 + 1e-7), rel=0.01)


@pytest.mark.parametrize("law", [one(delta=1e-9), one(BIT, 1e-9)])
def test_long_plans_are_no_cheaper_than_their_game(law, monkeypatch):
    most = 100
    monkeypatch.setattr(_split_plan, "MOST_MOVES", most)
    rows = GroupPlan(law, np.ones(most + 9, dtype=bool))
    long, whole = price_in_mu2(rows, FINE), rows.price()
    assert isinstance(long, LongPlan)
    assert long.gaussian_cost(1e-9 * most).mu2 == math.inf
    for delta in (1.3e-7, 2e-7, 1e-5):
        assert mu2(whole, delta) <= mu2(long, delta) <= 1.05 * mu2(whole, delta)
        assert long.refund() <= mu2(long, delta)
    assert long.refund() <= whole.refund() * 1.001


def test_a_row_before_a_long_plan_is_never_paid_for():
    # Beside a large delta it costs less than comes back: its mu^2 is none, not less than none.
    pair = PlanPrice((price_law(one(BIT, 0.0), 30)._value_functions[0],))
    assert LongPlan(pair, 9.0, pair, 1).row_mu2(1e-3) == 0


@pytest.mark.parametrize("move", [TEST, BIT])
@pytest.mark.parametrize("extra", [1.0, 1.05])
def test_the_refund_of_a_stop_never_beats_drawing_on(move, extra):
    law, n_rows, n_left, delta = one(move, 1e-8), 20, 12, 1e-5
    paid, back = mu2(piece(law, n_rows), delta), float(piece(law, n_left).refund().mu2)
    rest = price_law(law, n_left)._value_functions[0]
    loss = rest.grid.step * (rest.first + np.arange(len(rest.values)))
    pair = ValueFunction(rest.grid, gaussian_delta(math.sqrt(back * extra), -loss), rest.first)
    assert (pair.values <= rest.values * (1 + 1e-8)).all() == (extra == 1)
    stopped = price_law(law, n_rows, start=(n_left, pair))
    if extra == 1:
        assert mu2(stopped, delta) <= paid
        assert back <= paid


@pytest.mark.parametrize(("order", "options"), KINDS)
def test_rows_are_reserved_and_drawn(order, options):
    accountant = PrivacyAccountant(2.0, 1e-5, order=order, **options)
    accountant.settle(accountant.reserve(top_k(), 3, n_columns=5))
    assert accountant.spent().amount <= 1e-15
    assert float(accountant.spent().cost.delta) <= 1e-20
    reservation = accountant.reserve(top_k(), 10, n_columns=5)
    paid = accountant.spent()
    assert float(paid.cost.delta) >= 10 * 1e-7 * (1 - 1e-9)
    for more in (top_k(1.1e-7), top_k(rho=0.0101), top_k(k=2), top_k(choice_share=0.4)):
        with pytest.raises(ValueError, match=r"tells more|was not paid for"):
            accountant.release(more, votes(1), reservation=reservation)
    assert len(accountant.release(top_k(), votes(4), reservation=reservation)) == 4
    assert len(accountant.release(top_k(9e-8, 0.009), votes(2), reservation=reservation)) == 2
    accountant.settle(reservation)
    after = accountant.spent()
    assert 0 <= after.amount <= paid.amount
    assert float(after.cost.delta) >= 6 * 1e-7 * (1 - 1e-9)
    if order != "renyi":
        assert float(after.cost.delta) == float(paid.cost.delta)
    replay(accountant._ledger)


def test_a_test_that_may_fail_is_no_bit():

    assert StableTest(scale=1.0, shift=0.2).dominated_by(TEST)
    assert not BIT.dominated_by(TEST)
    assert not TEST.dominated_by(BIT)
    assert not BoundedRange(width=0.11).dominated_by(BoundedRange(width=0.1))
    assert not FewDraws(width=0.1, most=4).dominated_by(FewDraws(width=0.1, most=3))


@pytest.mark.parametrize(("order", "options"), KINDS)
def test_noise_for_rows_with_deltas(order, options):
    budget = {"epsilon": 2.0, "delta": 1e-5, "order": order, **options}
    # Of the rows' deltas there is room for so much, and not for more.
    room = {"renyi": 4e-6, "gaussian": 2e-6}[order] / 4
    mechanism = calibrated(
        lambda noise: top_k(0.9 * room, 1 / noise**2), **budget, n_rows=4, n_columns=5
    )
    assert len(PrivacyAccountant(**budget).release(mechanism, votes(9))) == 4
    with pytest.raises(ValueError, match=r"delta of their own.*smaller delta_t"):
        calibrated(lambda noise: top_k(1.01 * room, 1 / noise**2), **budget, n_rows=4)


@pytest.mark.parametrize(("order", "options"), KINDS)
def test_advice_where_deltas_do_not_fit(order, options):
    accountant = PrivacyAccountant(2.0, 1e-5, order=order, **options)
    with pytest.raises(BudgetExceededError, match=r"smaller delta_t.*approximation_delta"):
        accountant.release(top_k(1.1e-5, 1e-6), votes(2))
    with pytest.raises(BudgetExceededError, match=r"smaller delta_t.*approximation_delta"):
        accountant.reserve(top_k(2e-6, 1e-6), 6, n_columns=5)
    with pytest.raises(ValueError, match=r"delta of their own, 1.2e-05 for 6, and .*delta_t"):
        accountant.calibrate(lambda noise: top_k(2e-6, 1 / noise**2), 6, n_columns=5)
    assert not accountant.entries()


def test_levels_have_room_of_their_own():
    levels, weights = {"strict": 0.5, "lax": 2.0}, {"strict": 0.5, "lax": 1.0}
    options = {"approximation_delta": 4e-6}
    accountant = PrivacyAccountant(levels, 1e-5, **options)
    mechanism = accountant.calibrate(
        lambda noise: top_k(1e-7, 1 / noise**2, weight=weights), 10, n_columns=5
    )
    assert len(accountant.release(mechanism, votes(10))) == 10
    spent = {name: float(each.delta) for name, each in accountant.entries()[0].charges.items()}
    assert set(spent) == set(levels)
    assert min(spent.values()) >= 10 * 1e-7 * (1 - 1e-9)
    with pytest.raises(ValueError, match="delta of their own"):
        PrivacyAccountant(levels, 1e-5, **options).calibrate(
            lambda noise: top_k(1e-6, 1 / noise**2, weight=weights), 10
        )
