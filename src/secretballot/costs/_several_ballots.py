"""Bound of a noisy maximum on known votes of three or more classes, if several ballots move.

Proofs: docs/theory/divergences.md, "Several ballots".
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, ndtri_exp

from secretballot.costs._bit import gaussian_bound
from secretballot.costs._divergence import round_up
from secretballot.costs._orders import ORDERS, Floats

_FINEST, _FARTHEST = 1 / 256, -35.0  # grid of quantiles to which probabilities are rounded up
_CUTS = np.concatenate([[0.0], ndtr(np.linspace(-6, 6, 49)), [1.0]])
_BLOCK_VALUES = 2_000_000


def several_ballots(log_probabilities: Floats, ratio: float) -> Floats:
    """Bound the cost of a noisy maximum for all neighbours who move several ballots.

    `log_probabilities` of the winners on the data have shape (n_rows, n_classes). `ratio` is the
    weight of all moved ballots together over the noise on a count.
    """
    logs = np.sort(log_probabilities, axis=1)
    return bound_from_loss(np.logaddexp.reduce(logs[:, :-1], axis=1), ratio)


def bound_from_loss(log_loss: Floats, ratio: float) -> Floats:
    """Bound the same from the log probability that the likeliest class does not win."""
    shift = float(np.sqrt(2)) * ratio
    log_loss = np.minimum(log_loss, -1e-9)
    # A higher probability never costs less, so it is rounded up to a grid of quantiles.
    quantile = np.ceil(np.maximum(ndtri_exp(log_loss), _FARTHEST) / _FINEST) * _FINEST
    quantiles, inverse = np.unique(quantile, return_inverse=True)
    out = np.full((len(quantiles), len(ORDERS)), np.inf)
    size = max(1, _BLOCK_VALUES // (len(_CUTS) * len(ORDERS)))
    for start in range(0, len(quantiles), size):
        loss = ndtr(quantiles[start : start + size])
        out[start : start + size, :-1] = _bound(loss, shift, ORDERS[:-1])
    return np.asarray(np.minimum(out, gaussian_bound(shift))[inverse.ravel()])


def _bound(loss: Floats, shift: float, orders: Floats) -> Floats:
    """Bound the cost where another class wins with probability `loss`, shape (n_rows, n_orders)."""
    q = loss[:, None, None]
    below, above = q * _CUTS, q * _CUTS[::-1]  # probability on either side of the atom
    a = orders[None, :, None]
    left_tail, right_tail = ndtri(below), -ndtri(above)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        # The atom's probability on the neighbour over that on the data, and the likelihood ratios
        # at its two ends. All three fall with the probability below it.
        mass = 1 - ndtr(-right_tail - shift) - ndtr(left_tail + shift)
        mean = mass / (1 - q)
        first, last = (np.exp(-shift * x - shift**2 / 2) for x in (left_tail, right_tail))
        growth = np.exp(a * (a - 1) * shift**2 / 2)

        tails = growth * ndtr(left_tail + a * shift), growth * ndtr(-right_tail - a * shift)
        atom = (1 - q) * mean**a
        forward = _largest(
            tails,
            atom,
            atom[..., :-1],
            rise=first[..., :-1] ** a
            - last[..., 1:] ** a
            - a * mean[..., 1:] ** (a - 1) * _positive(first[..., 1:] - last[..., :-1]),
            fall=last[..., :-1] ** a
            - first[..., 1:] ** a
            + a * mean[..., :-1] ** (a - 1) * (first[..., :-1] - last[..., 1:]),
            width=np.diff(below),
        )
        tails = (
            growth * ndtr(left_tail - (a - 1) * shift),
            growth * ndtr(-right_tail + (a - 1) * shift),
        )
        atom = (1 - q) * mean ** (1 - a)
        backward = _largest(
            tails,
            atom,
            atom[..., 1:],
            rise=first[..., 1:] ** (1 - a)
            - last[..., :-1] ** (1 - a)
            + (a - 1) * mean[..., 1:] ** -a * (first[..., :-1] - last[..., 1:]),
            fall=last[..., 1:] ** (1 - a)
            - first[..., :-1] ** (1 - a)
            - (a - 1) * mean[..., :-1] ** -a * _positive(first[..., 1:] - last[..., :-1]),
            width=np.diff(below),
        )
    rounding = 1e-15 * (orders + 10)
    moment = np.log(np.maximum(np.maximum(forward, backward), 1.0) + rounding)
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
    """Bound the maximum over all cells: the left tail rises along them, the right one falls."""
    left_tail, right_tail = tails
    value = left_tail + right_tail + atom
    ends = np.minimum(
        value[..., :-1] + width * _positive(rise), value[..., 1:] + width * _positive(fall)
    )
    apart = left_tail[..., 1:] + right_tail[..., :-1] + largest_atom
    bound = np.fmin(np.where(np.isnan(ends), np.inf, ends), apart)
    return np.asarray(np.where(np.isnan(bound), np.inf, bound).max(axis=-1))


def _positive(values: Floats) -> Floats:
    return np.asarray(np.where(np.isnan(values), np.inf, np.maximum(values, 0.0)))
