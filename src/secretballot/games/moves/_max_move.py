"""A noisy maximum over three or more classes in the game: the adversary chooses two gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtr

from secretballot.divergences import Floats, NoisyMax
from secretballot.games.moves._bit_move import BitMove, bit_move
from secretballot.games.moves._choices import Choices, bit_choices, level_choices, max_choices
from secretballot.games.moves._gaussian_move import GaussianPairMove
from secretballot.games.moves._grid import LossGrid, Padded
from secretballot.games.moves._plane import Region, plane_kernels
from secretballot.games.moves._play import GameMove, Play
from secretballot.games.moves._share_table import MORE_CLASSES, TWO_CLASSES, expected_share

_BLOCK = 1024
_WIDER = 1.2  # reaches that are alike, when kernels are grouped by them
_SINGLE = 1 + 1e-4  # 691 nodes at most, each product and sum to 6e-8

Singles = NDArray[np.float32]

#: Shifts between the nodes on which the plane is searched; chords between them add.
_EVERY = 0.1

_FURTHEST = 8.5

#: Upper bound of the loss variance of three and more classes, beside the noisy counts'.
_THREE_CLASSES = 0.65

#: However many rows are left, far out V bends so much that gaps up to this matter.
_LEAST_ZONE = 0.3125


@dataclass(frozen=True)
class MaxMove:
    """The best of all (u, v) of `_plane`: an upper bound of what the move is worth.

    Let T(z) be the hockey stick of the three outcomes, as in `BitMove`, so that what the move adds
    to V is u times the integral of T over V's curvature.

    - T is the larger of the tents of two bits: "i wins" and "j doesn't win". Hence it is at most
      the larger of the tents at the gaps x <= x' of the noisy bit with shift R = sqrt(2) r that
      have the same probabilities (Neyman and Pearson: no event of that probability tells more).
    - Where "neither" has a probability of at most 2e-4, one of the two tents exceeds the other by
      little, and where u or v is below -4.5, x' is beyond 4.5 (or x below). This part of the plane
      is the noisy bit with something on top.
    - Where x is beyond some gap, or x' below, or both far out, the tents are bounded all at once.
    - The rest is cut into squares. Inside one of side a, T exceeds a convex combination of its
      corners by at most C(z) a^2/4, if its second derivatives along any direction are at least
      -C(z). So each corner stands for its squares with T plus the largest such margin. Far out,
      where T is small and the margin is not, all four stand for the largest tent of the square.

    What is returned is never above the `GaussianPairMove` with shift R.
    """

    bit: BitMove
    gaussian: GaussianPairMove
    kernels: tuple[tuple[Singles, int], ...]
    on_top: Floats
    stride: int

    @property
    def pad(self) -> int:
        return max(self.bit.pad, self.gaussian.pad, (len(self.on_top) // 2 + 3) * self.stride)

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return an upper bound of what the best pair of gaps is worth."""
        if yes is not no:
            raise ValueError("what follows a noisy maximum can't depend on it.")
        half = len(self.on_top) // 2
        here, bends = yes.bends(self.stride, half)
        plane = here + _gain(bends, self.kernels) + 2 * ndtr(-_FURTHEST)
        on_top = here + _gain(bends, [(self.on_top[None].astype(np.float32), half)])
        # The chord of a sum is the sum of chords.
        binary = self.bit.best(yes, no) + yes.between(on_top, self.stride) - yes.shifted(0)
        best = np.maximum(binary, yes.between(plane, self.stride))
        return np.asarray(np.minimum(best, self.gaussian.best(yes, no)))


def _gain(bends: Floats, kernels: Sequence[tuple[Singles, int]]) -> Floats:
    """Return the most that kernels, in groups of the same reach, add to a worth.

    In single precision, which is twice as fast: sums of at most some hundred products that are
    never negative err by less than what is added in the end.
    """
    n_nodes = bends.shape[-1] - 2 * max(reach for _, reach in kernels)
    out = np.zeros((*bends.shape[:-1], n_nodes))
    for row in np.ndindex(out.shape[:-1]):
        for first in range(0, n_nodes, _BLOCK):
            best = np.zeros(len(out[row][first : first + _BLOCK]), dtype=np.float32)
            middle = (bends.shape[-1] - n_nodes) // 2 + first
            for group, reach in kernels:
                part = bends[row][middle - reach : middle + len(best) + reach].astype(np.float32)
                windows = np.ascontiguousarray(sliding_window_view(part, len(best)))
                np.maximum(best, (group @ windows).max(axis=0), out=best)
            out[row][first : first + _BLOCK] = best
    return out * _SINGLE


def _by_reach(kernels: Floats) -> tuple[tuple[Singles, int], ...]:
    """Return kernels grouped by how far they reach, and their reach in nodes."""
    half = kernels.shape[1] // 2
    away = np.abs(np.arange(-half, half + 1))
    reach = np.where(kernels > 0, away, 0).max(axis=1)
    groups = []
    # A few reach much further than all others.
    classes = np.ceil(np.log(np.maximum(reach, 1) / reach.max()) / np.log(_WIDER))
    for each in np.unique(classes):
        mine = np.flatnonzero(classes == each)
        most = int(reach[mine].max())
        core = kernels[mine, half - most : half + most + 1]
        groups.append((np.ascontiguousarray(core, dtype=np.float32), most))
    return tuple(groups)


@lru_cache(maxsize=32)
def max_move(
    ratio: float, grid: LossGrid, spacing: float, zone: float
) -> MaxMove | GaussianPairMove:
    """Return the move with gaps as for `bit_move`, and squares of about twice that side.

    Where one ballot weighs almost as much as the noise the noisy counts are the bound.
    """
    shift = float(np.sqrt(2)) * ratio
    if shift > 1:
        return GaussianPairMove(shift, grid)
    # Few rows before the end V bends sharply, and larger gaps are best.
    zone = max(zone, _LEAST_ZONE)
    region = Region(2.5 * spacing, tilt=min(1.5 * zone, 3.0), beyond=min(max(1.0, 3 * zone), 6.0))
    stride = max(1, round(_EVERY * shift / grid.step))
    kernels, on_top = plane_kernels(ratio, stride * grid.step, region)
    bit = bit_move(shift, grid, spacing, zone)
    return MaxMove(bit, GaussianPairMove(shift, grid), _by_reach(kernels), on_top, stride)


class MaxPlay(Play[NoisyMax]):
    """A noisy maximum: of two classes a noisy bit, of more the adversary chooses two gaps."""

    @property
    def _is_gaussian(self) -> bool:
        """Whether the move is priced as the noisy counts behind it.

        Several ballots that go from and to different classes are: that they move like one heavy
        ballot at worst is proven for Renyi divergences, not for every convex V.
        """
        move = self.move
        return move.bound == "papernot" or (move.ballots > 1 and move.n_classes != 2)

    @property
    def _is_bit(self) -> bool:
        return self.move.n_classes == 2 and not self._is_gaussian

    @property
    def known_shift(self) -> float:
        return float(np.sqrt(2)) * self.move.ratio

    @property
    def noisy_shift(self) -> float:
        return 0.0 if self.move.n_classes == 1 else self.known_shift

    @property
    def shift(self) -> float:
        return self.noisy_shift

    @property
    def loss_variance(self) -> float:
        if self._is_bit:
            return 2 / np.pi * self.shift**2
        return self.shift**2 * (1.0 if self._is_gaussian else _THREE_CLASSES)

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        if self._is_bit:
            return bit_move(self.shift, grid, spacing, zone)
        if self.move.n_classes == 1:
            return None
        if self._is_gaussian:
            return GaussianPairMove(self.shift, grid)
        return max_move(self.move.ratio, grid, spacing, zone)

    def on_known_data(self, state: Any) -> Choices | float:
        move, votes = self.move, np.asarray(state, dtype=np.float64)
        n_classes = len(votes) if move.n_classes is None else move.n_classes
        if n_classes == 1:
            return Choices(np.zeros(1), np.zeros((0, 1)))
        if n_classes > max(len(votes), 2):
            choices = None
            if move.ballots == 1:
                choices = level_choices(votes, n_classes, move.sigma, move.ratio)
            return self.known_shift if choices is None else choices
        votes = np.append(votes, np.zeros(n_classes - len(votes)))
        if len(votes) == 2:
            gap = (votes[0] - votes[1]) / (np.sqrt(2) * move.sigma)
            can_widen = bool(votes.min() >= move.weight)
            return bit_choices(float(gap), self.known_shift, can_widen)
        choices = max_choices(votes / move.sigma, move.ratio) if move.ballots == 1 else None
        return self.known_shift if choices is None else choices

    def expected_share(self, n_moves: float, delta: float) -> float | None:
        if self._is_gaussian:
            return 1.0
        return expected_share(n_moves, delta, TWO_CLASSES if self._is_bit else MORE_CLASSES)
