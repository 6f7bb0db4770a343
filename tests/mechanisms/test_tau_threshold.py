"""Clipped ballots behind thresholds: every replaced ballot, and rows of fewer labels."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from tests.mechanisms._outcomes import BUDGETS, UNDERCHARGED, all_sets, check_charges

from secretballot.accounting import ORDERS, PrivacyAccountant, price_plan
from secretballot.costs import ClippedBits, NoisyBit
from secretballot.mechanisms import TauVoting, clip_ballots
from secretballot.testing._outcome_laws import outcome_law

CLIPPED = {"sigma": 1.1, "n_votes": 2, "threshold": 1.3, "sigma_threshold": 0.9}


@dataclass(frozen=True, kw_only=True)
class HalfNoisyThresholds(TauVoting):
    """Planted: thresholds are drawn with half of the noise that is charged for."""

    def outcome_law(self, counts):
        noise = {**CLIPPED, "sigma_threshold": self.sigma_threshold / 2}
        return outcome_law(TauVoting(tau=self.tau, norm=self.norm, **noise), counts)


def moved_ballots(n_labels, n_votes, tau, norm, ballots=1):
    """Sums of clipped ballots, and what they are after so many of them were replaced."""
    some = clip_ballots(all_sets(n_labels), tau, norm)
    pairs = set()
    for cast in itertools.product(range(len(some)), repeat=n_votes + ballots):
        old, new = cast[:n_votes], cast[ballots:]
        sums = (tuple(some[list(each)].sum(axis=0).round(12)) for each in (old, new))
        pairs.add(tuple(sorted(sums)))  # both directions are looked at
    neighbouring_sums = np.array(sorted(pairs))
    return neighbouring_sums[:, 0], neighbouring_sums[:, 1]


@pytest.mark.parametrize(
    ("norm", "tau", "n_labels", "ballots"),
    [("l2", 1.2, 3, 1), ("l2", 0.8, 3, 1), ("l1", 1.5, 3, 1), ("l2", 1.0, 2, 2)],
)
def test_labels_of_clipped_ballots_behind_thresholds(norm, tau, n_labels, ballots):
    pairs = [votes[::20] for votes in moved_ballots(n_labels, 2, tau, norm, ballots)]
    kind = {"tau": tau, "norm": norm, "ballots": ballots, **CLIPPED}
    check_charges(TauVoting(**kind), *pairs)
    if ballots > 1:  # of two ballots, with which thresholds can't move so far
        return
    planted = HalfNoisyThresholds(**kind)
    with pytest.raises(AssertionError, match=UNDERCHARGED):
        check_charges(planted, *pairs)


@pytest.mark.parametrize(("norm", "tau"), [("l2", 0.8), ("l2", 1.6), ("l1", 1.5), ("l1", 3.0)])
def test_labels_above_the_threshold_cost_a_row_of_as_many_labels(norm, tau):
    orders = tuple(float(order) for order in ORDERS[:-1:12])
    some = clip_ballots(all_sets(6), tau, norm)
    moved = np.abs(some[:, None] - some).reshape(-1, 6).round(12)
    whole = ClippedBits(sigma=1.1, tau=tau, norm=norm, n_labels=6)
    sizes, which = np.unique(moved, return_inverse=True)
    each = np.array(
        [
            NoisyBit(scale=1.0, shift=float(np.sqrt(2) * size / 1.1)).worst_case(orders)
            for size in sizes
        ]
    )
    curves = each[which.reshape(moved.shape)]
    charged = [whole.restrict_labels(n).worst_case(orders) for n in range(7)]
    for n in range(7):
        # Of all ballots on six labels what some of these labels tell.
        truth = curves[:, :n].sum(axis=1).max(axis=0)
        assert (truth <= charged[n] * (1 + 1e-9)).all()
        assert (charged[n] <= 1.05 * truth).all()
        assert (charged[n] <= whole.worst_case(orders) * (1 + 1e-12)).all()
    assert (charged[1] < 0.9 * charged[6]).all()


def test_costs_of_clipped_labels_behind_thresholds():
    kind = {"sigma": 4.0, "n_votes": 50, "tau": 1.6}
    mechanism = TauVoting(**kind, threshold=40, sigma_threshold=8.0)
    plain, bits = TauVoting(**kind), TauVoting(**{**kind, "sigma": 8.0 * np.sqrt(2)})
    outcome = np.array([[-1, -1, -1, -1], [0, -1, 1, -1], [0, 1, 0, 0]])
    cost = mechanism.cost(outcome, n_columns=4)["*"].at(10.0)
    thresholds = bits.max_cost(4)["*"].at(10.0)
    passed = [0.0, *(plain.max_cost(n)["*"].at(10.0) for n in (2, 4))]
    np.testing.assert_allclose(cost, thresholds + np.array(passed), rtol=1e-12)
    assert mechanism.max_cost(4)["*"].at(10.0) == pytest.approx(cost[-1])
    # On known votes too, labels that did not pass cost nothing.
    votes = np.tile([[10.0, 30.0, 25.0, 3.0]], (3, 1))
    known_cost = mechanism.cost(outcome, votes)["*"].at(10.0)
    of_two = plain.cost([[0, 1]], votes[:1, [0, 2]])["*"].at(10.0)[0]
    assert (
        known_cost[0] + 0.999 * of_two
        <= known_cost[1]
        <= known_cost[0] + plain.cost(outcome[:1], votes[:1])["*"].at(10.0)[0]
    )
    assert (
        known_cost[0]
        < known_cost[1]
        < known_cost[2]
        <= mechanism.max_cost(4, votes)["*"].at(10.0)[2]
    )
    assert known_cost[0] < 0.9 * cost[0]
    # A plan pays for thresholds and all votes.
    price, alone = (price_plan(each, 2, n_columns=4).delta(1.0) for each in (mechanism, plain))
    assert price > alone
    twice = mechanism.scaled(2)
    assert (twice.sigma, twice.n_votes, twice.threshold, twice.sigma_threshold) == (8, 100, 80, 16)
    with pytest.raises(ValueError, match="threshold=None and sigma_threshold=3 belong together"):
        TauVoting(**kind, sigma_threshold=3)
    with pytest.raises(ValueError, match="sigma_threshold=-3 must be"):
        TauVoting(**kind, threshold=9, sigma_threshold=-3)
    fine = TauVoting(**kind, threshold=9, sigma_threshold=1e-12)
    with pytest.raises(ValueError, match="too coarse for noise of sigma=1e-12"):
        fine.check_counts(votes)


@pytest.mark.parametrize("order", BUDGETS)
def test_budgets_pay_for_clipped_labels_behind_thresholds(order):
    prepaid, accountant = (PrivacyAccountant(8.0, 1e-5, order=order) for _ in range(2))
    mechanism = accountant.calibrate(
        lambda noise: TauVoting(
            sigma=noise, n_votes=50, tau=1.2, threshold=40, sigma_threshold=noise
        ),
        4,
        n_columns=3,
    )
    votes = np.tile([[25.0, 1, 25]], (8, 1))
    outcome = accountant.release(mechanism, votes)
    assert 0.6 < accountant.spent().share <= 1
    # Votes that were not begun are paid for in plans alone.
    assert len(outcome) > 4 if order == "renyi" else len(outcome) == 4
    reservation = prepaid.reserve(mechanism, 4, n_columns=3)
    assert prepaid.release(mechanism, votes[:1], reservation=reservation).shape == (1, 3)
    whole = prepaid.spent().share
    prepaid.settle(reservation)
    assert prepaid.spent().share <= whole <= 1
