"""Labels of clipped ballots in the game: a row of them is bounded by moves that it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from secretballot.divergences import ClippedBits, NoisyBit, NoisyVector
from secretballot.games.moves._choices import Choices, bit_choices
from secretballot.games.moves._play import Node, Play, play_of
from secretballot.games.moves._share_table import expected_share
from secretballot.games.moves._small_bits import SmallBits

#: Number of sizes of ballots that are kept apart; sizes are grouped where there are more labels.
_SIZES = 40

#: Ballots of the first sizes are played bit by bit: they reveal most.
_BIT_BY_BIT = 2

#: Budgets play no game of rows with more labels.
_MOST_LABELS = 100

#: Share of its noisy number that a bit reveals in a long plan, about.
_BIT = 2 / np.pi


class ClippedPlay(Play[ClippedBits]):
    """The labels of clipped ballots."""

    @property
    def noisy_shift(self) -> float:
        return float(np.sqrt(self.move.noisy_numbers_mu2))

    @property
    def known_shift(self) -> float:
        return self.move.ratio

    @property
    def is_slow(self) -> bool:
        return self.move.n_labels is not None and self.move.n_labels > _MOST_LABELS

    def expand(self, node: Node) -> Node:
        """Return moves that reveal at least as much as a row of clipped ballots.

        The cheapest of three bounds, as far as a long plan tells:

        - every label is a bit, moved as far as one can be;
        - the old ballot is taken away and the new one put in its place: twice the worst of all
          sizes, each as many bits in a row as it has labels. A label that is in both ballots moves
          by less than one of them gives it, and smaller shifts of a bit reveal less. (For one
          ballot alone: several that move together have more shapes.)
        - the noisy sums themselves.
        """
        move = self.move
        numbers = node.playing(NoisyVector(ratio=self.noisy_shift))
        if move.n_labels is None or move.bound == "papernot":
            return numbers
        bits = node.playing(_bit(move.ratio), times=node.times * move.n_labels)
        bounds = [(move.noisy_numbers_mu2, numbers), (_BIT * move.n_labels * move.ratio**2, bits)]
        if move.ballots == 1:
            either, cost = _halves(move)
            bounds.append((2 * cost, replace(node, times=2 * node.times, either=either)))
        return min(bounds, key=lambda bound: bound[0])[1]

    def on_known_data(self, state: Any) -> Choices | float:
        return self.noisy_shift

    def label_choices(self, state: Any) -> list[Choices]:
        """Return the choices of every label, moved as far as one of them can be.

        That together they move less is given away. None at all where the noisy sums reveal less.
        """
        if self.move.bound == "papernot":
            return []
        gaps = np.asarray(state, dtype=np.float64) / (np.sqrt(2) * self.move.sigma)
        labels = [bit_choices(float(gap), self.move.ratio) for gap in gaps]
        total = sum(choices.variance for choices in labels)
        return labels if total <= self.move.noisy_numbers_mu2 else []

    def expected_share(self, n_moves: float, delta: float) -> float | None:
        bits = _played_bits(self.move)
        if bits is None:
            return 1.0
        n_bits, squares = bits
        share = expected_share(n_moves * n_bits, delta)
        return None if share is None else squares / self.move.noisy_numbers_mu2 * share


def _played_bits(move: ClippedBits) -> tuple[int, float] | None:
    """Return about how many bits `expand` plays, and the sum of their squared ratios.

    None if it does not play bits, but the noisy sums.
    """
    if move.n_labels is None or move.bound == "papernot":
        return None
    bounds = [(move.n_labels, move.n_labels * move.ratio**2)]
    if move.ballots == 1:
        sizes = [(n_bits, n_bits * ratio**2) for n_bits, ratio in move.single_ballot_bits(_SIZES)]
        n_bits, squares = max(sizes, key=lambda size: size[1])
        bounds.append((2 * n_bits, 2 * squares))
    n_bits, squares = min(bounds, key=lambda bound: bound[1])
    return (n_bits, squares) if _BIT * squares < move.noisy_numbers_mu2 else None


def _halves(move: ClippedBits) -> tuple[tuple[Node, ...], float]:
    """Return the bits of one ballot for each of its sizes, and about the price of the dearest."""
    sizes = move.single_ballot_bits(_SIZES)
    few = [Node(f"{n} labels", play_of(_bit(ratio)), n, ()) for n, ratio in sizes[:_BIT_BY_BIT]]
    many = [
        Node(f"{n} labels", play_of(SmallBits(n, ratio)), 1, ()) for n, ratio in sizes[_BIT_BY_BIT:]
    ]
    return (*few, *many), _BIT * max(n_bits * ratio**2 for n_bits, ratio in sizes)


def _bit(ratio: float) -> NoisyBit:
    return NoisyBit(scale=1.0, shift=ratio)
