"""Noisy bits of several labels, when every ballot on them is clipped to a norm.

A ballot that calls s labels present gives each of them `clipped_weight(s)`. So a neighbour, who
replaces it, moves a few labels far or many a little, and by no more than a known sum of squares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.divergences._bit import exact_bit, gaussian_bound, worst_bit
from secretballot.divergences._law import Bound, Move, MoveOfLabels
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences._papernot import papernot_bound

#: Which norm of a ballot is at most tau.
Norm = Literal["l2", "l1"]

#: Sizes of ballots that known gaps are charged for apart; of more labels they are grouped.
_SIZES = 16
_BLOCK_VALUES = 2_000_000


def clipped_weight(size: ArrayLike, tau: float, norm: Norm) -> Floats:
    """Return what each label of a ballot on `size` labels gets when it is clipped to `tau`."""
    labels = np.maximum(np.asarray(size, dtype=np.float64), 1.0)
    return np.minimum(1.0, tau / (np.sqrt(labels) if norm == "l2" else labels))


@dataclass(frozen=True, kw_only=True)
class ClippedBits(MoveOfLabels):
    """Releases of each label whether its gap plus N(0, 2 sigma^2) is positive, all at once.

    Gaps are those of the ballots' sums, V1 - V0 with V1 + V0 public: 2 V1 - n_votes. A neighbour
    replaces `ballots` ballots of `weight`, each clipped to `tau`. The state is the gaps, shape
    (n_rows, n_labels). Without `n_labels` the worst case holds for any number of them.
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
        """How far a label moves, in standard deviations, whose sum changes by one whole ballot."""
        return float(np.sqrt(2)) * self.weight * self.ballots / self.sigma

    @property
    def ratio(self) -> float:
        """How far one label moves at most, in standard deviations."""
        return self.unit * min(1.0, self.tau)

    @property
    def noisy_numbers_mu2(self) -> float:
        """The mu^2 of the noisy sums behind the bits.

        Several ballots move no further together than each alone (triangle inequality).
        """
        squares = moved_squares(self.tau, self.n_labels, self.norm)
        return self.unit**2 * float(squares.sum(axis=1).max())

    def single_ballot_bits(self, most: int | None = None) -> list[tuple[int, float]]:
        """Return what the labels of one ballot are at most: so many bits, each with its ratio.

        Taking a ballot away is one of these, putting another in its place one more. Fewer labels
        than the first are moved no further. With `most` as many groups of sizes at most: of each
        its largest size, and the ratio of its smallest. `n_labels` has to be known.
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
        """Return the supremum over all gaps.

        Labels are independent, so their divergences add: with B(r) the worst case of a bit moved by
        r, it is a sum of B over what the labels moved. B(r)/r^2 rises with r, and is taken at what
        a label gets at most in ballots on few labels, and in those on more.

        Several ballots cost at most what one does that weighs as much: with the data fixed, the
        divergence is convex in what the neighbour moves (`_several_ballots`), and so is the sum of
        suprema.
        """
        at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
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
        """Return the bits of so many of the labels, whichever they are.

        On these alone a ballot is one of so many labels, clipped, and made shorter if it has
        others too. The worst case is convex in how long the old ballot is and the new one, and so
        largest where each has its whole length, or none.
        """
        return replace(self, n_labels=n_labels)

    def dominated_by(self, other: Move) -> bool:
        """Compare units, clipping and noisy sums, for no more labels.

        Clipped to less, every label of a ballot gets less, whatever bounds the row in the game;
        several ballots have bounds of their own.
        """
        if not isinstance(other, ClippedBits) or other.norm != self.norm or self.tau > other.tau:
            return False
        fewer = other.n_labels is None or (
            self.n_labels is not None and self.n_labels <= other.n_labels
        )
        alike = self.ballots == 1 or other.ballots > 1
        less = self.unit <= other.unit and self.noisy_numbers_mu2 <= other.noisy_numbers_mu2
        return fewer and alike and less

    def exact(self, state: Floats, begun: NDArray[np.bool_] | None = None) -> Floats:
        """Return the cost at known gaps: the least of three bounds for every neighbour.

        - The worst case.
        - All labels moved as far as one can be, either way: divergences grow with the distance.
        - Twice the dearest labels of one ballot. A label that is in both the old ballot and the
          new one moves by a difference, less than what one of the two gives it. (Of several
          ballots, where one label may get all, every one counts for all: with the neighbour's data
          first the divergence is not convex.)

        Labels that were not `begun` cost nothing.
        """
        if begun is None:
            begun = np.ones(state.shape, dtype=bool)
        sizes, which = np.unique(begun.sum(axis=1), return_inverse=True)
        worst = np.stack([self.restrict_labels(int(n)).worst_case() for n in sizes])[which.ravel()]
        out = np.empty((len(state), len(ORDERS)))
        size = max(1, _BLOCK_VALUES // (len(ORDERS) * max(1, state.shape[1])))
        for start in range(0, len(state), size):
            gaps, part = state[start : start + size], begun[start : start + size]
            known = self._labels(gaps, part, self.ratio).sum(axis=1)
            if self.bound == "exact":
                halves = np.zeros_like(known)
                for n_bits, ratio in self.single_ballot_bits(_SIZES):
                    each = self._labels(gaps, part, ratio)
                    first = each.shape[1] - n_bits
                    if first > 0:
                        each = np.partition(each, first, axis=1)[:, first:]
                    np.maximum(halves, each.sum(axis=1), out=halves)
                known = np.minimum(known, 2 * self.ballots * halves)
            out[start : start + size] = np.minimum(known, worst[start : start + size])
        return out

    def _labels(self, gaps: Floats, begun: NDArray[np.bool_], ratio: float) -> Floats:
        """Return what each label costs that moves so far, shape (n_rows, n_labels, n_orders)."""
        flat = gaps.reshape(-1)
        if self.bound == "papernot":
            pairs = np.stack([flat, np.zeros_like(flat)], axis=1)
            costs = papernot_bound(pairs, self.sigma, ratio * self.sigma / float(np.sqrt(2)))
        else:
            costs = exact_bit(flat / (float(np.sqrt(2)) * self.sigma), ratio)
        return np.where(begun[..., None], costs.reshape(*gaps.shape, len(ORDERS)), 0.0)


def _full(tau: float, norm: Norm) -> int:
    """Return the most labels that get as much as a single one."""
    return max(1, int(tau**2 if norm == "l2" else tau))


@lru_cache(maxsize=256)
def moved_squares(tau: float, n_labels: int | None, norm: Norm) -> Floats:
    """Return sums of squares by which replacing one ballot moves the labels' sums.

    Parameters
    ----------
    tau : float
    n_labels : int or None
        None: a bound for any number.
    norm : {"l2", "l1"}

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        Of pairs of ballots, none of which exceeds another in both columns: the squares of what
        moves by more than a label gets in ballots too large to count in full, and of what moves
        less. The largest sum of a row is D2, the largest squared distance of two ballots.
    """
    full = _full(tau, norm)
    beyond = float(clipped_weight(full + 1, tau, norm))
    if n_labels is None or n_labels >= 2 * (full + 1):
        # Two ballots without a common label: the more labels beyond `full`, the less they move.
        few = full * float(clipped_weight(full, tau, norm)) ** 2
        many = (full + 1) * beyond**2
        pairs = np.array([[2 * few, 0.0], [few, many], [0.0, 2 * many]])
    else:
        size = np.arange(n_labels + 1)
        weight = np.where(size > 0, clipped_weight(size, tau, norm), 0.0)
        # The fewer labels two ballots have in common, the further they are apart.
        common = np.maximum(0, size[:, None] + size - n_labels)
        apart = np.abs(weight[:, None] - weight)
        squares = np.zeros((*common.shape, 2))
        for many_labels, each in (
            (size[:, None] - common, weight[:, None]),
            (size - common, weight),
            (common, apart),
        ):
            moved = np.broadcast_to(many_labels * each**2, common.shape)
            further = np.broadcast_to(each > beyond, common.shape)
            squares[..., 0] += np.where(further, moved, 0.0)
            squares[..., 1] += np.where(further, 0.0, moved)
        pairs = squares.reshape(-1, 2)
    pairs = pairs[np.lexsort((-pairs[:, 1], -pairs[:, 0]))]
    before = np.concatenate([[-1.0], np.maximum.accumulate(pairs[:, 1])[:-1]])
    kept = pairs[pairs[:, 1] > before]
    kept.flags.writeable = False
    return kept
