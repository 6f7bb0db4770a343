"""A plan of noisy maxima over three or more classes."""

import numpy as np
import pytest
from tests.games._references import best_move, bit_laws, end, max_laws

from secretballot.costs import NoisyMax, Step
from secretballot.costs._bit_move import bit_tent, highest_tent
from secretballot.costs._grid import GaussianPairMove, LossGrid, PaddedValues, ValueFunction
from secretballot.costs._max_move import (
    Region,
    _caps,
    _curvature,
    _margins,
    _square_curvature,
    _square_kernels,
    max_move,
    plane_kernels,
    stick,
)
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._price import price_law_cached
from secretballot.costs._worst_max import three_way_logs

POINTS = [(0.0, 0.0), (1.2, 1.1), (0.5, -0.5), (3.0, 3.1), (-1.0, -1.0), (2.0, 0.0)]


def vote(ratio, **more):
    return (Step("vote", NoisyMax(sigma=1.0, weight=ratio, **more)),)


def hockey_stick(p, q, z):
    """e^z T(z) by its definition: the sum of p_k - e^z q_k where positive, less that of the end."""
    rise = np.exp(z)
    total = np.maximum(p[..., None] - q[..., None] * rise, 0).sum(axis=-2)
    return total - np.maximum(1 - rise, 0)


@pytest.mark.parametrize("ratio", [0.025, 0.3, 0.7])
@pytest.mark.parametrize("n_rows", [1, pytest.param(2, marks=pytest.mark.slow), 4])
def test_every_adaptive_adversary_on_some_points(ratio, n_rows):
    for scale in (0.3, 1.5):
        epsilon = scale * np.sqrt(2 * n_rows) * ratio
        least = lambda u: end(u, epsilon)  # noqa: B023, E731
        for _ in range(n_rows):
            least = best_move(max_laws(POINTS, ratio), least)
        claimed = price_law_cached(vote(ratio), n_rows).delta(epsilon)
        assert claimed >= least(1.0) * (1 - 1e-9)


@pytest.mark.parametrize("n_rows", [1, 5, 40])
def test_between_two_classes_and_the_noisy_counts(n_rows):
    ratio = 1 / 40
    epsilon = 1.2 * np.sqrt(2 * n_rows) * ratio
    many, two = (price_law_cached(vote(ratio, n_classes=c), n_rows) for c in (None, 2))
    counts = gaussian_delta(np.sqrt(2 * n_rows) * ratio, epsilon)
    assert two.delta(epsilon) * 0.99 <= many.delta(epsilon) <= counts * 1.01


@pytest.mark.parametrize(
    ("n_rows", "dearer"),
    [(10, 1.008), (40, 1.009), pytest.param(150, 1.009, marks=pytest.mark.slow)],
)
def test_many_classes_cost_at_most_a_per_cent_more_than_two(n_rows, dearer):
    many, two = (price_law_cached(vote(1 / 40, n_classes=c), n_rows) for c in (None, 2))
    assert two.epsilon(1e-5) < many.epsilon(1e-5) < dearer * two.epsilon(1e-5)


@pytest.mark.parametrize("n_rows", [1, 7, 60])
def test_several_ballots_are_noisy_counts(n_rows):
    ratio = 0.05
    price = price_law_cached(vote(ratio, ballots=3, n_classes=5), n_rows)
    shift = 3 * np.sqrt(2 * n_rows) * ratio
    for epsilon in (0.0, shift, 2 * shift):
        truth = gaussian_delta(shift, epsilon)
        assert truth <= price.delta(epsilon) <= 1.01 * truth + 1e-7


def test_sticks_are_the_larger_of_two_tents():
    rng = np.random.default_rng(0)
    ratio, z = 0.4, np.linspace(-2, 2, 41)
    points = rng.uniform(-4, 4, (200, 2))
    p, q = max_laws(points, ratio)
    found = stick(np.log(p), np.log(q), z)
    np.testing.assert_allclose(found, hockey_stick(p, q, z), atol=1e-12)
    gaps = np.array([[-1.0], [0.0], [0.7]])
    p, q = bit_laws(gaps[:, 0], ratio)
    np.testing.assert_allclose(bit_tent(gaps, z, ratio), hockey_stick(p[:3], q[:3], z), atol=1e-12)
    many = bit_tent(np.linspace(0.5, 9, 400)[:, None], z, ratio).max(axis=0)
    highest = highest_tent(z, ratio, 0.5, np.inf)
    assert np.all(highest >= many - 1e-15)
    np.testing.assert_allclose(highest, many, rtol=1e-2, atol=1e-6)


def test_curvature_by_differences():
    rng = np.random.default_rng(1)
    ratio, h = 0.3, 1e-3
    z = np.array([-0.3, 0.0, 0.4])
    u, v = rng.uniform(-3, 3, (2, 60))
    steady, tilted = _curvature(u, v, ratio)
    bound = steady[:, None] + tilted[:, None] * np.abs(np.expm1(z))

    def parts(u, v):
        p, q = max_laws(np.stack([u, v], 1), ratio)
        first = p[:, :1] - q[:, :1] * np.exp(z)
        return np.stack([first, (1 - p[:, 1:2]) - (1 - q[:, 1:2]) * np.exp(z)])

    for angle in np.linspace(0, np.pi, 9):
        du, dv = h * np.cos(angle), h * np.sin(angle)
        second = (parts(u + du, v + dv) + parts(u - du, v - dv) - 2 * parts(u, v)) / h**2
        assert np.all(-second <= bound + 1e-5)


def caps_of(low, size, ratio, z):
    u, v = low.T
    least, most = (three_way_logs(*corners) for corners in ((u, v + size), (u + size, v)))
    return _caps(least, most, ratio, z)


def test_margins_cover_squares():
    rng = np.random.default_rng(2)
    for ratio, size in ((0.025, 0.4), (0.3, 0.2), (0.6, 1.5)):
        shift = np.sqrt(2) * ratio
        z = np.linspace(-4, 4, 33) * shift
        low = rng.uniform(-3, 2, (30, 2))
        margins = _margins(_square_curvature(low, size, ratio), size, z)
        four, caps = np.zeros((len(low), 4, len(z))), caps_of(low, size, ratio, z)
        for group in _square_kernels(low, size, ratio, z):
            four[group.squares, :, group.nodes] = group.values
        assert (four == caps[:, None]).any()
        # Planted: what the middle of a square exceeds nowhere, as if it were for all of it.
        narrow, broken = caps_of(low + size / 4, size / 2, ratio, z), False

        def sticks(points, ratio=ratio, z=z):
            p, q = max_laws(points.reshape(-1, 2), ratio)
            return hockey_stick(p, q, z).reshape(*points.shape[:-1], -1)

        corners = low[:, None] + size * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        for a, b in rng.uniform(0, 1, (20, 2)):
            weights = np.array([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b])
            inside = sticks(low + size * np.array([a, b]))
            chord = (weights[:, None] * sticks(corners)).sum(axis=1)
            assert np.all(inside <= chord + margins + 1e-12)
            capped = (weights[:, None] * four).sum(axis=1)
            assert np.all(inside <= capped * (1 + 1e-9) + 1e-15)
            assert np.all(inside <= caps * (1 + 1e-9) + 1e-15)
            broken = broken or np.any(inside > narrow * (1 + 1e-6) + 1e-15)
        assert broken


@pytest.mark.parametrize(("tilt", "beyond"), [(0.15, 1.0), (3.0, 6.0)])
@pytest.mark.parametrize("ratio", [0.025, 0.4])
def test_the_plane_is_covered(ratio, tilt, beyond):
    # Any point's gain, for any curvature of V at the nodes, is at most what the move allows for.
    rng = np.random.default_rng(3)
    shift = np.sqrt(2) * ratio
    step = 0.1 * shift
    kernels, on_top = plane_kernels(ratio, step, Region(0.1, tilt, beyond))
    half = len(on_top) // 2
    z = step * np.arange(-half, half + 1)
    gaps = np.concatenate([np.linspace(-9, 9, 721), rng.normal(size=200)])[:, None]
    bits = bit_tent(gaps, z, shift)
    points = np.concatenate([rng.uniform(-7, 7, (1500, 2)), rng.normal(1, 1, (1500, 2))])
    spread = rng.uniform(0, 7, 500)
    ridge = np.stack([spread, spread + rng.normal(0, 0.5, 500)], 1)
    points = np.concatenate([points, ridge])
    p, q = max_laws(points, ratio)
    sticks = np.maximum(hockey_stick(p, q, z), 0)
    curvatures = [np.exp(t * z / shift) for t in np.linspace(-2, 2, 9)]
    curvatures += [rng.exponential(size=len(z)) * (rng.random(len(z)) < 0.05) for _ in range(20)]
    for bends in curvatures:
        bound = max((kernels @ bends).max(), (bits @ bends).max() * (1 + 1e-3) + on_top @ bends)
        assert (sticks @ bends).max() <= bound * (1 + 1e-9) + 1e-14 * bends.sum()


def test_planted_missing_squares():
    # Without the plane two classes would be all there is, and three do tell more.
    ratio = 1 / 40
    shift = np.sqrt(2) * ratio
    z = 0.1 * shift * np.arange(-100, 101)
    gaps = np.linspace(-3, 3, 601)[:, None]
    binary = bit_tent(gaps, z, shift).sum(axis=1).max()
    p, q = max_laws([(1.2, 1.2), (1.5, 1.5), (1.0, 1.0)], ratio)
    assert hockey_stick(p, q, z).sum(axis=1).max() > 1.002 * binary


def test_one_gaussian_move_in_closed_form():
    for ratio in (0.05, 0.6, 2.0):
        grid = LossGrid(0.05 * min(ratio, 1))
        move = GaussianPairMove(ratio, grid)
        value = grid.final_value(*grid.node_range(ratio**2, ratio))
        read = PaddedValues.from_function(
            value, value.first, value.first + len(value.values), move.pad
        )
        found = move.best(read, read)
        loss = grid.step * (value.first + np.arange(len(value.values)))
        near = np.abs(loss) < 4 * ratio
        truth = np.array([gaussian_delta(ratio, -one) for one in loss[near]])
        np.testing.assert_allclose(found[near], truth, rtol=1e-2, atol=1e-7)
        assert np.all(found[near] >= truth * (1 - 1e-9))


def test_moves_behind_a_vote_are_bounded_by_the_larger_continuation():
    grid = LossGrid(0.05)
    end = grid.final_value(-400, 400)
    shifted = ValueFunction(grid, 0.3 + 0.7 * grid.final_value(-420, 380).values, -400)
    for move in (max_move(0.3, grid, 0.04, 0.2), GaussianPairMove(0.3, grid)):
        yes, no = (PaddedValues.from_function(f, -5, 5, move.pad) for f in (end, shifted))
        bound = move.best(yes, no)
        assert np.array_equal(bound, move.best(no, yes))
        for after in (yes, no):
            assert (bound >= move.best(after, after) * (1 - 1e-12)).all()


def test_heavy_ballots_are_noisy_counts():
    assert isinstance(max_move(1.0, LossGrid(0.05), 0.04, 0.2), GaussianPairMove)
    assert three_way_logs(np.zeros(1), np.zeros(1)).shape == (1, 3)
