"""Published accounting of votes: the bound of Papernot et al., and Gaussian noise at worst."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from secretballot.costs import NoisyBit, NoisyMax, Step
from secretballot.costs._clipped_bits import ClippedBits
from secretballot.costs._divergence import gaussian_bound
from secretballot.costs._exact_max import papernot_bound
from secretballot.costs._law import Law
from secretballot.costs._orders import ORDERS, order_array
from secretballot.mechanisms import (
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    Mechanism,
    PowersetVoting,
    TauVoting,
)

Floats = NDArray[np.float64]


def papernot(
    counts: Floats, sigma: float, weight: float = 1.0, n_classes: int | None = None
) -> Floats:
    """Compute the data-dependent bound of Papernot et al. for a noisy maximum, in one direction.

    At most the data-independent a w^2/sigma^2. Votes and noise are divided by the `weight` of a
    ballot (Boenisch et al., 2023, Corollary 1). Classes beyond the columns of `counts`, up to
    `n_classes`, have no votes.
    """
    votes, noise = np.asarray(counts, dtype=np.float64) / weight, sigma / weight
    return papernot_bound(_log_losses(votes, noise, n_classes), noise)


def _log_losses(votes: Floats, noise: float, n_classes: int | None) -> Floats:
    """Bound the log probability q of each row that the largest count does not win (Prop. 7)."""
    top = votes.argmax(axis=1)
    behind = votes[np.arange(len(votes)), top][:, None] - votes
    log_wins = log_ndtr(-behind / (np.sqrt(2) * noise))  # log of erfc(behind / (2 sigma)) / 2
    log_wins[np.arange(len(votes)), top] = -np.inf
    log_q = np.logaddexp.reduce(log_wins, axis=1)
    if n_classes is not None and n_classes > votes.shape[1]:
        unseen = log_ndtr(-votes.max(axis=1) / (np.sqrt(2) * noise))
        log_q = np.logaddexp(log_q, unseen + math.log(n_classes - votes.shape[1]))
    return np.asarray(log_q)


class PublishedBit(NoisyBit):
    """A noisy bit, charged as the noisy number behind it."""

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        return gaussian_bound(self.shift / self.scale, order_array(orders))

    def exact(self, state: Floats) -> Floats:
        return np.broadcast_to(self.worst_case(), (len(state), len(ORDERS)))


class PublishedMax(NoisyMax):
    """A noisy maximum, charged by the published bound."""

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        if self.n_classes == 1:
            return super().worst_case(orders)
        return gaussian_bound(float(np.sqrt(2)) * self.ratio, order_array(orders))

    def exact(self, state: Floats) -> Floats:
        if self.n_classes == 1:
            return super().exact(state)
        return papernot(state, self.sigma, self.weight * self.ballots, self.n_classes)

    def gap_costs(self, widest: int) -> Floats:
        votes = np.zeros((widest + 1, self.n_classes or 0))
        votes[:, 0] = np.arange(widest + 1)
        return papernot(votes, self.sigma)


class PublishedBits(ClippedBits):
    """Bits of clipped ballots, charged as the noisy sums, or by the published bound per label."""

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        return gaussian_bound(float(np.sqrt(self.noisy_numbers_mu2)), order_array(orders))

    def exact(self, state: Floats, begun: NDArray[np.bool_] | None = None) -> Floats:
        begun = np.ones(state.shape, dtype=bool) if begun is None else begun
        pairs = np.stack([state.ravel(), np.zeros(state.size)], axis=1)
        labels = papernot(pairs, self.sigma, self.weight * self.ballots * min(1.0, self.tau))
        labels = np.where(begun[..., None], labels.reshape(*state.shape, -1), 0.0)
        worst = [self.restrict_labels(int(n)).worst_case() for n in begun.sum(axis=1)]
        return np.asarray(np.minimum(labels.sum(axis=1), worst))


_MOVES: dict[type, type] = {
    NoisyBit: PublishedBit,
    NoisyMax: PublishedMax,
    ClippedBits: PublishedBits,
}


def _published_step(step: Step) -> Step:
    kind = _MOVES.get(type(step.move))
    move = step.move if kind is None else kind(**vars(step.move))
    return Step(step.name, move, step.times, step.after, step.delta)


class _Published(Mechanism):
    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        laws = super().laws(n_columns)  # type: ignore[safe-super]
        return {group: tuple(map(_published_step, law)) for group, law in laws.items()}


class PublishedGNMax(_Published, GNMax):
    """`GNMax`, charged as published."""


class PublishedConfidentGNMax(_Published, ConfidentGNMax):
    """`ConfidentGNMax`, charged as published; no `n_votes`."""


class PublishedBinaryVoting(_Published, BinaryVoting):
    """`BinaryVoting`, charged as published."""


class PublishedTauVoting(_Published, TauVoting):
    """`TauVoting`, charged as published."""


class PublishedPowersetVoting(_Published, PowersetVoting):
    """`PowersetVoting`, charged as published."""


_KINDS: dict[type, type] = {
    GNMax: PublishedGNMax,
    ConfidentGNMax: PublishedConfidentGNMax,
    BinaryVoting: PublishedBinaryVoting,
    TauVoting: PublishedTauVoting,
    PowersetVoting: PublishedPowersetVoting,
}


def published(mechanism: Mechanism) -> Any:
    """Return the same mechanism, charged as published."""
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    return _KINDS[type(mechanism)](**parameters)
