"""Noisy vectors in the game, and the labels of clipped ballots, which are computed from one."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from secretballot.costs._clipped_bits import ClippedBits
from secretballot.costs._moves import NoisyBit, NoisyVector
from secretballot.costs.moves._gaussian_move import GaussianPairMove
from secretballot.costs.moves._grid import LossGrid
from secretballot.costs.moves._play import Node, Play, play_of
from secretballot.costs.moves._share_table import interpolate_share
from secretballot.costs.moves._small_bits import SmallBits, SmallBitsPlay

#: Number of sizes of ballots that are kept apart; sizes are grouped where there are more labels.
_MOST_SIZES = 40
#: Ballots of the first sizes are played bit by bit: they reveal most.
_BIT_BY_BIT = 2
#: Budgets play no game of rows with more labels.
_MOST_LABELS = 100

#: Approximate share of its noisy number that a bit reveals in a long plan.
_BIT_SHARE = 2 / np.pi


class VectorPlay(Play[NoisyVector]):
    """A vector with Gaussian noise."""

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


class ClippedPlay(Play[ClippedBits]):
    """The labels of clipped ballots: a row of them is bounded by moves that have a game."""

    @property
    def noisy_shift(self) -> float:
        return float(np.sqrt(self.move.noisy_numbers_mu2))

    @property
    def is_slow(self) -> bool:
        return self.move.n_labels is not None and self.move.n_labels > _MOST_LABELS

    def expand(self, node: Node) -> Node:
        """Build the cheapest of three bounds (docs/theory/game.md, Other moves)."""
        bound = _bit_bound(self.move)
        if bound is None:
            return node.with_move(NoisyVector(ratio=self.noisy_shift))
        if bound.by_ballot:
            return replace(node, times=2 * node.times, either=_ballot_bits(self.move))
        assert self.move.n_labels is not None
        bits = node.with_move(NoisyBit(scale=1.0, shift=self.move.ratio))
        return replace(bits, times=node.times * self.move.n_labels)

    def estimate_share(self, n_moves: float, delta: float) -> float | None:
        bound = _bit_bound(self.move)
        if bound is None:
            return 1.0
        share = interpolate_share(n_moves * bound.n_bits, delta)
        return None if share is None else bound.squares / self.move.noisy_numbers_mu2 * share


class _BitBound(NamedTuple):
    """Bits that bound a row: all labels, or those of two ballots (removed and added)."""

    squares: float
    n_bits: int
    by_ballot: bool


def _bit_bound(move: ClippedBits) -> _BitBound | None:
    """Choose the bits that bound a row; None where the noisy sums are cheaper in a long plan."""
    if move.n_labels is None or move.bound == "papernot":
        return None
    bounds = [_BitBound(move.n_labels * move.ratio**2, move.n_labels, by_ballot=False)]
    if move.ballots == 1:
        sizes = move.single_ballot_bits(_MOST_SIZES)
        squares, n_bits = max((n * ratio**2, -n) for n, ratio in sizes)
        bounds.append(_BitBound(2 * squares, -2 * n_bits, by_ballot=True))
    best = min(bounds, key=lambda bound: bound.squares)
    return best if _BIT_SHARE * best.squares < move.noisy_numbers_mu2 else None


def _ballot_bits(move: ClippedBits) -> tuple[Node, ...]:
    """Build the bits of one ballot for each of its sizes."""
    sizes = move.single_ballot_bits(_MOST_SIZES)
    first = (
        Node("bits", play_of(NoisyBit(scale=1.0, shift=ratio)), n_bits, ())
        for n_bits, ratio in sizes[:_BIT_BY_BIT]
    )
    others = (
        Node("small bits", SmallBitsPlay(SmallBits(*size)), 1, ()) for size in sizes[_BIT_BY_BIT:]
    )
    return *first, *others
