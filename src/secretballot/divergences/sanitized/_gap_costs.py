"""What a move costs by the gap of its votes, for whole ballots of which one is replaced."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences._bit import exact_bit
from secretballot.divergences._confident_max import ConfidentMax
from secretballot.divergences._law import NoisyBit, NoisyMax
from secretballot.divergences._orders import ORDERS, Floats, order_index
from secretballot.divergences._papernot import papernot_bound
from secretballot.divergences.sanitized._margin import GapCosts

#: What costs as much as the worst case but for this, costs the worst case.
_ROUNDED = 1e-9

#: Of more classes votes are not written out.
_MOST_CLASSES = 1_000


def has_gap(move: Any) -> bool:
    """Whether a move's cost can be bounded by one gap, which a ballot changes by whole numbers."""
    if isinstance(move, ConfidentMax):
        return move.alike and move.weight == move.ballots == 1
    if isinstance(move, NoisyMax):
        known = move.n_classes is not None and move.n_classes <= _MOST_CLASSES
        return known and move.weight == move.ballots == 1
    return isinstance(move, NoisyBit) and float(move.shift).is_integer() and move.shift >= 1


def gaps_of(move: Any, state: NDArray[Any]) -> NDArray[np.int64]:
    """Return the gaps of rows in whole ballots, rounded down: how far each is from a tie.

    Of votes between many classes it is how far the first is ahead of the second.
    """
    if isinstance(move, NoisyBit):
        ahead = np.abs(state)
    else:
        ordered = np.sort(state, axis=1)
        ahead = ordered[:, -1] - (ordered[:, -2] if ordered.shape[1] > 1 else 0)
    return np.asarray(np.floor(ahead).astype(np.int64))


def gap_costs(move: Any, widest: int, order: float) -> GapCosts:
    """Return what a move costs at most by its gap, at one order.

    Parameters
    ----------
    move : NoisyBit, NoisyMax or ConfidentMax
    widest : int
        The largest gap that is told apart: the number of votes.
    order : float

    Notes
    -----
    Two classes: the exact cost, both directions. More: the published bound for votes that are as
    far behind the first as the second is, with the data first and with the neighbour first (whose
    gap is smaller by 2), and no more than the worst case. The published bound holds for the data
    first only where a move asks for it (``bound="papernot"``).
    """
    k = order_index(order)
    worst, costs = float(move.worst_case()[k]), _by_gap(move, widest)[:, k]
    known = np.where(costs > worst * (1 - _ROUNDED), worst, costs)
    known[0] = worst
    return GapCosts.of(known, int(move.shift) if isinstance(move, NoisyBit) else 2)


@lru_cache(maxsize=64)
def _by_gap(move: Any, widest: int) -> Floats:
    """Return what votes of each gap cost, at all orders."""
    gaps = np.arange(widest + 1)
    if isinstance(move, NoisyBit):
        return exact_bit(gaps / move.scale, move.shift / move.scale)
    if isinstance(move, ConfidentMax):
        alike = gaps % 2 == int(move.n_votes) % 2  # others don't occur, and stand for wider ones
        votes = np.stack([move.n_votes + gaps[alike], move.n_votes - gaps[alike]], axis=1) / 2
        costs = np.zeros((len(gaps), len(ORDERS)))
        costs[alike] = move.exact(votes)
        return costs
    if move.n_classes == 2 and move.bound == "exact":
        noise = float(np.sqrt(2)) * move.sigma
        return exact_bit(gaps / noise, 2 / noise)
    votes = np.zeros((len(gaps), move.n_classes))
    votes[:, 0] = gaps
    published = papernot_bound(votes, move.sigma)
    if move.bound == "papernot":
        return published
    return np.asarray(np.maximum(published, published[np.maximum(gaps - 2, 0)]))
