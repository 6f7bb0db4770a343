"""Draws with Gumbel noise, and purely private releases, in the game."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from secretballot.costs._orders import Floats
from secretballot.costs.moves._choices import ChoiceMove
from secretballot.costs.moves._grid import (
    LossGrid,
    PaddedValues,
    Stencil,
    larger_value,
    sum_outcomes,
)
from secretballot.costs.moves._play import M_co, Node, Play, play_of
from secretballot.costs.selection._pure_moves import BoundedRange, FewDraws, PureRelease

#: Distances of groups of t from half of the width, in widths.
_GROUP_ENDS = np.array([0.015, 0.045, 0.075, 0.105, 0.15, 0.2, 0.3])
#: Widths between the nodes on which a group is bounded.
_COARSE_STEP = 0.065
#: With a larger zone (see `bit_move`) there are few moves before the end, and any t may be best.
_FAR = 0.9

#: Places where a group may be best are played together if there are no more between them.
_MOST_BETWEEN = 32


@dataclass(frozen=True)
class RatioCell:
    """Values of t between two crossings: no shifted loss crosses a node."""

    start: tuple[Stencil, Stencil]  # the move at the lower end
    first: int  # nodes that are left of both shifted losses
    second: int
    low: float  # e^(t / 2) at the ends
    high: float

    @classmethod
    def between(cls, low: float, high: float, width: float, grid: LossGrid) -> RatioCell:
        """Build the cell between two crossings."""
        middle = (low + high) / 2
        p = float(np.expm1(low - width) / np.expm1(-width))
        return cls(
            (grid.stencil(low, p), grid.stencil(low - width, 1 - p)),
            int(np.floor(middle / grid.step)),
            int(np.floor((middle - width) / grid.step)),
            float(np.exp(low / 2)),
            float(np.exp(high / 2)),
        )


@dataclass(frozen=True)
class RangeMove:
    """Two outcomes that shift the loss by t and by t - width, for the best t in [0, width].

    Exact for the chords (docs/theory/game.md, "A draw with bounded range"). Groups of t that
    can't be best are bounded together, on some of the nodes.
    """

    width: float
    grid: LossGrid
    groups: tuple[tuple[RatioCell, ...], ...]
    envelopes: Floats
    stride: int

    @property
    def pad(self) -> int:
        reach = int(np.ceil(self.width / self.grid.step)) + 2
        return max(reach, (len(self.envelopes) // 2 + 3) * self.stride)

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        """Compute the value of the best ratios at the nodes written to."""
        after = larger_value(positive, negative)
        value = np.array(after.shifted(0))
        half = len(self.envelopes) // 2
        coarse, jumps = after.slope_jumps(self.stride, half)
        bounds = sliding_window_view(jumps, 2 * half + 1, axis=-1) @ self.envelopes
        bounds += coarse[..., None]
        # Estimated addition of chords between these nodes: it only decides how tight the bound is.
        chords = jumps[..., half : jumps.shape[-1] - half] * (self.stride * self.grid.step / 7)
        for group, cells in enumerate(self.groups):
            bound, best = bounds[..., group], value[..., :: self.stride]
            above = (bound + chords)[..., :-1] > best * (1 + 1e-12) + 1e-15
            places = np.flatnonzero(above.any(axis=tuple(range(above.ndim - 1))))
            for run in np.split(places, np.flatnonzero(np.diff(places) > _MOST_BETWEEN) + 1):
                if run.size:
                    # From the node before the first to the one after the last.
                    start, stop = max(run[0] - 1, 0), run[-1] + 1
                    part = value[..., start * self.stride : stop * self.stride]
                    self._raise(cells, after.block(start * self.stride, part.shape[-1]), part)
                    bound[..., run[0] : stop + (stop == best.shape[-1])] = 0.0
            coarse = np.maximum(coarse, bound)
        return np.maximum(value, after.interpolate(coarse, self.stride))

    def _raise(self, cells: tuple[RatioCell, ...], after: PaddedValues, value: Floats) -> None:
        """Raise values to those of the best ratios in some cells."""
        # Of every cell to the right of a node: the slope in u, times the u of that node.
        slopes = after.slopes()
        intercepts = after.values[..., :-1] + slopes
        out, scratch = np.empty_like(value), np.empty_like(value)
        per_fall = np.sqrt(1 / np.expm1(self.width))
        per_rise = np.sqrt(1 / -np.expm1(-self.width))
        for cell in cells:
            up, down = cell.start
            sum_outcomes(((after, up), (after, down)), out, scratch)
            np.maximum(value, out, out=value)
            # Gain of the best t inside the cell over its lower end.
            falls = after.shifted(cell.first, intercepts) - after.shifted(cell.second, intercepts)
            falls = np.sqrt(np.maximum(falls, 0.0, out=falls), out=falls)
            falls *= per_fall
            rises = after.shifted(cell.first, slopes) * np.exp(after.step * cell.first)
            factor = np.exp(after.step * cell.second)
            rises -= np.multiply(after.shifted(cell.second, slopes), factor, out=scratch)
            rises = np.sqrt(np.maximum(rises, 0.0, out=rises), out=rises)
            rises *= per_rise
            inside = rises <= np.multiply(falls, cell.high**2, out=scratch)
            rises /= cell.low
            rises -= np.multiply(falls, cell.low, out=scratch)
            np.maximum(rises, 0.0, out=rises)
            rises *= rises
            rises *= inside
            out += rises
            np.maximum(value, out, out=value)


@lru_cache(maxsize=64)
def range_move(width: float, grid: LossGrid, zone: float) -> RangeMove | None:
    """Build the move of a draw, many moves before the end if `zone` is small.

    None if its width is 0: the draw reveals nothing.
    """
    if not width:
        return None
    step = grid.step
    crossings = step * np.arange(1, int(np.ceil(width / step)))
    ends = np.unique(np.concatenate([[0.0, width], crossings, width - crossings]))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-9 * step])]
    ends[-1] = width
    middle = (ends[:-1] + ends[1:]) / 2
    cells = [RatioCell.between(*pair, width, grid) for pair in pairwise(ends)]
    # The middle first, for the others to be compared with.
    group_ends = _GROUP_ENDS if zone < _FAR else np.array([np.inf])
    nearness = np.searchsorted(group_ends, np.abs(middle / width - 0.5))
    side = np.sign(middle / width - 0.5) * (nearness > 0)
    stride = max(1, round(_COARSE_STEP * width / step))
    half = int(np.ceil(width / (stride * step))) + 1
    z = np.asarray(stride * step * np.arange(-half, half + 1), dtype=np.float64)
    groups, envelopes = [], []
    for place in sorted({*zip(nearness, side, strict=True)}):
        chosen = np.flatnonzero((nearness == place[0]) & (side == place[1]))
        groups.append(tuple(cells[chosen[0] : chosen[-1] + 1]))
        t = np.clip((width + z) / 2, ends[chosen[0]], ends[chosen[-1] + 1])
        envelopes.append(_tent(t, z, width))
    return RangeMove(width, grid, tuple(groups), np.stack(envelopes, axis=-1), stride)


def _tent(t: Floats, z: Floats, width: float) -> Floats:
    """Compute e^z T_t(z)."""
    total = -np.expm1(-width)
    p, q = -np.expm1(t - width) / total, (np.exp(-t) - np.exp(-width)) / total
    rest_p, rest_q = -np.expm1(-t) * np.exp(t - width) / total, -np.expm1(-t) / total
    return np.asarray(np.maximum(np.minimum(p - q * np.exp(z), rest_q * np.exp(z) - rest_p), 0.0))


class _DrawPlay(Play[M_co]):
    """Base class: moves that cost the same on all data, and at most a noisy bit's share."""

    @property
    def noisy_shift(self) -> float:
        return float(self.move.ratio)  # type: ignore[attr-defined]

    @property
    def bits(self) -> tuple[float, float] | None:
        return 1, self.loss_scale**2


class RangePlay(_DrawPlay[BoundedRange]):
    """A draw with Gumbel noise: the adversary chooses how the log ratios lie."""

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> RangeMove | None:
        return range_move(self.move.width, grid, zone)


class ResponsePlay(_DrawPlay[PureRelease]):
    """A purely private release, which randomised response dominates.

    Any outcome is computed from the response (Kairouz, Oh and Viswanath 2015).
    """

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> ChoiceMove | None:
        if not self.move.epsilon:
            return None
        losses = np.array([[-self.move.epsilon, self.move.epsilon]])
        log_p = -np.logaddexp(0.0, losses)
        return ChoiceMove.from_laws(log_p, -losses, grid, told_apart=False)


class FewDrawsPlay(_DrawPlay[FewDraws]):
    """A few draws, of a number that the adversary chooses."""

    def expand(self, node: Node) -> Node:
        either = (
            Node(f"{number} draws", play_of(draw), number, ())
            for number, draw in self.move.draws_by_size
        )
        return replace(node, either=tuple(either))

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> None:
        return None  # no draws; any others are expanded

    @property
    def bits(self) -> tuple[float, float] | None:
        return self.move.most, self.loss_scale**2 / max(self.move.most, 1)
