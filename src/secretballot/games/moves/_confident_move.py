"""A noisy maximum of two classes behind a threshold in the game: the adversary chooses one gap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from secretballot.divergences import ConfidentMax, Floats, NoisyBit, NoisyMax
from secretballot.games.moves._bit_move import BitMove, bit_move
from secretballot.games.moves._choices import Choices, confident_choices
from secretballot.games.moves._grid import LossGrid, Padded, Stencil, add_up
from secretballot.games.moves._play import GameMove, Node, Play, play_of

_FURTHEST = 8.5  # standardised gaps from which on the vote tells next to nothing
_BLOCK = 4096  # nodes worked on together, so that they stay in the processor's cache


@dataclass(frozen=True)
class ConfidentMove:
    """The best of all gaps that there are: ballots of one weight leave finitely many.

    So nothing lies between those that are tried, and the maximum is exact. Where the vote's gap is
    beyond 8.5 standard deviations, on both data sets, the row is its threshold's noisy bit, at any
    gap, but for two outcomes of less than Phi(-8.5), which are given away: P V <= P for the rarer
    class, and for the other u dV/du <= 1.
    """

    stencils: tuple[tuple[Stencil, ...], ...]
    far: BitMove | None

    @property
    def pad(self) -> int:
        offsets = [abs(stencil.offset) for gap in self.stencils for stencil in gap]
        return max(offsets) + 3 if self.far is None else max(*offsets, self.far.pad) + 3

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return what the best gap is worth; `no` is what a row that isn't answered leads to."""
        value = np.full_like(yes.shifted(0), -np.inf)
        for start in range(0, yes.n_nodes, _BLOCK):
            part = value[..., start : start + _BLOCK]
            out, scratch = np.empty_like(part), np.empty_like(part)
            first, second = (each.block(start, part.shape[-1]) for each in (yes, no))
            for fails, *wins in self.stencils:
                terms = [(second, fails), *((first, win) for win in wins)]
                np.maximum(part, add_up(terms, out, scratch), out=part)
        if self.far is not None:
            np.maximum(value, self.far.best(yes, no) + 2 * ndtr(-_FURTHEST), out=value)
        return value


@lru_cache(maxsize=64)
def _laws(move: ConfidentMax) -> tuple[Floats, Floats, bool]:
    """Return log P and log Q of all pairs of neighbours, and whether some are too far for the vote.

    Up to the classes' names, so that gaps of the data are not negative.
    """
    n_ballots = round(move.n_votes / move.weight)
    moves = np.arange(1, move.ballots + 1)
    here, there = np.meshgrid(
        np.arange((n_ballots + 1) // 2, n_ballots + 1), np.concatenate([-moves, moves])
    )
    here, there = here.ravel(), (here + there).ravel()
    possible = (there >= 0) & (there <= n_ballots)
    gaps = [move.weight * (2.0 * each[possible] - n_ballots) for each in (here, there)]
    vote, other = (move.coordinates(gap)[1] for gap in gaps)
    far = np.minimum(vote, other) > _FURTHEST
    log_p, log_q = (move.outcomes(gap[~far]) for gap in gaps)
    return log_p, log_q, bool(far.any())


def confident_variance(move: ConfidentMax) -> float:
    """Return at least the mean square of a row's loss."""
    log_p, log_q, far = _laws(move)
    news = np.exp(np.maximum(log_p, log_q)) * (log_p - log_q) ** 2
    return float(news.sum(axis=-1).max()) + (move.bit_ratio**2 if far else 0.0)


@lru_cache(maxsize=64)
def confident_move(
    move: ConfidentMax, grid: LossGrid, spacing: float, zone: float
) -> ConfidentMove:
    """Return the move; `spacing` and `zone` are those of far gaps' noisy bits, as in `bit_move`."""
    log_p, log_q, far = _laws(move)
    return ConfidentMove(
        tuple(
            tuple(grid.stencil(float(loss), float(p)) for loss, p in zip(losses, ps, strict=True))
            for losses, ps in zip(log_p - log_q, np.exp(log_p), strict=True)
        ),
        bit_move(move.bit_ratio, grid, spacing, zone) if far else None,
    )


class ConfidentPlay(Play[ConfidentMax]):
    """A noisy maximum of two classes behind a threshold, as one move."""

    answers = True

    @property
    def noisy_shift(self) -> float:
        return float(np.hypot(self.move.vote_ratio, self.move.bit_ratio))

    @property
    def shift(self) -> float:
        return float(np.sqrt(np.pi / 2 * confident_variance(self.move)))

    @property
    def loss_variance(self) -> float:
        # Few rows pass, but those that lead far out all do: grids have to reach as far as for the
        # vote and the threshold's bit together.
        far = 2 / np.pi * (self.move.vote_ratio**2 + self.move.bit_ratio**2)
        return max(confident_variance(self.move), far)

    @property
    def known_shift(self) -> float:
        return max(self.move.vote_ratio, self.move.bit_ratio)

    def expand(self, node: Node) -> Node:
        """Return a threshold with its vote as two moves, where the gaps are not finitely many."""
        move = self.move
        if move.alike:
            return node
        vote = NoisyMax(sigma=move.sigma, weight=move.weight, ballots=move.ballots, n_classes=2)
        bit = NoisyBit(scale=1.0, shift=move.bit_ratio)
        return node.playing(bit, follow=(Node("vote", play_of(vote), 1, ()),))

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        return confident_move(self.move, grid, spacing, zone)

    def on_known_data(self, state: Any) -> Choices | float:
        move, votes = self.move, np.asarray(state, dtype=np.float64)
        top = float(votes.max()) - move.threshold
        noise = move.sigma_threshold, move.sigma
        choices = confident_choices(votes, top, *noise, move.weight, move.ballots)
        assert choices is not None  # of two classes
        return choices
