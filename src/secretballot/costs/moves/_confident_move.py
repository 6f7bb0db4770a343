"""A noisy maximum of two classes behind a threshold in the game: the adversary chooses one gap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._moves import NoisyBit, NoisyMax
from secretballot.costs._orders import Floats
from secretballot.costs.moves._bit_move import BitMove, bit_move
from secretballot.costs.moves._choices import ChoiceMove
from secretballot.costs.moves._grid import LossGrid, PaddedValues
from secretballot.costs.moves._play import Node, Play, play_of

_FURTHEST = 8.5  # standardised gaps from which on the vote reveals next to nothing


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
    """Compute log P and log Q of all pairs of neighbours, and if some are too far for the vote.

    Up to the classes' names, so that gaps of the data are not negative.
    """
    n_ballots = round(move.n_votes / move.weight)
    moves = np.arange(1, move.ballots + 1)
    votes = np.arange((n_ballots + 1) // 2, n_ballots + 1)
    pairs = np.stack(np.broadcast_arrays(votes, votes + np.append(-moves, moves)[:, None]))
    pairs = pairs[:, (pairs[1] >= 0) & (pairs[1] <= n_ballots)]
    gaps = move.weight * (2.0 * pairs - n_ballots)
    vote, other = (move.coordinates(gap)[1] for gap in gaps)
    far = np.minimum(vote, other) > _FURTHEST
    log_p, log_q = (move.outcomes(gap[~far]) for gap in gaps)
    return log_p, log_q, bool(far.any())


def confident_variance(move: ConfidentMax) -> float:
    """Bound the mean square of a row's loss."""
    log_p, log_q, far = _laws(move)
    squares = np.exp(np.maximum(log_p, log_q)) * (log_p - log_q) ** 2
    return float(squares.sum(axis=-1).max()) + (move.bit_ratio**2 if far else 0.0)


class ConfidentPlay(Play[ConfidentMax]):
    """A noisy maximum of two classes behind a threshold, as one move."""

    positive_is_answer = True

    @property
    def noisy_shift(self) -> float:
        return float(np.hypot(self.move.vote_ratio, self.move.bit_ratio))

    @property
    def loss_scale(self) -> float:
        return float(np.sqrt(np.pi / 2 * confident_variance(self.move)))

    @property
    def loss_variance(self) -> float:
        # Few rows pass, but those that lead far out all do: grids have to reach as far as for the
        # vote and the threshold's bit together.
        far = 2 / np.pi * (self.move.vote_ratio**2 + self.move.bit_ratio**2)
        return max(confident_variance(self.move), far)

    def expand(self, node: Node) -> Node:
        """Split a threshold and its vote into two moves, where the gaps are not finitely many."""
        move = self.move
        if move.alike:
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
