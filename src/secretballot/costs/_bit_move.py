"""Noisy bits and noisy vectors in the game: of a bit the adversary chooses the gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr

from secretballot.costs._game import Play, play_of
from secretballot.costs._grid import GaussianPairMove, LossGrid, PaddedValues, Stencil, sum_outcomes
from secretballot.costs._law import NoisyBit, NoisyVector
from secretballot.costs._orders import Floats

#: Standardised gaps beyond this are not searched: they add less than Phi(-_FURTHEST) a move.
_FURTHEST = 8.5

#: Beyond this gap all gaps are bounded together once they can't be best.
_OUTER = 1.0
_COARSE_STEP = 0.3  # shifts between the nodes on which they are bounded

_ROOT = float(np.sqrt(2 * np.pi))
_BLOCK = 4096  # nodes worked on together, so that they stay in the processor's cache


@dataclass(frozen=True)
class GapCells:
    """Neighbouring gaps, with the bound on what lies between them."""

    stencils: tuple[tuple[Stencil, Stencil], ...]
    n_nodes_up: int  # nodes that the positive outcome moves the loss up at most
    n_nodes_down: int  # nodes that the negative outcome moves the loss down at most
    per_intercept: float

    @classmethod
    def between(cls, gaps: Floats, ratio: float, grid: LossGrid) -> GapCells:
        up = log_ndtr(gaps) - log_ndtr(gaps - ratio)
        down = log_ndtr(-gaps) - log_ndtr(ratio - gaps)
        outcomes = grid.stencils(up, ndtr(gaps)), grid.stencils(down, ndtr(-gaps))
        stencils = tuple(zip(*outcomes, strict=True))
        width = float(np.max(np.diff(gaps)))
        nearest = max(gaps[0], -gaps[-1], 0.0)
        furthest = max(abs(gaps[0] - ratio), abs(gaps[-1] - ratio))
        curvature = ratio + furthest * np.expm1(ratio * width / 2)
        return cls(
            stencils,
            n_nodes_up=int(np.floor(up.max() / grid.step)),
            n_nodes_down=int(np.ceil(-down.min() / grid.step)),
            per_intercept=float(width**2 / 8 * curvature * np.exp(-(nearest**2) / 2) / _ROOT),
        )

    @property
    def pad(self) -> int:
        return max(self.n_nodes_up, self.n_nodes_down) + 2

    def best(
        self, positive: PaddedValues, negative: PaddedValues, slopes: Sequence[Floats]
    ) -> Floats:
        best = np.full_like(positive.shifted(0), -np.inf)
        out, scratch = np.empty_like(best), np.empty_like(best)
        for first, second in self.stencils:
            outcomes = (positive, first), (negative, second)
            np.maximum(best, sum_outcomes(outcomes, out, scratch), out=best)
        return best + self._margin(positive, negative, *slopes)

    def _margin(
        self, positive: PaddedValues, negative: PaddedValues, rise: Floats, fall: Floats
    ) -> Floats:
        """Bound the value between the gaps above that at the gaps."""
        upper = positive.shifted(self.n_nodes_up) + positive.shifted(self.n_nodes_up, rise)
        lower = negative.shifted(-self.n_nodes_down) + negative.shifted(-self.n_nodes_down, fall)
        intercept = upper - lower
        if positive is not negative:
            least = positive.shifted(0) + positive.shifted(0, rise)
            least = least - negative.shifted(-1) - negative.shifted(-1, fall)
            intercept = np.maximum(intercept, -least)
        return np.asarray(self.per_intercept * np.maximum(intercept, 0.0))


@dataclass(frozen=True)
class BitMove:
    """The best of all gaps, bounded from above: docs/theory/game.md, "A noisy bit"."""

    inner: Sequence[GapCells]
    outer: Sequence[GapCells]
    envelopes: tuple[Floats, Floats]  # on coarse nodes, every `stride`-th
    stride: int

    @property
    def pad(self) -> int:
        reach = max(cells.pad for cells in (*self.inner, *self.outer))
        return max(reach, (len(self.envelopes[0]) // 2 + 3) * self.stride)

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        value = self._best(positive, negative)
        if positive is not negative:
            np.maximum(value, self._best(negative, positive), out=value)
        return value

    def _best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        same = positive is negative
        # The limits of large gaps: nothing is revealed.
        value = np.maximum(positive.shifted(0), negative.shifted(0))
        _raise(self.inner, positive, negative, value)
        bound = self._outer_bound(positive, value) if same and value.ndim == 1 else None
        if bound is None:
            _raise(self.outer, positive, negative, value)
        else:
            np.maximum(value, bound, out=value)
        value += ndtr(-_FURTHEST)
        return value

    def _outer_bound(self, values: PaddedValues, best: Floats) -> Floats | None:
        """Bound the values of the outer gaps; None if one of them may exceed `best`."""
        half = len(self.envelopes[0]) // 2
        coarse, jumps = values.slope_jumps(self.stride, half)
        gains = [np.correlate(jumps, kernel, "valid") for kernel in self.envelopes]
        bound, coarse_best = coarse + np.maximum(*gains), best[:: self.stride]
        if np.any(bound[: len(coarse_best)] > coarse_best * (1 + 1e-12) + 1e-15):
            return None
        return values.interpolate(bound, self.stride)


def _raise(
    groups: Sequence[GapCells], positive: PaddedValues, negative: PaddedValues, value: Floats
) -> None:
    """Raise `value` to that of the best gap among the cells, block by block."""
    slopes = positive.slopes(), negative.slopes()
    for start in range(0, positive.n_nodes, _BLOCK):
        part = value[..., start : start + _BLOCK]
        first = positive.block(start, part.shape[-1])
        second = first if positive is negative else negative.block(start, part.shape[-1])
        part_slopes = [slope[..., start:] for slope in slopes]
        for cells in groups:
            np.maximum(part, cells.best(first, second, part_slopes), out=part)


@lru_cache(maxsize=64)
def bit_move(ratio: float, grid: LossGrid, spacing: float, zone: float) -> BitMove:
    """Build the move with gaps `spacing` apart up to `zone`, and wider beyond."""
    middle = max(_OUTER, 3 * zone)
    double = max(3 * zone, 0.4)
    inner = _gaps((0.0, zone, spacing), (zone, double, 2 * spacing), (double, middle, 5 * spacing))
    outer = _gaps((middle, 4.0, min(8 * spacing, 0.3)), (4.0, _FURTHEST, 0.5))
    inner_gaps, outer_gaps = (
        [side for gaps in zones for side in (gaps, -gaps[::-1])] for zones in (inner, outer)
    )
    outer_gaps += _gaps((_FURTHEST, _FURTHEST + ratio, 0.5))
    # Suprema of tents over the outer gaps, on the coarse nodes.
    stride = max(1, round(_COARSE_STEP * min(ratio, 1.0) / grid.step))
    step = grid.step * stride
    largest_loss = log_ndtr(ratio - _FURTHEST) - log_ndtr(-_FURTHEST)
    half = int(np.ceil(2 * largest_loss / step)) + 1
    z = step * np.arange(-half, half + 1, dtype=np.float64)
    envelopes = highest_tent(z, ratio, middle, np.inf), highest_tent(z, ratio, -np.inf, -middle)
    near, far = (
        [GapCells.between(gaps, ratio, grid) for gaps in sides]
        for sides in (inner_gaps, outer_gaps)
    )
    return BitMove(near, far, envelopes, stride)


def _gaps(*zones: tuple[float, float, float]) -> list[Floats]:
    """Build gaps in groups that reach about as far, so that their margins are alike."""
    groups = []
    for low, high, spacing in zones:
        n_cells = int(np.ceil((high - low) / spacing - 1e-9))
        if n_cells > 0:
            gaps = np.linspace(low, high, n_cells + 1)
            size = max(1, round((0.6 if high <= 1.0 else 0.3) / (gaps[1] - gaps[0])))
            groups += [gaps[k : k + size + 1] for k in range(0, n_cells, size)]
    return groups


def bit_tent(gap: Floats, z: Floats, shift: float) -> Floats:
    """Compute e^z T(z), the tent of the noisy bit at a gap."""
    above = ndtr(gap) - ndtr(gap - shift) * np.exp(z)
    below = ndtr(shift - gap) * np.exp(z) - ndtr(-gap)
    return np.asarray(np.maximum(np.minimum(above, below), 0.0))


def highest_tent(z: Floats, shift: float, least: Floats | float, most: Floats | float) -> Floats:
    """Compute the supremum of `bit_tent` over the gaps from `least` to `most`."""
    return bit_tent(np.clip(shift / 2 - z / shift, least, most), z, shift)


class BitPlay(Play[NoisyBit]):
    @property
    def noisy_shift(self) -> float:
        return self.move.shift / self.move.scale

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> BitMove:
        return bit_move(self.loss_scale, grid, spacing, zone)

    @property
    def bits(self) -> tuple[float, float] | None:
        return 1, self.loss_scale**2


class VectorPlay(Play[NoisyVector]):
    is_vector = True

    @property
    def noisy_shift(self) -> float:
        return self.move.ratio

    @property
    def loss_variance(self) -> float:
        return self.move.ratio**2

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GaussianPairMove:
        return GaussianPairMove(self.move.ratio, grid)

    def estimate_share(self, n_moves: float, delta: float) -> float:
        return 1.0


play_of.register(NoisyBit, BitPlay)
play_of.register(NoisyVector, VectorPlay)
