"""Plans on known data: the neighbour chooses, in both directions."""

from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr
from tests.games._references import best_move, end, tied

from secretballot.divergences import NoisyBit, NoisyMax, PureRelease, Step
from secretballot.games import PlanPrice
from secretballot.games._known_plan import KnownPlan
from secretballot.games._price import price_law_cached
from secretballot.games.moves import LossGrid, play_of
from secretballot.games.moves._choices import bit_choices, max_choices

BIT = (Step("bit", NoisyBit(scale=2.0, shift=1.0)),)


def known(gaps):
    return KnownPlan(BIT, {"bit": np.asarray(gaps, dtype=float)})


def enumerate_known(gaps, ratio, epsilon, to_data):
    """Delta against the neighbour who moves each gap either way, having seen what came before."""
    value = lambda u: end(u, epsilon)  # noqa: E731
    for gap in reversed(gaps):
        data, there = ndtr([[gap, -gap]] * 2), ndtr([[gap + s, -gap - s] for s in (ratio, -ratio)])
        value = best_move((there, data) if to_data else (data, there), value)
    return float(value(1.0))


@pytest.mark.parametrize("gaps", [[0.0], [3.0, -1.0], [0.0, 0.5, -2.0, 4.0, 1.0], [9.0] * 3])
def test_known_plan_against_every_neighbour(gaps):
    plan = known(gaps)
    scaled = [gap / 2.0 for gap in gaps]
    for epsilon in (-0.5, 0.0, 0.2, 1.0):
        for value, to_data in zip(plan.value_functions(len(gaps)), (False, True), strict=True):
            least = enumerate_known(scaled, 0.5, epsilon, to_data)
            claimed = PlanPrice((value,)).delta(epsilon)
            assert least * (1 - 1e-9) <= claimed <= 1.01 * least + 1e-4


def test_neighbours_fixed_in_advance():
    # All 2^n neighbours that shift each gap by what they like: the game is never below any.
    gaps, epsilon = np.array([0.0, 0.4, -0.8, 1.5]), 0.3
    plan = known(2 * gaps)
    claimed = PlanPrice(plan.value_functions(4)).delta(epsilon)
    for signs in product((-0.5, 0.5), repeat=4):
        p, q = ndtr(gaps), ndtr(gaps + signs)
        total = np.zeros(2)
        for outcome in product((True, False), repeat=4):
            here = np.prod(np.where(outcome, p, 1 - p))
            there = np.prod(np.where(outcome, q, 1 - q))
            total += np.maximum([here - np.exp(epsilon) * there, there - np.exp(epsilon) * here], 0)
        assert claimed >= total.max()


def test_ties_against_the_binomial_and_the_worst_case():
    ratio, n_rows, epsilon = 0.05, 60, 0.5
    law = (Step("bit", NoisyBit(scale=1.0, shift=ratio)),)
    claimed = PlanPrice(KnownPlan(law, {"bit": np.zeros(n_rows)}).value_functions(n_rows)).delta(
        epsilon
    )
    least = max(tied(n_rows, ratio, epsilon), tied(n_rows, ratio, epsilon, ratio))
    worst = price_law_cached(law, n_rows).delta(epsilon)
    assert least <= claimed <= worst
    # Far from a tie hardly anything is revealed.
    far = PlanPrice(KnownPlan(law, {"bit": np.full(n_rows, 4.0)}).value_functions(n_rows)).delta(
        epsilon
    )
    assert far < 1e-2 * claimed


def test_planted_interpolation_linear_in_the_loss(monkeypatch):
    ratio, n_rows, epsilon = 0.3, 60, -3.0
    law = (Step("bit", NoisyBit(scale=1.0, shift=ratio)),)
    plan = KnownPlan(law, {"bit": np.zeros(n_rows)})
    least = tied(n_rows, ratio, epsilon)

    def claimed():
        return PlanPrice(plan.value_functions(n_rows, step=0.5)).delta(epsilon)

    assert claimed() >= least
    stencil = LossGrid.stencil

    def linear(self, shift, probability):
        chord = stencil(self, shift, probability)
        rest = shift / self.step - chord.offset
        return type(chord)(chord.offset, probability * (1 - rest), probability * rest)

    monkeypatch.setattr(LossGrid, "stencil", linear)
    assert claimed() < least


def test_both_directions_count():
    # At a gap that only one direction finds dear.
    here, there = (PlanPrice((value,)).delta(0.4) for value in known([3.0]).value_functions(1))
    assert here != pytest.approx(there, rel=0.1)
    assert PlanPrice(known([3.0]).value_functions(1)).delta(0.4) == max(here, there)


def test_a_unanimous_gap_can_only_shrink():
    both, one = bit_choices(2.0, 0.5), bit_choices(2.0, 0.5, can_widen=False)
    assert len(both.neighbours) == 2
    assert len(one.neighbours) == 1
    assert np.exp(one.neighbours[0, 0]) == pytest.approx(ndtr(1.5))
    vote = (Step("vote", NoisyMax(sigma=1.0, weight=1.0, n_classes=2)),)
    united = KnownPlan(vote, {"vote": np.array([[4.0, 0.0]])})
    split = KnownPlan(vote, {"vote": np.array([[5.0, 1.0]])})
    prices = [PlanPrice(plan.value_functions(1)).delta(0.0) for plan in (united, split)]
    assert prices[0] == pytest.approx(prices[1], rel=1e-9)  # shrinking is what is dear


def test_three_classes():
    votes, sigma = np.array([6.0, 4.0, 1.0]), 2.0
    choices = max_choices(votes / sigma, 1 / sigma)
    assert choices.neighbours.shape == (6, 3)
    assert np.exp(choices.data).sum() == pytest.approx(1)
    # A class without votes has none to give.
    assert max_choices(np.array([3.0, 2.0, 0.0]), 0.5).neighbours.shape == (4, 3)
    vote = (Step("vote", NoisyMax(sigma=sigma, weight=1.0, n_classes=3)),)
    plan = KnownPlan(vote, {"vote": np.tile(votes, (3, 1))})
    p = np.exp(np.broadcast_to(choices.data, choices.neighbours.shape))
    q = np.exp(choices.neighbours)
    for laws, value in zip(((p, q), (q, p)), plan.value_functions(3), strict=True):
        least = lambda u: end(u, 0.3)  # noqa: E731
        for _ in range(3):
            least = best_move(laws, least)
        claimed = PlanPrice((value,)).delta(0.3)
        assert least(1.0) * (1 - 1e-9) <= claimed <= 1.01 * least(1.0) + 1e-6


def test_several_ballots_and_votes_too_far_apart_are_bounded():
    many = (Step("vote", NoisyMax(sigma=2.0, weight=1.0, ballots=2, n_classes=3)),)
    plan = KnownPlan(many, {"vote": np.array([[6.0, 4.0, 1.0]])})
    worst = price_law_cached(many, 1).delta(0.3)
    assert PlanPrice(plan.value_functions(1)).delta(0.3) == pytest.approx(worst, rel=1e-2)
    assert max_choices(np.array([1e6, 10.0, 5.0]), 0.5) is None
    with pytest.raises(TypeError, match="str of step 'x' has no game"):
        KnownPlan((Step("x", "odd"),), {"x": np.zeros(1)})


def test_a_vote_behind_a_purely_private_threshold():
    test = Step("test", PureRelease(epsilon=0.5))
    law = (test, Step("vote", NoisyMax(sigma=4.0, weight=1.0, n_classes=2), after="test"))
    votes = np.array([[9.0, 1.0], [5.0, 5.0], [4.0, 6.0]])
    known = KnownPlan(law, {"test": np.zeros(3), "vote": votes}).value_functions(3)
    for epsilon in (0.0, 0.5, 1.5):
        claimed = PlanPrice(known).delta(epsilon)
        assert PlanPrice(known[:1]).delta(epsilon) > 0
        # At least as much as the tests alone, at most as much as the worst case (on coarser grids).
        assert price_law_cached((test,), 3).delta(epsilon) * 0.99 <= claimed
        assert claimed <= price_law_cached(law, 3).delta(epsilon) * 1.01


@pytest.mark.parametrize(("fewer_votes", "n_neighbours"), [(0.1, 2), (0.3 - 0.2, 2), (0.0, 1)])
def test_a_class_has_its_last_weighted_ballot_whatever_the_rounding(fewer_votes, n_neighbours):
    vote = play_of(NoisyMax(sigma=0.3, weight=0.1, n_classes=2))
    choices = vote.on_known_data(np.array([0.7, fewer_votes]))
    assert len(choices.neighbours) == n_neighbours
