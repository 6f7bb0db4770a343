"""Noisy bits of several labels, with every ballot on them clipped to a norm.

A ballot on s labels gives each of them `clipped_weight(s)`: replacing it moves a few labels far or
many a little. Proofs: docs/theory/divergences.md, "Clipped ballots on labels".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.costs._bit_move import BitMove, bit_move
from secretballot.costs._divergence import exact_bit, gaussian_bound, worst_bit
from secretballot.costs._game import Node, Play, interpolate_share, play_of
from secretballot.costs._grid import (
    GaussianPairMove,
    LossGrid,
    PaddedValues,
    ValueFunction,
    larger_value,
)
from secretballot.costs._law import LabelsMove, Move, NoisyBit, NoisyVector
from secretballot.costs._orders import ORDERS, Floats, order_array

#: Norm of a ballot that is clipped to tau.
Norm = Literal["l2", "l1"]

#: Number of ballot sizes that exact costs distinguish; more sizes are grouped.
_SIZES = 16
_BLOCK_VALUES = 2_000_000


def clipped_weight(size: ArrayLike, tau: float, norm: Norm) -> Floats:
    """Compute the weight on each label of a ballot on `size` labels that is clipped to `tau`."""
    labels = np.maximum(np.asarray(size, dtype=np.float64), 1.0)
    return np.minimum(1.0, tau / (np.sqrt(labels) if norm == "l2" else labels))


@dataclass(frozen=True, kw_only=True)
class ClippedBits(LabelsMove):
    """Release of the signs of all labels' gaps plus N(0, 2 sigma^2), all at once.

    The gap of a label is V1 - V0 = 2 V1 - n_votes for the sums V1 and V0 of ballots for and against
    it. A neighbour replaces `ballots` ballots of `weight`, each clipped to `tau`. The state is the
    gaps, shape (n_rows, n_labels). Without `n_labels` the worst case holds for any number of them.
    """

    sigma: float
    tau: float
    norm: Norm
    n_labels: int | None = None
    weight: float = 1.0
    ballots: int = 1

    @property
    def unit(self) -> float:
        """Change of a label's gap by all of its unclipped ballots over the noise."""
        return float(np.sqrt(2)) * self.weight * self.ballots / self.sigma

    @property
    def ratio(self) -> float:
        """Largest change of one label's gap over the noise."""
        return self.unit * min(1.0, self.tau)

    @property
    def noisy_numbers_mu2(self) -> float:
        """The mu^2 of the noisy sums before post-processing."""
        squares = moved_squares(self.tau, self.n_labels, self.norm)
        return self.unit**2 * float(squares.sum(axis=1).max())

    def single_ballot_bits(self, most: int | None = None) -> list[tuple[int, float]]:
        """List pairs (number of bits, ratio of each) that one ballot can move; needs `n_labels`.

        Ballots of fewer labels than the first pair's move no label further. Sizes are in at most
        `most` groups: each has its largest size, and the ratio of its smallest.
        """
        assert self.n_labels is not None
        full = min(_full(self.tau, self.norm), self.n_labels)
        sizes = np.arange(full, self.n_labels + 1)
        if most is not None and len(sizes) > most:
            sizes = np.unique(np.geomspace(full, self.n_labels, most).round().astype(int))
        least = np.concatenate([sizes[:1], sizes[:-1] + 1])
        ratios = self.unit * clipped_weight(least, self.tau, self.norm)
        return [(int(size), float(ratio)) for size, ratio in zip(sizes, ratios, strict=True)]

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Bound the supremum over all gaps: the sum of the labels' worst cases."""
        at = order_array(orders)
        cap = gaussian_bound(float(np.sqrt(self.noisy_numbers_mu2)), at)
        few, many = moved_squares(self.tau, self.n_labels, self.norm).T
        size = _full(self.tau, self.norm)
        total = np.zeros((len(few), len(at)))
        finite = np.isfinite(at)
        for squares, weight in zip(
            (few, many), clipped_weight([size, size + 1], self.tau, self.norm), strict=True
        ):
            if squares.any():
                per_square = worst_bit(self.unit * float(weight), orders)[finite] / weight**2
                total[:, finite] += squares[:, None] * per_square
        return np.where(finite, np.minimum(total.max(axis=0), cap), cap)

    def restrict_labels(self, n_labels: int) -> ClippedBits:
        """Make the move of `n_labels` of the labels."""
        return replace(self, n_labels=n_labels)

    def dominated_by(self, other: Move) -> bool:
        """Compare units, clipping and noisy sums, for no more labels and ballots."""
        if not isinstance(other, ClippedBits) or other.norm != self.norm or self.tau > other.tau:
            return False
        fewer = other.n_labels is None or (
            self.n_labels is not None and self.n_labels <= other.n_labels
        )
        alike = self.ballots == 1 or other.ballots > 1
        less = self.unit <= other.unit and self.noisy_numbers_mu2 <= other.noisy_numbers_mu2
        return fewer and alike and less

    def exact(self, state: Floats, begun: NDArray[np.bool_] | None = None) -> Floats:
        """Bound the cost of the `begun` labels at known gaps: the least of three bounds.

        They are the worst case, the cost of moving all labels as far as possible, and twice the
        cost of the most expensive labels of one ballot, for each of several ballots.
        """
        if begun is None:
            begun = np.ones(state.shape, dtype=bool)
        sizes, which = np.unique(begun.sum(axis=1), return_inverse=True)
        worst = np.stack([self.restrict_labels(int(n)).worst_case() for n in sizes])[which.ravel()]
        out = np.empty((len(state), len(ORDERS)))
        size = max(1, _BLOCK_VALUES // (len(ORDERS) * max(1, state.shape[1])))
        for start in range(0, len(state), size):
            gaps, part = state[start : start + size], begun[start : start + size]
            cost = self._label_costs(gaps, part, self.ratio).sum(axis=1)
            ballot = np.zeros_like(cost)
            for n_bits, ratio in self.single_ballot_bits(_SIZES):
                labels = self._label_costs(gaps, part, ratio)
                first = labels.shape[1] - n_bits
                if first > 0:
                    labels = np.partition(labels, first, axis=1)[:, first:]
                np.maximum(ballot, labels.sum(axis=1), out=ballot)
            cost = np.minimum(cost, 2 * self.ballots * ballot)
            out[start : start + size] = np.minimum(cost, worst[start : start + size])
        return out

    def _label_costs(self, gaps: Floats, begun: NDArray[np.bool_], ratio: float) -> Floats:
        """Compute the Renyi cost of each label whose gap moves by `ratio` standard deviations."""
        costs = exact_bit(gaps.reshape(-1) / (float(np.sqrt(2)) * self.sigma), ratio)
        return np.where(begun[..., None], costs.reshape(*gaps.shape, len(ORDERS)), 0.0)


def _full(tau: float, norm: Norm) -> int:
    """Compute the largest size of a ballot that is not clipped further than a single label."""
    return max(1, int(tau**2 if norm == "l2" else tau))


@lru_cache(maxsize=256)
def moved_squares(tau: float, n_labels: int | None, norm: Norm) -> Floats:
    """Compute squared changes of the labels' sums by replacing one ballot, shape (n_pairs, 2)."""
    # Columns sum the squares of labels that move by more than the weight of a clipped ballot, and
    # of the others. No pair of ballots exceeds another in both.
    full = _full(tau, norm)
    beyond = float(clipped_weight(full + 1, tau, norm))
    if n_labels is None or n_labels >= 2 * (full + 1):
        # Two ballots without a common label; beyond `full` more labels move less.
        few = full * float(clipped_weight(full, tau, norm)) ** 2
        many = (full + 1) * beyond**2
        pairs = np.array([[2 * few, 0.0], [few, many], [0.0, 2 * many]])
    else:
        size = np.arange(n_labels + 1)
        weight = np.where(size > 0, clipped_weight(size, tau, norm), 0.0)
        # Ballots with fewer labels in common are further apart.
        common = np.maximum(0, size[:, None] + size - n_labels)
        apart = np.abs(weight[:, None] - weight)
        squares = np.zeros((*common.shape, 2))
        for n_moved, change in (
            (size[:, None] - common, weight[:, None]),
            (size - common, weight),
            (common, apart),
        ):
            moved = np.broadcast_to(n_moved * change**2, common.shape)
            further = np.broadcast_to(change > beyond, common.shape)
            squares[..., 0] += np.where(further, moved, 0.0)
            squares[..., 1] += np.where(further, 0.0, moved)
        pairs = squares.reshape(-1, 2)
    pairs = pairs[np.lexsort((-pairs[:, 1], -pairs[:, 0]))]
    before = np.concatenate([[-1.0], np.maximum.accumulate(pairs[:, 1])[:-1]])
    undominated = pairs[pairs[:, 1] > before]
    undominated.flags.writeable = False
    return undominated


#: A bit is taken for a noisy number with this much more than 2/pi of the mu^2 of its own.
_EXTRA_SHARES = (0.02, 0.01, 0.005, 0.0025)

#: Largest value of all bits together beyond their noisy number.
_MOST_EXCESS = 1e-12

#: Rounding of both, and the far tails of a noisy number.
_ROUNDING = 1e-16


@dataclass(frozen=True)
class SmallBits:
    """Releases `n_bits` noisy bits, one after the other; each shifts by `ratio` deviations."""

    n_bits: int
    ratio: float


@dataclass(frozen=True)
class SmallBitsMove:
    """The best of all gaps, bounded from above: docs/theory/game.md, "Many small bits"."""

    bit: BitMove
    bits: SmallBits
    grid: LossGrid

    @property
    def pad(self) -> int:
        number = GaussianPairMove(float(np.sqrt(self.bits.n_bits)) * self.bits.ratio, self.grid)
        return max(self.bit.pad, number.pad)

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        value = larger_value(positive, negative).shifted(0)
        for n_left in range(self.bits.n_bits, 0, -1):
            # Beyond the nodes V is continued as by `ValueFunction`.
            function = ValueFunction(self.grid, value, 0)
            after = PaddedValues.from_function(function, 0, positive.n_nodes, self.pad)
            value = self.bit.best(after, after)
            bound = self._noisy_number_bound(n_left, value, after) if n_left > 1 else None
            if bound is not None:
                return bound
        return value

    def _noisy_number_bound(
        self, n_bits: int, one_bit: Floats, after: PaddedValues
    ) -> Floats | None:
        """Bound `n_bits` bits by a noisy number; None where they are too few to be alike."""
        shift, excess = 0.0, np.inf
        for extra in _EXTRA_SHARES:
            shorter = float(np.sqrt(2 / np.pi * (1 + extra))) * self.bits.ratio
            number = GaussianPairMove(shorter, self.grid).best(after, after)
            total = n_bits * self._excess(one_bit, after, number)
            if total > _MOST_EXCESS:
                break
            shift, excess = shorter, total
        if not shift:
            return None
        numbers = GaussianPairMove(float(np.sqrt(n_bits)) * shift, self.grid)
        return np.asarray(numbers.best(after, after) + excess)

    def _excess(self, one_bit: Floats, after: PaddedValues, number: Floats) -> float:
        """Bound the value of one bit above that of a noisy number, at any loss."""
        above, step = one_bit - number, self.grid.step
        # Jumps of G V's slope in u, times u: at both ends of each cell, u that of its left end.
        slopes = -np.diff(number, axis=-1) / -np.expm1(-step)
        jumps = np.maximum(slopes[..., :-1] * np.exp(-step) - slopes[..., 1:], 0.0)
        left, right = jumps[..., :-1], jumps[..., 1:] * np.exp(step)
        with np.errstate(invalid="ignore"):
            inner = np.nan_to_num(left * right / (left + right))
        # Of the outer cells only one neighbour is known.
        ends = (jumps[..., :1] * np.exp(step), inner, jumps[..., -1:])
        between = np.concatenate(ends, axis=-1) * -np.expm1(-step)
        inside = np.maximum(above[..., :-1], above[..., 1:]) + between
        left_of = one_bit[..., 0] - after.values[..., 0]
        outside = np.maximum(left_of, one_bit[..., -1] - after.shifted(0)[..., -1])
        return float(max(inside.max(), outside.max(), 0.0)) + _ROUNDING


class SmallBitsPlay(Play[SmallBits]):
    @property
    def loss_scale(self) -> float:
        return self.move.ratio

    @property
    def loss_variance(self) -> float:
        return 2 / np.pi * self.move.n_bits * self.move.ratio**2

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> SmallBitsMove:
        return SmallBitsMove(bit_move(self.move.ratio, grid, spacing, zone), self.move, grid)


#: Number of sizes of ballots that are kept apart; sizes are grouped where there are more labels.
_MOST_SIZES = 40
#: Ballots of the first sizes are played bit by bit: they reveal most.
_BIT_BY_BIT = 2
#: Budgets play no game of rows with more labels.
_MOST_LABELS = 100

#: Approximate share of its noisy number that a bit reveals in a long plan.
_BIT_SHARE = 2 / np.pi


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
    if move.n_labels is None:
        return None
    bounds = [_BitBound(move.n_labels * move.ratio**2, move.n_labels, by_ballot=False)]
    if move.ballots == 1:
        sizes = move.single_ballot_bits(_MOST_SIZES)
        squares, n_bits = max((n * ratio**2, -n) for n, ratio in sizes)
        bounds.append(_BitBound(2 * squares, -2 * n_bits, by_ballot=True))
    best = min(bounds, key=lambda bound: bound.squares)
    return best if _BIT_SHARE * best.squares < move.noisy_numbers_mu2 else None


def _ballot_bits(move: ClippedBits) -> tuple[Node, ...]:
    sizes = move.single_ballot_bits(_MOST_SIZES)
    first = (
        Node("bits", play_of(NoisyBit(scale=1.0, shift=ratio)), n_bits, ())
        for n_bits, ratio in sizes[:_BIT_BY_BIT]
    )
    others = (
        Node("small bits", SmallBitsPlay(SmallBits(*size)), 1, ()) for size in sizes[_BIT_BY_BIT:]
    )
    return *first, *others


play_of.register(ClippedBits, ClippedPlay)
