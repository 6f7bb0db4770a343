"""Divergence of a noisy bit: the sign of a gap plus Gaussian noise.

Proofs: docs/theory/divergences.md, "The noisy bit".
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from secretballot.costs._divergence import (
    cell_bound,
    curve_at_orders,
    log_moments,
    renyi_divergence,
    round_up,
)
from secretballot.costs._orders import ORDERS, Floats

_BLOCK = 128  # rows evaluated together, so that temporaries stay in cache
_TAIL = 10.0  # standard deviations beyond which a tail is bounded, not searched
_CELLS = 128
_PASSES = 24
_SHORT = 1e-12  # rounding of votes, relative to all of them


def has_ballot(votes: Floats, weight: ArrayLike, total: ArrayLike) -> NDArray[np.bool_]:
    """Test where votes hold a ballot of some weight, up to the rounding of weighted votes."""
    weight = np.asarray(weight)
    return np.asarray(votes >= weight - _SHORT * (weight + np.asarray(total)))


def bit_divergence(x: ArrayLike, y: ArrayLike, orders: Floats = ORDERS) -> Floats:
    """Compute D(P || Q), rounded up, of bits that are 1 with probability Phi(x) and Phi(y).

    Shape (..., n_orders). `x` and `y` are gaps over the standard deviation of the noise.
    """
    gap, other = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    divergence = renyi_divergence(bit_logs(gap), bit_logs(other), orders)
    return divergence * round_up(np.abs(gap - other))[..., None]


def exact_bit(
    gap: ArrayLike, ratio: float, *, can_widen: NDArray[np.bool_] | None = None
) -> Floats:
    """Compute the cost of a noisy bit at known gaps: both neighbours, both directions.

    `gap`, shape (n_rows,), and its largest change `ratio` are in standard deviations of the noise.
    `can_widen` marks rows that have a neighbour with a wider gap; unanimous votes have none.
    """
    x = np.abs(np.asarray(gap, dtype=np.float64))
    out = np.empty((len(x), len(ORDERS)))
    for start in range(0, len(x), _BLOCK):
        block = x[start : start + _BLOCK]
        # The direction that starts at the smaller absolute gap costs more.
        pair = np.stack([block, block - ratio])
        first, second = np.take_along_axis(pair, np.argsort(np.abs(pair), axis=0), axis=0)
        wider = bit_divergence(block, block + ratio)
        if can_widen is not None:
            wider[~can_widen[start : start + _BLOCK]] = 0.0
        np.maximum(wider, bit_divergence(first, second), out=out[start : start + _BLOCK])
    return np.minimum(out, gaussian_bound(ratio), out=out)


def gaussian_bound(ratio: float, orders: Floats = ORDERS) -> Floats:
    """Compute a r^2 / 2, the cost of the noisy number: at least that of its sign."""
    with np.errstate(invalid="ignore"):
        return np.where(ratio == 0, 0.0, orders * ratio**2 / 2)


@lru_cache(maxsize=4096)
def worst_bit(ratio: float, orders: tuple[float, ...] | None = None) -> Floats:
    """Bound the largest cost of a noisy bit over all gaps, to a relative 1e-9.

    `ratio` is the change of the gap between neighbours over the noise. The bound is at most the
    Gaussian one, and infinite at order infinity.
    """
    return curve_at_orders(orders, ratio, partial(_search, ratio))


def _search(ratio: float, orders: Floats) -> Floats:
    """Search the gaps x for the largest D(x, x - r), by cells that are cut finer."""
    low = -((orders - 1) * ratio + _TAIL)
    high = np.full_like(orders, ratio + _TAIL)
    best, upper = np.zeros_like(orders), np.empty_like(orders)
    open_orders = np.arange(len(orders))  # positions of orders whose cells are still cut
    for _ in range(_PASSES):
        order = orders[open_orders, None]
        x = np.linspace(low, high, 2 * _CELLS + 1, axis=-1)  # ends and centres of cells
        log_p, log_q = bit_logs(x), bit_logs(x - ratio)
        value = log_moments(log_p, log_q, order)
        best[open_orders] = np.maximum(best[open_orders], value.max(axis=-1))
        step = (high - low) / _CELLS
        corners = np.maximum(value[:, :-1:2], value[:, 2::2])
        log_p, log_q = log_p[:, 1::2], log_q[:, 1::2]
        slope = _log_slope(x[:, 1::2] - ratio, log_q)
        bound = cell_bound(
            corners, log_p, log_q, slope, order, shift=ratio, step=step[:, None], dimension=1
        )
        upper[open_orders] = np.maximum(bound.max(axis=-1), best[open_orders])
        coarse = upper[open_orders] > best[open_orders] * (1 + 1e-9)
        if not coarse.any():
            break
        open_orders = open_orders[coarse]
        low, step, bound = low[coarse], step[coarse], bound[coarse]
        alive = bound > (best[open_orders] * (1 + 1e-12))[:, None]
        alive[~alive.any(axis=-1), _CELLS // 2] = True
        first = alive.argmax(axis=-1)
        last = _CELLS - alive[:, ::-1].argmax(axis=-1)
        low, high = low + first * step, low + last * step
    moment = orders * (orders - 1) * ratio**2 / 2
    tail = np.logaddexp(-(orders - 1) * log_ndtr(_TAIL), moment + log_ndtr(-_TAIL))
    bound = np.maximum(upper, tail) * round_up(ratio) / (orders - 1)
    return np.asarray(np.minimum(bound, gaussian_bound(ratio, orders)))


def bit_logs(x: Floats) -> Floats:
    """Compute log probabilities of a noisy bit's two outcomes at standardised gaps."""
    return np.stack([log_ndtr(x), log_ndtr(-x)], axis=-1)


def _log_slope(x: Floats, logs: Floats) -> Floats:
    """Compute the absolute derivatives of log Phi(x) and log Phi(-x), given as `logs`."""
    return np.asarray(np.exp(log_density(x)[..., None] - logs))


def log_density(x: Floats) -> Floats:
    """Compute the logarithm of the standard normal density."""
    return np.asarray(-(x**2) / 2 - np.log(2 * np.pi) / 2)


def mills_ratio(x: Floats) -> Floats:
    """Compute phi(x) / Phi(x), the slope of log Phi."""
    return np.asarray(np.exp(log_density(x) - log_ndtr(x)))
