"""Noisy bits of several labels, with every ballot on them clipped to a norm.

A ballot on s labels gives each of them `clipped_weight(s)`: replacing it moves a few labels far or
many a little. Proofs: docs/theory/divergences.md, "Clipped ballots on labels".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.costs._bit import exact_bit, gaussian_bound, worst_bit
from secretballot.costs._moves import Bound, LabelsMove, Move
from secretballot.costs._orders import ORDERS, Floats, order_array
from secretballot.costs._papernot import papernot_bound

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
    bound: Bound = "exact"

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
        if self.bound == "papernot":
            return cap
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
        cost of the dearest labels of one ballot, for each of several ballots.
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
            if self.bound == "exact":
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
        flat = gaps.reshape(-1)
        if self.bound == "papernot":
            pairs = np.stack([flat, np.zeros_like(flat)], axis=1)
            costs = papernot_bound(pairs, self.sigma, ratio * self.sigma / float(np.sqrt(2)))
        else:
            costs = exact_bit(flat / (float(np.sqrt(2)) * self.sigma), ratio)
        return np.where(begun[..., None], costs.reshape(*gaps.shape, len(ORDERS)), 0.0)


def _full(tau: float, norm: Norm) -> int:
    """Compute the largest size of a ballot that is not clipped further than a single label."""
    return max(1, int(tau**2 if norm == "l2" else tau))


@lru_cache(maxsize=256)
def moved_squares(tau: float, n_labels: int | None, norm: Norm) -> Floats:
    """Compute squared changes of the labels' sums by replacing one ballot, shape (n_pairs, 2).

    Columns sum the squares of labels that move by more than the weight of a clipped ballot, and of
    the other labels. No pair of ballots exceeds another in both. The largest sum of a row is the
    largest squared distance of two ballots. Without `n_labels` it holds for any number.
    """
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
