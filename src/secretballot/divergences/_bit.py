"""The noisy bit: the sign of a gap plus Gaussian noise, charged for the bit alone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from secretballot.divergences._divergence import log_moments, renyi_divergence, round_up
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences._supremum import cell_bound

_BLOCK = 128  # rows evaluated together, so that temporaries stay in cache
_TAIL = 10.0  # standard deviations beyond which a tail is bounded, not searched
_CELLS = 256
_SHORT = 1e-12  # by how much rounded votes may fall short, relative to all of them


def has_ballot(votes: Floats, weight: ArrayLike, total: ArrayLike) -> NDArray[np.bool_]:
    """Whether votes hold a ballot of some weight that could move.

    Weighted votes are rounded, and those against a label are all votes less those for it: they may
    fall short of the one ballot that they are by as much as floats beside all votes are coarse.
    """
    weight = np.asarray(weight)
    return np.asarray(votes >= weight - _SHORT * (weight + np.asarray(total)))


def bit_divergence(x: ArrayLike, y: ArrayLike, orders: Floats = ORDERS) -> Floats:
    """Divergence between noisy bits with standardised gaps `x` and `y`.

    Parameters
    ----------
    x, y : array-like of shape (...)
        Gaps divided by the noise's standard deviation; the bit is 1 with probability Phi(x) on
        the data and Phi(y) on the neighbour.
    orders : ndarray of shape (n_orders,)

    Returns
    -------
    ndarray of shape (..., n_orders)
        D(x, y), the data first, rounded up.
    """
    at, other = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    divergence = renyi_divergence(_bit_logs(at), _bit_logs(other), orders)
    return divergence * round_up(np.abs(at - other))[..., None]


def exact_bit(
    gap: ArrayLike,
    ratio: float,
    orders: Floats = ORDERS,
    *,
    can_widen: NDArray[np.bool_] | None = None,
) -> Floats:
    """Cost of a noisy bit whose gap is known: both neighbours, both directions.

    Parameters
    ----------
    gap : array-like of shape (n_rows,)
        Gaps g/s divided by the noise's standard deviation.
    ratio : float
        Largest change of a gap between neighbours, d/s.
    orders : ndarray of shape (n_orders,)
    can_widen : ndarray of shape (n_rows,) of bool, default=None
        Whether a neighbour with a gap of larger absolute value exists (there is none where the
        vote is unanimous); everywhere if None.

    Returns
    -------
    ndarray of shape (n_rows, n_orders)

    Notes
    -----
    The divergence grows with the distance of the gaps, so the neighbours g - d and g + d decide.
    Of the two directions the one that starts at the more balanced bit costs more: with
    L1 = log(q/p), L2 = log((1-p)/(1-q)) for 1/2 <= p < q, the difference of the two moments at
    order a = t + 1/2 is 2 [sqrt((1-p)(1-q)) sinh(t L2) - sqrt(pq) sinh(t L1)]; it vanishes at
    t = 1/2, and sinh(t L)/sinh(L/2) grows with L for t > 1/2 while L2 >= L1. Balanced means
    p (1 - p) >= q (1 - q), that is |gap| the smaller.
    """
    x = np.abs(np.asarray(gap, dtype=np.float64))
    out = np.empty((len(x), len(orders)))
    for start in range(0, len(x), _BLOCK):
        block = x[start : start + _BLOCK]
        nearer = block - ratio
        inner_first = np.abs(nearer) <= block
        into = np.where(inner_first, nearer, block)
        outof = np.where(inner_first, block, nearer)
        wider = bit_divergence(block, block + ratio, orders)
        if can_widen is not None:
            wider[~can_widen[start : start + _BLOCK]] = 0.0
        narrower = bit_divergence(into, outof, orders)
        np.maximum(wider, narrower, out=out[start : start + _BLOCK])
    return np.minimum(out, gaussian_bound(ratio, orders), out=out)


def gaussian_bound(ratio: float, orders: Floats = ORDERS) -> Floats:
    """Cost a r^2 / 2 of releasing the noisy number itself; never below that of its sign."""
    with np.errstate(invalid="ignore"):
        return np.where(ratio == 0, 0.0, orders * ratio**2 / 2)


@lru_cache(maxsize=4096)
def worst_bit(ratio: float, orders: tuple[float, ...] | None = None) -> Floats:
    """Largest cost of a noisy bit over all gaps: a certified upper bound.

    Parameters
    ----------
    ratio : float
        Largest change of the gap between neighbours over the noise's standard deviation, d/s.
    orders : tuple of float, default=None
        Orders; the shared grid if None.

    Returns
    -------
    ndarray of shape (n_orders,)
        At least the supremum, and within a relative 1e-9 of it wherever the tails don't decide;
        never above the Gaussian bound. Infinite at order infinity.

    Notes
    -----
    By relabelling it is enough to look at D(x, x - r) for all x. The line is cut into cells, each
    with a certified upper bound (`_supremum`); cells whose bound can't reach the best value found
    are dropped, and what remains is cut finer. What is returned is the largest bound of a cell.

    Outside [-(a-1) r - 10, r + 10] one term is at most Phi(10)^(1-a) and the other at most
    e^{a (a-1) r^2/2} Phi(-10): p_k^a q_k^(1-a) is at most the mass of outcome k under the tilted
    Gaussian N(x + (a-1) r, 1) times e^{a (a-1) r^2/2} (joint convexity).
    """
    at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
    out = np.full(len(at), np.inf if ratio > 0 else 0.0)
    finite = np.isfinite(at)
    if ratio > 0 and finite.any():
        out[finite] = _search(ratio, at[finite])
    out.flags.writeable = False
    return out


def _search(ratio: float, orders: Floats) -> Floats:
    low = -((orders - 1) * ratio + _TAIL)
    high = np.full_like(orders, ratio + _TAIL)
    best, upper = np.zeros_like(orders), np.empty_like(orders)
    left = np.arange(len(orders))  # orders whose bound is still cut finer
    for _ in range(12):
        each = orders[left, None]
        x = np.linspace(low, high, 2 * _CELLS + 1, axis=-1)  # ends and centres of cells
        at, other = _bit_logs(x), _bit_logs(x - ratio)
        value = log_moments(at, other, each)
        best[left] = np.maximum(best[left], value.max(axis=-1))
        step = (high - low) / _CELLS
        bound = cell_bound(
            np.maximum(value[:, :-1:2], value[:, 2::2]),
            at[:, 1::2],
            other[:, 1::2],
            _log_slope(x[:, 1::2] - ratio, other[:, 1::2]),
            each,
            shift=ratio,
            step=step[:, None],
            dimension=1,
        )
        upper[left] = np.maximum(bound.max(axis=-1), best[left])
        coarse = upper[left] > best[left] * (1 + 1e-9)
        if not coarse.any():
            break
        left, low, step, bound = left[coarse], low[coarse], step[coarse], bound[coarse]
        alive = bound > (best[left] * (1 + 1e-12))[:, None]
        alive[~alive.any(axis=-1), _CELLS // 2] = True
        first = alive.argmax(axis=-1)
        last = _CELLS - alive[:, ::-1].argmax(axis=-1)
        low, high = low + first * step, low + last * step
    moment = orders * (orders - 1) * ratio**2 / 2
    tail = np.logaddexp(-(orders - 1) * log_ndtr(_TAIL), moment + log_ndtr(-_TAIL))
    bound = np.maximum(upper, tail) * round_up(ratio) / (orders - 1)
    return np.asarray(np.minimum(bound, gaussian_bound(ratio, orders)))


def _bit_logs(x: Floats) -> Floats:
    return np.stack([log_ndtr(x), log_ndtr(-x)], axis=-1)


def _log_slope(x: Floats, logs: Floats) -> Floats:
    """Absolute derivatives of `logs`, log Phi(x) and log Phi(-x): inverse Mills ratios."""
    log_density = -(x**2) / 2 - np.log(2 * np.pi) / 2
    return np.asarray(np.exp(log_density[..., None] - logs))
