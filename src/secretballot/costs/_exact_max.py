"""Winning probabilities and cost of a noisy maximum on known votes."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri_exp

from secretballot.costs._bit import exact_bit, gaussian_bound, has_ballot
from secretballot.costs._divergence import largest_divergence, round_up
from secretballot.costs._orders import ORDERS, Floats
from secretballot.costs._quadrature import LevelQuadrature, Quadrature, log_counts
from secretballot.costs._several_ballots import bound_from_loss, several_ballots
from secretballot.costs._worst_max import worst_max

_BLOCK_VALUES = 2_000_000


def max_log_probabilities(counts: Floats, sigma: float) -> Floats:
    """Compute the log probability that each class wins, with noise of `sigma` on each count.

    Shape (n_rows, n_classes), with a relative precision of about 1e-13 however small.
    """
    scaled = np.asarray(counts, dtype=np.float64) / sigma
    return Quadrature(scaled, 0.0).log_probabilities()


def exact_max(counts: Floats, sigma: float, weight: float = 1.0, ballots: int = 1) -> Floats:
    """Compute the cost of a noisy maximum on known votes: every neighbour, both directions.

    A neighbour moves `ballots` ballots of `weight`, from classes that have them to any others. For
    several ballots among three or more classes it is a bound. Rows whose votes are hundreds of
    `sigma` apart are charged the worst case. `counts` has shape (n_rows, n_classes), the cost
    (n_rows, n_orders).
    """
    votes = np.asarray(counts, dtype=np.float64)
    if votes.shape[1] == 2:
        gap = (votes[:, 0] - votes[:, 1]) / (np.sqrt(2) * sigma)
        # One of the ballots is enough.
        can_widen = has_ballot(votes.min(axis=1), weight, votes.sum(axis=1))
        shift = np.sqrt(2) * ballots * weight / sigma
        return exact_bit(gap, shift, can_widen=can_widen)
    ratio = ballots * weight / sigma
    cap = gaussian_bound(np.sqrt(2) * ratio) if ballots == 1 else worst_max(ratio)
    # The cost is the same for any order of the classes, and equal rows need one evaluation.
    rows, inverse = np.unique(-np.sort(-votes, axis=1), axis=0, return_inverse=True)
    scaled = rows / sigma
    out = np.empty((len(rows), len(ORDERS)))
    nodes = Quadrature.nodes(scaled, ratio)
    fits = Quadrature.fits(scaled, ratio)
    if not fits.all():
        out[~fits] = worst_max(ratio)
    by_size = np.flatnonzero(fits)[np.argsort(nodes[fits], kind="stable")]
    while len(by_size):
        size = max(1, int(_BLOCK_VALUES / (nodes[by_size[-1]] * votes.shape[1] ** 2)))
        block, by_size = by_size[-size:], by_size[:-size]
        if ballots == 1:
            out[block] = _exact_block(scaled[block], ratio)
        else:
            logs = Quadrature(scaled[block], 0.0).log_probabilities()
            out[block] = several_ballots(logs, ratio)
    np.minimum(out, cap, out=out)
    return np.asarray(out[inverse.ravel()])


def _exact_block(scaled: Floats, ratio: float) -> Floats:
    n_classes = scaled.shape[1]
    quadrature = Quadrature(scaled, ratio)
    data = quadrature.log_probabilities()[:, None, :]
    giver, taker = np.divmod(np.arange(n_classes**2), n_classes)
    # A neighbour needs a ballot to move.
    possible = has_ballot(scaled, ratio, scaled.sum(axis=1)[:, None])[:, giver] & (giver != taker)
    possible |= ~possible.any(axis=1, keepdims=True) & (giver != taker)
    # Impossible neighbours are replaced by the data, so that their divergence is 0.
    neighbours = np.where(possible[..., None], quadrature.neighbours(), data)
    return largest_divergence(data, neighbours) * round_up(ratio)


def largest_normal(log_rate: Floats) -> Floats:
    """Transform log(E/m), E ~ Exp(1), into the largest of m standard normals, without overflow.

    For m = 0 it is -inf.
    """
    rate = np.exp(np.minimum(log_rate, 700.0))
    small = rate < 1e-8
    log_tail = np.where(small, log_rate - rate / 2, np.log(-np.expm1(-np.where(small, 1.0, rate))))
    high = -ndtri_exp(np.where(rate < 0.5, log_tail, -1.0))
    return np.asarray(np.where(rate < 0.5, high, ndtri_exp(-np.exp(np.maximum(log_rate, -1.0)))))


def level_quadrature(counts: Floats, n_classes: int, sigma: float, ratio: float) -> LevelQuadrature:
    """Set up the integrals of one row of `n_classes`, of which all but `counts` have no votes."""
    values, multiplicities = np.unique(np.append(counts, 0.0), return_counts=True)
    # The lowest value is the 0 that was added, for all classes without votes; perhaps for none.
    first, *others = multiplicities.tolist()
    first += n_classes - len(counts) - 1
    sizes = [first, *others] if first else others
    return LevelQuadrature(values[-len(sizes) :] / sigma, sizes, ratio)


def exact_level_max(
    counts: Floats, n_classes: int, sigma: float, weight: float = 1.0, ballots: int = 1
) -> Floats:
    """Compute `exact_max` of very many classes; those beyond the columns of `counts` have no votes.

    A neighbour's ballot may move to a class without votes.
    """
    votes = np.asarray(counts, dtype=np.float64)
    ratio = ballots * weight / sigma
    worst = worst_max(ratio)
    # The log sizes of levels are added and subtracted again, which rounds.
    rounding = round_up(ratio / (1 + math.log(n_classes)))
    cap = gaussian_bound(np.sqrt(2) * ratio) if ballots == 1 else worst
    rows, inverse = np.unique(-np.sort(-votes, axis=1), axis=0, return_inverse=True)
    out = np.empty((len(rows), len(ORDERS)))
    for number, row in enumerate(rows):
        quadrature = level_quadrature(row, n_classes, sigma, ratio)
        cost = worst
        if quadrature.fits and ballots == 1:
            data, neighbours = quadrature.neighbours()
            if np.isfinite(neighbours).all():
                cost = largest_divergence(data[None], neighbours[None])[0] * rounding
        elif quadrature.fits:
            cost = bound_from_loss(_log_loss(quadrature)[None], ratio)[0]
        out[number] = np.minimum(cost, cap)
    return np.asarray(out[inverse.ravel()])


def _log_loss(quadrature: LevelQuadrature) -> Floats:
    """Compute the log probability that the class with the most votes does not win."""
    log_others = log_counts([*quadrature.sizes[:-1], quadrature.sizes[-1] - 1])
    return np.asarray(np.logaddexp.reduce(quadrature.log_probabilities() + log_others))
