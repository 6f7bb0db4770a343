"""What a noisy maximum reveals when a neighbour moves several ballots, from and to any classes.

At worst, over all votes, they cost what one ballot does that weighs as much. Each class wins with a
probability q_k that is log-concave in the counts (it is the noise's mass of a polyhedron that moves
linearly with them; Prekopa). So for a > 1 every q_k^(1-a) is log-convex, and with p fixed,
sum_k p_k^a q_k^(1-a) is convex in what the neighbour moves: it is largest at a vertex of the moves
of u ballots, which takes all of them from one class to one other. (In the other direction the sum
is not convex, but the worst case is over both.)

On known votes of three or more classes both directions count, and the cost is bounded here.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, ndtri_exp

from secretballot.divergences._bit import gaussian_bound
from secretballot.divergences._divergence import round_up
from secretballot.divergences._orders import ORDERS, Floats

_FINEST, _FARTHEST = 1 / 256, -35.0  # grid of quantiles to which doubts are rounded up
_CUTS = np.concatenate([[0.0], ndtr(np.linspace(-6, 6, 49)), [1.0]])
_BLOCK_VALUES = 2_000_000


def several_ballots(log_probabilities: Floats, ratio: float, orders: Floats = ORDERS) -> Floats:
    """Cost of a noisy maximum on known votes of three or more classes: a bound for all neighbours.

    Parameters
    ----------
    log_probabilities : ndarray of shape (n_rows, n_classes)
        Log probability of each winner on the data.
    ratio : float
        Weight of all ballots that a neighbour moves, each from any class to any other, over the
        noise on a count.
    orders : ndarray of shape (n_orders,)

    Returns
    -------
    ndarray of shape (n_rows, n_orders)

    Notes
    -----
    Moved ballots shift the counts by at most m = sqrt(2) `ratio` in units of the noise, so the
    laws on the data and on a neighbour are one post-processing of N(0, 1) and N(m, 1). What is
    known besides is q, the probability on the data that the likeliest class does *not* win. Among
    all post-processings k with that known atom, the divergence is greatest where everything else
    is kept apart, and is then convex in k; so its maximum is at an extreme point: the atom is an
    interval of likelihood ratios. With the ratio falling along [0, 1] the atom is
    [s, s + 1 - q], and the bound is the maximum over s in [0, q] of three closed-form terms, for
    each direction. That maximum is certified: on each cell of a grid of s, by the derivative, whose
    parts all fall with s, and by the terms' monotony. More doubt never costs less (the atom may be
    cut), so q is rounded up to a grid.
    """
    logs = np.sort(log_probabilities, axis=1)
    return doubtful_ballots(np.logaddexp.reduce(logs[:, :-1], axis=1), ratio, orders)


def doubtful_ballots(log_doubt: Floats, ratio: float, orders: Floats = ORDERS) -> Floats:
    """As `several_ballots`, from the log probability that the likeliest class does not win."""
    shift = float(np.sqrt(2)) * ratio
    log_doubt = np.minimum(log_doubt, -1e-9)
    quantile = np.ceil(np.maximum(ndtri_exp(log_doubt), _FARTHEST) / _FINEST) * _FINEST
    known, inverse = np.unique(quantile, return_inverse=True)
    cap = gaussian_bound(shift, orders)
    out = np.empty((len(known), len(orders)))
    finite = np.isfinite(orders)
    out[:, ~finite] = cap[~finite]
    size = max(1, _BLOCK_VALUES // (len(_CUTS) * len(orders)))
    for start in range(0, len(known), size):
        doubt = ndtr(known[start : start + size])
        out[start : start + size, finite] = _doubtful(doubt, shift, orders[finite])
    return np.asarray(np.minimum(out, cap)[inverse.ravel()])


def _doubtful(doubt: Floats, shift: float, orders: Floats) -> Floats:
    """Bound for the probabilities `doubt` that another class wins, shape (n_rows, n_orders)."""
    q = doubt[:, None, None]
    s, rest = q * _CUTS, q * _CUTS[::-1]  # on the atom's left, and on its right
    a = orders[None, :, None]
    left, right = ndtri(s), -ndtri(rest)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        # What the neighbour gives the atom, relative to what the data gives it; and the likelihood
        # ratios at its two ends. All three fall with s.
        mass = 1 - ndtr(-right - shift) - ndtr(left + shift)
        mean = mass / (1 - q)
        first, last = (np.exp(-shift * x - shift**2 / 2) for x in (left, right))
        growth = np.exp(a * (a - 1) * shift**2 / 2)

        tails = growth * ndtr(left + a * shift), growth * ndtr(-right - a * shift)
        atom = (1 - q) * mean**a
        to = _largest(
            tails,
            atom,
            atom[..., :-1],
            rise=first[..., :-1] ** a
            - last[..., 1:] ** a
            - a * mean[..., 1:] ** (a - 1) * _positive(first[..., 1:] - last[..., :-1]),
            fall=last[..., :-1] ** a
            - first[..., 1:] ** a
            + a * mean[..., :-1] ** (a - 1) * (first[..., :-1] - last[..., 1:]),
            width=np.diff(s),
        )
        tails = growth * ndtr(left - (a - 1) * shift), growth * ndtr(-right + (a - 1) * shift)
        atom = (1 - q) * mean ** (1 - a)
        fro = _largest(
            tails,
            atom,
            atom[..., 1:],
            rise=first[..., 1:] ** (1 - a)
            - last[..., :-1] ** (1 - a)
            + (a - 1) * mean[..., 1:] ** -a * (first[..., :-1] - last[..., 1:]),
            fall=last[..., 1:] ** (1 - a)
            - first[..., :-1] ** (1 - a)
            - (a - 1) * mean[..., :-1] ** -a * _positive(first[..., 1:] - last[..., :-1]),
            width=np.diff(s),
        )
    rounding = 1e-15 * (orders + 10)
    moment = np.log(np.maximum(np.maximum(to, fro), 1.0) + rounding)
    return np.asarray(moment / (orders - 1) * round_up(shift))


def _largest(
    tails: tuple[Floats, Floats],
    atom: Floats,
    largest_atom: Floats,
    *,
    rise: Floats,
    fall: Floats,
    width: Floats,
) -> Floats:
    """Certified maximum over all cells: the left tail grows with s, the right one falls."""
    left, right = tails
    value = left + right + atom
    ends = np.minimum(
        value[..., :-1] + width * _positive(rise), value[..., 1:] + width * _positive(fall)
    )
    apart = left[..., 1:] + right[..., :-1] + largest_atom
    bound = np.fmin(np.where(np.isnan(ends), np.inf, ends), apart)
    return np.asarray(np.where(np.isnan(bound), np.inf, bound).max(axis=-1))


def _positive(values: Floats) -> Floats:
    return np.asarray(np.where(np.isnan(values), np.inf, np.maximum(values, 0.0)))
