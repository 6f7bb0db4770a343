"""Parts of different divisions of a level may be the same people: what they pay adds up."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm
from tests._fakes import Grouped, votes

from secretballot.accounting import BudgetExceededError, PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.costs import NoisyBit
from secretballot.costs._groups import split_group
from secretballot.costs._orders import ORDERS
from secretballot.mechanisms import GNMax, RoundRobin, VectorSum

TIED = [[3.0, 3.0]]


def turns(present, of, first_row=0, sigma=40.0, **fields):
    """Turns of a level 'a', whose ballots count 1."""
    inner = GNMax(sigma=sigma, weight={"a": 1.0})
    return RoundRobin(mechanism=inner, turns={"a": (present, of)}, first_row=first_row, **fields)


def true_delta(n_votes, sigma, epsilon):
    """The delta of votes of one teacher that are all tied, exactly."""
    shift, count = math.sqrt(2) / sigma, np.arange(n_votes + 1)
    here = binom.pmf(count, n_votes, norm.cdf(shift / 2))
    return float(np.maximum(here - math.exp(epsilon) * here[::-1], 0).sum())


def test_divisions_of_one_scope_stay_within_the_budget():
    """Somebody who is in the part that votes, whatever the division, has voted every time."""
    epsilon, delta, sigma = 4.0, 1e-3, 1.5
    accountant = PrivacyAccountant({"a": epsilon}, delta, order="renyi")
    scope, n_votes = accountant.scope(), 0
    try:
        for of in range(41, 81):
            # Division number k votes with its part number k: no name comes twice.
            accountant.release(turns(1, of, of - 41, sigma), TIED, scope=scope)
            n_votes += 1
    except BudgetExceededError:
        pass
    assert true_delta(n_votes, sigma, epsilon) <= delta
    assert n_votes > 0
    assert true_delta(40, sigma, epsilon) > 0.9
    replay(accountant._ledger)


def test_a_division_is_more_than_its_number_of_parts():
    """Turns of 2 and then of 8; and of 2 again, of other teachers."""
    accountant = PrivacyAccountant({"a": 1.0}, 1e-5, order="renyi")
    scope, paid = accountant.scope(), []

    def spent(mechanism):
        before = accountant.spent()["a"].amount
        accountant.release(mechanism, 8 * TIED, scope=scope)
        paid.append(accountant.spent()["a"].amount - before)
        return paid[-1]

    row = float(turns(1, 1).max_cost(2)["a"].at(accountant.levels[0].order))
    assert spent(turns(1, 2)) == pytest.approx(4 * row)
    assert spent(turns(1, 8)) == pytest.approx(row)
    assert spent(turns(1, 1)) == pytest.approx(8 * row)
    assert spent(turns(1, 2, division="other teachers")) == pytest.approx(4 * row)
    # Other turns of the same parts: who has voted 4 + 6 times pays.
    assert spent(turns(3, 4)) == pytest.approx(6 * row)
    assert spent(turns(1, 4, first_row=8)) == pytest.approx(2 * row)


@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_a_reservation_is_drawn_by_its_own_division(order):
    accountant = PrivacyAccountant({"a": 1.0}, 1e-5, order=order)
    scope = accountant.scope()
    reservation = accountant.reserve(turns(1, 4), 8, n_columns=2, scope=scope)
    before = accountant._ledger.verify()
    for other in (turns(1, 8), turns(1, 12), turns(1, 16), turns(1, 4, division="another")):
        with pytest.raises(ValueError, match="takes part in rows that .* did not pay for"):
            accountant.release(other, 4 * TIED, reservation=reservation, scope=scope)
    assert accountant._ledger.verify() == before
    accountant.release(turns(1, 4), 4 * TIED, reservation=reservation, scope=scope)
    # All parts paid for all rows: then it doesn't matter who is in which.
    whole = accountant.reserve(turns(4, 4), 8, n_columns=2, scope=scope)
    accountant.release(turns(1, 8), 4 * TIED, reservation=whole, scope=scope)
    accountant.release(turns(1, 1), 4 * TIED, reservation=whole, scope=scope)


@pytest.mark.parametrize("left_out", [{"a": 1.0}, {"b": 1.0}, {"a": 1.0, "z": 1.0}])
@pytest.mark.parametrize("reserved", [{"a": 1.0, "b": 1.0}, {"*": 1.0}])
def test_a_draw_charges_every_level_and_no_other(reserved, left_out):
    accountant = PrivacyAccountant({"a": 1.0, "b": 1.0}, 1e-5)
    paid = accountant.reserve(GNMax(sigma=40, weight=reserved), 5, n_columns=2)
    short = GNMax(sigma=40, weight=left_out)
    with pytest.raises(ValueError, match="charges (nothing to )?the level"):
        accountant.release(short, TIED)
    with pytest.raises(ValueError, match="charges (nothing to )?the level"):
        accountant.release(short, TIED, reservation=paid)
    assert accountant.reserved(paid).rows_left == 5
    accountant.release(GNMax(sigma=40, weight={"a": 1.0, "b": 0.5}), TIED, reservation=paid)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({"a/0": 1e-4}, "charges 'a/0', a part without a division"),
        ({"a/x/0": 1e-4, "a/y/0": 1e-4}, "charges parts of two divisions of 'a'"),
    ],
)
@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_parts_name_their_division(order, rates, message):
    accountant = PrivacyAccountant({"a": 1.0}, 1e-5, order=order)
    with pytest.raises(ValueError, match=message):
        accountant.release(Grouped(rates=rates), votes(1))
    with pytest.raises(ValueError, match=message):
        accountant.reserve(Grouped(rates=rates), 1)
    assert accountant.entries() == []


def test_a_part_has_one_name_in_one_division():
    names = [
        each.part("a", 1)
        for each in (turns(1, 4), turns(2, 4, 7), turns(1, 8), turns(1, 4, division="other"))
    ]
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert all(split_group(name)[0] == "a" and name.endswith("/1") for name in names)
    assert turns(3, 3).part("a", 2) in turns(3, 3).laws()
    assert turns(1, 1).part("a", 0) == "a"


def test_turns_are_for_people_with_one_ballot():
    """Two ballots in two parts can cost more than both in one, which is what a part would pay."""
    order = np.searchsorted(ORDERS, 1.18)
    bits = (NoisyBit(scale=1.0, shift=shift) for shift in (4.0, 8.0))
    once, twice = (float(bit.exact(np.array([-4.0]))[0, order]) for bit in bits)
    assert 2 * once > 1.2 * twice
    for ballots in (2, {"a": 2, "b": 1}):
        inner = GNMax(sigma=40, weight={"a": 1.0, "b": 1.0}, ballots=ballots)
        with pytest.raises(ValueError, match=r"level 'a' for ballots=2, .*turns=\(1, 2\)"):
            RoundRobin(mechanism=inner, turns={"a": (1, 2), "b": (1, 1)})
    RoundRobin(mechanism=inner, turns={"a": (1, 1), "b": (1, 2)})
    RoundRobin(mechanism=inner, turns={"a": (2, 2), "b": (1, 2)})


def test_a_part_that_takes_every_turn_pays_no_more_than_the_budget():
    # Each time the first part of two is asked, so that its own charges add up.
    accountant = PrivacyAccountant({"a": 1.0}, 1e-5)
    scope, sums = accountant.scope(), VectorSum(sigma=40.0, weight={"a": 1.0})
    turn = RoundRobin(mechanism=sums, turns={"a": (1, 2)})
    mu2 = sums.laws(2)["a"][0].move.ratio ** 2
    for _ in range(int(accountant.levels[0].amount / mu2)):
        assert len(accountant.release(turn, np.zeros((1, 2)), scope=scope)) == 1
    with pytest.raises(BudgetExceededError):
        accountant.release(turn, np.zeros((1, 2)), scope=scope)
    # The other part has paid nothing, and may take as many turns.
    other = RoundRobin(mechanism=sums, turns={"a": (1, 2)}, first_row=1)
    assert len(accountant.release(other, np.zeros((1, 2)), scope=scope)) == 1
