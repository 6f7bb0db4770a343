"""A threshold and the vote behind it as one outcome, against high precision and brute force."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from secretballot.accounting import ORDERS
from secretballot.costs import ConfidentMax, NoisyBit
from secretballot.costs._confident_max import _worst, confident_log_probabilities
from secretballot.costs._divergence import renyi_divergence
from secretballot.costs._exact_max import max_log_probabilities

FINITE = ORDERS[:-1]
ADULT = ConfidentMax(sigma=40.0, sigma_threshold=200.0, threshold=300.0, n_votes=250.0, weight=1.0)
SMALL = ConfidentMax(sigma=3.0, sigma_threshold=4.0, threshold=8.0, n_votes=11.0, weight=1.0)
MOVES = [
    SMALL,
    replace(SMALL, ballots=3),
    replace(SMALL, n_votes=12.0, weight=2.0, sigma_threshold=0.7),
    replace(SMALL, sigma=0.8, threshold=7.0),
    replace(SMALL, sigma=30.0, threshold=14.0, n_votes=10.0),
]


def law(move, first):
    """Outcome probabilities with `first` votes of the first class, to 40 digits."""
    second = mp.mpf(move.n_votes) - first
    passes = mp.ncdf((max(first, second) - move.threshold) / mp.mpf(move.sigma_threshold))
    wins = mp.ncdf((first - second) / (mp.sqrt(2) * move.sigma))
    fails = mp.ncdf((move.threshold - max(first, second)) / mp.mpf(move.sigma_threshold))
    loses = mp.ncdf((second - first) / (mp.sqrt(2) * move.sigma))
    return [fails, passes * wins, passes * loses]


def divergence(p, q, order):
    moment = mp.fsum(
        a ** mp.mpf(order) * b ** (1 - mp.mpf(order)) for a, b in zip(p, q, strict=True)
    )
    return float(mp.log(moment) / (order - 1))


def brute_force(move, first, orders):
    """Largest divergence over all moves of up to `ballots` ballots, both directions."""
    with mp.workdps(40):
        data = law(move, first)
        moved = [
            first + sign * k * move.weight for k in range(1, move.ballots + 1) for sign in (-1, 1)
        ]
        laws = [law(move, other) for other in moved if 0 <= other <= move.n_votes]
        return [
            max(
                divergence(*pair, a)
                for neighbour in laws
                for pair in ((data, neighbour), (neighbour, data))
            )
            for a in map(float, orders)
        ]


@pytest.mark.parametrize("votes", [(7.0, 4.0), (2.0, 9.0), (5.0, 4.0, 2.0)])
def test_the_joint_law_is_that_of_the_noisy_counts(votes):
    sigma, noise, threshold = 2.0, 3.0, 6.0

    def wins(k):  # int density of count k times the others' distribution functions
        def integrand(y):
            below = [mp.ncdf((y - count) / sigma) for j, count in enumerate(votes) if j != k]
            return mp.npdf(y, votes[k], sigma) * mp.fprod(below)

        return mp.quad(integrand, [votes[k] - 30, *sorted(votes), votes[k] + 30])

    ends = [threshold + far for far in (0, 3, 6, 60)]
    passes = mp.quad(lambda x: mp.npdf(x, max(votes), noise), ends)
    expected = [1 - passes, *(passes * wins(k) for k in range(len(votes)))]
    joint = confident_log_probabilities(
        (max(votes) - threshold) / noise, max_log_probabilities(np.array([votes]), sigma)[0]
    )
    np.testing.assert_allclose(np.exp(joint), np.array(expected, dtype=float), rtol=1e-10)


@pytest.mark.parametrize("move", MOVES)
def test_known_votes_against_every_neighbour(move):
    first = np.arange(0.0, move.n_votes + 1, move.weight)
    cost = move.exact(np.stack([first, move.n_votes - first], axis=1))
    places = [0, 24, 60, 110]
    for row, votes in enumerate(first):
        np.testing.assert_allclose(
            cost[row, places], brute_force(move, votes, FINITE[places]), rtol=1e-9
        )


def lattice(move, step, orders=FINITE):
    """Largest divergence over gaps on a lattice, both neighbours and both directions."""
    gaps = np.arange(-move.n_votes, move.n_votes + step / 2, step)
    largest = np.zeros(len(orders))
    for shift in np.concatenate([-move.moves, move.moves]):
        neighbour = gaps[np.abs(gaps + shift) <= move.n_votes]
        costs = renyi_divergence(move.outcomes(neighbour), move.outcomes(neighbour + shift), orders)
        largest = np.maximum(largest, costs.max(axis=0))
    return largest


def apart(move, orders):
    """Cost of the threshold and the vote, one after the other."""
    ratios = move.bit_ratio, move.vote_ratio
    return sum(NoisyBit(scale=1.0, shift=ratio).worst_case(orders) for ratio in ratios)


@pytest.mark.parametrize("move", [ADULT, *MOVES])
def test_worst_case_is_above_all_gaps_and_barely(move):
    places = np.array([*FINITE[[0, 24, 60, 110, 140]], np.inf])
    worst, most = move.worst_case(tuple(places)), lattice(move, move.weight / 8, places[:-1])
    assert np.all(worst[:-1] >= most * (1 - 1e-12))
    assert np.all(worst[:-1] <= most * 1.01)
    assert np.isinf(worst[-1])
    # Never above the threshold and the vote, one after the other.
    assert np.all(worst <= apart(move, tuple(places)))


def test_a_public_number_of_votes_lowers_the_cost():
    # A tied row passes with probability .19 only, and a vote beyond costs little.
    assert 0.2 < ADULT.worst_case((6.0,))[0] / apart(ADULT, (6.0,))[0] < 0.25
    # The whole curve is never below its single orders, nor below known votes.
    curve = ADULT.worst_case()
    assert curve[ORDERS == 6.0][0] == pytest.approx(ADULT.worst_case((6.0,))[0], rel=1e-3)
    assert np.all(ADULT.exact(np.array([[125.0, 125.0], [150.0, 100.0]])) <= curve)


@pytest.mark.parametrize("planted", ["half", "one way", "fixed top"])
def test_planted_errors_fall_below_brute_force(monkeypatch, planted):
    move, order = replace(SMALL, sigma_threshold=1.0, threshold=9.0), 60
    first = np.arange(move.n_votes + 1)
    votes = np.stack([first, move.n_votes - first], axis=1)
    most = np.array([brute_force(move, n_first, FINITE[[order]])[0] for n_first in first])
    assert np.all(move.exact(votes)[:, order] >= most * (1 - 1e-9))
    worst = lattice(move, 0.25)[order]
    assert _worst.__wrapped__(move, (FINITE[order],))[0] >= worst > most.max()
    if planted == "half":
        monkeypatch.setattr(ConfidentMax, "moves", property(lambda self: np.ones(self.ballots)))
    elif planted == "one way":
        pieces, neighbours = ConfidentMax.pieces, ConfidentMax.neighbours
        monkeypatch.setattr(
            ConfidentMax,
            "pieces",
            lambda self: [piece for piece in pieces(self) if piece[2] > 0],
        )

        def narrower(self, gap):
            moved_gaps, exists = neighbours(self, gap)
            return moved_gaps[:, :1], exists[:, :1]

        monkeypatch.setattr(ConfidentMax, "neighbours", narrower)
    else:  # the neighbour's vote moves and its threshold's gap doesn't

        def coordinates(self, gap):
            top = np.full_like(gap, self.n_votes / 2 - self.threshold)
            return top / self.sigma_threshold, gap / (np.sqrt(2) * self.sigma)

        monkeypatch.setattr(ConfidentMax, "coordinates", coordinates)
    assert np.any(move.exact(votes)[:, order] < most * 0.99)
    assert _worst.__wrapped__(move, (FINITE[order],))[0] < worst * 0.99


def test_very_many_ballots_of_one_person_are_bounded_by_two_moves():
    many = replace(SMALL, sigma=3e6, sigma_threshold=4e6, threshold=8e6, n_votes=1.1e7)
    many = replace(many, ballots=1_000_000)
    bound = NoisyBit(scale=1.0, shift=many.bit_ratio).worst_case()
    bound = bound + NoisyBit(scale=1.0, shift=many.vote_ratio).worst_case()
    worst = many.worst_case()
    assert (worst <= bound).all()
    # At most what so many ballots cost that all move at once.
    alone = replace(SMALL, sigma=3.0, sigma_threshold=4.0, threshold=8.0).worst_case()
    assert (worst >= alone * (1 - 1e-3)).all()
    np.testing.assert_array_equal(many.exact(np.array([[6e6, 5e6], [1e7, 1e6]])), [worst] * 2)
