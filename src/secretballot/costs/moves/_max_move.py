"""A noisy maximum over three or more classes in the game: the adversary chooses two gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtr

from secretballot.costs._moves import NoisyMax
from secretballot.costs._orders import Floats
from secretballot.costs.moves._bit_move import BitMove, bit_move
from secretballot.costs.moves._gaussian_move import GaussianPairMove
from secretballot.costs.moves._grid import LossGrid, PaddedValues, larger_value
from secretballot.costs.moves._plane import Region, plane_kernels
from secretballot.costs.moves._play import GameMove, Play
from secretballot.costs.moves._share_table import MORE_CLASSES, TWO_CLASSES, interpolate_share

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
    """The best of all (u, v) of `_plane`, bounded from above.

    The proof of the bound is in docs/theory/game.md ("A noisy maximum of three or more
    classes"). The bound is never above the `GaussianPairMove` with shift sqrt(2) r.
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
        """Compute an upper bound of the value of the best pair of gaps."""
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
    """Compute the largest gain of any kernel, in groups of the same reach.

    In single precision, which is twice as fast: sums of at most some hundred products that are
    never negative err by less than what is added in the end.
    """
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
    """Build the move with gaps as for `bit_move`, and squares of about twice that side.

    Where one ballot weighs almost as much as the noise the noisy counts are the bound.
    """
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
    """A noisy maximum: of two classes a noisy bit, of more the adversary chooses two gaps."""

    @property
    def _is_gaussian(self) -> bool:
        """True if the move is priced as the noisy counts behind it.

        That several ballots move like one heavy ballot at worst is proven for Renyi divergences,
        not for every convex V.
        """
        move = self.move
        return move.bound == "papernot" or (move.ballots > 1 and move.n_classes != 2)

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
