"""Labels of clipped ballots in the game: how a row of them is bounded by moves that it has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from secretballot.divergences import ClippedBits, NoisyBit, NoisyVector
from secretballot.games._row import Node
from secretballot.games._small_bits import SmallBits

#: So many sizes of ballots are told apart; of more labels they are grouped.
_SIZES = 40

#: Ballots of the first sizes are played bit by bit: they tell most.
_BIT_BY_BIT = 2

#: About what part of its noisy number a bit tells in a long plan.
_BIT = 2 / np.pi


def clipped_node(node: Node) -> Node:
    """Return moves that tell at least as much as a row of clipped ballots.

    The cheapest of three bounds, as far as a long plan tells:

    - every label is a bit, moved as far as one can be;
    - the old ballot is taken away and the new one put in its place: twice the worst of all sizes,
      each as many bits in a row as it has labels. What a label moves that is in both ballots is
      less than what one of them gives it, and smaller shifts of a bit are worth less. (For one
      ballot alone: what several move together has more shapes.)
    - the noisy sums themselves.
    """
    move = node.move
    assert isinstance(move, ClippedBits)
    numbers = replace(node, move=_number(move.noisy_numbers))
    if move.n_labels is None or move.bound == "papernot":
        return numbers
    bits = replace(node, move=_bit(move.ratio), times=node.times * move.n_labels)
    costs = [(move.noisy_numbers, numbers), (_BIT * move.n_labels * move.ratio**2, bits)]
    if move.ballots == 1:
        either, cost = _halves(move)
        halves = replace(node, times=2 * node.times, either=either)
        costs.append((2 * cost, halves))
    return min(costs, key=lambda one: one[0])[1]


def played_bits(move: ClippedBits) -> tuple[int, float] | None:
    """Return about what `clipped_node` plays: so many bits, and their squared ratios together.

    None if it does not play bits, but the noisy sums.
    """
    if move.n_labels is None or move.bound == "papernot":
        return None
    found = [(move.n_labels, move.n_labels * move.ratio**2)]
    if move.ballots == 1:
        sizes = [(n_bits, n_bits * ratio**2) for n_bits, ratio in move.halves(_SIZES)]
        n_bits, squares = max(sizes, key=lambda each: each[1])
        found.append((2 * n_bits, 2 * squares))
    n_bits, squares = min(found, key=lambda each: each[1])
    return (n_bits, squares) if _BIT * squares < move.noisy_numbers else None


def _halves(move: ClippedBits) -> tuple[tuple[Node, ...], float]:
    """Return the bits of one ballot for each of its sizes, and about what the dearest tells."""
    sizes = move.halves(_SIZES)
    few = [Node(f"{n} labels", _bit(ratio), n, ()) for n, ratio in sizes[:_BIT_BY_BIT]]
    many = [Node(f"{n} labels", SmallBits(n, ratio), 1, ()) for n, ratio in sizes[_BIT_BY_BIT:]]
    return (*few, *many), _BIT * max(n_bits * ratio**2 for n_bits, ratio in sizes)


def _bit(ratio: float) -> NoisyBit:
    return NoisyBit(scale=1.0, shift=ratio)


def _number(mu2: float) -> NoisyVector:
    return NoisyVector(ratio=float(np.sqrt(mu2)))
