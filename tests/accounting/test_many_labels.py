"""Clipped ballots on hundreds of labels are priced at once, by the noisy sums behind them."""

from __future__ import annotations

import math

import pytest

from secretballot.accounting import PrivacyAccountant, price_plan
from secretballot.costs import _price
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
