"""Plans too long to be played: calibrated, reserved, drawn in parts, and given back."""

import numpy as np
import pytest

from secretballot.accounting import PrivacyAccountant
from secretballot.accounting._report import replay
from secretballot.costs import _split_plan
from secretballot.costs._grid import FINE
from secretballot.costs._split_plan import SplitPlan
from secretballot.mechanisms import BinaryVoting, ConfidentGNMax

N_LABELS, N_ROWS = 12, 20


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(_split_plan, "MOST_MOVES", 100)


def votes(n_rows):
    return np.full((n_rows, N_LABELS), 20.0)


def piece(mechanism, n_rows):
    (plan,) = SplitPlan(mechanism, n_rows, N_LABELS).pieces("rows", 0, n_rows, FINE).values()
    return plan


def test_calibrated_noise_is_enough_for_all_rows_and_not_for_more():
    accountant = PrivacyAccountant(epsilon=2.0, delta=1e-5)
    voting = accountant.calibrate(
        lambda sigma: BinaryVoting(sigma=sigma, n_votes=50), N_ROWS, n_columns=N_LABELS
    )
    assert len(accountant.release(voting, votes(N_ROWS + 3))) == N_ROWS
    assert 0.997 < accountant.spent().share <= 1


def test_rows_are_drawn_over_time_and_the_rest_comes_back_by_the_rule(tmp_path):
    accountant = PrivacyAccountant(epsilon=8.0, delta=1e-5, ledger=tmp_path / "budget.ledger")
    voting = BinaryVoting(sigma=16, n_votes=50)
    reservation = accountant.reserve(voting, N_ROWS, n_columns=N_LABELS)
    paid = accountant.spent()
    # One plan: two of half as many rows would cost more.
    assert paid.amount < 2 * float(piece(voting, N_ROWS // 2).gaussian_cost(1e-8).mu2)
    for n_rows in (2, 1):
        accountant.release(voting, votes(n_rows), reservation=reservation)
    assert accountant.spent().amount == paid.amount
    accountant.settle(reservation)
    settled = accountant.spent()
    back = float(piece(voting, N_ROWS - 3).refund().mu2)
    assert paid.amount - settled.amount == pytest.approx(back, rel=1e-12)
    assert settled.cost.delta == paid.cost.delta > 0
    # What was drawn has cost at least what bits do in the longest plan.
    assert settled.amount > 2 / np.pi * piece(voting, 3).noisy_numbers_mu2
    # Of another one no row is begun, and a third begins where the first ended.
    untouched = accountant.reserve(voting, N_ROWS, n_columns=N_LABELS)
    accountant.settle(untouched)
    assert accountant.spent().amount == pytest.approx(settled.amount, rel=1e-12)
    more = accountant.reserve(voting, N_ROWS, n_columns=N_LABELS)
    accountant.top_up(more, n_rows=N_ROWS)
    accountant.release(voting, votes(N_ROWS + 1), reservation=more)
    accountant.settle(more)
    again = replay(PrivacyAccountant.open(tmp_path / "budget.ledger")._ledger)["everyone"]
    assert again.amount == accountant.spent().amount


@pytest.mark.parametrize("away", [4.0, 8.0, 10.0, 40.0])
def test_many_rows_that_are_never_answered_cost_at_most_their_noisy_numbers(away):
    mechanism = ConfidentGNMax(sigma=40, sigma_threshold=40, threshold=30 + 40 * away, n_votes=30)
    accountant = PrivacyAccountant(epsilon=10.0, delta=1e-5)
    costs = [accountant.price(mechanism, n_rows, n_columns=2) for n_rows in (100, 500)]
    two_moves = ConfidentGNMax(sigma=40, sigma_threshold=40, threshold=30)
    most = accountant.price(two_moves, 500, n_columns=2)
    assert 0 < costs[0] <= costs[1] <= 1.6 * most
    reservation = accountant.reserve(mechanism, 500, n_columns=2)
    accountant.settle(reservation)
    assert accountant.spent().share <= costs[1]
