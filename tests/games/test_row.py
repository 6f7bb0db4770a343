"""Rows of several moves: a threshold before a vote, repeated moves, a number of answers."""

import numpy as np
import pytest
from tests.games._references import best_move, bit_laws, end

from secretballot.costs import NoisyBit, Step
from secretballot.costs._bit_move import BitMove
from secretballot.costs._game import build_tree
from secretballot.costs._grid import FINE
from secretballot.costs._price import price_law, price_law_cached

VOTE_GAPS, BIT_GAPS = (-0.7, 0.0, 0.2, 1.0), (-2.0, 0.0, 1.0, 2.5, 6.0)


def law(bit, vote):
    return (
        Step("threshold", NoisyBit(scale=1.0, shift=bit)),
        Step("vote", NoisyBit(scale=1.0, shift=vote), after="threshold"),
    )


def enumerate_rows(bit, vote, n_rows, epsilon, n_answers=None, gaps=(BIT_GAPS, VOTE_GAPS)):
    """Delta of the best adversary on some gaps; answers left count down to the end of the run."""
    over = lambda u: end(u, epsilon)  # noqa: E731
    most_answers = n_rows if n_answers is None else n_answers
    first, second = bit_laws(gaps[0], bit), bit_laws(gaps[1], vote)
    by_answers = [over] * (most_answers + 1)
    for _ in range(n_rows):
        by_answers = [over] + [
            best_move(first, best_move(second, by_answers[k - 1]), by_answers[k])
            for k in range(1, most_answers + 1)
        ]
    return float(by_answers[most_answers](1.0))


@pytest.mark.parametrize(("bit", "vote"), [(0.01, 0.07), (0.5, 0.5), (1.0, 0.2), (0.1, 1.5)])
@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_threshold_before_a_vote(bit, vote, n_rows):
    for scale in (0.3, 1.5):
        epsilon = scale * np.hypot(bit, vote) * np.sqrt(n_rows)
        least = enumerate_rows(bit, vote, n_rows, epsilon)
        claimed = price_law_cached(law(bit, vote), n_rows).delta(epsilon)
        assert claimed >= least * (1 - 1e-9)
        if scale < 1:
            assert claimed <= 1.2 * least


@pytest.mark.parametrize("forgotten", ["pass", "fail"])
def test_planted_single_orientation_under_a_threshold(monkeypatch, forgotten):
    # The neighbour may make a pass likelier, or less likely: neither alone is the worst case.
    bit, vote, n_rows, epsilon = 0.5, 0.5, 2, 0.5
    gaps = (np.linspace(-2, 5, 36), np.linspace(-0.5, 1.2, 12))
    least = enumerate_rows(bit, vote, n_rows, epsilon, gaps=gaps)
    assert price_law(law(bit, vote), n_rows).delta(epsilon) >= least

    def only(self, yes, no):
        return self._best(yes, no) if forgotten == "pass" else self._best(no, yes)

    monkeypatch.setattr(BitMove, "best", only)
    assert price_law(law(bit, vote), n_rows).delta(epsilon) < least


@pytest.mark.parametrize(("n_rows", "n_answers"), [(1, 1), (3, 1), (3, 2), (4, 2)])
def test_price_of_a_limited_number_of_answers(n_rows, n_answers):
    bit, vote = 0.1, 0.6
    rows = law(bit, vote)
    for epsilon in (0.2, 0.8):
        least = enumerate_rows(bit, vote, n_rows, epsilon, n_answers)
        claimed = price_law_cached(rows, n_rows, FINE, n_answers).delta(epsilon)
        assert least * (1 - 1e-9) <= claimed <= 1.25 * least
        if n_answers < n_rows:
            assert claimed < price_law_cached(rows, n_rows).delta(epsilon)


def test_enough_answers_are_no_limit():
    rows = law(0.01, 0.07)
    limited, unlimited = (price_law_cached(rows, 12, FINE, k) for k in (12, None))
    assert limited.delta(0.3) == pytest.approx(unlimited.delta(0.3), rel=0.02)


def test_a_threshold_adds_to_the_price_of_a_vote():
    vote = (Step("vote", NoisyBit(scale=1.0, shift=0.07)),)
    alone = price_law_cached(vote, 20).delta(0.3)
    behind = price_law_cached(law(0.01, 0.07), 20).delta(0.3)
    # In the worst case every row passes, but it must pay for that.
    assert 0.9 * alone < behind < 1.1 * alone


def test_repeated_moves_are_rows():
    vote = NoisyBit(scale=1.0, shift=0.07)
    twice = price_law_cached((Step("vote", vote, times=2),), 10).delta(0.3)
    assert twice == pytest.approx(price_law_cached((Step("vote", vote),), 20).delta(0.3), rel=0.01)
    pair = (Step("bit", NoisyBit(scale=1.0, shift=0.01), times=2), Step("vote", vote, 2, "bit"))
    once = price_law_cached(law(0.01, 0.07), 20).delta(0.3)
    assert price_law_cached(pair, 10).delta(0.3) == pytest.approx(once, rel=0.01)


def test_laws_that_are_no_tree_are_refused():
    bit = NoisyBit(scale=1.0, shift=0.1)
    with pytest.raises(ValueError, match="follows 'nothing'"):
        build_tree((Step("vote", bit, after="nothing"),))
    with pytest.raises(ValueError, match="'vote' is made 3 times after 2 of 'bit'"):
        build_tree((Step("bit", bit, times=2), Step("vote", bit, times=3, after="bit")))
