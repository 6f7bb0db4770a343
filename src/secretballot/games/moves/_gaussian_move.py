"""A noisy number in the game: what bounds moves whose outcomes are functions of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from secretballot.divergences import Floats, NoisyVector
from secretballot.games.moves._grid import LossGrid, Padded
from secretballot.games.moves._play import GameMove, Play

_FURTHEST = 8.5


@dataclass(frozen=True)
class GaussianPairMove:
    """N(0, 1) against N(ratio, 1): there is nothing to choose.

    What the move adds to a piecewise linear V at u is u times the integral of its hockey stick,
    e^z T(z) = Phi(ratio/2 - z/ratio) - e^z Phi(-ratio/2 - z/ratio) at z above the loss, less
    1 - e^z for z < 0, over the jumps of V's slope: exact at the nodes. What lies beyond 8.5
    standard deviations is added.
    """

    ratio: float
    grid: LossGrid

    @property
    def _half(self) -> int:
        return int(np.ceil((self.ratio**2 / 2 + _FURTHEST * self.ratio) / self.grid.step)) + 1

    @property
    def pad(self) -> int:
        return self._half + 1

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return what the move is worth at the nodes written to."""
        if yes is not no:
            raise ValueError("what follows a noisy number can't depend on it.")
        half, step, ratio = self._half, yes.step, self.ratio
        z = step * np.arange(-half, half + 1)
        stick = ndtr(ratio / 2 - np.abs(z) / ratio) - np.exp(np.abs(z)) * ndtr(
            -ratio / 2 - np.abs(z) / ratio
        )
        # e^z T(z): the stick at -|z|, less 1 - e^z, is e^z times that at |z|.
        kernel = np.maximum(stick, 0.0) * np.exp(np.minimum(z, 0.0))
        slopes = yes.slopes()
        bends = slopes[..., 1:] - slopes[..., :-1] * np.exp(-step)
        start = yes.pad - 1 - half
        bends = bends[..., start : start + yes.n_nodes + 2 * half]
        gain = np.apply_along_axis(np.correlate, -1, bends, kernel, "valid")
        return np.asarray(yes.shifted(0) + np.maximum(gain, 0.0) + 2 * ndtr(-_FURTHEST))


class VectorPlay(Play[NoisyVector]):
    """A vector with Gaussian noise."""

    is_vector = True

    @property
    def noisy_shift(self) -> float:
        return self.move.ratio

    @property
    def shift(self) -> float:
        return self.move.ratio

    @property
    def loss_variance(self) -> float:
        return self.move.ratio**2

    @property
    def known_shift(self) -> float:
        return 0.0

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        return GaussianPairMove(self.move.ratio, grid)

    def expected_share(self, n_moves: float, delta: float) -> float | None:
        return 1.0
