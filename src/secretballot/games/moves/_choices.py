"""Outcome laws that a neighbour can choose from, on known data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import (
    Floats,
    Quadrature,
    bit_logs,
    confident_log_probabilities,
    has_ballot,
    level_quadrature,
)
from secretballot.games.moves._grid import (
    LossGrid,
    PaddedValues,
    Stencil,
    larger_value,
    sum_outcomes,
)

#: Log probability of outcomes that no plan is long enough to see.
_NEGLIGIBLE = np.log(1e-14)
#: With more outcomes than this, over all choices, a Gaussian pair is the bound.
_MOST_OUTCOMES = 2_000

_BLOCK = 4096  # nodes worked on together, so that they stay in the processor's cache


@dataclass(frozen=True)
class ChoiceMove:
    """The best of finitely many laws; their first outcome is the positive one.

    V is convex, so smaller shifts of a bit or a maximum are worse and not among the laws. Unless
    `told_apart`, any outcome may be the positive one.
    """

    stencils: tuple[tuple[Stencil, ...], ...]
    told_apart: bool = True

    @classmethod
    def from_laws(
        cls, log_p: Floats, loss: Floats, grid: LossGrid, told_apart: bool = True
    ) -> ChoiceMove:
        """Build the move from probabilities and losses, one row per law."""
        laws = zip(loss.tolist(), np.exp(log_p).tolist(), strict=True)
        return cls(tuple(tuple(map(grid.stencil, *law)) for law in laws), told_apart)

    @property
    def pad(self) -> int:
        offsets = [abs(stencil.offset) for law in self.stencils for stencil in law]
        return max(offsets, default=0) + 3

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        """Compute the value of the best law."""
        if not self.told_apart:
            positive = negative = larger_value(positive, negative)
        value = np.full_like(positive.shifted(0), -np.inf)
        for start in range(0, positive.n_nodes, _BLOCK):
            part = value[..., start : start + _BLOCK]
            out, scratch = np.empty_like(part), np.empty_like(part)
            yes, no = (values.block(start, part.shape[-1]) for values in (positive, negative))
            for first, *other_stencils in self.stencils:
                terms = [(yes, first), *((no, stencil) for stencil in other_stencils)]
                np.maximum(part, sum_outcomes(terms, out, scratch), out=part)
        return value


@dataclass(frozen=True, eq=False)
class Choices:
    """Laws of the outcome under each neighbour, and under the data.

    `data` has shape (n_outcomes,), or that of `neighbours`, (n_choices, n_outcomes), where equal
    outcomes are counted together: log probabilities. The first outcome is the positive one.
    Without neighbours the move reveals nothing.
    """

    data: Floats
    neighbours: Floats
    told_apart: bool = True

    def on_grid(self, grid: LossGrid, to_data: bool) -> ChoiceMove | None:
        """Build the move from the data to a neighbour, or back; None without neighbours."""
        if len(self.neighbours) == 0:
            return None
        p, q = np.broadcast_arrays(self.data, self.neighbours)
        if to_data:
            p, q = q, p
        return ChoiceMove.from_laws(p, p - q, grid, self.told_apart)

    @property
    def variance(self) -> float:
        """Upper bound of the mean squared loss, over choices and both directions."""
        loss = self.data - self.neighbours
        weight = np.exp(np.maximum(self.data, self.neighbours))
        return float((weight * loss**2).sum(axis=-1).max(initial=0.0))

    @property
    def largest_loss(self) -> float:
        """Largest loss of an outcome that is not negligible."""
        loss = np.abs(self.data - self.neighbours)
        possible = np.maximum(self.data, self.neighbours) > _NEGLIGIBLE
        return float(np.where(possible, loss, 0.0).max(initial=0.0))


#: Choices of a move with one outcome.
NO_CHOICES = Choices(np.zeros(1), np.zeros((0, 1)))


def bit_choices(gap: float, ratio: float, can_widen: bool = True) -> Choices:
    """Build the choices of a noisy bit with a known standardised gap.

    The gap may grow and shrink by `ratio`; only shrink, where all ballots are on one side.
    """
    shifts = np.array([-ratio, ratio])
    if not can_widen and gap != 0:
        shifts = shifts[shifts * gap < 0]
    return Choices(bit_logs(np.array(gap)), bit_logs(gap + shifts))


def response_choices(epsilon: float) -> Choices:
    """Build the choices of randomised response, which dominates any `epsilon`-private release.

    Any outcome is computed from the response (Kairouz, Oh and Viswanath 2015).
    """
    if not epsilon:
        return NO_CHOICES
    law = -np.logaddexp(0.0, [-epsilon, epsilon])
    return Choices(law, law[None, ::-1], told_apart=False)


def level_choices(votes: Floats, n_classes: int, sigma: float, ratio: float) -> Choices | None:
    """Build the choices of a noisy maximum where most classes have no votes.

    None if there are too many outcomes.
    """
    quadrature = level_quadrature(votes, n_classes, sigma, ratio)
    n_levels = len(quadrature.sizes)
    if not quadrature.fits or n_levels**2 * (n_levels + 2) > _MOST_OUTCOMES:
        return None
    data, neighbours = quadrature.neighbours()
    return Choices(data, neighbours) if np.isfinite(neighbours).all() else None


def max_choices(scaled_votes: Floats, ratio: float) -> Choices | None:
    """Build the choices of a noisy maximum over three or more classes, of one moved ballot.

    None where the votes are too many standard deviations apart to be integrated on one grid.
    """
    laws = _max_laws(scaled_votes, ratio)
    if laws is None:
        return None
    _, possible = _neighbour_votes(scaled_votes, ratio)
    return Choices(laws[0], laws[1][possible])


def confident_choices(
    votes: Floats, gap: float, noise: float, sigma: float, weight: float, ballots: int
) -> Choices | None:
    """Build the choices of a threshold on the largest count and the vote behind it, as one move.

    The data are known, so one ballot moves both in a known way. `gap` is the distance of the
    largest count from the threshold and `noise` the standard deviation on it. None where the two
    have to be bounded one after the other: several ballots among three or more classes, or votes
    too far apart for the quadrature.
    """
    n_classes = len(votes)
    if n_classes == 1:
        return NO_CHOICES
    if n_classes > 2 and ballots > 1:
        return None
    neighbours, possible = _neighbour_votes(votes, weight, ballots)
    if n_classes == 2:
        scale = np.sqrt(2) * sigma
        data, moved = (bit_logs((v[..., 0] - v[..., 1]) / scale) for v in (votes, neighbours))
    else:
        laws = _max_laws(votes / sigma, weight / sigma)
        if laws is None:
            return None
        data, moved = laws
    gaps = gap + neighbours.max(axis=-1) - votes.max()
    return Choices(
        confident_log_probabilities(gap / noise, data),
        confident_log_probabilities(gaps / noise, moved)[possible],
    )


def _neighbour_votes(
    votes: Floats, weight: float, ballots: int = 1
) -> tuple[Floats, NDArray[np.bool_]]:
    """Move 1, 2, ... ballots from each class to each, and check which neighbours exist.

    From class i to class j at position i * n_classes + j, of one ballot first. A neighbour needs
    the ballots that it moves. Where no class has one of this weight all moves are possible.
    """
    n_classes = len(votes)
    giver, taker = np.divmod(np.arange(n_classes**2), n_classes)
    unit = np.eye(n_classes)
    moved = weight * np.arange(1.0, ballots + 1)[:, None]
    neighbours = votes + moved[..., None] * (unit[taker] - unit[giver])
    has = has_ballot(votes[giver], moved, votes.sum())
    possible = (has | ~has.any()) & (giver != taker)
    return neighbours.reshape(-1, n_classes), possible.ravel()


def _max_laws(scaled_votes: Floats, ratio: float) -> tuple[Floats, Floats] | None:
    """Compute the law of the winner on votes of three or more classes, and on all neighbours."""
    votes = scaled_votes[None]
    if not Quadrature.fits(votes, ratio).all():
        return None
    quadrature = Quadrature(votes, ratio)
    return quadrature.log_probabilities()[0], quadrature.neighbours()[0]
