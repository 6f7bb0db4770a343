"""What a neighbour can do to a move on known data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from secretballot.divergences import MOST_NODES, Floats, NoisyBit, NoisyMax, Quadrature
from secretballot.games._row import Node

#: Log probability of what no plan is long enough for.
_IMPOSSIBLE = np.log(1e-14)


@dataclass(frozen=True)
class Choices:
    """The laws that the neighbour can choose from, and the one of the data.

    `data` has shape (n_outcomes,), `neighbours` (n_choices, n_outcomes): log probabilities. The
    first outcome is the positive one. Without neighbours the move tells nothing.
    """

    data: Floats
    neighbours: Floats

    def losses(self, to_data: bool) -> tuple[Floats, Floats]:
        """Return log P and the losses log P/Q of each choice; P is the data unless `to_data`."""
        loss = self.data - self.neighbours
        return (
            (self.neighbours, -loss) if to_data else (np.broadcast_to(self.data, loss.shape), loss)
        )

    @property
    def variance(self) -> float:
        """At least the mean square of the loss, whatever is chosen, in either direction."""
        loss = self.data - self.neighbours
        weight = np.exp(np.maximum(self.data, self.neighbours))
        return float((weight * loss**2).sum(axis=-1).max(initial=0.0))

    @property
    def rarest(self) -> float:
        """The largest loss of an outcome that is not next to impossible."""
        loss = np.abs(self.data - self.neighbours)
        seen = np.maximum(self.data, self.neighbours) > _IMPOSSIBLE
        return float(np.where(seen, loss, 0.0).max(initial=0.0))


def bit_choices(gap: float, ratio: float, can_widen: bool = True) -> Choices:
    """Return what a neighbour can do to a noisy bit with a known standardised gap.

    A gap may grow and shrink by `ratio`; shrink only, where no teacher is left to change its mind.
    """
    shifts = [-ratio, ratio]
    if not can_widen and gap != 0:
        shifts = [-float(np.sign(gap)) * ratio]
    there = gap + np.array(shifts)
    return Choices(
        np.array([log_ndtr(gap), log_ndtr(-gap)]), np.stack([log_ndtr(there), log_ndtr(-there)], 1)
    )


def known_choices(node: Node, state: Any) -> Choices | float:
    """Return the choices of a move on one row's state, or the ratio of a Gaussian move above it."""
    move = node.move
    if isinstance(move, NoisyBit):
        return bit_choices(float(state) / move.scale, move.shift / move.scale)
    if not isinstance(move, NoisyMax):
        raise TypeError(f"{type(move).__name__} of step {node.name!r} has no game.")
    votes = np.asarray(state, dtype=np.float64)
    if len(votes) == 1:
        return Choices(np.zeros(1), np.zeros((0, 1)))
    if len(votes) == 2:
        gap = (votes[0] - votes[1]) / (np.sqrt(2) * move.sigma)
        can_widen = bool(votes.min() >= move.weight)
        return bit_choices(float(gap), float(np.sqrt(2)) * move.ratio, can_widen)
    if move.ballots > 1:
        return float(np.sqrt(2)) * move.ratio
    choices = max_choices(votes / move.sigma, move.ratio)
    return float(np.sqrt(2)) * move.ratio if choices is None else choices


def max_choices(scaled: Floats, ratio: float) -> Choices | None:
    """Return what moving one ballot does to a noisy maximum over three or more classes.

    None where the votes are too many standard deviations apart to be integrated on one grid.
    """
    votes = scaled[None]
    n_nodes = int(Quadrature.nodes(votes, ratio)[0])
    if n_nodes > MOST_NODES or ratio * n_nodes > 40 * MOST_NODES:
        return None
    quadrature = Quadrature(votes, ratio)
    giver, taker = np.divmod(np.arange(len(scaled) ** 2), len(scaled))
    # A neighbour needs a ballot to move. (Rounded votes may fall a hair short of the weight.)
    has = scaled >= ratio * (1 - 1e-12)
    possible = (has | ~has.any())[giver] & (giver != taker)
    return Choices(quadrature.unchanged()[0], quadrature.moved()[0][possible])
