"""What may be drawn on rows that are paid for: no more than was paid, and told to nobody else."""

import dataclasses

import numpy as np
import pytest
from tests._fakes import Gaussian, Grouped
from tests.accounting._reserved_rows import VOTE, budget, tied

from secretballot.accounting import price_plan
from secretballot.accounting._report import replay
from secretballot.mechanisms import ConfidentGNMax, GNMax, RoundRobin


def test_parts_pay_for_their_rows_in_one_fit_only():
    turns = {"a": (1, 2), "b": (1, 1)}
    mechanism = RoundRobin(mechanism=GNMax(sigma=40, weight={"a": 1.0, "b": 1.0}), turns=turns)
    accountant = budget(epsilon={"a": 1.0, "b": 1.0})
    scope = accountant.scope()
    reservation = accountant.reserve(mechanism, 20, n_columns=2, scope=scope)
    first, second = (mechanism.part("a", number) for number in (0, 1))
    assert set(accountant.entries()[0].charges) == {first, second, "b"}
    accountant.release(mechanism, tied(5), reservation=reservation, scope=scope)
    # The turns go on where they were: others would vote on rows that they did not pay for.
    with pytest.raises(ValueError, match=f"'{first}' takes part in rows that '{first}' did not"):
        accountant.release(mechanism, tied(5), reservation=reservation, scope=scope)
    onwards = RoundRobin(mechanism=mechanism.mechanism, turns=turns, first_row=5)
    with pytest.raises(ValueError, match="in another fit, where they are other people"):
        accountant.release(onwards, tied(5), reservation=reservation)
    accountant.release(onwards, tied(5), reservation=reservation, scope=scope)
    everyone = GNMax(sigma=40, weight={"a": 1.0, "b": 1.0})
    with pytest.raises(ValueError, match="takes part in rows"):
        accountant.release(everyone, tied(5), reservation=reservation, scope=scope)
    accountant.settle(reservation)
    half = price_plan(VOTE, 5, n_columns=2).refund()
    paid, back = accountant.entries()[0].charges, accountant.entries()[-1].charges
    assert back[first].mu2 == pytest.approx(half)
    assert accountant.spent()["a"].amount == pytest.approx(float(paid[first].mu2) - half)
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
    heavy, two_ballots = GNMax(sigma=40, weight=2.0), GNMax(sigma=40, ballots=2)
    reservation = accountant.reserve(heavy, 1, n_columns=3)
    with pytest.raises(ValueError, match="tells more"):
        accountant.release(two_ballots, tied(1, 3), reservation=reservation)
    reservation = accountant.reserve(two_ballots, 1, n_columns=3)
    assert accountant.release(heavy, tied(1, 3), reservation=reservation).shape == (1,)


def test_nobody_pays_once_for_being_in_two_groups():
    accountant = budget(epsilon={"a": 1.0})
    reservation = accountant.reserve(VOTE, 10, n_columns=2)
    twice = GNMax(sigma=40, weight={"*": 1.0, "a": 1.0})
    with pytest.raises(ValueError, match="as two groups at once"):
        accountant.release(twice, tied(1), reservation=reservation)
    assert accountant.reserved(reservation).rows_left == 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Turns(Grouped):
    """Parts of a level in turns, from the first on in every batch."""

    def participation(self, n_rows):
        return {g: np.arange(n_rows) % 2 == k for k, g in enumerate(sorted(self.rates))}


def test_turns_of_mechanisms_without_a_game_go_on():
    accountant = budget("renyi", epsilon={"a": 1.0})
    turns, scope = Turns(rates={"a/x/0": 1e-4, "a/x/1": 1e-4}), accountant.scope()
    reservation = accountant.reserve(turns, 4, scope=scope)
    accountant.release(turns, tied(1), reservation=reservation, scope=scope)
    with pytest.raises(ValueError, match="'a/x/0' takes part in rows that 'a/x/0' did not pay for"):
        accountant.release(turns, tied(1), reservation=reservation, scope=scope)


@pytest.mark.parametrize(
    "changed",
    [{"mechanism": GNMax(sigma=1)}, {"n_columns": None}, {"n_columns": 3}, {"scope": None}],
)
def test_the_ledger_decides_the_rows_that_were_paid(changed):
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


@pytest.mark.parametrize(("payer", "other"), [("whole", "a"), ("a", "whole"), ("a", "b")])
def test_rows_are_of_the_budget_that_paid_for_them(payer, other):
    whole = budget(epsilon=4.0)
    handles = {"whole": whole, **{name: whole.child(name, epsilon=1.0) for name in "ab"}}
    reservation = handles[payer].reserve(VOTE, 5, n_columns=2)
    before, handle = whole._ledger.verify(), handles[other]
    forged = dataclasses.replace(reservation, ledger=handle._ledger.genesis)
    for rows, message in ((reservation, "from another ledger"), (forged, "is not in the ledger")):
        # A handle that has checked its price looks for it in the transaction alone.
        for checked in ({}, {rows.id: 1}):
            handle._checked_plans.update(checked)
            with pytest.raises(ValueError, match=message):
                handle.release(VOTE, tied(1), reservation=rows)
            handle._checked_plans.clear()
        with pytest.raises(ValueError, match=message):
            handle.record(rows, 1)
        with pytest.raises(ValueError, match=message):
            handle.top_up(rows, n_rows=1)
        with pytest.raises(ValueError, match=message):
            handle.settle(rows)
    assert whole._ledger.verify() == before
    assert len(handles[payer].release(VOTE, tied(1), reservation=reservation)) == 1


def test_rows_that_another_process_drew_meanwhile_are_other_rows(monkeypatch):
    """Parts that take turns pay for rows by their number, which is certain in the ledger only."""
    mechanism = RoundRobin(mechanism=GNMax(sigma=40, weight={"a": 1.0}), turns={"a": (1, 2)})
    accountant = budget(epsilon={"a": 1.0})
    scope = accountant.scope()
    reservation = accountant.reserve(mechanism, 20, n_columns=2, scope=scope)
    check_payment = type(accountant)._payment

    def outrun(self, *arguments):
        payment = check_payment(self, *arguments)
        monkeypatch.undo()
        accountant.release(mechanism, tied(3), reservation=reservation, scope=scope)
        return payment

    monkeypatch.setattr(type(accountant), "_payment", outrun)
    with pytest.raises(ValueError, match="takes part in rows that 'a/[0-9a-f]+/0' did not pay for"):
        accountant.release(mechanism, tied(3), reservation=reservation, scope=scope)
    assert accountant.reserved(reservation).rows_left == 17


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


def test_reservations_are_priced_without_known_votes():
    """Their price would hold for these votes in this order only: the worst case is paid."""
    with pytest.warns(UserWarning, match="data_dependent"):
        data_dependent = budget("renyi", accounting="data_dependent")
    worst = budget("renyi")
    reservation = data_dependent.reserve(VOTE, 10, n_columns=2)
    worst.reserve(VOTE, 10, n_columns=2)
    assert data_dependent.spent().amount == worst.spent().amount
    # So other votes, in any order, may be drawn.
    for votes in ([[240.0, 0.0]], [[120.0, 120.0]], [[0.0, 240.0]]):
        data_dependent.release(VOTE, votes, reservation=reservation)
    assert data_dependent.spent().amount == worst.spent().amount
