"""A threshold and the vote behind it as one move, against every gap."""

from dataclasses import replace

import numpy as np
import pytest
from tests.games._references import best_move, end

from secretballot.accounting import price_plan
from secretballot.costs import ConfidentMax, NoisyBit, NoisyMax, Step, _confident_max
from secretballot.costs._grid import FINE
from secretballot.costs._price import price_law
from secretballot.mechanisms import ConfidentGNMax

SIGMA, NOISE, THRESHOLD = 2.0, 3.0, 7.0


def steps():
    """Return a threshold on the largest count, and the vote, as two moves."""
    vote = NoisyMax(sigma=SIGMA, weight=1.0, n_classes=2)
    return (
        Step("threshold", NoisyBit(scale=NOISE, shift=1.0)),
        Step("vote", vote, after="threshold"),
    )


WHOLE = ConfidentMax(
    sigma=SIGMA, sigma_threshold=NOISE, threshold=THRESHOLD, n_votes=11.0, weight=1.0
)
MOVES = [
    WHOLE,
    replace(WHOLE, ballots=2),
    replace(WHOLE, n_votes=12.0, weight=2.0, sigma=5.0),
    replace(WHOLE, sigma_threshold=0.8, threshold=9.0),
]


def all_pairs(move):
    """Laws of all votes and all their neighbours: not answered, first class, second class."""
    first = np.arange(0.0, move.n_votes + 1, move.weight)
    shifts = move.weight * np.arange(-move.ballots, move.ballots + 1)
    pairs = np.array([(n, n + k) for n in first for k in shifts if 0 <= n + k <= move.n_votes])
    return tuple(np.exp(move.outcomes(2 * pairs[:, k] - move.n_votes)) for k in (0, 1))


def enumerate_worst(move, n_rows, epsilon, n_answers=None):
    """Delta of the adversary who chooses any votes and any neighbour in each row."""
    most_answers = n_rows if n_answers is None else n_answers
    over, laws = (lambda u: end(u, epsilon)), all_pairs(move)
    by_answers = [over] * (most_answers + 1)
    for _ in range(n_rows):
        by_answers = [over] + [
            best_move(laws, by_answers[k], by_answers[k - 1]) for k in range(1, most_answers + 1)
        ]
    return float(by_answers[most_answers](1.0))


def law(move):
    return (Step("row", move),)


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_worst_case_against_every_adversary(move, n_rows):
    apart = (
        Step("threshold", NoisyBit(scale=1.0, shift=move.bit_ratio)),
        Step("vote", NoisyBit(scale=1.0, shift=move.vote_ratio), after="threshold"),
    )
    for epsilon in (-0.4, 0.2, 0.9):
        least = enumerate_worst(move, n_rows, epsilon)
        claimed = price_law(law(move), n_rows).delta(epsilon)
        assert least * (1 - 1e-9) <= claimed <= 1.01 * least + 1e-4
        assert claimed <= price_law(apart, n_rows).delta(epsilon)
        # A row's three outcomes lead to the same; an answer uses one of so many up.
        if n_rows > 1:
            least = enumerate_worst(move, n_rows, epsilon, 1)
            claimed = price_law(law(move), n_rows, FINE, 1).delta(epsilon)
            assert least * (1 - 1e-9) <= claimed <= 1.01 * least + 1e-3


@pytest.mark.parametrize("planted", ["half", "one way", "fixed top"])
def test_planted_errors_in_the_worst_case(monkeypatch, planted):
    move = replace(WHOLE, sigma_threshold=1.0, threshold=9.0)
    least = enumerate_worst(move, 2, 0.3)
    assert price_law(law(move), 2).delta(0.3) >= least
    _confident_max.confident_move.cache_clear()
    laws = _confident_max._laws

    def wrong(move):
        if planted == "half":
            return laws(replace(move, sigma=2 * move.sigma, sigma_threshold=2 * NOISE))
        log_p, log_q, far = laws(move)
        if planted == "one way":
            kept = log_q[:, 0] > log_p[:, 0]
            return log_p[kept], log_q[kept], far
        passes = np.logaddexp(log_q[:, 1:2], log_q[:, 2:])
        there = np.log(-np.expm1(log_p[:, :1]))
        return log_p, np.hstack([log_p[:, :1], log_q[:, 1:] - passes + there]), far

    monkeypatch.setattr(_confident_max, "_laws", wrong)
    assert price_law(law(move), 2).delta(0.3) < least
    _confident_max.confident_move.cache_clear()


def test_far_gaps_are_their_thresholds(monkeypatch):
    # Beyond 8.5 standard deviations of the vote only the threshold is left, at any gap.
    move = replace(WHOLE, n_votes=60.0, sigma=1.5, threshold=50.0)
    assert _confident_max._laws(move)[2]
    nearer = price_law(law(move), 3)
    monkeypatch.setattr(_confident_max, "_FURTHEST", 1e9)
    _confident_max._laws.cache_clear()
    _confident_max.confident_move.cache_clear()
    every = price_law(law(move), 3)
    _confident_max._laws.cache_clear()
    _confident_max.confident_move.cache_clear()
    for epsilon in (0.1, 0.8):
        assert every.delta(epsilon) * 0.999 <= nearer.delta(epsilon) <= every.delta(epsilon) * 1.02


@pytest.mark.parametrize("away", [-36.0, -8.0, 8.0, 12.0, 36.0])
@pytest.mark.parametrize("n_rows", [1, 3])
def test_a_threshold_far_from_the_votes(away, n_rows):
    """Answers, or their absence, are too rare for the scale of a row's loss to set the grid."""
    move = replace(WHOLE, threshold=WHOLE.n_votes + away * NOISE)
    for epsilon in (0.2, 0.9):
        least = enumerate_worst(move, n_rows, epsilon)
        claimed = price_law(law(move), n_rows).delta(epsilon)
        assert least * (1 - 1e-9) <= claimed <= 1.01 * least + 1e-12 * (away < 0)


def test_an_unreachable_threshold_reveals_nothing():
    mechanism = ConfidentGNMax(sigma=40, sigma_threshold=40, threshold=1e9, n_votes=250)
    assert price_plan(mechanism, 100, n_columns=2).delta(0.0) < 1e-100


@pytest.mark.parametrize("away", [2.0, 4.0, 5.0, 6.0])
def test_rare_answers_cost_as_on_a_finer_grid(away):
    move = replace(WHOLE, sigma=8.0, sigma_threshold=8.0, threshold=11.0 + away * 8.0)
    price, finer = (price_law(law(move), 60, fine) for fine in (FINE, FINE.coarser(0.25)))
    for epsilon in (0.0, 0.1, 0.3):
        assert price.delta(epsilon) == pytest.approx(finer.delta(epsilon), rel=0.01)


def test_more_pairs_of_neighbours_than_a_game_tries_leave_two_moves():
    move = replace(WHOLE, sigma=2e6, sigma_threshold=3e6, n_votes=1e10, threshold=7e9, ballots=1000)
    apart = (
        Step("threshold", NoisyBit(scale=3e6, shift=1e3)),
        Step("vote", NoisyMax(sigma=2e6, weight=1.0, ballots=1000, n_classes=2), after="threshold"),
    )
    claimed, bound = (price_law(steps, 3).delta(1e-4) for steps in (law(move), apart))
    assert claimed == pytest.approx(bound, rel=1e-9)


def test_pairs_are_counted_near_a_tie_alone():
    # A vote of little noise decides all but a few of very many gaps.
    move = replace(WHOLE, n_votes=1e12, threshold=5e11)
    few = replace(WHOLE, n_votes=1e3, threshold=5e2)
    assert price_law(law(move), 2).delta(0.3) == pytest.approx(
        price_law(law(few), 2).delta(0.3), rel=1e-6
    )


def test_ballots_of_different_weights_leave_two_moves():
    move = replace(WHOLE, alike=False)
    assert price_law(law(move), 3).delta(0.3) == pytest.approx(
        price_law(steps(), 3).delta(0.3), rel=1e-9
    )


def test_grids_reach_as_far_as_outcomes_lead():
    """Few rows pass, and so the loss of most outcomes is small, but not of those far out."""
    move = ConfidentMax(sigma=40, sigma_threshold=200, threshold=300, n_votes=250, weight=1.0)
    for n_rows in (1, 10, 40):
        price = price_law(law(move), n_rows)
        assert price.delta(price._highest) < 1e-14, n_rows
