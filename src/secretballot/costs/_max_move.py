"""A noisy maximum over three or more classes in the game, for all an adversary can choose.

The ballot moves from class i to class j, and z is the largest noisy count of the others. Chosen are
(u, v) = ((n_i - z)/sigma, (n_j - z)/sigma); the outcomes are i, j and neither, and the neighbour is
at (u - r, v + r).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri_exp

from secretballot.costs._bit_move import BitMove, bit_move, bit_tent, highest_tent
from secretballot.costs._game import (
    MORE_CLASSES,
    TWO_CLASSES,
    GameMove,
    Play,
    interpolate_share,
    play_of,
)
from secretballot.costs._grid import GaussianPairMove, LossGrid, PaddedValues, larger_value
from secretballot.costs._law import NoisyMax
from secretballot.costs._orders import Floats
from secretballot.costs._worst_max import three_way_logs

_SUBGRID = np.linspace(0.0, 1.0, 5)
#: Squares are grouped by how far their kernels reach, up to this ratio.
_SQUARE_REACH_RATIO = 1.25
_CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


@dataclass(frozen=True)
class Region:
    """Part of the plane that is cut into squares, the finest of which have this `side`.

    Exponential curvatures of V up to `tilt` (per shift) decide where squares are cut. From the gap
    `beyond` on, a class's winning or losing is bounded all at once.
    """

    side: float
    tilt: float
    beyond: float

    @property
    def edge(self) -> float:
        """Height below which a class all but never wins; above it, the others don't."""
        return max(4.5, self.beyond + 1.5)

    @property
    def rare_third(self) -> float:
        """Probability of a third outcome below which the outcome is a corrected noisy bit."""
        return 8e-4 * float(_density(self.beyond + 0.1))


class SquareKernels(NamedTuple):
    """Bounds of e^z T(z) at the corners of some squares; 0 at all other nodes."""

    squares: NDArray[np.intp]
    nodes: slice
    values: Floats  # (n_squares, 4, n_nodes)


def _density(t: Floats | float) -> Floats:
    return np.asarray(np.exp(-(np.asarray(t) ** 2) / 2) / np.sqrt(2 * np.pi))


_A, _B = np.sqrt(3 - np.sqrt(6)), np.sqrt(3 + np.sqrt(6))
#: Extrema of the derivatives of the normal density (orders 0 to 3).
_TURNS = ((0.0,), (-1.0, 1.0), (-np.sqrt(3), 0.0, np.sqrt(3)), (-_B, -_A, _A, _B))


def _largest_derivatives(low: Floats, high: Floats) -> list[Floats]:
    """Bound the absolute derivatives of the normal cdf on intervals, of the orders 0 to 4."""
    bounds = [np.asarray(ndtr(high))]
    ends = np.stack([low, high])
    for order, turns in enumerate(_TURNS, start=1):
        at = np.concatenate([ends, np.clip(np.reshape(turns, (-1, 1)), low, high)])
        hermite = (1.0, at, at**2 - 1, at**3 - 3 * at)[order - 1]
        bounds.append(np.asarray(np.abs(hermite * _density(at)).max(axis=0)))
    return bounds


def _largest_product(order: int, a: list[Floats], b: list[Floats]) -> Floats:
    """Bound the derivatives of phi(a) Phi(b) along unit vectors, from the factors' bounds."""
    parts = [comb(order, k) * a[k + 1] * b[order - k] for k in range(order + 1)]
    return np.asarray(sum(parts))


def _smoothness(low: Floats, size: float, ratio: float) -> tuple[Floats, Floats]:
    """Bound the third and fourth derivatives of the probability that i wins, or that j does."""
    # Along any unit vectors, in squares and where the neighbour is. The gradient of p_i consists of
    # phi((u - v)/sqrt(2)) Phi((u + v)/sqrt(2))/sqrt(2), along (1, -1), and phi(u) Phi(-v).
    least, most = low.T - ratio, low.T + size + ratio
    root = np.sqrt(2)
    total = _largest_derivatives((least[0] + least[1]) / root, (most[0] + most[1]) / root)
    # The derivatives of Phi(-x) are those of Phi(x), but for their signs.
    gap = _largest_derivatives((least[0] - most[1]) / root, (most[0] - least[1]) / root)
    u, v = (_largest_derivatives(*ends) for ends in zip(least, most, strict=True))
    behind_u, behind_v = (
        [np.asarray(ndtr(-x)), *d[1:]] for x, d in zip(least, (u, v), strict=True)
    )
    bounds = []
    for order in (2, 3):
        tie = _largest_product(order, gap, total)
        rises = _largest_product(order, u, behind_v), _largest_product(order, v, behind_u)
        bounds.append(tie + np.maximum(*rises))
    return bounds[0], bounds[1]


def stick(log_p: Floats, log_q: Floats, z: Floats) -> Floats:
    """Compute e^z T(z) of the three outcomes, shape (..., n_losses): the larger of two tents."""
    p_i, p_j = np.exp(log_p[..., :2]).swapaxes(-1, 0)[..., None]
    q_i, q_j = np.exp(log_q[..., :2]).swapaxes(-1, 0)[..., None]
    rise = np.exp(z)
    first = np.minimum(p_i - q_i * rise, (1 - q_i) * rise - (1 - p_i))
    second = np.minimum((1 - p_j) - (1 - q_j) * rise, q_j * rise - p_j)
    return np.asarray(np.maximum(np.maximum(first, second), 0.0))


def _hessian(u: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
    """Compute the second derivatives (uu, uv, vv) of the probability that i wins."""
    tie = _density((u - v) / np.sqrt(2)) * ndtr((u + v) / np.sqrt(2)) / np.sqrt(2)
    far_out = _density(u) * _density(v)
    tie_u = far_out / 2 - (u - v) / 2 * tie
    tie_v = far_out / 2 + (u - v) / 2 * tie
    return tie_u - u * _density(u) * ndtr(-v), -tie_u, -tie_v


def _largest_eigenvalue(uu: Floats, uv: Floats, vv: Floats) -> Floats:
    return np.asarray((uu + vv) / 2 + np.hypot((uu - vv) / 2, uv))


def _curvature(u: Floats, v: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Bound second derivatives of e^z T by -a - b |e^z - 1| from below; return a and b."""
    # docs/theory/game.md, "Curvature of the hockey stick".
    i_wins, i_wins_moved = _hessian(u, v), _hessian(u - ratio, v + ratio)
    change = [moved - unmoved for moved, unmoved in zip(i_wins_moved, i_wins, strict=True)]
    j_wins, j_wins_moved = _hessian(v, u), _hessian(v + ratio, u - ratio)
    other = [unmoved - moved for moved, unmoved in zip(j_wins_moved, j_wins, strict=True)]
    steady = np.maximum(_largest_eigenvalue(*change), _largest_eigenvalue(*other))
    size = [
        np.maximum(_largest_eigenvalue(*hessian), _largest_eigenvalue(*(-part for part in hessian)))
        for hessian in (i_wins_moved, j_wins_moved)
    ]
    return np.maximum(steady, 0.0), np.maximum(*size)


def _cut(ratio: float, region: Region) -> tuple[Floats, Floats]:
    """Cut the region into squares; return their corners (n_squares, 2) and sides."""
    shift = float(np.sqrt(2)) * ratio
    low = np.stack(np.meshgrid(*2 * [np.arange(-region.edge, region.edge, 1.5)]), -1).reshape(-1, 2)
    tilts = np.linspace(-region.tilt, region.tilt, 7)
    z = shift * np.linspace(-region.edge - 1, region.edge + 1, 121)
    weights = np.exp(tilts[:, None] * z / shift) * np.exp(-z)
    gaps = np.linspace(-region.beyond, region.beyond, 81)[:, None]
    best = (bit_tent(gaps, z, shift) @ weights.T).max(axis=0)
    squares: list[Floats] = []
    size = 1.5
    while len(low):
        inner = low[_needs_kernels(low, size, region)]
        if size <= region.side:
            squares.append(np.column_stack([inner, np.full(len(inner), size)]))
            break
        close = np.zeros(len(inner), dtype=bool)
        for kernels in _square_kernels(inner, size, ratio, z):
            highest = (kernels.values @ weights[:, kernels.nodes].T).max(axis=1)
            close[kernels.squares] = (highest > 0.94 * best).any(axis=-1)
        squares.append(np.column_stack([inner[~close], np.full((~close).sum(), size)]))
        size /= 2
        low = (inner[close][:, None] + size * _CORNERS).reshape(-1, 2)
    table = np.concatenate(squares)
    return table[:, :2], table[:, 2]


def _needs_kernels(low: Floats, size: float, region: Region) -> Floats:
    """Check which squares have points that neither the bit nor the outer bounds cover."""
    u, v = low[:, 0], low[:, 1]
    least_i, most_j = np.exp(three_way_logs(u, v + size)[:, :2]).T
    most_i, least_j = np.exp(three_way_logs(u + size, v)[:, :2]).T
    neither = ndtr(-u) * ndtr(-v)
    most, rare = ndtr(region.beyond), ndtr(-region.beyond - 0.5)
    return np.asarray(
        (least_i < most)
        & (least_j < most)
        & (neither > region.rare_third)
        & ((most_i > rare) | (most_j > rare))
    )


def _square_kernels(low: Floats, size: float, ratio: float, z: Floats) -> Iterator[SquareKernels]:
    """Bound e^z T(z) in squares by convex combinations of corners, in groups of similar reach."""
    corner = low[:, None] + size * _CORNERS
    # Squares share corners.
    points, index = np.unique(corner[..., 0] + 1j * corner[..., 1], return_inverse=True)
    index = index.reshape(-1, 4)
    u, v = points.real, points.imag
    log_p, log_q = three_way_logs(u, v), three_way_logs(u - ratio, v + ratio)
    curvature = _square_curvature(low, size, ratio)
    loss = np.maximum(_largest_loss(log_p, log_q)[index].max(axis=1), curvature[:, 2])
    half = len(z) // 2
    reach = np.minimum(np.ceil(loss / (z[half + 1] - z[half])) + 2, half)
    classes = np.ceil(np.log(reach) / np.log(_SQUARE_REACH_RATIO))
    for number in np.unique(classes):
        squares = np.flatnonzero(classes == number)
        most = int(reach[squares].max())
        nodes = slice(half - most, half + most + 1)
        used, at = np.unique(index[squares], return_inverse=True)
        sticks = stick(log_p[used], log_q[used], z[nodes])[at.reshape(-1, 4)]
        values = sticks + _margins(curvature[squares], size, z[nodes])[:, None]
        # Where all four corners are above the cap of the square, the cap is enough.
        least, most = log_p[index[squares, 1]], log_p[index[squares, 2]]
        cap = _caps(least, most, ratio, z[nodes])[:, None]
        np.copyto(values, cap, where=values.min(axis=1, keepdims=True) > cap)
        yield SquareKernels(squares, nodes, values)


def _largest_loss(log_p: Floats, log_q: Floats) -> Floats:
    """Compute the largest |z| at which `stick` is not 0, up to rounding."""
    wins, wins_moved = log_p[:, :2], log_q[:, :2]
    # The other class wins, or neither.
    loses = np.logaddexp(log_p[:, 1::-1], log_p[:, 2:])
    loses_moved = np.logaddexp(log_q[:, 1::-1], log_q[:, 2:])
    losses = np.abs(np.concatenate([wins - wins_moved, loses - loses_moved], axis=1))
    return np.asarray(losses.max(axis=1))


def _caps(least: Floats, most: Floats, ratio: float, z: Floats) -> Floats:
    """Compute upper bounds of e^z T(z) in each square, (n_squares, n_losses)."""
    # T is at most the larger of the tents at the gaps that have the probabilities of "i wins" and
    # of "j doesn't win"; both grow with u and fall with v, so corners bound them.
    shift = float(np.sqrt(2)) * ratio
    return np.maximum(
        highest_tent(z, shift, _gap(least, 0), _gap(most, 0)),
        highest_tent(z, shift, -_gap(least, 1), -_gap(most, 1)),
    )


def _gap(log_p: Floats, winner: int) -> Floats:
    """Compute the gap of a bit that is positive as often as a class wins, shape (n, 1)."""
    wins = log_p[:, winner]
    loses = np.logaddexp(log_p[:, 1 - winner], log_p[:, 2])
    gap = np.where(wins < loses, ndtri_exp(np.minimum(wins, 0)), -ndtri_exp(np.minimum(loses, 0)))
    return np.asarray(gap)[:, None]


def _square_curvature(low: Floats, size: float, ratio: float) -> Floats:
    """Bound second derivatives as in `_curvature`, and losses, in each square: (n_squares, 3)."""
    shift = float(np.sqrt(2)) * ratio
    grid = np.stack(np.meshgrid(_SUBGRID, _SUBGRID), -1).reshape(-1, 2) * size
    u, v = np.moveaxis(low[:, None] + grid, -1, 0)
    # A point of the square is nowhere further than this from a point of the subgrid.
    distance = size * np.sqrt(2) / 8
    steady, tilted = _curvature(u, v, ratio)
    third, fourth = _smoothness(low, size, ratio)
    # Hessians of log probabilities lie in [-I, 0], so log ratios are Lipschitz with |delta|.
    middle = low + size / 2
    log_p = three_way_logs(middle[:, 0], middle[:, 1])
    log_q = three_way_logs(middle[:, 0] - ratio, middle[:, 1] + ratio)
    return np.stack(
        [
            steady.max(axis=1) + distance * shift * fourth,
            tilted.max(axis=1) + distance * third,
            np.abs(log_p - log_q)[:, :2].max(axis=1) + shift * size / np.sqrt(2),
        ],
        axis=1,
    )


def _margins(curvature: Floats, size: float, z: Floats) -> Floats:
    """Bound e^z T in each square above its corners, (n_squares, n_losses)."""
    steady, tilted, loss = curvature.T[..., None]
    bound = steady + tilted * np.abs(np.expm1(z))
    # One node further: the slope's jumps between nodes count where the nodes are.
    return np.asarray(np.where(np.abs(z) <= loss + np.diff(z).max(), bound * size**2 / 4, 0.0))


@lru_cache(maxsize=32)
def plane_kernels(ratio: float, step: float, region: Region) -> tuple[Floats, Floats]:
    """Compute kernels e^z T(z) that bound the plane, on nodes `step` apart, and a correction."""
    # Kernels have shape (n_kernels, 2 * half + 1). The correction is added to the tent of the noisy
    # bit with shift sqrt(2) `ratio`.
    shift = float(np.sqrt(2)) * ratio
    low, sizes = _cut(ratio, region)
    beyond = region.beyond
    largest_loss = float(log_ndtr(shift - 8.5) - log_ndtr(-8.5))
    half = int(np.ceil(2 * largest_loss / step)) + 1
    z = step * np.arange(-half, half + 1, dtype=np.float64)
    # Corners that the finest squares share stand for all of them. Larger squares, coarse where
    # these are not, are kept apart: the larger of two kernels would be too large for either.
    fine = sizes == sizes.min()
    corner = low[fine][:, None] + sizes.min() * _CORNERS
    points, index = np.unique(corner[..., 0] + 1j * corner[..., 1], return_inverse=True)
    index = index.reshape(-1, 4)
    shared = np.zeros((len(points), len(z)))
    for group in _square_kernels(low[fine], float(sizes.min()), ratio, z):
        for number in range(4):
            # No two squares have the same corner at the same place.
            at = index[group.squares, number]
            shared[at, group.nodes] = np.maximum(shared[at, group.nodes], group.values[:, number])
    kernels = [shared]
    for size in np.unique(sizes[~fine]):
        squares = low[sizes == size]
        apart = np.zeros((len(squares), 4, len(z)))
        for group in _square_kernels(squares, float(size), ratio, z):
            apart[group.squares, :, group.nodes] = group.values
        kernels.append(apart.reshape(-1, len(z)))
    above, below = highest_tent(z, shift, beyond, np.inf), highest_tent(z, shift, -np.inf, -beyond)
    rare = beyond + 0.5
    far_out = np.maximum(
        highest_tent(z, shift, rare, np.inf), highest_tent(z, shift, -np.inf, -rare)
    )
    kernels.append(np.stack([above, below, far_out]))
    return np.concatenate(kernels), _bit_correction(z, shift, region)


def _bit_correction(z: Floats, shift: float, region: Region) -> Floats:
    """Bound e^z times what a rare third outcome adds to the tent of a noisy bit."""
    # docs/theory/game.md, "A rare third outcome".
    most = region.beyond + shift
    width = region.rare_third / float(_density(most + 0.1))
    gap = np.linspace(-width / 2, most, 2001)
    reach = log_ndtr(shift - gap - width) - log_ndtr(-gap - width)
    # The least gap whose tent reaches down to z, rounded down; z >= 0 is reached by all.
    index = np.clip(np.searchsorted(reach, np.abs(z)) - 1, 0, len(gap) - 1)
    within = np.abs(z) <= reach[-1]
    lost = np.maximum(np.exp(np.abs(z)) - np.exp(gap[index] * shift - shift**2 / 2), 0.0)
    down = region.rare_third * np.where(within, lost, 0.0)
    level = region.rare_third * -np.expm1(-width / 2 * shift - shift**2 / 2)
    rare = np.where(z < 0, np.exp(z) * down, 0.0)
    mirrored = np.where(z > 0, down, 0.0)
    tails = np.maximum(
        highest_tent(z, shift, region.edge, np.inf), highest_tent(z, shift, -np.inf, -region.edge)
    )
    total = np.maximum(rare, mirrored) + np.exp(z) * level * within + tails
    # The slope's jumps between nodes count where the nodes are.
    wide = np.maximum(np.maximum(total, np.roll(total, 1)), np.roll(total, -1))
    return np.asarray(wide * np.exp(np.diff(z).max()))


_BLOCK = 1024
_REACH_RATIO = 1.2  # kernels are grouped by reach, up to this ratio
_SINGLE = 1 + 1e-4  # 691 nodes at most, each product and sum to 6e-8

Singles = NDArray[np.float32]

#: Shifts between the nodes on which the plane is searched; chords between them add.
_COARSE_STEP = 0.1

_FURTHEST = 8.5

#: Upper bound of the loss variance of three and more classes, beside the noisy counts'.
_THREE_CLASSES = 0.65

#: However many rows are left, far out V bends so much that gaps up to this matter.
_LEAST_ZONE = 0.3125


@dataclass(frozen=True)
class MaxMove:
    """The best of all (u, v), bounded from above; never above the pair with shift sqrt(2) r.

    Proof: docs/theory/game.md, "A noisy maximum of three or more classes".
    """

    bit: BitMove
    gaussian: GaussianPairMove
    kernels: tuple[tuple[Singles, int], ...]
    correction: Floats
    stride: int

    @property
    def pad(self) -> int:
        return max(self.bit.pad, self.gaussian.pad, (len(self.correction) // 2 + 3) * self.stride)

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        after = larger_value(positive, negative)
        half = len(self.correction) // 2
        coarse, jumps = after.slope_jumps(self.stride, half)
        plane = coarse + _largest_gain(jumps, self.kernels) + 2 * ndtr(-_FURTHEST)
        corrected = coarse + _largest_gain(
            jumps, [(self.correction[None].astype(np.float32), half)]
        )
        # The chord of a sum is the sum of chords.
        binary = self.bit.best(after, after)
        binary = binary + after.interpolate(corrected, self.stride) - after.shifted(0)
        best = np.maximum(binary, after.interpolate(plane, self.stride))
        return np.asarray(np.minimum(best, self.gaussian.best(after, after)))


def _largest_gain(jumps: Floats, kernels: Sequence[tuple[Singles, int]]) -> Floats:
    """Compute the largest gain of any kernel, in groups of the same reach."""
    # In single precision, twice as fast: sums of some hundred products that are never negative err
    # by less than `_SINGLE` adds.
    n_nodes = jumps.shape[-1] - 2 * max(reach for _, reach in kernels)
    out = np.zeros((*jumps.shape[:-1], n_nodes))
    for row in np.ndindex(out.shape[:-1]):
        for first in range(0, n_nodes, _BLOCK):
            best = np.zeros(len(out[row][first : first + _BLOCK]), dtype=np.float32)
            middle = (jumps.shape[-1] - n_nodes) // 2 + first
            for group, reach in kernels:
                part = jumps[row][middle - reach : middle + len(best) + reach].astype(np.float32)
                windows = np.ascontiguousarray(sliding_window_view(part, len(best)))
                np.maximum(best, (group @ windows).max(axis=0), out=best)
            out[row][first : first + _BLOCK] = best
    return out * _SINGLE


def _group_by_reach(kernels: Floats) -> tuple[tuple[Singles, int], ...]:
    """Group kernels by how far they reach, in nodes: a few reach much further than all others."""
    half = kernels.shape[1] // 2
    positive = kernels > 0
    first, last = positive.argmax(axis=1), positive[:, ::-1].argmax(axis=1)
    reach = np.where(positive.any(axis=1), half - np.minimum(first, last), 0)
    groups = []
    classes = np.ceil(np.log(np.maximum(reach, 1) / reach.max()) / np.log(_REACH_RATIO))
    for number in np.unique(classes):
        members = np.flatnonzero(classes == number)
        most = int(reach[members].max())
        core = kernels[members, half - most : half + most + 1]
        groups.append((np.ascontiguousarray(core, dtype=np.float32), most))
    return tuple(groups)


@lru_cache(maxsize=32)
def max_move(
    ratio: float, grid: LossGrid, spacing: float, zone: float
) -> MaxMove | GaussianPairMove:
    """Build the move with gaps as for `bit_move`, and squares of about twice that side."""
    shift = float(np.sqrt(2)) * ratio
    if shift > 1:
        return GaussianPairMove(shift, grid)
    # Few rows before the end V bends sharply, and larger gaps are best.
    zone = max(zone, _LEAST_ZONE)
    region = Region(2.5 * spacing, tilt=min(1.5 * zone, 3.0), beyond=min(max(1.0, 3 * zone), 6.0))
    stride = max(1, round(_COARSE_STEP * shift / grid.step))
    kernels, correction = plane_kernels(ratio, stride * grid.step, region)
    bit = bit_move(shift, grid, spacing, zone)
    return MaxMove(bit, GaussianPairMove(shift, grid), _group_by_reach(kernels), correction, stride)


class MaxPlay(Play[NoisyMax]):
    @property
    def _is_gaussian(self) -> bool:
        """True if the move is priced as the noisy counts behind it."""
        # That several ballots move like one heavy ballot at worst is proven for Renyi divergences,
        # not for every convex V.
        move = self.move
        return move.ballots > 1 and move.n_classes != 2

    @property
    def _is_bit(self) -> bool:
        return self.move.n_classes == 2 and not self._is_gaussian

    @property
    def noisy_shift(self) -> float:
        """The mu of the noisy counts; 0 for one class, which is always released."""
        return 0.0 if self.move.n_classes == 1 else float(np.sqrt(2)) * self.move.ratio

    @property
    def loss_variance(self) -> float:
        if self._is_bit:
            return super().loss_variance
        return self.loss_scale**2 * (1.0 if self._is_gaussian else _THREE_CLASSES)

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        if self._is_bit:
            return bit_move(self.loss_scale, grid, spacing, zone)
        if self.move.n_classes == 1:
            return None
        if self._is_gaussian:
            return GaussianPairMove(self.loss_scale, grid)
        return max_move(self.move.ratio, grid, spacing, zone)

    def estimate_share(self, n_moves: float, delta: float) -> float | None:
        if self._is_gaussian:
            return 1.0
        return interpolate_share(n_moves, delta, TWO_CLASSES if self._is_bit else MORE_CLASSES)


play_of.register(NoisyMax, MaxPlay)
