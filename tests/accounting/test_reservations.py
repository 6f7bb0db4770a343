"""Rows that are paid for before they are drawn: never more of them, and given back by the rule."""

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from tests._fakes import Gaussian, Grouped, Pure, votes
from tests.accounting._reserved_rows import CONFIDENT, SHARP, VOTE, budget, failing, passing, tied

from secretballot.accounting import BudgetExceededError, PrivacyAccountant, price_plan
from secretballot.accounting._report import replay
from secretballot.costs._split_plan import SplitPlan
from secretballot.mechanisms import ConfidentGNMax, GaussianProportions, GNMax, RoundRobin

KINDS = ["renyi", "gaussian"]


@pytest.mark.parametrize("order", KINDS)
def test_rows_are_paid_once_and_drawn_over_time(order, tmp_path):
    path = tmp_path / "budget.ledger"
    accountant = budget(order, ledger=path)
    reservation = accountant.reserve(VOTE, 40, n_columns=2, note={"for": "a test"})
    paid = accountant.spent()
    assert (paid.n_releases, paid.n_rows) == (0, 0)
    assert paid.share > 0.4
    # Copies, clones, pickles and other handles draw on the same rows.
    handles = [
        (accountant, reservation),
        (PrivacyAccountant.open(path), pickle.loads(pickle.dumps(reservation))),
        (clone(accountant), clone(reservation)),
        (copy.deepcopy(accountant), copy.deepcopy(reservation)),
    ]
    for number, (handle, drawn) in enumerate(handles):
        scope = handle.scope(0.001) if number % 2 else None  # nothing is charged to it
        assert len(handle.release(VOTE, tied(10), reservation=drawn, scope=scope)) == 10
        assert accountant.reserved(reservation).rows_left == 30 - 10 * number
    assert accountant.spent().amount == paid.amount
    assert accountant.spent().n_rows == 40
    with pytest.raises(BudgetExceededError, match="The reservation has no rows left"):
        accountant.release(VOTE, tied(1), reservation=reservation)
    assert [entry.n_rows for entry in accountant.entries()] == [0, 10, 10, 10, 10]
    again = replay(PrivacyAccountant.open(path)._ledger)["everyone"]
    assert again.amount == paid.amount
    text = " ".join(str(accountant.statement()).split())
    assert "In one reservation rows were paid for before they were drawn. " in text
    assert "was moved or restored" not in text


def test_fifty_batches_cost_as_much_as_one():
    # At log 2 a plan of 44 rows fits, and of single rows 29 do at the most.
    accountant = budget(epsilon=math.log(2))
    reservation = accountant.reserve(VOTE, 44, n_columns=2)
    for _ in range(44):
        accountant.release(VOTE, tied(1), reservation=reservation)
    with pytest.raises(BudgetExceededError, match="Take fewer rows, or use more noise"):
        budget(epsilon=math.log(2)).reserve(VOTE, 45, n_columns=2)


@pytest.mark.parametrize("order", KINDS)
@pytest.mark.parametrize(
    ("epsilon", "others", "place"),
    [
        (0.3, False, r"of epsilon=0\.3 for this part.*another fit with a larger epsilon"),
        (0.3, True, r"of epsilon=0\.3 for this part.*another fit with a larger epsilon"),
        (None, False, "of the budget.*this budget is used up"),
        (0.9, True, "of the budget.*this budget is used up"),
    ],
)
def test_a_refused_top_up_names_what_is_used_up(order, epsilon, others, place):
    """The epsilon of the fit, or the budget, which other releases used up."""
    accountant = budget(order)
    scope = accountant.scope(epsilon)
    if others:
        part = accountant.calibrate(GNMax, 100, n_columns=2, share=0.6)
        accountant.release(part, tied(100))
    n_rows = 20 if epsilon == 0.9 else 100
    mechanism = accountant.calibrate(GNMax, 100, scope=scope, n_columns=2)
    reservation = accountant.reserve(mechanism, n_rows, n_columns=2, scope=scope)
    if epsilon == 0.9:
        accountant.release(accountant.calibrate(GNMax, 100, n_columns=2), tied(100))
    with pytest.raises(BudgetExceededError, match=place):
        accountant.top_up(reservation, n_rows=10)
    lasts = "the budget lasts" if epsilon is None else f"epsilon={epsilon} of its fit lasts"
    with pytest.raises(ValueError, match=f"top_up.*{lasts}"):
        accountant.release(mechanism, tied(n_rows + 1), reservation=reservation)


@pytest.mark.parametrize("order", KINDS)
def test_refunds_of_undrawn_rows(order):
    accountant = budget(order)
    reservation = accountant.reserve(VOTE, 40, n_columns=2)
    paid = accountant.spent()
    accountant.release(VOTE, tied(18), reservation=reservation)
    accountant.settle(reservation)
    back = paid.amount - accountant.spent().amount
    if order == "renyi":
        assert back == pytest.approx(22 / 40 * paid.amount)
    else:
        rest = price_plan(VOTE, 22, n_columns=2)
        assert back == pytest.approx(rest.refund())
        assert accountant.spent().cost.delta == paid.cost.delta
    for again in (
        lambda: accountant.settle(reservation),
        lambda: accountant.release(VOTE, tied(1), reservation=reservation),
        lambda: accountant.top_up(reservation, n_rows=1),
    ):
        with pytest.raises(ValueError, match="the reservation was settled"):
            again()
    assert accountant.reserved(reservation).is_settled
    replay(accountant._ledger)


@pytest.mark.parametrize("order", KINDS)
def test_an_undrawn_reservation_is_refunded_in_full(order):
    accountant = budget(order)
    reservation = accountant.reserve(VOTE, 40, n_columns=2)
    assert accountant.spent().share > 0.4
    accountant.settle(reservation)
    assert accountant.spent().amount <= 1e-15
    assert float(accountant.spent().cost.delta) <= 1e-20
    replay(accountant._ledger)


@pytest.mark.parametrize("order", ["renyi", "gaussian"])
def test_thresholds_and_answers_are_drawn_together(order):
    accountant = budget(order)
    reservation = accountant.reserve(SHARP, 12, n_columns=2, n_answers=3)
    votes = np.concatenate([failing(2), passing(2), failing(1), passing(4), failing(3)])
    assert accountant.release(SHARP, votes, reservation=reservation).tolist() == (
        [-1, -1, 0, 0, -1, 0]
    )
    state = accountant.reserved(reservation)
    assert (state.rows_left, state.answers_left) == (6, 0)
    with pytest.raises(BudgetExceededError, match="no answers left.*top_up"):
        accountant.release(SHARP, failing(1), reservation=reservation)
    before = accountant.spent().amount
    accountant.top_up(reservation, n_answers=4)
    assert accountant.spent().amount > before
    assert len(accountant.release(SHARP, failing(3), reservation=reservation)) == 3
    assert len(accountant.release(SHARP, passing(1), reservation=reservation)) == 1
    state = accountant.reserved(reservation)
    assert (state.rows_left, state.answers_left) == (2, 3)
    paid = accountant.spent().amount
    accountant.settle(reservation)
    back = paid - accountant.spent().amount
    assert 0 < back < paid
    if order == "renyi":
        # Two bits and three votes; the votes of rows that failed were never paid.
        (level,) = accountant.levels
        bit = SHARP.max_cost(2)["*"].at(level.order) - GNMax(sigma=60).max_cost(2)["*"].at(
            level.order
        )
        vote = GNMax(sigma=60).max_cost(2)["*"].at(level.order)
        assert back == pytest.approx(2 * bit + 3 * vote)
        assert accountant.spent().amount == pytest.approx(10 * bit + 4 * vote)
    replay(accountant._ledger)


def spent_pair(accountant, level=None):
    report = accountant.spent()
    cost = (report if level is None else report[level]).cost
    return float(cost.mu2), float(cost.delta)


@pytest.mark.parametrize("epsilon", [30.0, {"low": 20.0, "high": 40.0}], ids=["one", "levels"])
@pytest.mark.parametrize("cap", [None, 15.0])
@pytest.mark.parametrize("noise", [(60, 20), (20, 60)], ids=["dear rows", "dear answers"])
@pytest.mark.parametrize("more", [0, 20])
def test_settled_thresholds_are_paid_for(epsilon, cap, noise, more):
    """Rows that all failed keep at least their price, at the part of the delta that stays."""
    sigma, sigma_threshold = noise
    mechanism = ConfidentGNMax(sigma=sigma, sigma_threshold=sigma_threshold, threshold=2000)
    accountant = budget(epsilon=epsilon)
    scope = accountant.scope(cap)
    reservation = accountant.reserve(mechanism, 40, n_columns=2, n_answers=20, scope=scope)
    if more:
        accountant.top_up(reservation, n_rows=more, n_answers=4)
    for _ in range(2):
        accountant.release(mechanism, failing(20 + more // 2), reservation=reservation)
    assert accountant.reserved(reservation).answers_left == 20 + 4 * (more > 0)
    accountant.settle(reservation)
    for level in epsilon if isinstance(epsilon, dict) else [None]:
        mu2, delta = spent_pair(accountant, level)
        least = 0.0
        for start, stop in ((0, 40), (40, 40 + more)):
            plan = SplitPlan(mechanism, stop, 2).pieces("thresholds", start, stop)["*"]
            least += float(plan.gaussian_cost(delta).mu2)
        assert least <= mu2 * (1 + 1e-9)
        assert mu2 < 1.2 * least or more
        assert delta > 0
    replay(accountant._ledger)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_the_refund_of_a_turn_is_of_those_whose_turn_it_was(order):
    mechanism = RoundRobin(mechanism=GNMax(sigma=40), turns={"everyone": (1, 3)})
    accountant = budget(order, epsilon=4.0)
    reservation = accountant.reserve(mechanism, 4, n_columns=2)
    accountant.top_up(reservation, n_rows=2)  # of the second part, and of the third
    accountant.release(mechanism, tied(5), reservation=reservation, scope=reservation.scope)
    accountant.settle(reservation)
    (level,) = accountant.levels
    refund = accountant.entries()[-1].charges
    names = [group for group, cost in refund.items() if float(cost.at(level.order)) > 0]
    assert names == [mechanism.part("everyone", 2)]


def test_more_rows_are_a_plan_of_their_own():
    accountant = budget()
    reservation = accountant.reserve(VOTE, 20, n_columns=2)
    first = accountant.spent()
    accountant.top_up(reservation, n_rows=10)
    second = accountant.spent()
    whole = budget()
    whole.reserve(VOTE, 30, n_columns=2)
    assert second.amount > whole.spent().amount * 1.01
    accountant.release(VOTE, tied(15), reservation=reservation)
    # Of the first plan five rows are left, and of the second, untouched, everything.
    accountant.settle(reservation)
    five = price_plan(VOTE, 5, n_columns=2).refund()
    assert accountant.spent().amount == pytest.approx(first.amount - five)
    assert accountant.spent().cost.delta == pytest.approx(float(first.cost.delta))
    replay(accountant._ledger)


@pytest.mark.parametrize("order", ["renyi", "gaussian"])
def test_mechanisms_without_a_game(order):
    accountant = budget(order, epsilon=3.0)
    reservation = accountant.reserve(Gaussian(sigma=30.0), 10)
    assert len(accountant.release(Gaussian(sigma=30.0), tied(4), reservation=reservation)) == 4
    with pytest.raises(ValueError, match="not the same mechanism"):
        accountant.release(Gaussian(sigma=31.0), tied(4), reservation=reservation)
    paid = accountant.spent().amount
    accountant.settle(reservation)
    left = 0.4 if order == "renyi" else 1.0
    assert accountant.spent().amount == pytest.approx(left * paid)
    with pytest.raises(ValueError, match="all its rows at once"):
        budget(unit="label").reserve(GaussianProportions(sigma=10), 5)


def test_levels_pay_alike_or_not_at_all():
    accountant = budget(epsilon={"a": 0.2, "b": 3.0})
    mechanism = GNMax(sigma=40, weight={"a": 1.0, "b": 2.0})
    with pytest.raises(BudgetExceededError, match="left to 'a'"):
        accountant.reserve(mechanism, 40, n_columns=2)
    assert not accountant.entries()
    reservation = accountant.reserve(GNMax(sigma=120), 20, n_columns=2)
    assert set(accountant.entries()[0].charges) == {"a", "b"}
    with pytest.raises(ValueError, match=r"tells more"):
        accountant.release(mechanism, tied(2), reservation=reservation)
    with pytest.raises(ValueError, match="charges to the level|level 'c'|'c'"):
        accountant.release(Grouped(rates={"c": 1e-9}), tied(2), reservation=reservation)


def test_an_epsilon_of_one_s_own_pays():
    accountant = budget(epsilon=3.0)
    scope = accountant.scope(0.2)
    with pytest.raises(BudgetExceededError):
        accountant.reserve(VOTE, 44, n_columns=2, scope=scope)
    reservation = accountant.reserve(GNMax(sigma=150), 44, n_columns=2, scope=scope)
    accountant.settle(reservation)
    reservation = accountant.reserve(GNMax(sigma=150), 44, n_columns=2, scope=scope)
    replay(accountant._ledger)


def test_after_a_crash():
    accountant = budget()
    first = accountant.reserve(VOTE, 20, n_columns=2)
    accountant.release(VOTE, tied(3), reservation=first)
    resumed = accountant.resume(first.id, GNMax(sigma=40))
    assert resumed == first
    with pytest.raises(ValueError, match="is not what was reserved"):
        accountant.resume(first.id, GNMax(sigma=41))
    with pytest.raises(ValueError, match="no reservation of this ledger"):
        accountant.resume("deadbeef", VOTE)
    accountant.settle(resumed)
    assert accountant.reserved(first).is_settled


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be an integer of at least 1"),
        ({"n_rows": 5, "n_answers": 2}, "n_answers=2 needs a mechanism with a threshold"),
        ({"n_rows": 5, "n_answers": 6, "mechanism": CONFIDENT}, "n_answers=6 must be"),
        ({"n_rows": 5, "note": {"columns_reserved": 1}}, "which the accountant says itself"),
    ],
)
def test_bad_reservations(arguments, message):
    accountant = budget()
    with pytest.raises(ValueError, match=message):
        accountant.reserve(**{"mechanism": VOTE, **arguments})
    assert not accountant.entries()


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 2), (2, 3), (1, None)])
def test_never_more_comes_back_than_noisy_counts_cost(n_rows, n_columns):
    """Short plans pay for those, and drawn rows then pay at least what theirs cost."""
    accountant = budget()
    reservation = accountant.reserve(VOTE, n_rows + 1, n_columns=n_columns)
    paid = accountant.spent().amount
    accountant.release(VOTE, tied(1), reservation=reservation)
    accountant.settle(reservation)
    assert paid - accountant.spent().amount <= n_rows * 2 / 40**2 * (1 + 1e-12)


def test_numbers_of_numpy_are_numbers():
    accountant = PrivacyAccountant(10.0, 1e-5, order=math.inf)
    reservation = accountant.reserve(Pure(epsilon=0.1), np.int64(3))
    accountant.top_up(reservation, n_rows=np.int64(2))
    accountant.record(reservation, np.int64(1))
    assert accountant.reserved(reservation).rows_left == 4
    with pytest.raises(ValueError, match="n_answers"):
        accountant.record(reservation, 1, n_answers="")
    for id in ([], "\ud800", 5):
        with pytest.raises(ValueError, match="no reservation"):
            accountant.resume(id, Pure(epsilon=0.1))


@pytest.mark.parametrize("note", [5, "abc", [1]])
def test_a_note_that_is_no_dict_is_refused_before_the_draw(note):
    accountant = PrivacyAccountant(10.0, 1e-5, order=math.inf)
    with pytest.raises(TypeError, match="note="):
        accountant.release(Pure(epsilon=0.1), votes(1), note=note)
    assert not accountant.entries()


@pytest.mark.parametrize("n_columns", [None, 5])
@pytest.mark.parametrize("order", KINDS)
def test_a_mechanism_has_another_law_with_other_columns(order, n_columns):
    # With two classes and a number of votes it is one move, and else two.
    mechanism = ConfidentGNMax(sigma=400.0, sigma_threshold=800.0, threshold=300.0, n_votes=500)
    accountant = budget(order)
    reservation = accountant.reserve(mechanism, 3, n_columns=n_columns)
    before = len(accountant.entries())
    with pytest.raises(ValueError, match="can't be drawn on the reservation"):
        accountant.release(mechanism, [[400, 100]], reservation=reservation)
    assert len(accountant.entries()) == before
