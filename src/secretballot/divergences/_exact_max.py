"""The cost of a noisy maximum on votes that are known."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri_exp

from secretballot.divergences._bit import exact_bit, gaussian_bound, has_ballot
from secretballot.divergences._divergence import largest_log_moment, round_up
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences._quadrature import MOST_NODES, LevelQuadrature, Quadrature
from secretballot.divergences._several_ballots import doubtful_ballots, several_ballots
from secretballot.divergences._worst_max import worst_max

_BLOCK_VALUES = 2_000_000


def max_log_probabilities(counts: Floats, sigma: float) -> Floats:
    """Log probability that each class wins a noisy maximum.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_classes)
        Votes before the noise.
    sigma : float
        Standard deviation of the noise on each count.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        Relative precision about 1e-13, however small the probability.
    """
    scaled = np.asarray(counts, dtype=np.float64) / sigma
    return Quadrature(scaled, 0.0).log_probabilities()


def exact_max(
    counts: Floats,
    sigma: float,
    weight: float = 1.0,
    ballots: int = 1,
    orders: Floats = ORDERS,
) -> Floats:
    """Cost of a noisy maximum on known votes: every neighbour, both directions.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_classes)
    sigma : float
        Standard deviation of the noise on each count.
    weight : float, default=1.0
        Weight of a ballot that a neighbour moves from a class with at least as many votes to
        any other.
    ballots : int, default=1
        How many such ballots. Of three or more classes, several are bounded (`several_ballots`).
    orders : ndarray of shape (n_orders,)

    Returns
    -------
    ndarray of shape (n_rows, n_orders)

    Notes
    -----
    With two classes the outcome is a noisy bit. With more, all probabilities of a row and of its
    neighbours are integrals over the winning noisy count y of products over classes; they share
    one grid, on which the trapezoid rule converges like exp(-2 pi^2/(c h^2)): the integrands'
    logarithms have curvature between -1 and -c, so h = 0.7/sqrt(c) leaves 1e-17. Rows whose grid
    would be longer than 8,192 nodes (votes hundreds of sigma apart) are charged the worst case.
    """
    votes = np.asarray(counts, dtype=np.float64)
    if votes.shape[1] == 2:
        gap = (votes[:, 0] - votes[:, 1]) / (np.sqrt(2) * sigma)
        # With one of the ballots, if not with all.
        can_widen = has_ballot(votes.min(axis=1), weight, votes.sum(axis=1))
        shift = np.sqrt(2) * ballots * weight / sigma
        return exact_bit(gap, shift, orders, can_widen=can_widen)
    ratio = ballots * weight / sigma
    cap = gaussian_bound(np.sqrt(2) * ratio, orders)
    if ballots > 1:
        cap = worst_max(ratio, tuple(orders))
    # The cost doesn't depend on the classes' names, and equal rows need one evaluation.
    rows, inverse = np.unique(-np.sort(-votes, axis=1), axis=0, return_inverse=True)
    scaled = rows / sigma
    out = np.empty((len(rows), len(orders)))
    nodes = Quadrature.nodes(scaled, ratio)
    wide = (nodes > MOST_NODES) | (ratio * nodes > 40 * MOST_NODES)
    if wide.any():
        out[wide] = worst_max(ratio, tuple(orders))
    by_size = np.flatnonzero(~wide)[np.argsort(nodes[~wide], kind="stable")]
    while len(by_size):
        size = max(1, int(_BLOCK_VALUES / (nodes[by_size[-1]] * votes.shape[1] ** 2)))
        block, by_size = by_size[-size:], by_size[:-size]
        if ballots == 1:
            out[block] = _exact_block(scaled[block], ratio, orders)
        else:
            logs = Quadrature(scaled[block], 0.0).log_probabilities()
            out[block] = several_ballots(logs, ratio, orders)
    np.minimum(out, cap, out=out)
    return np.asarray(out[inverse.ravel()])


def _exact_block(scaled: Floats, ratio: float, orders: Floats) -> Floats:
    n_classes = scaled.shape[1]
    quadrature = Quadrature(scaled, ratio)
    here, there = (
        quadrature.log_probabilities()[:, None, :],
        quadrature.neighbours(),
    )
    here = np.broadcast_to(here, there.shape)
    giver, taker = np.divmod(np.arange(n_classes**2), n_classes)
    # A neighbour needs a ballot to move.
    possible = has_ballot(scaled, ratio, scaled.sum(axis=1)[:, None])[:, giver] & (giver != taker)
    possible |= ~possible.any(axis=1, keepdims=True) & (giver != taker)
    log_p = np.concatenate([here, there], axis=1)
    log_q = np.concatenate([there, here], axis=1)
    both = np.concatenate([possible, possible], axis=1)
    # Impossible neighbours cost nothing: they are the data themselves.
    log_p = np.where(both[..., None], log_p, log_q)
    return _largest(log_p, log_q, orders) * round_up(ratio)


def _largest(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """The largest divergence of each row's candidates, (n_rows, n_candidates, n_outcomes)."""
    out = np.empty((len(log_p), len(orders)))
    n_finite = len(orders) - int(np.isinf(orders[-1]))
    finite = orders[:n_finite]
    out[:, :n_finite] = largest_log_moment(log_p, log_q, finite) / (finite - 1)
    out[:, n_finite:] = np.maximum((log_p - log_q).max(axis=(1, 2)), 0.0)[:, None]
    return out


def largest_normal(log_rate: Floats) -> Floats:
    """Return the largest of m standard normals, from log(E/m) with E ~ Exp(1).

    That is where m normals are exceeded with the probability of E; -inf for m = 0. However many
    they are, nothing overflows.
    """
    rate = np.exp(np.minimum(log_rate, 700.0))
    small = rate < 1e-8
    log_tail = np.where(small, log_rate - rate / 2, np.log(-np.expm1(-np.where(small, 1.0, rate))))
    high = -ndtri_exp(np.where(rate < 0.5, log_tail, -1.0))
    return np.asarray(np.where(rate < 0.5, high, ndtri_exp(-np.exp(np.maximum(log_rate, -1.0)))))


def level_quadrature(counts: Floats, n_classes: int, sigma: float, ratio: float) -> LevelQuadrature:
    """Return the integrals of one row of `n_classes`, of which all but `counts` have no votes."""
    values, sizes = np.unique(np.append(counts, 0.0), return_counts=True)
    # The lowest value is the 0 that was added, for all classes without votes; perhaps for none.
    number = [int(size) for size in sizes]
    number[0] += n_classes - len(counts) - 1
    if number[0] == 0:
        values, number = values[1:], number[1:]
    return LevelQuadrature(values / sigma, number, ratio)


def exact_level_max(
    counts: Floats,
    n_classes: int,
    sigma: float,
    weight: float = 1.0,
    ballots: int = 1,
    orders: Floats = ORDERS,
) -> Floats:
    """As `exact_max`, of three classes or more of which all but a few have no votes.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_columns)
    n_classes : int
        How many classes there are; those beyond the columns have no votes. A neighbour's ballot
        may move to one of them.
    sigma, weight, ballots, orders
        As for `exact_max`.
    """
    votes = np.asarray(counts, dtype=np.float64)
    ratio = ballots * weight / sigma
    worst = worst_max(ratio, tuple(orders))
    # Logarithms of the size of a level are added and taken off again, with their rounding.
    rounding = round_up(ratio / (1 + math.log(n_classes)))
    cap = gaussian_bound(np.sqrt(2) * ratio, orders) if ballots == 1 else worst
    rows, inverse = np.unique(-np.sort(-votes, axis=1), axis=0, return_inverse=True)
    out = np.empty((len(rows), len(orders)))
    for number, row in enumerate(rows):
        quadrature = level_quadrature(row, n_classes, sigma, ratio)
        found = worst
        if quadrature.fits and ballots == 1:
            here, there = quadrature.neighbours()
            if np.isfinite(there).all():
                log_p, log_q = np.concatenate([here, there]), np.concatenate([there, here])
                found = _largest(log_p[None], log_q[None], orders)[0] * rounding
        elif quadrature.fits:
            found = doubtful_ballots(_log_doubt(quadrature)[None], ratio, orders)[0]
        out[number] = np.minimum(found, cap)
    return np.asarray(out[inverse.ravel()])


def _log_doubt(quadrature: LevelQuadrature) -> Floats:
    """Log probability that the class with the most votes does not win."""
    each = quadrature.log_probabilities()
    sizes = [*quadrature.sizes[:-1], quadrature.sizes[-1] - 1]
    logs = np.array([math.log(size) if size else -math.inf for size in sizes])
    return np.asarray(np.logaddexp.reduce(each + logs))
