"""Many small noisy bits in a row in the game, at the price of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot.costs._orders import Floats
from secretballot.costs.moves._bit_move import BitMove, bit_move
from secretballot.costs.moves._gaussian_move import GaussianPairMove
from secretballot.costs.moves._grid import LossGrid, PaddedValues, ValueFunction, larger_value
from secretballot.costs.moves._play import Play

#: A bit is taken for a noisy number with this much more than 2/pi of the mu^2 of its own.
_EXTRA_SHARES = (0.02, 0.01, 0.005, 0.0025)

#: Largest value of all bits together beyond their noisy number.
_MOST_EXCESS = 1e-12

#: Rounding of both, and the far tails of a noisy number.
_ROUNDING = 1e-16


@dataclass(frozen=True)
class SmallBits:
    """Releases `n_bits` noisy bits, one after the other; each shifts by `ratio` deviations."""

    n_bits: int
    ratio: float


@dataclass(frozen=True)
class SmallBitsMove:
    """The best of all gaps, bit after bit, bounded from above by noisy numbers.

    The proof of the bound is in docs/theory/game.md ("Many small bits").
    """

    bit: BitMove
    bits: SmallBits
    grid: LossGrid

    @property
    def pad(self) -> int:
        number = GaussianPairMove(float(np.sqrt(self.bits.n_bits)) * self.bits.ratio, self.grid)
        return max(self.bit.pad, number.pad)

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        """Compute an upper bound of the value of the best gaps at the nodes written to."""
        value = larger_value(positive, negative).shifted(0)
        for n_left in range(self.bits.n_bits, 0, -1):
            # Beyond the nodes V is continued as by `ValueFunction`.
            function = ValueFunction(self.grid, value, 0)
            after = PaddedValues.from_function(function, 0, positive.n_nodes, self.pad)
            value = self.bit.best(after, after)
            bound = self._noisy_number_bound(n_left, value, after) if n_left > 1 else None
            if bound is not None:
                return bound
        return value

    def _noisy_number_bound(
        self, n_bits: int, one_bit: Floats, after: PaddedValues
    ) -> Floats | None:
        """Bound `n_bits` bits by a noisy number; None where they are too few to be alike."""
        shift, excess = 0.0, np.inf
        for extra in _EXTRA_SHARES:
            shorter = float(np.sqrt(2 / np.pi * (1 + extra))) * self.bits.ratio
            number = GaussianPairMove(shorter, self.grid).best(after, after)
            total = n_bits * self._excess(one_bit, after, number)
            if total > _MOST_EXCESS:
                break
            shift, excess = shorter, total
        if not shift:
            return None
        numbers = GaussianPairMove(float(np.sqrt(n_bits)) * shift, self.grid)
        return np.asarray(numbers.best(after, after) + excess)

    def _excess(self, one_bit: Floats, after: PaddedValues, number: Floats) -> float:
        """Bound the value of one bit above that of a noisy number, at any loss."""
        above, step = one_bit - number, self.grid.step
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
        left_of = one_bit[..., 0] - after.values[..., 0]
        outside = np.maximum(left_of, one_bit[..., -1] - after.shifted(0)[..., -1])
        return float(max(inside.max(), outside.max(), 0.0)) + _ROUNDING


class SmallBitsPlay(Play[SmallBits]):
    """Many small noisy bits in a row."""

    @property
    def loss_scale(self) -> float:
        return self.move.ratio

    @property
    def loss_variance(self) -> float:
        return 2 / np.pi * self.move.n_bits * self.move.ratio**2

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> SmallBitsMove:
        return SmallBitsMove(bit_move(self.move.ratio, grid, spacing, zone), self.move, grid)
