"""Rows that are paid for before they are drawn: never more of them, and given back by the rule."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from tests._fakes import Gaussian, Grouped

from secretballot import GaussianProportions
from secretballot.accounting import (
    BudgetExceededError,
    PrivacyAccountant,
    price_plan,
)
from secretballot.accounting._replay import replay
from secretballot.mechanisms import ConfidentGNMax, GNMax, RoundRobin

KINDS = [None, math.inf, "gaussian"]
VOTE = GNMax(sigma=40)
CONFIDENT = ConfidentGNMax(sigma=40, sigma_threshold=200, threshold=300)


def budget(order="gaussian", epsilon=1.0, **options):
    return PrivacyAccountant(epsilon, 1e-5, order=order, **options)


def tied(n_rows, n_columns=2):
    return np.full((n_rows, n_columns), 120.0)


def passing(n_rows):
    return np.tile([1e6, 0.0], (n_rows, 1))


def failing(n_rows):
    return np.full((n_rows, 2), 1.0) * [1, 0]


#: A threshold that nothing but the votes decides.
SHARP = ConfidentGNMax(sigma=60, sigma_threshold=60, threshold=1000)


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
    assert "In 1 reservations rows were paid for before they were drawn; 0 of them" in text
    assert "was moved or restored" not in text


def test_fifty_batches_cost_what_one_does():
    # At log 2 a plan of 44 rows fits, and of single rows 29 do at the most.
    accountant = budget(epsilon=math.log(2))
    reservation = accountant.reserve(VOTE, 44, n_columns=2)
    for _ in range(44):
        accountant.release(VOTE, tied(1), reservation=reservation)
    with pytest.raises(BudgetExceededError, match="Reserve fewer rows, or use more noise"):
        budget(epsilon=math.log(2)).reserve(VOTE, 45, n_columns=2)


@pytest.mark.parametrize("order", KINDS)
def test_what_was_not_drawn_comes_back_by_the_rule(order):
    accountant = budget(order)
    reservation = accountant.reserve(VOTE, 40, n_columns=2)
    paid = accountant.spent()
    accountant.release(VOTE, tied(18), reservation=reservation)
    accountant.settle(reservation)
    back = paid.amount - accountant.spent().amount
    if order is None:
        assert back == pytest.approx(22 / 40 * paid.amount)
    elif order == "gaussian":
        rest = price_plan(VOTE, 22, n_columns=2)
        assert back == pytest.approx(rest.refund())
        assert accountant.spent().cost.delta == paid.cost.delta
    else:
        assert back == 0
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
def test_a_reservation_of_which_nothing_was_drawn_comes_back_whole(order):
    accountant = budget(order)
    reservation = accountant.reserve(VOTE, 40, n_columns=2)
    assert accountant.spent().share > 0.4
    accountant.settle(reservation)
    assert accountant.spent().amount <= 1e-15
    assert float(accountant.spent().cost.delta) <= 1e-20
    replay(accountant._ledger)


@pytest.mark.parametrize("order", [None, "gaussian"])
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
    if order is None:
        # Two bits and three votes; the votes of rows that failed were never paid.
        (level,) = accountant.levels
        bit = SHARP.max_cost(2)["*"].at(level.order) - GNMax(sigma=60).max_cost(2)["*"].at(
            level.order
        )
        vote = GNMax(sigma=60).max_cost(2)["*"].at(level.order)
        assert back == pytest.approx(2 * bit + 3 * vote)
        assert accountant.spent().amount == pytest.approx(10 * bit + 4 * vote)
    replay(accountant._ledger)


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


def test_parts_pay_for_their_rows_in_one_fit_only():
    turns = {"a": (1, 2), "b": (1, 1)}
    mechanism = RoundRobin(mechanism=GNMax(sigma=40, weight={"a": 1.0, "b": 1.0}), turns=turns)
    accountant = budget(epsilon={"a": 1.0, "b": 1.0})
    scope = accountant.scope()
    reservation = accountant.reserve(mechanism, 20, n_columns=2, scope=scope)
    assert set(accountant.entries()[0].charges) == {"a/0", "a/1", "b"}
    accountant.release(mechanism, tied(5), reservation=reservation, scope=scope)
    # The turns go on where they were: others would vote on rows that they did not pay for.
    with pytest.raises(ValueError, match="'a/0' takes part in rows that 'a/0' did not pay for"):
        accountant.release(mechanism, tied(5), reservation=reservation, scope=scope)
    onwards = RoundRobin(mechanism=mechanism.mechanism, turns=turns, first_row=5)
    with pytest.raises(ValueError, match="in another they are other people"):
        accountant.release(onwards, tied(5), reservation=reservation)
    accountant.release(onwards, tied(5), reservation=reservation, scope=scope)
    everyone = GNMax(sigma=40, weight={"a": 1.0, "b": 1.0})
    with pytest.raises(ValueError, match="takes part in rows"):
        accountant.release(everyone, tied(5), reservation=reservation, scope=scope)
    accountant.settle(reservation)
    half = price_plan(VOTE, 5, n_columns=2).refund()
    paid, back = accountant.entries()[0].charges, accountant.entries()[-1].charges
    assert back["a/0"].mu2 == pytest.approx(half)
    assert accountant.spent()["a"].amount == pytest.approx(float(paid["a/0"].mu2) - half)
    replay(accountant._ledger)


@pytest.mark.parametrize(
    ("mechanism", "n_columns", "message"),
    [
        (GNMax(sigma=39.99), 2, "'vote' of '\\*' tells more"),
        (GNMax(sigma=40, weight=1.01), 2, "tells more"),
        (GNMax(sigma=80, ballots=2), 3, "3 columns, and 2 were paid for"),
        (ConfidentGNMax(sigma=40, sigma_threshold=90, threshold=9), 2, "'threshold' .* not paid"),
        (GNMax(sigma=40, weight={"everyone": 1.5}), 2, "tells more"),
        (Gaussian(sigma=1e6), 2, "it is not the same mechanism"),
    ],
)
def test_a_draw_tells_no_more_than_was_paid_for(mechanism, n_columns, message):
    accountant = budget()
    reservation = accountant.reserve(VOTE, 10, n_columns=2)
    head = accountant._ledger.verify()
    with pytest.raises(ValueError, match=rf"can't be drawn on the reservation of .*{message}"):
        accountant.release(mechanism, tied(3, n_columns), reservation=reservation)
    assert accountant._ledger.verify() == head
    # Less is fine.
    assert len(accountant.release(GNMax(sigma=50), tied(2), reservation=reservation)) == 2
    two = GNMax(sigma=80, weight=0.5, ballots=4)
    assert len(accountant.release(two, tied(2), reservation=reservation)) == 2


def test_several_ballots_of_many_classes_were_not_paid_for_as_one():
    accountant = budget(epsilon=4.0)
    one = accountant.reserve(GNMax(sigma=40, weight=2.0), 4, n_columns=3)
    with pytest.raises(ValueError, match="tells more"):
        accountant.release(GNMax(sigma=40, ballots=2), tied(1, 3), reservation=one)
    two = accountant.reserve(GNMax(sigma=40, ballots=2), 4, n_columns=3)
    assert accountant.release(GNMax(sigma=40, weight=2.0), tied(1, 3), reservation=two).shape == (
        1,
    )


@pytest.mark.parametrize("order", [None, "gaussian"])
def test_mechanisms_without_a_game(order):
    accountant = budget(order, epsilon=3.0)
    reservation = accountant.reserve(Gaussian(sigma=30.0), 10)
    assert len(accountant.release(Gaussian(sigma=30.0), tied(4), reservation=reservation)) == 4
    with pytest.raises(ValueError, match="not the same mechanism"):
        accountant.release(Gaussian(sigma=31.0), tied(4), reservation=reservation)
    paid = accountant.spent().amount
    accountant.settle(reservation)
    left = 0.4 if order is None else 1.0
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


@pytest.mark.parametrize(
    "changed",
    [{"mechanism": GNMax(sigma=1)}, {"n_columns": None}, {"n_columns": 3}, {"scope": None}],
)
def test_what_was_paid_for_is_what_the_ledger_says(changed):
    accountant = budget()
    reservation = accountant.reserve(VOTE, 5, n_columns=2)
    if "scope" in changed:
        changed = {"scope": accountant.scope()}
    forged = dataclasses.replace(reservation, **changed)
    for use in (
        lambda: accountant.release(forged.mechanism, tied(1), reservation=forged),
        lambda: accountant.top_up(forged, n_rows=1),
        lambda: accountant.settle(forged),
    ):
        with pytest.raises(ValueError, match="was changed: the ledger has it for"):
            use()
    assert len(accountant.entries()) == 1


def test_rows_that_another_process_drew_meanwhile_are_other_rows(monkeypatch):
    """Parts that take turns pay for rows by their number, which is certain in the ledger only."""
    mechanism = RoundRobin(mechanism=GNMax(sigma=40, weight={"a": 1.0}), turns={"a": (1, 2)})
    accountant = budget(epsilon={"a": 1.0})
    scope = accountant.scope()
    reservation = accountant.reserve(mechanism, 20, n_columns=2, scope=scope)
    checked = type(accountant)._check_draw

    def outrun(self, *arguments):
        checked(self, *arguments)
        monkeypatch.undo()
        accountant.release(mechanism, tied(3), reservation=reservation, scope=scope)

    monkeypatch.setattr(type(accountant), "_check_draw", outrun)
    with pytest.raises(ValueError, match="takes part in rows that 'a/0' did not pay for"):
        accountant.release(mechanism, tied(3), reservation=reservation, scope=scope)
    assert accountant.reserved(reservation).rows_left == 17


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 2), (2, 3), (1, None)])
def test_never_more_comes_back_than_noisy_counts_cost(n_rows, n_columns):
    """Short plans pay for those, and drawn rows then pay at least what theirs cost."""
    accountant = budget()
    reservation = accountant.reserve(VOTE, n_rows + 1, n_columns=n_columns)
    paid = accountant.spent().amount
    accountant.release(VOTE, tied(1), reservation=reservation)
    accountant.settle(reservation)
    assert paid - accountant.spent().amount <= n_rows * 2 / 40**2 * (1 + 1e-12)


def test_bad_draws():
    accountant, other = budget(), budget()
    reservation = accountant.reserve(VOTE, 5, n_columns=2)
    with pytest.raises(ValueError, match="counts has 6 rows, and the reservation has 5 left"):
        accountant.release(VOTE, tied(6), reservation=reservation)
    with pytest.raises(ValueError, match="was paid from another ledger"):
        other.release(VOTE, tied(1), reservation=reservation)
    with pytest.raises(TypeError, match="reservation='r' must come from accountant.reserve"):
        accountant.release(VOTE, tied(1), reservation="r")
    for arguments in ({}, {"n_rows": 0}):
        with pytest.raises(ValueError, match="nothing to pay for"):
            accountant.top_up(reservation, **arguments)
    with pytest.raises(ValueError, match="doesn't count answers"):
        accountant.top_up(reservation, n_answers=2)
    assert len(accountant.entries()) == 1
    assert accountant.reserved(reservation).rows_left == 5


def test_known_votes_are_no_part_of_a_reservation():
    """Their price would hold for these votes in this order only: the worst case is paid."""
    with pytest.warns(UserWarning, match="data_dependent"):
        known = budget(accounting="data_dependent")
    worst = budget()
    reservation = known.reserve(VOTE, 10, n_columns=2)
    worst.reserve(VOTE, 10, n_columns=2)
    assert known.spent().amount == worst.spent().amount
    # So other votes, in any order, may be drawn.
    for votes in ([[240.0, 0.0]], [[120.0, 120.0]], [[0.0, 240.0]]):
        known.release(VOTE, votes, reservation=reservation)
    assert known.spent().amount == worst.spent().amount
