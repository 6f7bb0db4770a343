"""Outcome laws that a neighbour can choose from, on known data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from secretballot.divergences import (
    MOST_NODES,
    Floats,
    Quadrature,
    confident_log_probabilities,
    has_ballot,
    level_quadrature,
)

#: Log probability of outcomes that no plan is long enough to see.
_NEGLIGIBLE = np.log(1e-14)
#: With more outcomes than this, over all choices, a Gaussian pair is the bound.
_MOST_OUTCOMES = 2_000


@dataclass(frozen=True)
class Choices:
    """Laws of the outcome under each neighbour, and under the data.

    `data` has shape (n_outcomes,), or that of `neighbours`, (n_choices, n_outcomes), where outcomes
    that are alike are counted together: log probabilities. The first outcome is the positive one.
    Without neighbours the move reveals nothing.
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
        """Upper bound of the mean squared loss, over choices and both directions."""
        loss = self.data - self.neighbours
        weight = np.exp(np.maximum(self.data, self.neighbours))
        return float((weight * loss**2).sum(axis=-1).max(initial=0.0))

    @property
    def rarest(self) -> float:
        """Largest loss of an outcome that is not negligible."""
        loss = np.abs(self.data - self.neighbours)
        possible = np.maximum(self.data, self.neighbours) > _NEGLIGIBLE
        return float(np.where(possible, loss, 0.0).max(initial=0.0))


def bit_choices(gap: float, ratio: float, can_widen: bool = True) -> Choices:
    """Return the choices of a noisy bit with a known standardised gap.

    The gap may grow and shrink by `ratio`; only shrink, where all ballots are on one side.
    """
    shifts = [-ratio, ratio]
    if not can_widen and gap != 0:
        shifts = [-float(np.sign(gap)) * ratio]
    moved = gap + np.array(shifts)
    return Choices(
        np.array([log_ndtr(gap), log_ndtr(-gap)]), np.stack([log_ndtr(moved), log_ndtr(-moved)], 1)
    )


def level_choices(votes: Floats, n_classes: int, sigma: float, ratio: float) -> Choices | None:
    """Return the choices of a noisy maximum where most classes have no votes.

    None if there are too many outcomes.
    """
    quadrature = level_quadrature(votes, n_classes, sigma, ratio)
    n_levels = len(quadrature.sizes)
    if not quadrature.fits or n_levels**2 * (n_levels + 2) > _MOST_OUTCOMES:
        return None
    data, neighbours = quadrature.neighbours()
    return Choices(data, neighbours) if np.isfinite(neighbours).all() else None


def max_choices(scaled: Floats, ratio: float) -> Choices | None:
    """Return the choices of a noisy maximum over three or more classes, of one moved ballot.

    None where the votes are too many standard deviations apart to be integrated on one grid.
    """
    laws = _max_laws(scaled, ratio)
    if laws is None:
        return None
    _, possible = _neighbours(scaled, ratio)
    return Choices(laws[0], laws[1][possible])


def confident_choices(
    votes: Floats, top: float, noise: float, sigma: float, weight: float, ballots: int
) -> Choices | None:
    """Return the choices of a threshold on the largest count and the vote behind it, as one move.

    The data are known, so one ballot moves both in a known way. None where the two have to be
    bounded one after the other: several ballots among three or more classes, or votes too far
    apart for the quadrature.

    Parameters
    ----------
    votes : ndarray of shape (n_classes,)
    top : float
        Distance of the largest count from the threshold.
    noise : float
        Standard deviation of the noise on it.
    sigma, weight, ballots
        Of the vote.
    """
    n_classes = len(votes)
    if n_classes == 1:
        return Choices(np.zeros(1), np.zeros((0, 1)))
    if n_classes > 2 and ballots > 1:
        return None
    others, possible = _neighbours(votes, weight, ballots)
    if n_classes == 2:
        data, moved = _pair_laws(votes, sigma), _pair_laws(others, sigma)
    else:
        laws = _max_laws(votes / sigma, weight / sigma)
        if laws is None:
            return None
        data, moved = laws
    tops = top + others.max(axis=-1) - votes.max()
    return Choices(
        confident_log_probabilities(top / noise, data),
        confident_log_probabilities(tops / noise, moved)[possible],
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
    return quadrature.log_probabilities()[0], quadrature.neighbours()[0]
