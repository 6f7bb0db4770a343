"""Value functions of the game on a grid of privacy losses, and simple moves on it.

The state of the game is u = Q/P = e^-l, the likelihood ratio of the outcomes so far. Its value V(u)
is convex in u with 0 <= V <= 1, V(0) = 1, and increases with the loss l. All approximations err
upwards: chords (linear in u, never in l) lie above a convex function; left of the grid V is bounded
by its value at the end; right of the grid the chord ends at u = 0, V = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

import numpy as np
from scipy.special import ndtr

from secretballot.costs._orders import Floats

#: Standard deviations of the loss that a grid covers; less than 1e-15 lies beyond.
_REACH = 8.0


@dataclass(frozen=True)
class Fineness:
    """Distances between grid points, of losses and of gaps, in units of a row's shift."""

    losses: float
    gaps: float

    def coarser(self, losses: float, gaps: float | None = None) -> Fineness:
        return Fineness(self.losses * losses, self.gaps * (losses if gaps is None else gaps))


#: For noisy bits delta is then about a per cent above the truth, epsilon a few tenths of one.
FINE = Fineness(losses=0.05, gaps=0.04)


@dataclass(frozen=True)
class Stencil:
    """Weights of two neighbouring nodes, from `offset` on, that stand for a shift of the loss."""

    offset: int
    weight: float
    next_weight: float


@dataclass(frozen=True)
class LossGrid:
    """Nodes at the losses i * step, for all integers i."""

    step: float

    def stencil(self, shift: float, probability: float) -> Stencil:
        return self.stencils(np.array([shift]), np.array([probability]))[0]

    def stencils(self, shifts: Floats, probabilities: Floats) -> list[Stencil]:
        """Compute the weights of outcomes that have `probabilities` and shift the loss."""
        offsets = np.floor(shifts / self.step)
        remainders = shifts - offsets * self.step
        weights = np.expm1(self.step - remainders) / math.expm1(self.step)
        weights = np.minimum(np.maximum(weights, 0.0), 1.0)
        columns = offsets.astype(int), probabilities * weights, probabilities * (1 - weights)
        return [Stencil(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]

    def node_range(
        self, variance: float, largest_loss: float, most: float = math.inf
    ) -> tuple[int, int]:
        """Compute the nodes [low, high) that cover a loss with this variance, up to `most`."""
        half = min(variance / 2 + _REACH * np.sqrt(variance), most) + 3 * largest_loss
        n_nodes = int(np.ceil(half / self.step)) + 1
        return -n_nodes, n_nodes + 1

    def final_value(self, low: int, high: int) -> ValueFunction:
        """Compute the value at the end of the game, max(0, 1 - e^-l), at the nodes [low, high)."""
        values = np.maximum(-np.expm1(-self.step * np.arange(low, high)), 0.0)
        return ValueFunction(self, values, low)


@dataclass(frozen=True)
class ValueFunction:
    """Upper bounds of V at the nodes from `first` on, along the last axis."""

    grid: LossGrid
    values: Floats
    first: int

    @property
    def losses(self) -> Floats:
        return self.grid.step * (self.first + np.arange(self.values.shape[-1], dtype=np.float64))

    def on_nodes(self, low: int, high: int) -> Floats:
        """Compute the values at the nodes [low, high), continued beyond the ends."""
        n_nodes = self.values.shape[-1]
        first, last = self.first, self.first + n_nodes
        out = np.empty((*self.values.shape[:-1], high - low))
        start, stop = min(max(first, low), high), max(min(last, high), low)
        out[..., start - low : stop - low] = self.values[..., start - first : stop - first]
        if low < first:
            out[..., : first - low] = self.values[..., :1]
        if high > last:
            ratio = np.exp(-self.grid.step * np.arange(1, high - last + 1))
            out[..., last - low :] = 1 - (1 - self.values[..., -1:]) * ratio
        return out

    def at(self, loss: Floats) -> Floats:
        """Interpolate the values at any losses (of values along one axis only)."""
        last = self.first + len(self.values)
        place = np.asarray(loss, dtype=np.float64) / self.grid.step
        node = np.floor(np.clip(place, self.first - 1, last)).astype(int)
        remainder = np.clip(place - node, 0.0, None) * self.grid.step
        values = self.on_nodes(self.first - 1, last + 2)
        at_node, at_next = values[node - self.first + 1], values[node - self.first + 2]
        weight = np.maximum(np.expm1(self.grid.step - remainder) / np.expm1(self.grid.step), 0.0)
        # Right of the last node but one, the chord to u = 0 needs no second node.
        beyond = 1 - (1 - at_node) * np.exp(-remainder)
        return np.asarray(np.where(node >= last, beyond, weight * at_node + (1 - weight) * at_next))

    def at_loss(self, loss: float) -> float:
        """Interpolate the value at one loss, as `at` does, in a fraction of the time."""
        step, last = self.grid.step, self.first + len(self.values)
        place = loss / step
        node = math.floor(min(max(place, self.first - 1), last))
        remainder, value = max(place - node, 0.0) * step, self._at_node(node)
        if node >= last:
            return 1 - (1 - value) * math.exp(-remainder)
        weight = max(math.expm1(step - remainder) / math.expm1(step), 0.0)
        return weight * value + (1 - weight) * self._at_node(node + 1)

    def _at_node(self, node: int) -> float:
        beyond = node - self.first - len(self.values) + 1
        if beyond > 0:
            return 1 - (1 - float(self.values[-1])) * math.exp(-self.grid.step * beyond)
        return float(self.values[max(node - self.first, 0)])


@dataclass(frozen=True)
class PaddedValues:
    """Values at the nodes that a step writes to, and at `pad` more nodes on either side."""

    values: Floats
    pad: int
    n_nodes: int
    step: float

    @classmethod
    def from_function(cls, function: ValueFunction, low: int, high: int, pad: int) -> PaddedValues:
        values = function.on_nodes(low - pad, high + pad)
        return cls(values, pad, high - low, function.grid.step)

    def block(self, start: int, n_nodes: int) -> PaddedValues:
        values = self.values[..., start : start + n_nodes + 2 * self.pad]
        return replace(self, values=values, n_nodes=n_nodes)

    def shifted(self, offset: int, values: Floats | None = None) -> Floats:
        """View the values (or others at the same nodes) `offset` nodes further on."""
        start = self.pad + offset
        return (self.values if values is None else values)[..., start : start + self.n_nodes]

    def slopes(self) -> Floats:
        """Compute -u dV/du between each node and the next, u taken at the node."""
        return np.asarray(np.diff(self.values, axis=-1) / -np.expm1(-self.step))

    def slope_jumps(self, stride: int, half: int) -> tuple[Floats, Floats]:
        """Compute every `stride`-th value, and the jumps of the slope there, times u."""
        # From `half` nodes before the first to `half` after the last, beyond those written to.
        n_coarse = (self.n_nodes - 1) // stride + 2
        start = self.pad - (half + 1) * stride
        stop = start + (n_coarse + 2 * half + 2) * stride
        coarse = self.values[..., start:stop:stride]
        slopes = np.diff(coarse, axis=-1) / -np.expm1(-stride * self.step)
        jumps = slopes[..., 1:] - slopes[..., :-1] * np.exp(-stride * self.step)
        return coarse[..., half + 1 : half + 1 + n_coarse], np.maximum(jumps, 0.0)

    def interpolate(self, coarse: Floats, stride: int) -> Floats:
        """Interpolate values at every `stride`-th node by chords, at all nodes written to."""
        out = np.empty((*coarse.shape[:-1], (coarse.shape[-1] - 1) * stride))
        for k in range(stride):
            weight = np.expm1((stride - k) * self.step) / np.expm1(stride * self.step)
            out[..., k::stride] = weight * coarse[..., :-1] + (1 - weight) * coarse[..., 1:]
        return out[..., : self.n_nodes]


def larger_value(positive: PaddedValues, negative: PaddedValues) -> PaddedValues:
    """Bound what follows any outcome by the larger value at each node, which is convex too."""
    if positive is negative:
        return positive
    return replace(positive, values=np.maximum(positive.values, negative.values))


@cache
def _add_multiple() -> Callable[..., Floats]:
    """Import the function that adds a multiple to an array, which takes a moment."""
    from scipy.linalg.blas import daxpy

    return cast("Callable[..., Floats]", daxpy)


def sum_outcomes(
    terms: Iterable[tuple[PaddedValues, Stencil]], out: Floats, scratch: Floats
) -> Floats:
    """Write the expected value over a move's outcomes into `out`, a contiguous array."""
    is_line, n_nodes = out.ndim == 1 and out.size > 0, out.shape[-1]
    add_multiple, first = _add_multiple(), True
    for values, stencil in terms:
        weights = (stencil.offset, stencil.weight), (stencil.offset + 1, stencil.next_weight)
        for offset, weight in weights:
            if first:
                np.multiply(values.shifted(offset), weight, out=out)
                first = False
            elif is_line:
                add_multiple(values.values, out, n_nodes, weight, values.pad + offset)
            else:
                out += np.multiply(values.shifted(offset), weight, out=scratch)
    return out


_BLOCK = 4096  # nodes worked on together, so that they stay in the processor's cache


@dataclass(frozen=True)
class ChoiceMove:
    """The best of finitely many laws; their first outcome is the positive one.

    V is convex, so smaller shifts of a bit or a maximum are worse and not among the laws. Unless
    `told_apart`, any outcome may be the positive one.
    """

    stencils: tuple[tuple[Stencil, ...], ...]
    told_apart: bool = True

    @classmethod
    def from_laws(
        cls, log_p: Floats, loss: Floats, grid: LossGrid, told_apart: bool = True
    ) -> ChoiceMove:
        """Build the move from probabilities and losses, one row per law."""
        laws = zip(loss.tolist(), np.exp(log_p).tolist(), strict=True)
        return cls(tuple(tuple(map(grid.stencil, *law)) for law in laws), told_apart)

    @property
    def pad(self) -> int:
        offsets = [abs(stencil.offset) for law in self.stencils for stencil in law]
        return max(offsets, default=0) + 3

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        if not self.told_apart:
            positive = negative = larger_value(positive, negative)
        value = np.full_like(positive.shifted(0), -np.inf)
        for start in range(0, positive.n_nodes, _BLOCK):
            part = value[..., start : start + _BLOCK]
            out, scratch = np.empty_like(part), np.empty_like(part)
            yes, no = (values.block(start, part.shape[-1]) for values in (positive, negative))
            for first, *other_stencils in self.stencils:
                terms = [(yes, first), *((no, stencil) for stencil in other_stencils)]
                np.maximum(part, sum_outcomes(terms, out, scratch), out=part)
        return value


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
