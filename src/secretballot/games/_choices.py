"""What a neighbour can do to a move on known data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from secretballot.divergences import (
    MOST_NODES,
    BoundedRange,
    ClippedBits,
    ConfidentMax,
    FewDraws,
    Floats,
    NoisyBit,
    NoisyMax,
    NoisyTop,
    PureRelease,
    Quadrature,
    StableTest,
    confident_outcomes,
    has_ballot,
    level_quadrature,
)
from secretballot.games._row import Node

#: Log probability of what no plan is long enough for.
_IMPOSSIBLE = np.log(1e-14)
#: Of more outcomes than this, of all choices together, a noisy number is the bound.
_MOST_OUTCOMES = 2_000


@dataclass(frozen=True)
class Choices:
    """The laws that the neighbour can choose from, and the one of the data.

    `data` has shape (n_outcomes,), or that of `neighbours`, (n_choices, n_outcomes), where outcomes
    that are alike are counted together: log probabilities. The first outcome is the positive one.
    Without neighbours the move tells nothing.
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
    if isinstance(move, StableTest):
        return move.shift / move.scale  # which gap is tested is private, and not its own state
    if isinstance(move, BoundedRange | FewDraws | PureRelease):
        return move.ratio  # the same on all data
    if isinstance(move, NoisyBit):
        return bit_choices(float(state) / move.scale, move.shift / move.scale)
    if isinstance(move, ClippedBits):
        return float(np.sqrt(move.noisy_numbers))
    if isinstance(move, ConfidentMax):
        votes = np.asarray(state, dtype=np.float64)
        top, noise = float(votes.max()) - move.threshold, move.sigma_threshold
        choices = _confident(votes, top, noise, move.sigma, move.weight, move.ballots)
        assert choices is not None  # of two classes
        return choices
    if not isinstance(move, NoisyMax):
        raise TypeError(f"{type(move).__name__} of step {node.name!r} has no game.")
    votes = np.asarray(state, dtype=np.float64)
    n_classes = len(votes) if move.n_classes is None else move.n_classes
    if n_classes == 1:
        return Choices(np.zeros(1), np.zeros((0, 1)))
    if n_classes > max(len(votes), 2):
        found = None if move.ballots > 1 else _level_choices(votes, n_classes, move)
        return float(np.sqrt(2)) * move.ratio if found is None else found
    votes = np.append(votes, np.zeros(n_classes - len(votes)))
    if len(votes) == 2:
        gap = (votes[0] - votes[1]) / (np.sqrt(2) * move.sigma)
        can_widen = bool(votes.min() >= move.weight)
        return bit_choices(float(gap), float(np.sqrt(2)) * move.ratio, can_widen)
    if move.ballots > 1:
        return float(np.sqrt(2)) * move.ratio
    choices = max_choices(votes / move.sigma, move.ratio)
    return float(np.sqrt(2)) * move.ratio if choices is None else choices


def _level_choices(votes: Floats, n_classes: int, move: NoisyMax) -> Choices | None:
    """Return what moving one ballot does where most classes have no votes; None if that is much."""
    quadrature = level_quadrature(votes, n_classes, move.sigma, move.ratio)
    n_levels = len(quadrature.sizes)
    if not quadrature.fits or n_levels**2 * (n_levels + 2) > _MOST_OUTCOMES:
        return None
    here, there = quadrature.neighbours()
    return Choices(here, there) if np.isfinite(there).all() else None


def label_choices(node: Node, state: Any) -> list[Choices]:
    """Return the choices of every label of clipped ballots, moved as far as one of them can be.

    That together they move less is given away. None at all where the noisy sums tell less.
    """
    move = node.move
    if not isinstance(move, ClippedBits) or move.bound == "papernot":
        return []
    gaps = np.asarray(state, dtype=np.float64) / (np.sqrt(2) * move.sigma)
    labels = [bit_choices(float(gap), move.ratio) for gap in gaps]
    return labels if sum(one.variance for one in labels) <= move.noisy_numbers else []


def max_choices(scaled: Floats, ratio: float) -> Choices | None:
    """Return what moving one ballot does to a noisy maximum over three or more classes.

    None where the votes are too many standard deviations apart to be integrated on one grid.
    """
    laws = _max_laws(scaled, ratio)
    if laws is None:
        return None
    _, possible = _neighbours(scaled, ratio)
    return Choices(laws[0], laws[1][possible])


def confident_choices(node: Node, states: Mapping[str, Any]) -> Choices | None:
    """Return what a neighbour can do to a threshold and the vote behind it, as one move.

    The data are known, so that one ballot moves both in a way that is known too. None if this is no
    threshold on the largest count with one vote behind it; and for several ballots among three or
    more classes, for more classes than are written out, and for votes too far apart: these are
    bounded one step after the other.
    """
    if not isinstance(node.move, NoisyTop) or len(node.follow) != 1:
        return None
    (vote,) = node.follow
    if not isinstance(vote.move, NoisyMax) or vote.times != 1 or vote.follow:
        return None
    votes = np.asarray(states[vote.name], dtype=np.float64)
    if vote.move.n_classes not in (None, len(votes)):
        return None
    move, top = vote.move, float(states[node.name])
    return _confident(votes, top, node.move.scale, move.sigma, move.weight, move.ballots)


def _confident(
    votes: Floats, top: float, noise: float, sigma: float, weight: float, ballots: int
) -> Choices | None:
    n_classes = len(votes)
    if n_classes == 1:
        return Choices(np.zeros(1), np.zeros((0, 1)))
    if n_classes > 2 and ballots > 1:
        return None
    others, possible = _neighbours(votes, weight, ballots)
    if n_classes == 2:
        here, there = _pair_laws(votes, sigma), _pair_laws(others, sigma)
    else:
        laws = _max_laws(votes / sigma, weight / sigma)
        if laws is None:
            return None
        here, there = laws
    tops = top + others.max(axis=-1) - votes.max()
    return Choices(
        confident_outcomes(top / noise, here), confident_outcomes(tops / noise, there)[possible]
    )


def _neighbours(votes: Floats, weight: float, ballots: int = 1) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the votes after moving 1, 2, ... ballots from one class to another, and which exist.

    From class i to class j at position i * n_classes + j, of one ballot first. A neighbour needs
    the ballots that it moves. Where no class has one of this weight all moves are possible.
    """
    n_classes = len(votes)
    giver, taker = np.divmod(np.arange(n_classes**2), n_classes)
    unit = np.eye(n_classes)
    moved = weight * np.arange(1.0, ballots + 1)[:, None]
    others = votes + moved[..., None] * (unit[taker] - unit[giver])
    has = has_ballot(votes[giver], moved, votes.sum())
    possible = (has | ~has.any()) & (giver != taker)
    return others.reshape(-1, n_classes), possible.ravel()


def _pair_laws(votes: Floats, sigma: float) -> Floats:
    gap = (votes[..., 0] - votes[..., 1]) / (np.sqrt(2) * sigma)
    return np.stack([log_ndtr(gap), log_ndtr(-gap)], axis=-1)


def _max_laws(scaled: Floats, ratio: float) -> tuple[Floats, Floats] | None:
    """Return the law of the winner on votes of three or more classes, and of all neighbours."""
    votes = scaled[None]
    n_nodes = int(Quadrature.nodes(votes, ratio)[0])
    if n_nodes > MOST_NODES or ratio * n_nodes > 40 * MOST_NODES:
        return None
    quadrature = Quadrature(votes, ratio)
    return quadrature.unchanged()[0], quadrature.moved()[0]
