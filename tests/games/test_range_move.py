"""Draws with Gumbel noise in the game: never below the best adversary, and next to it."""

from itertools import product

import numpy as np
import pytest

from secretballot.costs import BoundedRange, PureRelease, Step
from secretballot.costs._grid import FINE, LossGrid, PaddedValues, ValueFunction
from secretballot.costs._price import price_law
from secretballot.costs._selection import FewDraws, RangeMove, ResponsePlay, range_move

STEP = 0.04
FEW, MANY = 8.0, 0.1  # moves before the end
#: A multiple of the grid's step, two that are none, and one below the step.
WIDTHS = (25 * STEP, 1.0137, 8.3, 0.6 * STEP)


def draws(width):
    return (Step("draw", BoundedRange(width=width)),)


def law(width, t):
    """Probabilities of the rise by t and of the fall by width - t."""
    p = np.expm1(t - width) / np.expm1(-width)
    return p, 1 - p


def convex(seed, n_corners=6):
    """A worth that is linear in u but for some corners, on losses from -6 to 6."""
    rng = np.random.default_rng(seed)
    corners, parts = np.exp(rng.normal(0, 1.5, n_corners)), rng.dirichlet(np.ones(n_corners))
    low, high = -150, 151
    u = np.exp(-STEP * np.arange(low, high))
    values = (parts * np.maximum(1 - u[:, None] / corners, 0)).sum(axis=1)
    return ValueFunction(LossGrid(STEP), values, low)


def smooth(n_draws):
    """What some draws of the last width are value_function, as the game has it."""
    value_function = price_law(draws(WIDTHS[1]), n_draws)._value_functions[0]
    loss = STEP * np.arange(-150, 151)
    return ValueFunction(LossGrid(STEP), value_function.at(loss), -150)


def value_at(value_function, width, loss, t):
    """What a draw is value_function whose first outcome raises the loss by t, at some losses."""
    p, rest = law(width, t)
    return p * value_function.at(loss + t) + rest * value_function.at(loss + t - width)


SMOOTH = smooth(1), smooth(40)


def brute(value_function, width, loss):
    """The most over many t, those at which a shifted loss crosses a node among them."""
    crossings = STEP * np.arange(int(width / STEP) + 1)
    t = np.concatenate([np.linspace(0, width, 501), crossings, width - crossings])
    return np.max([value_at(value_function, width, loss, each) for each in t], axis=0)


def best(value_function, width, zone, low=-100, high=101):
    move = range_move(width, value_function.grid, zone)
    both = PaddedValues.from_function(value_function, low, high, move.pad)
    return move.best(both, both), value_function.grid.step * np.arange(low, high)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("value_function", [*map(convex, range(4)), *SMOOTH])
def test_draw_is_bounded_by_the_best_ratio(width, value_function):
    bound, loss = best(value_function, width, FEW)
    truth = brute(value_function, width, loss)
    assert (bound >= truth * (1 - 1e-11)).all()
    assert (bound <= truth + 1e-4 * width).all()
    # Where groups of ratios are bounded together, chords may add to corners.
    together, _ = best(value_function, width, MANY)
    assert (together >= truth * (1 - 1e-11)).all()
    assert (together <= truth + (1e-4 if value_function is SMOOTH[1] else 0.05) * width).all()
    # What tells nothing is always there, and half of the width alone is not enough.
    middle = value_at(value_function, width, loss, width / 2)
    assert (bound >= np.maximum(middle, value_function.at(loss)) * (1 - 1e-11)).all()
    assert width < STEP or (middle < truth * (1 - 1e-9)).any()


def on_a_lattice(width, n_draws, levels=40):
    """Deltas at epsilons of an adaptive adversary whose ratios stay on a lattice: a lower bound.

    Losses are multiples of width / levels, so nothing is rounded.
    """
    h, reach = width / levels, levels * (n_draws + 1)
    values = np.maximum(-np.expm1(-h * np.arange(-reach, reach + 1)), 0.0)
    for _ in range(n_draws):
        after, values = values, values.copy()
        inside = slice(levels, len(values) - levels)
        for k in range(1, levels):
            p, rest = law(width, k * h)
            up = after[levels + k : len(after) - levels + k]
            down = after[k : len(after) - 2 * levels + k]
            values[inside] = np.maximum(values[inside], p * up + rest * down)
        # Nothing beyond the lattice is looked at again.
    return h * np.arange(reach + 1), values[reach::-1]


@pytest.mark.parametrize("width", [0.05, 0.4, 1.5, 5.0])
@pytest.mark.parametrize("n_draws", [1, 2, 5, 30])
def test_every_adaptive_adversary(width, n_draws):
    epsilon, truth = on_a_lattice(width, n_draws, 120 if n_draws <= 5 else 40)
    price = price_law(draws(width), n_draws)
    far = min(width * n_draws, 2 * width * np.sqrt(n_draws))
    nodes = [0, *np.flatnonzero((epsilon <= 0.8 * far) & (truth > 1e-12))[:: 9 + 9 * n_draws]]
    for node in nodes:
        claimed = price.delta(epsilon[node])
        assert truth[node] * (1 - 1e-9) <= claimed
        assert claimed <= 1.01 * truth[node] + 5e-4 * truth[0] + 1e-13


def test_planted_half_of_the_width_alone(monkeypatch):
    def middle(self, yes, no):
        p, rest = law(self.width, self.width / 2)
        stencils = ((self.width / 2, p), (-self.width / 2, rest))
        parts = [self.grid.stencil(*each) for each in stencils]
        return sum(
            part.weight * yes.shifted(part.offset) + part.next_weight * yes.shifted(part.offset + 1)
            for part in parts
        )

    epsilon, truth = on_a_lattice(1.5, 2)
    at = np.flatnonzero(epsilon <= 2.5)
    monkeypatch.setattr(RangeMove, "best", middle)
    planted = price_law(draws(1.5), 2)
    assert any(planted.delta(epsilon[node]) < truth[node] for node in at)


def test_many_draws_are_a_noisy_number():
    mu2 = []
    for n_draws in (10, 30, 90):
        width = 2 / np.sqrt(n_draws)
        price = price_law(draws(width), n_draws)
        mu2.append(float(price.gaussian_cost(1e-8).mu2))
    # n width^2 / 4 is 1.
    assert mu2[0] > mu2[1] > mu2[2] > 1
    assert mu2[2] < 1.012
    few = price_law((Step("draws", FewDraws(width=0.4, most=6)),), 15)
    # Each of 6 has the noise of 8.
    assert 1 < float(few.gaussian_cost(1e-8).mu2) / (15 * 6 / 8 * 0.4**2 / 4) < 1.15


def test_few_draws_cost_as_much_as_the_dearest_number():
    whole = price_law((Step("draws", FewDraws(width=1.2, most=3)),), 2)
    fine = FINE.coarser(0.2)  # on its own grids, each is that much nearer to the truth
    for epsilon in (0.0, 0.5, 2.0):
        alone = [
            price_law((Step("draw", BoundedRange(width=1.2 / np.sqrt(n + 2)), times=n),), 2, fine)
            for n in (1, 2, 3)
        ]
        dearest = max(each.delta(epsilon) for each in alone)
        assert dearest * (1 - 2e-4) <= whole.delta(epsilon) <= 1.01 * dearest


def test_randomised_response():
    epsilon, n_rows = 0.7, 3
    price = price_law((Step("answer", PureRelease(epsilon=epsilon)),), n_rows)
    truth = np.exp(epsilon) / (1 + np.exp(epsilon))
    right = np.arange(n_rows + 1)
    ways = np.array([1, 3, 3, 1])
    p = ways * truth**right * (1 - truth) ** (n_rows - right)
    for at in (0.0, 0.5, 1.3, 2.0):
        exact = np.maximum(p - np.exp(at) * p[::-1], 0).sum()
        assert exact * (1 - 1e-12) <= price.delta(at) <= 1.01 * exact + 1e-3 * p[-1]
    assert ResponsePlay(PureRelease(epsilon=0.0)).on_grid(LossGrid(STEP), 0.1, 0.1) is None


def test_moves_behind_a_draw_are_bounded_by_the_larger_continuation():
    move = range_move(1.0, LossGrid(STEP), MANY)
    after = [PaddedValues.from_function(convex(seed), -50, 51, move.pad) for seed in (0, 1)]
    bound = move.best(*after)
    for value in after:
        assert (bound >= move.best(value, value) * (1 - 1e-12)).all()


def test_a_purely_private_threshold_is_bounded_by_the_better_continuation():
    rng, epsilon = np.random.default_rng(0), 0.8
    move = ResponsePlay(PureRelease(epsilon=epsilon)).on_grid(LossGrid(STEP), 0.1, 0.1)
    functions = convex(0), convex(1)
    after = [PaddedValues.from_function(function, -50, 51, move.pad) for function in functions]
    loss = STEP * np.arange(-50, 51)
    bound = move.best(*after)
    best = np.zeros(len(loss))
    for trial in range(300):
        # A release of five outcomes, of which some are positive.
        q = rng.dirichlet(np.ones(5))
        p = q * np.exp(rng.choice([0.0, epsilon], size=5) if trial % 2 else rng.uniform(0, 0.8, 5))
        p = p / p.sum()
        if np.abs(np.log(p / q)).max() > epsilon:
            continue
        positive = rng.random(5) < 0.5
        value = sum(
            p[k] * functions[0 if positive[k] else 1].at(loss + np.log(p[k] / q[k]))
            for k in range(5)
        )
        best = np.maximum(best, value)
        assert (value <= bound * (1 + 1e-9)).all()
    truth = 1 / (1 + np.exp(-epsilon))
    for first, second in product(functions, repeat=2):
        response = truth * first.at(loss + epsilon) + (1 - truth) * second.at(loss - epsilon)
        best = np.maximum(best, response)
    assert (best >= bound - 1e-3).mean() > 0.9
