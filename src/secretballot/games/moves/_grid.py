"""What a position in the game is worth to the adversary, on a grid of privacy losses.

The state of the game is u = Q/P = e^-l, the likelihood ratio of what was released so far. What it
is worth, V(u), is convex in u with 0 <= V <= 1, V(0) = 1 and V(l) increasing in the loss l. Every
approximation here therefore errs upwards: chords (linear in u, never in l) lie above a convex
function; left of the grid the value at its end is larger; right of it a chord ends at u = 0, V = 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from secretballot.divergences import Floats

#: Standard deviations of the loss that the grid follows; beyond, less than 1e-15 is left out of it.
_REACH = 8.0


@dataclass(frozen=True)
class Stencil:
    """Weights of two nodes, `offset` and the next, that stand for a shift of the loss."""

    offset: int
    here: float
    next: float


@dataclass(frozen=True)
class LossGrid:
    """Nodes at the losses i * step, for all integers i: a shift is the same stencil everywhere."""

    step: float

    def stencil(self, shift: float, probability: float) -> Stencil:
        """Return the chord's weights for an outcome of `probability` that shifts the loss."""
        offset = int(np.floor(shift / self.step))
        rest = shift - offset * self.step
        weight = float(np.clip(np.expm1(self.step - rest) / np.expm1(self.step), 0.0, 1.0))
        return Stencil(offset, probability * weight, probability * (1 - weight))

    def reach(self, variance: float, widest: float) -> tuple[int, int]:
        """Return the nodes [low, high) to keep when the loss has so much variance."""
        half = variance / 2 + _REACH * np.sqrt(variance) + 3 * widest
        nodes = int(np.ceil(half / self.step)) + 1
        return -nodes, nodes + 1

    def end(self, variance: float, widest: float) -> ValueFunction:
        """Return the worth of the end of the game, max(0, 1 - e^-l)."""
        low, high = self.reach(variance, widest)
        return ValueFunction(
            self, np.maximum(-np.expm1(-self.step * np.arange(low, high)), 0.0), low
        )


@dataclass(frozen=True)
class ValueFunction:
    """Upper bounds of V at the nodes from `first` on, along the last axis."""

    grid: LossGrid
    values: Floats
    first: int

    def over(self, low: int, high: int) -> Floats:
        """Return the worth at the nodes [low, high), continued beyond the ends."""
        n_nodes = self.values.shape[-1]
        first, last = self.first, self.first + n_nodes
        out = np.empty((*self.values.shape[:-1], high - low))
        start, stop = min(max(first, low), high), max(min(last, high), low)
        out[..., start - low : stop - low] = self.values[..., start - first : stop - first]
        if low < first:
            out[..., : first - low] = self.values[..., :1]
        if high > last:
            beyond = np.exp(-self.grid.step * np.arange(1, high - last + 1))
            out[..., last - low :] = 1 - (1 - self.values[..., -1:]) * beyond
        return out

    def at(self, loss: Floats) -> Floats:
        """Return the worth at any losses (values along one axis only)."""
        place = np.asarray(loss, dtype=np.float64) / self.grid.step
        node = np.floor(np.clip(place, self.first - 1, self.first + len(self.values))).astype(int)
        rest = np.clip(place - node, 0.0, None) * self.grid.step
        both = self.over(self.first - 1, self.first + len(self.values) + 2)
        here, there = both[node - self.first + 1], both[node - self.first + 2]
        weight = np.maximum(np.expm1(self.grid.step - rest) / np.expm1(self.grid.step), 0.0)
        # Right of the last node but one the chord to u = 0 needs no second node.
        beyond = 1 - (1 - here) * np.exp(-rest)
        inside = weight * here + (1 - weight) * there
        return np.asarray(np.where(node >= self.first + len(self.values), beyond, inside))


@dataclass(frozen=True)
class Padded:
    """The worth on the nodes that a step writes to, and `pad` more on either side to read from."""

    values: Floats
    pad: int
    n_nodes: int
    step: float

    @classmethod
    def of(cls, worth: ValueFunction, low: int, high: int, pad: int) -> Padded:
        """Return a worth with room to read beyond [low, high)."""
        return cls(worth.over(low - pad, high + pad), pad, high - low, worth.grid.step)

    def block(self, start: int, n_nodes: int) -> Padded:
        """Return a part of the nodes that a step writes to."""
        return replace(self, values=self.values[..., start:], n_nodes=n_nodes)

    def shifted(self, offset: int, values: Floats | None = None) -> Floats:
        """Return a view of the values (or of others at the same nodes), `offset` nodes further."""
        start = self.pad + offset
        return (self.values if values is None else values)[..., start : start + self.n_nodes]

    def bends(self, stride: int, half: int) -> tuple[Floats, Floats]:
        """Return the worth at every `stride`-th node written to, and how its slope jumps there.

        The jumps are u times those of dV/du, at nodes from `half` before the first to `half` after
        the last, which lies beyond the nodes written to.
        """
        n_coarse = (self.n_nodes - 1) // stride + 2
        start = self.pad - (half + 1) * stride
        stop = start + (n_coarse + 2 * half + 2) * stride
        coarse = self.values[..., start:stop:stride]
        slopes = np.diff(coarse, axis=-1) / -np.expm1(-stride * self.step)
        jumps = slopes[..., 1:] - slopes[..., :-1] * np.exp(-stride * self.step)
        return coarse[..., half + 1 : half + 1 + n_coarse], np.maximum(jumps, 0.0)

    def between(self, coarse: Floats, stride: int) -> Floats:
        """Return chords between values at every `stride`-th node, at all nodes written to."""
        out = np.empty((*coarse.shape[:-1], (coarse.shape[-1] - 1) * stride))
        for k in range(stride):
            weight = np.expm1((stride - k) * self.step) / np.expm1(stride * self.step)
            out[..., k::stride] = weight * coarse[..., :-1] + (1 - weight) * coarse[..., 1:]
        return out[..., : self.n_nodes]

    def slopes(self) -> Floats:
        """Return -u dV/du between each node and the next, u taken at the node."""
        return np.asarray(np.diff(self.values, axis=-1) / -np.expm1(-self.step))


def add_up(terms: Iterable[tuple[Padded, Stencil]], out: Floats, scratch: Floats) -> Floats:
    """Write the sum of outcomes' worths into `out`: what a move with these outcomes is worth."""
    first = True
    for padded, stencil in terms:
        for offset, weight in ((stencil.offset, stencil.here), (stencil.offset + 1, stencil.next)):
            if first:
                np.multiply(padded.shifted(offset), weight, out=out)
                first = False
            else:
                out += np.multiply(padded.shifted(offset), weight, out=scratch)
    return out
