"""A plan of noisy bits: never below the truth, and next to it."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.games._references import (
    best_move,
    bit_laws,
    end,
    enumerate_bits,
    on_a_lattice,
    tied,
)

from secretballot.costs import NoisyBit, NoisyMax, Step
from secretballot.costs._bit_move import BitMove, GapCells, bit_move, bit_tent
from secretballot.costs._grid import FINE, LossGrid, PaddedValues, ValueFunction
from secretballot.costs._price import plan_rows, price_law, price_law_cached, price_plan
from secretballot.mechanisms import GNMax

GAPS = (-2.5, -1.0, -0.3, 0.0, 0.3, 1.0, 2.5)


def bits(ratio):
    return (Step("vote", NoisyBit(scale=1.0, shift=ratio)),)


def delta(ratio, n_rows, epsilon, fineness=FINE):
    return price_law_cached(bits(ratio), n_rows, fineness, None).delta(epsilon)


@pytest.mark.parametrize("ratio", [0.035, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("n_rows", [1, 2, 4, 6])
def test_every_adaptive_adversary_on_some_gaps(ratio, n_rows):
    gaps = GAPS if n_rows <= 4 else (-1.0, 0.0, 1.0)
    for scale in (0.2, 1.0, 3.0):
        epsilon = scale * ratio * np.sqrt(n_rows)
        least = enumerate_bits(gaps, ratio, n_rows, epsilon)
        assert delta(ratio, n_rows, epsilon) >= least * (1 - 1e-9)
        if scale < 1 and n_rows > 1:
            assert delta(ratio, n_rows, epsilon) <= 1.15 * least + 1e-12


def test_the_enumeration_covers_adaptive_strategies():
    # For two rows a strategy is a first gap and one for each outcome: all of them, one by one.
    ratio, epsilon, best_delta = 0.5, 0.4, 0.0
    p, q = bit_laws((-1.0, 0.0, 0.7), ratio)
    for first, on_yes, on_no in product(range(len(p)), repeat=3):
        total = 0.0
        for k, second in ((0, on_yes), (1, on_no)):
            for j in range(2):
                there = q[first, k] * q[second, j]
                total += max(p[first, k] * p[second, j] - np.exp(epsilon) * there, 0)
        best_delta = max(best_delta, total)
    assert best_delta == pytest.approx(
        enumerate_bits((-1.0, 0.0, 0.7), ratio, 2, epsilon), rel=1e-12
    )


@pytest.mark.parametrize("ratio", [0.035, 0.2, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3, 2.0])
def test_one_bit_in_closed_form(ratio, epsilon):
    gaps = np.linspace(-8, 8 + ratio, 20001)
    truth = np.max(ndtr(gaps) - np.exp(epsilon) * ndtr(gaps - ratio))
    claimed = delta(ratio, 1, epsilon)
    assert truth * (1 - 1e-9) <= claimed <= 1.02 * truth + 1e-8


@pytest.mark.parametrize(
    ("n_rows", "epsilon"), [(44, np.log(2)), (88, 1.0), (313, 2.0), (1071, 4.0)]
)
def test_fixed_gaps_composed_exactly(n_rows, epsilon):
    ratio = np.sqrt(2) / 40
    claimed = delta(ratio, n_rows, epsilon)
    assert claimed <= 1e-5
    for gap in (-0.5, -0.2, 0.0, ratio / 2, 0.1, 0.2, 0.5, 1.0):
        assert claimed >= tied(n_rows, ratio, epsilon, gap)
        assert claimed >= tied(n_rows, ratio, epsilon, ratio - gap)


@pytest.mark.parametrize(
    ("epsilon", "game", "ties"), [(np.log(2), 44, 48), (1.0, 88, 92), (2.0, 313, 318)]
)
def test_adaptive_gaps_exceed_ties(epsilon, game, ties):
    assert plan_rows(GNMax(sigma=40), 400, float(epsilon), 1e-5, n_columns=2) == game
    ratio = np.sqrt(2) / 40
    middle = ratio / 2
    counted = max(n for n in range(1, 400) if tied(n, ratio, epsilon, middle) <= 1e-5)
    assert counted == pytest.approx(ties, abs=1)
    assert game < counted


@pytest.mark.parametrize(("n_rows", "epsilon"), [(10, 0.2), (44, np.log(2)), (150, 1.0)])
def test_price_is_close_above_the_lattice_adversary(n_rows, epsilon):
    ratio = np.sqrt(2) / 40
    epsilon, least = on_a_lattice(ratio, n_rows, epsilon)
    claimed = delta(ratio, n_rows, epsilon)
    assert least <= claimed <= 1.06 * least
    # Fixed gaps are worth less to it: the lattice does bind adaptively.
    assert least > tied(n_rows, ratio, epsilon, ratio / 2)


@pytest.mark.parametrize(
    ("ratio", "n_rows"),
    [
        *((0.035, 3), (0.035, 30), (0.5, 3), (0.5, 30)),
        pytest.param(0.035, 200, marks=pytest.mark.slow),
        pytest.param(0.5, 200, marks=pytest.mark.slow),
    ],
)
def test_finer_grids_change_little(ratio, n_rows):
    epsilon = 1.5 * ratio * np.sqrt(n_rows) + ratio**2 * n_rows / 3
    claimed = delta(ratio, n_rows, epsilon)
    finer = delta(ratio, n_rows, epsilon, FINE.coarser(0.5))
    assert finer <= claimed <= 1.01 * finer


def test_monte_carlo_of_adversaries():
    ratio, n_rows, epsilon, n_runs = 0.2, 40, 0.5, 200_000
    claimed = delta(ratio, n_rows, epsilon)
    rng = np.random.default_rng(0)
    estimates = []
    for rule in (lambda loss: 0.1 + 0 * loss, lambda loss: np.clip(epsilon - loss, -0.5, 0.5)):
        loss = np.zeros(n_runs)
        for _ in range(n_rows):
            gap = rule(loss)
            p, q = ndtr(gap), ndtr(gap - ratio)
            bit = rng.random(n_runs) < p
            loss += np.where(bit, np.log(p / q), np.log((1 - p) / (1 - q)))
        gain = np.maximum(-np.expm1(epsilon - loss), 0)
        estimates.append(gain.mean())
        assert gain.mean() - 5 * gain.std() / np.sqrt(n_runs) <= claimed
    assert max(estimates) >= 0.9 * claimed  # they do come close


@settings(max_examples=12)
@given(
    ratio=st.floats(0.02, 2.0),
    n_rows=st.integers(1, 20),
    epsilon=st.floats(0.0, 2.0),
    more=st.floats(1.1, 2.0),
)
def test_price_grows_with_rows_and_shift(ratio, n_rows, epsilon, more):
    less = 1.0
    for at in np.linspace(epsilon / 2, epsilon + 0.1, 5):
        here = delta(ratio, n_rows, at)
        assert 0 <= here <= less
        assert delta(ratio, n_rows + 1, at) >= here
        assert delta(ratio / more, n_rows, at) <= here * 1.02 + 1e-12
        less = here


def test_margins_cover_the_gaps_between():
    # A cell's bound against many gaps inside it, on a worth with kinks.
    grid = LossGrid(0.02)
    for ratio in (0.3, 1.5):
        move = bit_move(ratio, grid, 0.3, 1.0)
        loss = grid.step * np.arange(-400, 401)
        u = np.exp(-loss)
        values = np.max([1 - u, 0.7 - 0.4 * u, 0.4 - 0.1 * u, 0.1 - 0.01 * u, 0 * u], axis=0)
        value = ValueFunction(grid, values, -400)
        later = ValueFunction(
            grid, np.maximum(values, np.maximum(0.8 - 0.5 * u, 0.15 - 0.02 * u)), -400
        )
        for yes, no in ((value, value), (later, value)):
            second = PaddedValues.from_function(no, -100, 101, move.pad)
            first = second if yes is no else PaddedValues.from_function(yes, -100, 101, move.pad)
            bound = move.best(first, second)
            gaps = np.linspace(-6, 6, 1501)
            truth = best_move(
                bit_laws(gaps, ratio),
                lambda u, yes=yes: yes.at(-np.log(u)),
                lambda u, no=no: no.at(-np.log(u)),
            )(np.exp(-loss[300:501]))
            assert np.all(bound >= truth * (1 - 1e-10))


def test_cells_without_margins_are_too_low(monkeypatch):
    ratio, n_rows, epsilon = 0.3, 6, 0.6
    coarse = FINE.coarser(8)
    good = price_law(bits(ratio), n_rows, coarse, None).delta(epsilon)
    monkeypatch.setattr(GapCells, "_margin", lambda self, *args: 0.0)
    bit_move.cache_clear()
    bad = price_law(bits(ratio), n_rows, coarse, None).delta(epsilon)
    bit_move.cache_clear()
    assert bad < good


def test_planted_missing_right_end(monkeypatch):
    ratio, n_rows, epsilon = 1.0, 4, 1.0
    least = enumerate_bits((-1.0, -0.2, 0.5, 1.2), ratio, n_rows, epsilon)
    monkeypatch.setattr(LossGrid, "node_range", lambda self, *sizes: (-80, 4))

    def claimed():
        return price_law(bits(ratio), n_rows).delta(epsilon)

    assert claimed() >= least  # a grid that is too short is loose, not wrong

    def constant(self, low, high):
        index = np.clip(np.arange(low, high) - self.first, 0, self.values.shape[-1] - 1)
        return self.values[..., index]

    monkeypatch.setattr(ValueFunction, "on_nodes", constant)
    assert claimed() < least


def test_end_of_the_game():
    grid = LossGrid(0.1)
    value = grid.final_value(*grid.node_range(1.0, 0.5))
    for loss in (-100.0, -1.0, -0.03, 0.0, 0.04, 0.33, 3.0, 11.0, 300.0):
        at = float(value.at(np.array(loss)))
        assert at >= end(np.exp(-loss), 0.0) * (1 - 1e-12)
        assert at <= end(np.exp(-loss), 0.0) + 0.03


def test_other_moves_are_refused():
    class Odd:
        pass

    with pytest.raises(TypeError, match="Odd of step 'x' has no game"):
        price_law_cached((Step("x", Odd()),), 1)


def test_two_classes_are_one_noisy_bit():
    vote = (Step("vote", NoisyMax(sigma=40, weight=1, n_classes=2)),)
    assert price_law_cached(vote, 10).delta(0.3) == pytest.approx(
        delta(np.sqrt(2) / 40, 10, 0.3), rel=1e-12
    )
    one = price_plan(GNMax(sigma=40), 10, n_columns=1)
    assert one.delta(0.0) == 0.0
    assert isinstance(bit_move(1.0, LossGrid(0.1), 0.1, 0.5), BitMove)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 4.0])
def test_outer_gaps_are_below_their_envelopes(ratio):
    # With a shift above 2 the best outer gap, half the shift, lies beyond 1 also where z is 0.
    grid = LossGrid(0.05 * min(ratio, 1.0))
    move = bit_move(ratio, grid, 0.04, 0.1)
    half = len(move.envelopes[0]) // 2
    z = move.stride * grid.step * np.arange(-half, half + 1)
    gaps = np.linspace(1.0, 8.5, 300)[:, None]
    for side, envelope in zip((gaps, -gaps), move.envelopes, strict=True):
        assert (bit_tent(side, z, ratio) <= envelope + 1e-12).all()


def test_a_value_at_one_loss_is_that_at_many():
    rng = np.random.default_rng(0)
    function = ValueFunction(LossGrid(0.01), np.sort(rng.random(50)), -20)
    nodes = 0.01 * np.arange(-23, 35)
    losses = np.concatenate([rng.uniform(-1, 1, 300), nodes, [-1e9, 1e9, -np.inf, np.inf]])
    one_by_one = [function.at_loss(float(loss)) for loss in losses]
    np.testing.assert_allclose(one_by_one, function.at(losses), rtol=1e-14)
