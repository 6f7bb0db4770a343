"""A noisy maximum of two classes behind a threshold, as one outcome of three.

With a public number N of votes a row is known by one number, the gap g between its two classes: the
largest count is (N + |g|)/2. So one ballot moves the threshold's gap and the vote's together, and
what a row reveals is a function of g and of the neighbour's g'.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from secretballot.divergences._bit import gaussian_bound, has_ballot, worst_bit
from secretballot.divergences._divergence import largest_log_moment, log_moments, round_up
from secretballot.divergences._law import Move
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences._supremum import cell_bound

_TOLERANCE = 1e-4  # of the search, relative
_FEWEST = 16  # cells that a piece of the line is first cut into
_MOST_CELLS = 20_000
_BLOCK_VALUES = 1_000_000


def confident_log_probabilities(top: ArrayLike, win: Floats) -> Floats:
    """Log probabilities of the outcomes of a noisy maximum behind a threshold.

    Parameters
    ----------
    top : array-like of shape (...)
        The largest count's distance from the threshold, in units of the noise on it.
    win : ndarray of shape (..., n_classes)
        Log probabilities of the winners.

    Returns
    -------
    ndarray of shape (..., 1 + n_classes)
        Not answered, and each winner. The two noises are independent, so these are products.
    """
    gap = np.asarray(top, dtype=np.float64)[..., None]
    return np.concatenate([log_ndtr(-gap), log_ndtr(gap) + win], axis=-1)


@dataclass(frozen=True, kw_only=True)
class ConfidentMax(Move):
    """Releases which of two counts is larger, if the larger reaches a threshold; one outcome.

    The counts, to which noise N(0, `sigma`^2) is added, sum to `n_votes`; to the larger one noise
    N(0, `sigma_threshold`^2) is added before it is compared. A neighbour moves up to `ballots`
    ballots of `weight`. With `alike` all ballots weigh that, so that only some gaps can occur. The
    state is the counts, shape (n_rows, 2).
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
        """What a neighbour moves the vote at most, in units of its noise."""
        return float(np.sqrt(2)) * self.weight * self.ballots / self.sigma

    @property
    def bit_ratio(self) -> float:
        """What a neighbour moves the largest count at most, in units of the noise on it."""
        return self.weight * self.ballots / self.sigma_threshold

    @property
    def moves(self) -> Floats:
        """How far a neighbour can shrink or widen a gap, fewer ballots first.

        Fewer ballots are no special case of more: where the threshold's outcome becomes likelier
        and the vote's less so, a smaller move may tell more.
        """
        return 2 * self.weight * np.arange(1.0, self.ballots + 1)

    def coordinates(self, gap: Floats) -> tuple[Floats, Floats]:
        """Return the largest count's distance from the threshold, and the gap, in their noises."""
        top = (self.n_votes + np.abs(gap)) / 2 - self.threshold
        return top / self.sigma_threshold, gap / (np.sqrt(2) * self.sigma)

    def outcomes(self, gap: Floats) -> Floats:
        """Log probabilities of {not answered, first class, second class} at gaps."""
        top, vote = self.coordinates(gap)
        return confident_log_probabilities(
            top, np.stack([log_ndtr(vote), log_ndtr(-vote)], axis=-1)
        )

    def pieces(self) -> list[tuple[float, float, float]]:
        """Return (low, high, move): gaps in [low, high] whose neighbour lies `move` further.

        Up to the classes' names these are all pairs of neighbours. Inside a piece neither gap
        changes its sign.
        """
        found = []
        for move in self.moves:
            if move > 2 * self.n_votes:
                continue
            low = max(move - self.n_votes, 0.0)
            found += [(low, min(move, self.n_votes), -move), (move, self.n_votes, -move)]
            found += [(0.0, self.n_votes - move, move)]
        return [(low, high, float(move)) for low, high, move in found if low <= high]

    def neighbours(self, gap: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the gaps of all neighbours of known gaps, and which of them there are.

        A class can only lose ballots that it has. Where neither has one of this weight, nothing
        is known of whose ballots they are.
        """
        moves = np.concatenate([-self.moves, self.moves])
        counts = (self.n_votes + np.sign(-moves) * gap[..., None]) / 2  # of the class that loses
        there = has_ballot(counts, np.abs(moves) / 2, self.n_votes)
        there |= ~there.any(axis=-1, keepdims=True)
        return gap[..., None] + moves, there

    def exact(self, state: Floats) -> Floats:
        """Return the cost on known counts: every neighbour, both directions."""
        gaps, inverse = np.unique(np.abs(state[:, 0] - state[:, 1]), return_inverse=True)
        out = np.empty((len(gaps), len(ORDERS)))
        size = max(1, _BLOCK_VALUES // (len(ORDERS) * 12 * self.ballots))
        for start in range(0, len(gaps), size):
            block = gaps[start : start + size]
            others, there = self.neighbours(block)
            other = self.outcomes(others)
            here = np.broadcast_to(self.outcomes(block)[:, None], other.shape)
            # Impossible neighbours cost nothing: they are the data themselves.
            other = np.where(there[..., None], other, here)
            out[start : start + size] = self._largest(
                np.concatenate([here, other], axis=1), np.concatenate([other, here], axis=1)
            )
        return np.asarray(out[inverse.ravel()])

    def _largest(self, log_p: Floats, log_q: Floats) -> Floats:
        out = np.empty((len(log_p), len(ORDERS)))
        finite = ORDERS[:-1]
        out[:, :-1] = largest_log_moment(log_p, log_q, finite) / (finite - 1)
        out[:, -1] = np.maximum((log_p - log_q).max(axis=(1, 2)), 0.0)
        return np.minimum(out * self._rounding, self._noisy_numbers(ORDERS))

    @property
    def _rounding(self) -> Floats:
        return round_up(min(self.vote_ratio, self.bit_ratio) / self.ballots)

    def _noisy_numbers(self, orders: Floats) -> Floats:
        """What the noisy gap and the noisy largest count cost, of which the outcome is made."""
        return gaussian_bound(float(np.hypot(self.vote_ratio, self.bit_ratio)), orders)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return the supremum over all gaps."""
        return _worst(self, orders)


@lru_cache(maxsize=1024)
def _worst(move: ConfidentMax, orders: tuple[float, ...] | None) -> Floats:
    """Search all gaps: a certified upper bound of what a row can cost.

    With the gap g the point (largest count, gap) runs along a line, cut where the classes change
    places; the outcomes are a half-plane's and two quadrants' Gaussian masses. So between the ends
    of a cell the bounds of `_supremum` hold: where g and g' have the same sign, the two points move
    alike, and both do; where not, they move in different directions, and only the first does.
    Cells that can't reach the best value found are dropped, the others cut finer.

    Never above what the threshold and the vote cost one after the other.
    """
    at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
    apart = worst_bit(move.bit_ratio, orders) + worst_bit(move.vote_ratio, orders)
    out = np.minimum(apart, move._noisy_numbers(at))
    finite = np.isfinite(at)
    if finite.any():
        found = _search(move, at[finite]) / (at[finite] - 1) * move._rounding
        out[finite] = np.minimum(out[finite], found)
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
    """Return the largest value at any end of a cell, per order, and each cell's bound."""
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
        # A log-sum-exp of exponents whose curvature is at least -a.
        rise = value + orders * step[:, None] ** 2 / 8
        middle = ends.mean(axis=1)
        other = middle + shift[part]
        alike = np.flatnonzero(middle * other > 0)
        if len(alike):
            rise[alike] = cell_bound(
                value[alike],
                move.outcomes(middle[alike])[:, None],
                move.outcomes(other[alike])[:, None],
                _slopes(move, other[alike])[:, None],
                orders,
                shift=speed * float(np.abs(shift).max()),
                step=step[alike, None],
                dimension=1,
            )
        bound[part] = rise
    return best, bound


def _slopes(move: ConfidentMax, gap: Floats) -> Floats:
    """Norms of the gradients of the outcomes' log probabilities: at most their factors'."""
    top, vote = move.coordinates(gap)
    passes, fails, first, second = (_mills(x) for x in (top, -top, vote, -vote))
    return np.stack([fails, np.hypot(passes, first), np.hypot(passes, second)], axis=-1)


def _mills(x: Floats) -> Floats:
    """phi(x) / Phi(x), the slope of log Phi."""
    return np.asarray(np.exp(-(x**2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(x)))
