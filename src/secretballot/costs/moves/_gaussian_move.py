"""A pair of Gaussians in the game, which dominates all outcomes computed from noisy numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from secretballot.costs._orders import Floats
from secretballot.costs.moves._grid import LossGrid, PaddedValues, larger_value

_FURTHEST = 8.5  # standard deviations; what lies beyond is added


@dataclass(frozen=True)
class GaussianPairMove:
    """N(0, 1) against N(ratio, 1); exact at the nodes (docs/theory/game.md)."""

    ratio: float
    grid: LossGrid

    @property
    def _half(self) -> int:
        return int(np.ceil((self.ratio**2 / 2 + _FURTHEST * self.ratio) / self.grid.step)) + 1

    @property
    def pad(self) -> int:
        return self._half + 1

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        """Compute the value at the nodes written to."""
        after = larger_value(positive, negative)
        half, step, ratio = self._half, after.step, self.ratio
        z = step * np.arange(-half, half + 1)
        stick = ndtr(ratio / 2 - np.abs(z) / ratio) - np.exp(np.abs(z)) * ndtr(
            -ratio / 2 - np.abs(z) / ratio
        )
        # e^z T(z): the stick at -|z|, less 1 - e^z, is e^z times that at |z|.
        kernel = np.maximum(stick, 0.0) * np.exp(np.minimum(z, 0.0))
        slopes = after.slopes()
        jumps = slopes[..., 1:] - slopes[..., :-1] * np.exp(-step)
        start = after.pad - 1 - half
        jumps = jumps[..., start : start + after.n_nodes + 2 * half]
        gain = np.apply_along_axis(np.correlate, -1, jumps, kernel, "valid")
        return np.asarray(after.shifted(0) + np.maximum(gain, 0.0) + 2 * ndtr(-_FURTHEST))
