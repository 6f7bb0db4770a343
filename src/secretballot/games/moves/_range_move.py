"""Draws with Gumbel noise in the game: the adversary chooses how the log ratios lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from secretballot.divergences import BoundedRange, FewDraws, Floats, PureRelease
from secretballot.games.moves._choices import Choices
from secretballot.games.moves._grid import LossGrid, Padded, Stencil, add_up
from secretballot.games.moves._play import GameMove, M_co, Node, Play, play_of

#: How far from half of the width groups of t reach, in widths; and the nodes that they are bounded
#: together on. Fewer moves before the end than for this zone (see `bit_move`) any t may be best.
_AROUND = np.array([0.015, 0.045, 0.075, 0.105, 0.15, 0.2, 0.3])
_EVERY = 0.065
_FAR = 0.9

#: Places where a group may be best are played together if there are no more between them.
_APART = 32


@dataclass(frozen=True)
class Cell:
    """Values of t between two crossings: no shifted loss crosses a node."""

    start: tuple[Stencil, Stencil]  # the move at the lower end
    first: int  # nodes that are left of both shifted losses
    second: int
    low: float  # e^(t / 2) at the ends
    high: float


@dataclass(frozen=True)
class RangeMove:
    """Two outcomes that shift the loss by t and by t - width, for the best t in [0, width].

    With x = e^t the first has probability (1 - x e^-width) / (1 - e^-width) under P. As t grows
    both shifted losses cross nodes; between two crossings each lies on one chord of V,
    a - b u, and what the move is worth is a constant less

        ((a1 - a2) e^-width x + (b1 - b2) u / x) / (1 - e^-width) = f x + r / x.

    V falls with u and is convex, so a1 >= a2 and b1 >= b2: the best x is sqrt(r / f), and worth
    (sqrt(f x0) - sqrt(r / x0))^2 more than a crossing x0, or it is at a crossing. So the maximum
    over all t is exact for the chords.

    Many moves before the end only t near width / 2 can be best. Groups of the others are bounded
    together, and played only where they may be: what t adds to V is u times the integral of a tent
    over V's curvature (see `BitMove`),

        T_t(z) = max(0, min(p e^-z - q, 1 - q - (1 - p) e^-z))

    at z above the loss, which as a function of t is largest at (width + z) / 2, and falls on either
    side. This is done on some of the nodes: chords between them only add.
    """

    width: float
    grid: LossGrid
    groups: tuple[tuple[Cell, ...], ...]
    envelopes: Floats
    stride: int

    @property
    def pad(self) -> int:
        reach = int(np.ceil(self.width / self.grid.step)) + 2
        return max(reach, (len(self.envelopes) // 2 + 3) * self.stride)

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return what the best ratios are worth at the nodes written to."""
        if yes is not no:
            raise ValueError("what follows a draw can't depend on it.")
        # Of every cell to the right of a node: the slope in u, times the u of that node.
        slopes = yes.slopes()
        intercepts = yes.values[..., :-1] + slopes
        value = np.array(yes.shifted(0))
        half = len(self.envelopes) // 2
        here, bends = yes.bends(self.stride, half)
        bounds = sliding_window_view(bends, 2 * half + 1, axis=-1) @ self.envelopes
        bounds += here[..., None]
        # About what chords between these nodes add: only how tight the bound is rests on it.
        chords = bends[..., half : bends.shape[-1] - half] * (self.stride * self.grid.step / 7)
        for group, cells in enumerate(self.groups):
            bound, best = bounds[..., group], value[..., :: self.stride]
            above = (bound + chords)[..., :-1] > best * (1 + 1e-12) + 1e-15
            places = np.flatnonzero(above.any(axis=tuple(range(above.ndim - 1))))
            for run in np.split(places, np.flatnonzero(np.diff(places) > _APART) + 1):
                if run.size:
                    # From the node before the first to the one after the last.
                    start, stop = max(run[0] - 1, 0), run[-1] + 1
                    nodes = slice(start * self.stride, stop * self.stride)
                    self._play(cells, yes, intercepts, slopes, value, nodes)
                    bound[..., run[0] : stop + (stop == best.shape[-1])] = 0.0
            here = np.maximum(here, bound)
        return np.maximum(value, yes.between(here, self.stride))

    def _play(
        self,
        cells: tuple[Cell, ...],
        yes: Padded,
        intercepts: Floats,
        slopes: Floats,
        whole: Floats,
        nodes: slice,
    ) -> None:
        """Raise the worth at some nodes to that of the best ratios in some cells."""
        value = whole[..., nodes]
        worth = yes.block(nodes.start, value.shape[-1])
        intercepts, slopes = intercepts[..., nodes.start :], slopes[..., nodes.start :]
        out, scratch = np.empty_like(value), np.empty_like(value)
        per_fall = np.sqrt(1 / np.expm1(self.width))
        per_rise = np.sqrt(1 / -np.expm1(-self.width))
        for cell in cells:
            up, down = cell.start
            add_up(((worth, up), (worth, down)), out, scratch)
            np.maximum(value, out, out=value)
            # By how much a better t inside the cell is worth more.
            falls = worth.shifted(cell.first, intercepts) - worth.shifted(cell.second, intercepts)
            falls = np.sqrt(np.maximum(falls, 0.0, out=falls), out=falls)
            falls *= per_fall
            rises = worth.shifted(cell.first, slopes) * np.exp(self.grid.step * cell.first)
            rises -= np.multiply(
                worth.shifted(cell.second, slopes),
                np.exp(self.grid.step * cell.second),
                out=scratch,
            )
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
    """Return the move of a draw, many moves before the end if `zone` is small; None if mute."""
    if not width:
        return None
    step = grid.step
    crossings = step * np.arange(1, int(np.ceil(width / step)))
    ends = np.unique(np.concatenate([[0.0, width], crossings, width - crossings]))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-9 * step])]
    ends[-1] = width
    middle = (ends[:-1] + ends[1:]) / 2
    cells = np.array([_cell(*each, width, grid) for each in pairwise(ends)], dtype=object)
    # The middle first, for the others to be compared with.
    around = _AROUND if zone < _FAR else np.array([np.inf])
    nearness = np.searchsorted(around, np.abs(middle / width - 0.5))
    side = np.sign(middle / width - 0.5) * (nearness > 0)
    stride = max(1, round(_EVERY * width / step))
    half = int(np.ceil(width / (stride * step))) + 1
    z = np.asarray(stride * step * np.arange(-half, half + 1), dtype=np.float64)
    groups, envelopes = [], []
    for place in sorted({*zip(nearness, side, strict=True)}):
        chosen = np.flatnonzero((nearness == place[0]) & (side == place[1]))
        groups.append(tuple(cells[chosen]))
        t = np.clip((width + z) / 2, ends[chosen[0]], ends[chosen[-1] + 1])
        envelopes.append(_tent(t, z, width))
    return RangeMove(width, grid, tuple(groups), np.stack(envelopes, axis=-1), stride)


def _cell(low: float, high: float, width: float, grid: LossGrid) -> Cell:
    middle = (low + high) / 2
    p = float(np.expm1(low - width) / np.expm1(-width))
    return Cell(
        (grid.stencil(low, p), grid.stencil(low - width, 1 - p)),
        int(np.floor(middle / grid.step)),
        int(np.floor((middle - width) / grid.step)),
        float(np.exp(low / 2)),
        float(np.exp(high / 2)),
    )


def _tent(t: Floats, z: Floats, width: float) -> Floats:
    """Return e^z T_t(z)."""
    whole = -np.expm1(-width)
    p, q = -np.expm1(t - width) / whole, (np.exp(-t) - np.exp(-width)) / whole
    rest_p, rest_q = -np.expm1(-t) * np.exp(t - width) / whole, -np.expm1(-t) / whole
    return np.asarray(np.maximum(np.minimum(p - q * np.exp(z), rest_q * np.exp(z) - rest_p), 0.0))


@dataclass(frozen=True)
class ResponseMove:
    """Randomised response: nothing is known of a release but that it is purely private."""

    epsilon: float
    grid: LossGrid

    @property
    def pad(self) -> int:
        return int(np.ceil(self.epsilon / self.grid.step)) + 2

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return what the answer is worth at the nodes written to."""
        if yes is not no:
            raise ValueError("what follows a purely private release can't depend on it.")
        truth = float(1 / (1 + np.exp(-self.epsilon)))
        out, scratch = np.empty_like(yes.shifted(0)), np.empty_like(yes.shifted(0))
        terms = (
            (yes, self.grid.stencil(self.epsilon, truth)),
            (no, self.grid.stencil(-self.epsilon, 1 - truth)),
        )
        return add_up(terms, out, scratch)


def response_move(epsilon: float, grid: LossGrid) -> GameMove | None:
    """Return the move of a purely private release; None if it tells nothing."""
    return ResponseMove(epsilon, grid) if epsilon else None


class _DrawPlay(Play[M_co]):
    """Base class: moves that cost the same on all data, and at most a noisy bit's share."""

    @property
    def noisy_shift(self) -> float:
        return float(self.move.ratio)  # type: ignore[attr-defined]

    @property
    def shift(self) -> float:
        return self.noisy_shift

    @property
    def loss_variance(self) -> float:
        return 2 / np.pi * self.shift**2

    def on_known_data(self, state: Any) -> Choices | float:
        return self.noisy_shift

    @property
    def bits(self) -> tuple[float, float] | None:
        return 1, self.shift**2


class RangePlay(_DrawPlay[BoundedRange]):
    """A draw with Gumbel noise: the adversary chooses how the log ratios lie."""

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        return range_move(self.move.width, grid, zone)


class ResponsePlay(_DrawPlay[PureRelease]):
    """A purely private release."""

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        return response_move(self.move.epsilon, grid)


class FewDrawsPlay(_DrawPlay[FewDraws]):
    """A few draws, of a number that the adversary chooses."""

    def expand(self, node: Node) -> Node:
        either = (
            Node(f"{number} draws", play_of(draw), number, ())
            for number, draw in self.move.draws_by_size
        )
        return replace(node, either=tuple(either))

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        return None  # no draws; any others are expanded

    @property
    def bits(self) -> tuple[float, float] | None:
        return self.move.most, self.shift**2 / max(self.move.most, 1)
