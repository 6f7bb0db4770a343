"""A noisy maximum of two classes behind a threshold, as one outcome of three.

With a public number N of votes the gap g between the two classes determines a row: its largest
count is (N + |g|)/2. So one ballot moves the threshold's gap and the vote's together.
Proofs: docs/theory/divergences.md, "Threshold and vote as one outcome".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

from secretballot.costs._bit_move import BitMove, bit_move
from secretballot.costs._divergence import (
    bit_logs,
    cell_bound,
    gaussian_bound,
    has_ballot,
    largest_divergence,
    log_moments,
    mills_ratio,
    round_up,
    worst_bit,
)
from secretballot.costs._game import Node, Play, play_of
from secretballot.costs._grid import ChoiceMove, LossGrid, PaddedValues
from secretballot.costs._law import Move, NoisyBit, NoisyMax
from secretballot.costs._orders import ORDERS, Floats, order_array

_TOLERANCE = 1e-4  # relative tolerance of the search
_FEWEST = 16  # cells into which the search first divides each piece
_MOST_CELLS = 20_000  # cells of the search
_BLOCK_VALUES = 1_000_000  # numbers that are computed at a time
_MOST_BALLOTS = 1000  # ballots of a person whose neighbours are all tried; more pay two moves


def confident_log_probabilities(top: ArrayLike, win: Floats) -> Floats:
    """Compute log probabilities of "not answered" and of each winner behind a threshold."""
    gap = np.asarray(top, dtype=np.float64)[..., None]
    return np.concatenate([log_ndtr(-gap), log_ndtr(gap) + win], axis=-1)


@dataclass(frozen=True, kw_only=True)
class ConfidentMax(Move):
    """Release of the larger of two noisy counts, if the largest count reaches a noisy threshold.

    The counts sum to `n_votes`. The vote has noise N(0, `sigma`^2) on each, the comparison with the
    threshold N(0, `sigma_threshold`^2). A neighbour moves up to `ballots` ballots of `weight`. With
    `alike` all ballots have that weight, so that only some gaps occur. The state is the counts,
    shape (n_rows, 2).
    """

    sigma: float
    sigma_threshold: float
    threshold: float
    n_votes: float
    weight: float
    ballots: int = 1
    alike: bool = True

    @property
    def vote_ratio(self) -> float:
        """Largest change of the vote's gap between neighbours over its noise."""
        return float(np.sqrt(2)) * self.weight * self.ballots / self.sigma

    @property
    def bit_ratio(self) -> float:
        """Largest change of the largest count between neighbours over the noise on it."""
        return self.weight * self.ballots / self.sigma_threshold

    @property
    def moves(self) -> Floats:
        """Changes of a gap by 1, ..., `ballots` ballots: a smaller change may cost more."""
        return 2 * self.weight * np.arange(1.0, self.ballots + 1)

    def coordinates(self, gap: Floats) -> tuple[Floats, Floats]:
        """Scale the largest count's distance from the threshold, and the gap, by their noise."""
        top = (self.n_votes + np.abs(gap)) / 2 - self.threshold
        return top / self.sigma_threshold, gap / (np.sqrt(2) * self.sigma)

    def outcomes(self, gap: Floats) -> Floats:
        """Compute log probabilities of {not answered, first class, second class} at gaps."""
        top, vote = self.coordinates(gap)
        return confident_log_probabilities(top, bit_logs(vote))

    def pieces(self) -> list[tuple[float, float, float]]:
        """List (low, high, shift): gaps in [low, high] with a neighbour at the gap plus `shift`.

        Up to the order of the classes these are all pairs of neighbours. Inside a piece neither gap
        changes its sign.
        """
        pieces = []
        for move in self.moves:
            if move > 2 * self.n_votes:
                continue
            low = max(move - self.n_votes, 0.0)
            pieces += [(low, min(move, self.n_votes), -move), (move, self.n_votes, -move)]
            pieces += [(0.0, self.n_votes - move, move)]
        return [(low, high, float(shift)) for low, high, shift in pieces if low <= high]

    def neighbours(self, gap: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Compute the gaps of all neighbours of known gaps, and a mask of those that exist.

        A class can only lose ballots that it has. Where neither has one of this weight, either may.
        """
        moves = np.concatenate([-self.moves, self.moves])
        counts = (self.n_votes + np.sign(-moves) * gap[..., None]) / 2  # of the class that loses
        exists = has_ballot(counts, np.abs(moves) / 2, self.n_votes)
        exists |= ~exists.any(axis=-1, keepdims=True)
        return gap[..., None] + moves, exists

    def exact(self, state: Floats) -> Floats:
        """Compute the cost on known counts: every neighbour, both directions."""
        if self.ballots > _MOST_BALLOTS:
            return np.tile(self.worst_case(), (len(state), 1))
        gaps, inverse = np.unique(np.abs(state[:, 0] - state[:, 1]), return_inverse=True)
        out = np.empty((len(gaps), len(ORDERS)))
        size = max(1, _BLOCK_VALUES // (len(ORDERS) * 12 * self.ballots))
        for start in range(0, len(gaps), size):
            block = gaps[start : start + size]
            moved_gaps, exists = self.neighbours(block)
            data = self.outcomes(block)[:, None]
            # Impossible neighbours are replaced by the data, so that their divergence is 0.
            neighbours = np.where(exists[..., None], self.outcomes(moved_gaps), data)
            cost = largest_divergence(data, neighbours) * self.rounding
            out[start : start + size] = np.minimum(cost, self.noisy_numbers(ORDERS))
        return np.asarray(out[inverse.ravel()])

    @property
    def rounding(self) -> Floats:
        """Factor that lifts divergences above their float error."""
        return round_up(min(self.vote_ratio, self.bit_ratio) / self.ballots)

    def noisy_numbers(self, orders: Floats) -> Floats:
        """Compute the cost of the noisy gap and the noisy largest count, before post-processing."""
        return gaussian_bound(float(np.hypot(self.vote_ratio, self.bit_ratio)), orders)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the supremum over all gaps."""
        return _worst(self, orders)

    @property
    def gap_shift(self) -> int:
        """Change of the gap by one whole ballot."""
        return 2 if self.alike and self.weight == self.ballots == 1 else 0

    def gap_costs(self, widest: int) -> Floats:
        """Compute the exact cost at possible gaps; impossible ones cost 0."""
        gaps = np.arange(widest + 1)
        possible = gaps % 2 == int(self.n_votes) % 2
        votes = np.stack([self.n_votes + gaps[possible], self.n_votes - gaps[possible]], axis=1) / 2
        costs = np.zeros((len(gaps), len(ORDERS)))
        costs[possible] = self.exact(votes)
        return costs


@lru_cache(maxsize=1024)
def _worst(move: ConfidentMax, orders: tuple[float, ...] | None) -> Floats:
    """Bound the largest cost of a row; at most that of the threshold and the vote in sequence."""
    at = order_array(orders)
    in_sequence = worst_bit(move.bit_ratio, orders) + worst_bit(move.vote_ratio, orders)
    out = np.minimum(in_sequence, move.noisy_numbers(at))
    finite = np.isfinite(at)
    if finite.any() and move.ballots <= _MOST_BALLOTS:
        joint = _search(move, at[finite]) / (at[finite] - 1) * move.rounding
        out[finite] = np.minimum(out[finite], joint)
    out.flags.writeable = False
    return out


def _search(move: ConfidentMax, orders: Floats) -> Floats:
    speed = float(np.hypot(1 / (2 * move.sigma_threshold), 1 / (np.sqrt(2) * move.sigma)))
    pieces = np.array(move.pieces())
    n_cells = _FEWEST
    low, high = (
        pieces[:, :1] + (pieces[:, 1:2] - pieces[:, :1]) * np.arange(k, n_cells + k) / n_cells
        for k in (0, 1)
    )
    shift = np.repeat(pieces[:, 2], n_cells)
    low, high = low.ravel(), high.ravel()
    best = np.zeros(len(orders))
    while True:
        value, bound = _cells(move, low, high, shift, speed, orders)
        best = np.maximum(best, value)
        target = best * (1 + _TOLERANCE)
        alive = (bound > target).any(axis=1)
        if not alive.any() or 2 * alive.sum() > _MOST_CELLS:
            return np.asarray(np.maximum(target, bound[alive].max(axis=0, initial=0.0)))
        low, high, shift = low[alive], high[alive], np.tile(shift[alive], 2)
        middle = (low + high) / 2
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])


def _cells(
    move: ConfidentMax, low: Floats, high: Floats, shift: Floats, speed: float, orders: Floats
) -> tuple[Floats, Floats]:
    """Compute the largest value at any end of a cell, per order, and the bound of each cell."""
    best = np.zeros(len(orders))
    bound = np.empty((len(low), len(orders)))
    size = max(1, _BLOCK_VALUES // (10 * len(orders)))
    for start in range(0, len(low), size):
        part = slice(start, start + size)
        ends = np.stack([low[part], high[part]], axis=1)
        moved = shift[part, None]
        value = log_moments(
            move.outcomes(ends)[..., None, :], move.outcomes(ends + moved)[..., None, :], orders
        ).max(axis=1)
        best = np.maximum(best, value.max(axis=0, initial=0.0))
        step = speed * (ends[:, 1] - ends[:, 0])
        # A log-sum-exp whose exponents have a curvature of at least -a.
        rise = value + orders * step[:, None] ** 2 / 8
        middle = ends.mean(axis=1)
        other = middle + shift[part]
        same_sign = np.flatnonzero(middle * other > 0)
        if len(same_sign):
            rise[same_sign] = cell_bound(
                value[same_sign],
                move.outcomes(middle[same_sign])[:, None],
                move.outcomes(other[same_sign])[:, None],
                _slopes(move, other[same_sign])[:, None],
                orders,
                shift=speed * float(np.abs(shift).max()),
                step=step[same_sign, None],
                dimension=1,
            )
        bound[part] = rise
    return best, bound


def _slopes(move: ConfidentMax, gap: Floats) -> Floats:
    """Bound the norms of the gradients of the outcomes' log probabilities."""
    top, vote = move.coordinates(gap)
    passes, fails, first, second = (mills_ratio(x) for x in (top, -top, vote, -vote))
    return np.stack([fails, np.hypot(passes, first), np.hypot(passes, second)], axis=-1)


#: Rarer outcomes than this do not make the grid finer.
_RARE = 1e-3
#: Largest number of pairs of neighbours with which a row is played as one move.
_MOST_PAIRS = 5000
#: Logarithm of the probability of losses beyond the grid.
_LOG_TAIL = -37.0
#: Orders of the bound on these losses, less 1, in units of a row's shift.
_ORDERS = np.geomspace(0.03, 3000.0, 60)
_SMALLEST = float(np.finfo(float).tiny)
_FURTHEST = 8.5  # standardised gap beyond which the vote reveals next to nothing


@dataclass(frozen=True)
class ConfidentMove:
    """Thresholded vote on two classes: the adversary chooses the gap with the largest value.

    Ballots of one weight leave finitely many gaps, so the maximum over them is exact (`near`). If
    the gap is beyond 8.5 standard deviations on both data sets, the row is priced as the noisy bit
    of its threshold (`far`). The vote's two rare outcomes, with probabilities P below Phi(-8.5),
    add at most P each: P V <= P for the rarer class, and u dV/du <= 1 for the other.
    """

    near: ChoiceMove
    far: BitMove | None

    @property
    def pad(self) -> int:
        return self.near.pad if self.far is None else max(self.near.pad, self.far.pad + 3)

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        """Compute the value of the best gap; `negative` is the value after an unanswered row."""
        value = self.near.best(negative, positive)  # the first outcome of a row is no answer
        if self.far is not None:
            far = self.far.best(positive, negative)
            np.maximum(value, far + 2 * ndtr(-_FURTHEST), out=value)
        return value


@lru_cache(maxsize=64)
def _laws(move: ConfidentMax) -> tuple[Floats, Floats, bool]:
    """Compute log P, log Q of pairs of neighbours up to `_FURTHEST`; True if others are beyond."""
    n_ballots = round(move.n_votes / move.weight)
    moves = np.arange(1, min(move.ballots, n_ballots) + 1)
    votes = np.arange((n_ballots + 1) // 2, _most_votes(move) + 1)
    pairs = np.stack(np.broadcast_arrays(votes, votes + np.append(-moves, moves)[:, None]))
    pairs = pairs[:, (pairs[1] >= 0) & (pairs[1] <= n_ballots)]
    gaps = move.weight * (2.0 * pairs - n_ballots)
    vote, other = (move.coordinates(gap)[1] for gap in gaps)
    far = np.minimum(vote, other) > _FURTHEST
    log_p, log_q = (move.outcomes(gap[~far]) for gap in gaps)
    return log_p, log_q, bool(far.any())


def _most_votes(move: ConfidentMax) -> int:
    """Bound the larger count, in ballots, of pairs that the vote distinguishes; 2 are a margin."""
    n_ballots = round(move.n_votes / move.weight)
    half_gap = _FURTHEST * move.sigma / np.sqrt(2) / move.weight
    return int(min(n_ballots, n_ballots / 2 + half_gap + move.ballots + 2))


def _count_pairs(move: ConfidentMax) -> int:
    """Bound the number of pairs that `_laws` looks at."""
    n_ballots = round(move.n_votes / move.weight)
    return 2 * min(move.ballots, n_ballots) * (_most_votes(move) - (n_ballots - 1) // 2)


@dataclass(frozen=True)
class RowLoss:
    """Bounds of a row's loss: mean square, scale, and log moments (a - 1) D_a at some orders."""

    mean_square: float
    scale: float
    orders: Floats
    moments: Floats

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, move: ConfidentMax) -> RowLoss:
        log_p, log_q, far = _laws(move)
        probabilities = np.exp(np.maximum(log_p, log_q))
        squares = (probabilities * (log_p - log_q) ** 2).sum(axis=-1)
        most = int(squares.argmax())
        rare = np.sort(probabilities[most])[:-1].sum()
        # Rare outcomes would make the mean square small, but their loss is large all the same.
        lifted = squares[most] * (_RARE / max(rare, _SMALLEST) if rare < _RARE else 1.0)
        bit = move.bit_ratio**2 if far else 0.0
        orders = 1 + _ORDERS / float(np.hypot(move.vote_ratio, move.bit_ratio))
        moments = orders * (orders - 1) * bit / 2
        for pair in zip(log_p, log_q, strict=True):
            np.maximum(moments, log_moments(*pair, orders), out=moments)
        scale = float(np.sqrt(np.pi / 2 * (lifted + bit)))
        return cls(float(squares[most]) + bit, scale, orders, moments)

    def most(self, n_rows: float) -> float:
        """Bound the loss of rows up to a probability of 1e-16 (Chernoff's bound)."""
        return float(((n_rows * self.moments - _LOG_TAIL) / (self.orders - 1)).min())


class ConfidentPlay(Play[ConfidentMax]):
    positive_is_answer = True

    @property
    def noisy_shift(self) -> float:
        return float(np.hypot(self.move.vote_ratio, self.move.bit_ratio))

    @property
    def loss_scale(self) -> float:
        return RowLoss.of(self.move).scale

    @property
    def loss_variance(self) -> float:
        # Few rows pass the threshold, but on the paths with the largest loss all do. So the grid
        # reaches as far as for the vote and the threshold's bit together.
        far = 2 / np.pi * (self.move.vote_ratio**2 + self.move.bit_ratio**2)
        return max(RowLoss.of(self.move).mean_square, far)

    def most_loss(self, n_moves: float) -> float:
        return RowLoss.of(self.move).most(n_moves)

    def expand(self, node: Node) -> Node:
        """Split a threshold and its vote into two moves if there are too many gaps to try."""
        move = self.move
        if move.alike and _count_pairs(move) <= _MOST_PAIRS:
            return node
        vote = NoisyMax(sigma=move.sigma, weight=move.weight, ballots=move.ballots, n_classes=2)
        bit = NoisyBit(scale=1.0, shift=move.bit_ratio)
        return replace(node.with_move(bit), follow=(Node("vote", play_of(vote), 1, ()),))

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> ConfidentMove:
        return confident_move(self.move, grid, spacing, zone)


@lru_cache(maxsize=64)
def confident_move(
    move: ConfidentMax, grid: LossGrid, spacing: float, zone: float
) -> ConfidentMove:
    """Build the move; `spacing` and `zone` are those of far gaps' noisy bits, as in `bit_move`."""
    log_p, log_q, far = _laws(move)
    near = ChoiceMove.from_laws(log_p, log_p - log_q, grid)
    return ConfidentMove(near, bit_move(move.bit_ratio, grid, spacing, zone) if far else None)


play_of.register(ConfidentMax, ConfidentPlay)
