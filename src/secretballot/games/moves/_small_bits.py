"""Many small noisy bits in a row in the game, at the price of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot.divergences import Floats
from secretballot.games.moves._bit_move import BitMove, bit_move
from secretballot.games.moves._gaussian_move import GaussianPairMove
from secretballot.games.moves._grid import LossGrid, Padded, ValueFunction
from secretballot.games.moves._play import GameMove, Play

#: By how much more than 2/pi of its noisy number a bit may be taken to tell.
_MORE = (0.02, 0.01, 0.005, 0.0025)

#: What all bits together may be worth beyond that.
_EXCESS = 1e-12

#: What both may be rounded by, and a noisy number's far tails.
_ROUNDED = 1e-16


@dataclass(frozen=True)
class SmallBits:
    """Releases `n_bits` noisy bits, one after the other; each shifts by `ratio` deviations."""

    n_bits: int
    ratio: float


@dataclass(frozen=True)
class SmallBitsMove:
    """The best of all gaps, bit after bit: an upper bound of what they are worth together.

    Let B be what the best gap makes of V, and G a noisy number, N(0, 1) against N(m, 1). Whatever
    the gap, a bit averages V over shifts of the loss, and so does G; averages commute, and the best
    average of G V is no more than G of the best average: B G <= G B. So if B V <= G V + e at all
    losses, then B B V <= B (G V + e) <= G B V + e <= G G V + 2 e, and so on: n bits are worth at
    most n noisy numbers, which are one of ratio sqrt(n) m, and n e. What e is follows from a single
    bit; m^2 is as little above 2/pi of the bit's squared shift as leaves e negligible. Shortly
    before the end of the game nothing does, and bits are played one by one.

    Between nodes, B V is at most the chord, being convex in u. G V is convex too, and so above its
    neighbouring chords, extended: the largest distance between them and the chord is added. Left
    of the nodes, where V is constant, B V is at most what it is at the first one; right of the
    last, where V is a chord, B V is at most as much above it as there.
    """

    bit: BitMove
    bits: SmallBits
    grid: LossGrid

    @property
    def pad(self) -> int:
        whole = GaussianPairMove(float(np.sqrt(self.bits.n_bits)) * self.bits.ratio, self.grid)
        return max(self.bit.pad, whole.pad)

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return an upper bound of what the best gaps are worth at the nodes written to."""
        if yes is not no:
            raise ValueError("what follows many bits can't depend on one of them.")
        value = yes.shifted(0)
        for n_left in range(self.bits.n_bits, 0, -1):
            # Beyond the nodes V is taken for what `ValueFunction` continues it by.
            worth = Padded.of(ValueFunction(self.grid, value, 0), 0, yes.n_nodes, self.pad)
            value = self.bit.best(worth, worth)
            together = self._together(n_left, value, worth) if n_left > 1 else None
            if together is not None:
                return together
        return value

    def _together(self, n_bits: int, one: Floats, worth: Padded) -> Floats | None:
        """Bound so many bits by noisy numbers; None where they are too few to be alike."""
        found = None
        for more in _MORE:
            shift = float(np.sqrt(2 / np.pi * (1 + more))) * self.bits.ratio
            number = GaussianPairMove(shift, self.grid).best(worth, worth)
            excess = n_bits * self._excess(one, worth, number)
            if excess > _EXCESS:
                break
            found = shift, excess
        if found is None:
            return None
        shift, excess = found
        together = GaussianPairMove(float(np.sqrt(n_bits)) * shift, self.grid)
        return np.asarray(together.best(worth, worth) + excess)

    def _excess(self, one: Floats, worth: Padded, number: Floats) -> float:
        """Return by how much one bit is worth more than a noisy number, at any loss."""
        above, step = one - number, self.grid.step
        # Jumps of G V's slope in u, times u: at both ends of each cell, u that of its left end.
        slopes = -np.diff(number, axis=-1) / -np.expm1(-step)
        jumps = np.maximum(slopes[..., :-1] * np.exp(-step) - slopes[..., 1:], 0.0)
        left, right = jumps[..., :-1], jumps[..., 1:] * np.exp(step)
        with np.errstate(invalid="ignore"):
            inner = np.nan_to_num(left * right / (left + right))
        # Of the outer cells only one neighbour is known.
        ends = (jumps[..., :1] * np.exp(step), inner, jumps[..., -1:])
        between = np.concatenate(ends, axis=-1) * -np.expm1(-step)
        inside = np.maximum(above[..., :-1], above[..., 1:]) + between
        left_of = one[..., 0] - worth.values[..., 0]
        outside = np.maximum(left_of, one[..., -1] - worth.shifted(0)[..., -1])
        return float(max(inside.max(), outside.max(), 0.0)) + _ROUNDED


class SmallBitsPlay(Play[SmallBits]):
    """Many small noisy bits in a row."""

    @property
    def shift(self) -> float:
        return self.move.ratio

    @property
    def loss_variance(self) -> float:
        return 2 / np.pi * self.move.n_bits * self.move.ratio**2

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        return SmallBitsMove(bit_move(self.move.ratio, grid, spacing, zone), self.move, grid)
