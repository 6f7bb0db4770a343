"""Clipped ballots on hundreds of labels are priced at once, by the noisy sums behind them."""

from __future__ import annotations

import math

import pytest

from secretballot.accounting import PrivacyAccountant, price_plan
from secretballot.costs import _price
from secretballot.costs._bit_move import BitMove
from secretballot.mechanisms import TauVoting


@pytest.mark.parametrize("n_labels", [300, 983])
def test_rows_of_many_labels_are_reserved_without_a_game(n_labels, monkeypatch):
    def played(*_, **__):
        raise AssertionError("a game was played")

    monkeypatch.setattr(_price, "worst_game", played)
    accountant = PrivacyAccountant(5.0, 1e-5)
    mechanism = TauVoting(sigma=60.0, n_votes=100, tau=1.8)
    reservation = accountant.reserve(mechanism, 100, n_columns=n_labels)
    # The noise on both counts of a label, and two ballots of length tau: 2 tau^2 * 2 / sigma^2.
    assert accountant.spent().cost.mu2 == pytest.approx(100 * 4 * 1.8**2 / 60**2, rel=1e-6)
    accountant.settle(reservation)
    assert accountant.spent().cost.mu2 == 0


def test_the_noisy_sums_cost_no_more_than_half_as_much_again():
    mechanism = TauVoting(sigma=60.0, n_votes=100, tau=1.0)
    game = price_plan(mechanism, 5, n_columns=4).gaussian_cost(1e-6).mu2
    sums = 5 * 4 / 60**2
    assert game <= sums <= math.pi / 2 * game


@pytest.mark.parametrize("n_labels", [20, 60])
def test_many_labels_play_few_bits_one_by_one(n_labels, monkeypatch):
    n_played = []
    best = BitMove.best
    monkeypatch.setattr(BitMove, "best", lambda *move: n_played.append(1) or best(*move))
    mechanism = TauVoting(sigma=60.0, n_votes=100, tau=1.4)
    game = price_plan(mechanism, 1, n_columns=n_labels).gaussian_cost(1e-6).mu2
    assert game < 4 * 1.4**2 / 60**2
    # Of two ballots: a vote on one label, one on two, and 100 bits of all other sizes.
    assert len(n_played) <= 2 * (1 + 2 + 100)
