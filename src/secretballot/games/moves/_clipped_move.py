"""Noisy vectors in the game, and the labels of clipped ballots, which are computed from one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from secretballot.divergences import ClippedBits, NoisyBit, NoisyVector
from secretballot.games.moves._choices import bit_choices
from secretballot.games.moves._gaussian_move import GaussianPairMove
from secretballot.games.moves._grid import LossGrid
from secretballot.games.moves._play import KnownChoices, Node, Play, State, play_of
from secretballot.games.moves._share_table import interpolate_share
from secretballot.games.moves._small_bits import SmallBits, SmallBitsPlay

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
    def known_loss_scale(self) -> float:
        return self.move.ratio

    @property
    def is_slow(self) -> bool:
        return self.move.n_labels is not None and self.move.n_labels > _MOST_LABELS

    def expand(self, node: Node) -> Node:
        """Build the cheapest of three bounds (docs/theory/game-bounds.md, Clipped ballots)."""
        move = self.move
        vector = node.with_move(NoisyVector(ratio=self.noisy_shift))
        if move.n_labels is None or move.bound == "papernot":
            return vector
        bits = replace(node.with_move(_bit(move.ratio)), times=node.times * move.n_labels)
        bounds = [
            (move.noisy_numbers_mu2, vector),
            (_BIT_SHARE * move.n_labels * move.ratio**2, bits),
        ]
        if move.ballots == 1:
            either, mu2 = _halves(move)
            bounds.append((2 * mu2, replace(node, times=2 * node.times, either=either)))
        return min(bounds, key=lambda bound: bound[0])[1]

    def split_known(
        self, node: Node, states: Mapping[str, State]
    ) -> list[tuple[Node, KnownChoices]]:
        """Play each label moved as far as one can be, unless the noisy sums reveal less.

        That all labels together move less is given away.
        """
        if self.move.bound != "papernot":
            gaps = states[node.name] / (np.sqrt(2) * self.move.sigma)
            labels = [bit_choices(float(gap), self.move.ratio) for gap in gaps]
            if labels and sum(label.variance for label in labels) <= self.move.noisy_numbers_mu2:
                return [
                    (replace(node, name=f"{node.name} {number}"), label)
                    for number, label in enumerate(labels)
                ]
        return super().split_known(node, states)

    def estimate_share(self, n_moves: float, delta: float) -> float | None:
        bits = _expected_bits(self.move)
        if bits is None:
            return 1.0
        n_bits, squares = bits
        share = interpolate_share(n_moves * n_bits, delta)
        return None if share is None else squares / self.move.noisy_numbers_mu2 * share


def _expected_bits(move: ClippedBits) -> tuple[int, float] | None:
    """Estimate how many bits `expand` plays, and the sum of their squared ratios.

    None if it does not play bits, but the noisy sums.
    """
    if move.n_labels is None or move.bound == "papernot":
        return None
    bounds = [(move.n_labels, move.n_labels * move.ratio**2)]
    if move.ballots == 1:
        sizes = [
            (n_bits, n_bits * ratio**2) for n_bits, ratio in move.single_ballot_bits(_MOST_SIZES)
        ]
        n_bits, squares = max(sizes, key=lambda size: size[1])
        bounds.append((2 * n_bits, 2 * squares))
    n_bits, squares = min(bounds, key=lambda bound: bound[1])
    return (n_bits, squares) if _BIT_SHARE * squares < move.noisy_numbers_mu2 else None


def _halves(move: ClippedBits) -> tuple[tuple[Node, ...], float]:
    """Build the bits of one ballot for each of its sizes, and estimate the mu^2 of the dearest."""
    sizes = move.single_ballot_bits(_MOST_SIZES)
    few = [Node(f"{n} labels", play_of(_bit(ratio)), n, ()) for n, ratio in sizes[:_BIT_BY_BIT]]
    many = [
        Node(f"{n} labels", SmallBitsPlay(SmallBits(n, ratio)), 1, ())
        for n, ratio in sizes[_BIT_BY_BIT:]
    ]
    return (*few, *many), _BIT_SHARE * max(n_bits * ratio**2 for n_bits, ratio in sizes)


def _bit(ratio: float) -> NoisyBit:
    return NoisyBit(scale=1.0, shift=ratio)
