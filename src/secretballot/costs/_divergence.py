"""Renyi divergences of small discrete distributions and noisy bits; bounds between grid points.

Proofs: docs/theory/divergences.md, "Suprema between grid points" and "The noisy bit".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from secretballot.costs._orders import ORDERS, Floats, order_array

# Above this exponent sums are taken in log space.
LARGEST_EXPONENT = 600.0

# Of many divergences, all are evaluated at every tenth order.
_STRIDE = 10

# Largest third derivative of a log probability along two unit vectors.
_THIRD_DERIVATIVE = 2.0


def round_up(ratio: ArrayLike) -> Floats:
    """Compute the factor that lifts a divergence above its float error."""
    # Log ratios of neighbours that are `ratio` noise scales apart are differences of logarithms:
    # their relative error grows as `ratio` shrinks.
    return 1 + 1e-11 + 1e-13 / np.maximum(ratio, 1e-12)


def curve_at_orders(
    orders: tuple[float, ...] | None, shift: float, at_finite: Callable[[Floats], Floats]
) -> Floats:
    """Evaluate a worst case, read-only; at order infinity it is infinite, or 0 without a shift."""
    order = order_array(orders)
    curve = np.full(len(order), np.inf if shift > 0 else 0.0)
    finite = np.isfinite(order)
    if shift > 0 and finite.any():
        curve[finite] = at_finite(order[finite])
    curve.flags.writeable = False
    return curve


def renyi_divergence(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Compute the Renyi divergence D(P || Q) over the last axis, at ascending orders."""
    gap = log_p - log_q
    n_finite = len(orders) - int(np.isinf(orders[-1]))
    out = np.empty((*gap.shape[:-1], len(orders)))
    if n_finite < len(orders):
        out[..., -1] = np.maximum(gap.max(axis=-1), 0.0)
    finite = orders[:n_finite]
    moments = log_moments(log_p[..., None, :], log_q[..., None, :], finite)
    np.divide(moments, finite - 1, out=out[..., :n_finite])
    return out


def log_moments(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Compute (a - 1) D = log sum q (p/q)^a, at least 0; outcomes are on the last axis."""
    # With L = log(p/q): sum q (p/q)^a - 1 = sum q (e^(a L) - 1) - a sum q (e^L - 1), because p and
    # q sum to 1. Both sums have the same rounding of L, so small divergences keep their digits.
    gap = log_p - log_q
    q = np.exp(log_q)
    with np.errstate(over="ignore", invalid="ignore"):
        excess = -orders * (q * np.expm1(gap)).sum(axis=-1)
        for outcome in range(gap.shape[-1]):  # a handful of outcomes, never rows
            term = orders * gap[..., outcome]
            np.expm1(term, out=term)
            term *= q[..., outcome]
            excess += term
        np.maximum(excess, 0.0, out=excess)
        moments = np.log1p(excess, out=excess)
    if gap.max(initial=0.0) * orders.max(initial=0.0) > LARGEST_EXPONENT:
        large = orders * gap.max(axis=-1) > LARGEST_EXPONENT
        full = (*moments.shape, gap.shape[-1])
        exponents = np.broadcast_to(log_q, full)[large] + (
            np.broadcast_to(orders, moments.shape)[large][:, None]
            * np.broadcast_to(gap, full)[large]
        )
        moments[large] = np.maximum(np.logaddexp.reduce(exponents, axis=-1), 0.0)
    return np.asarray(moments)


def largest_divergence(data: Floats, neighbours: Floats) -> Floats:
    """Compute the largest divergence of rows and neighbours, either way: (n_rows, n_orders)."""
    # Neighbours have shape (n_rows, n_neighbours, n_outcomes); `data` broadcasts against them.
    data = np.broadcast_to(data, neighbours.shape)
    log_p = np.concatenate([data, neighbours], axis=1)
    log_q = np.concatenate([neighbours, data], axis=1)
    out = np.empty((len(log_p), len(ORDERS)))
    finite = ORDERS[:-1]
    out[:, :-1] = largest_log_moment(log_p, log_q, finite) / (finite - 1)
    out[:, -1] = np.maximum((log_p - log_q).max(axis=(1, 2)), 0.0)
    return out


def largest_log_moment(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Compute the largest (a - 1) D_a(P || Q) of each row's candidates."""
    # Log probabilities have shape (n_rows, n_candidates, n_outcomes).
    # (a - 1) D_a is convex in a: between two orders it lies below its chord. All candidates are
    # evaluated at every tenth order. Between those only the leaders at either end are, and
    # candidates whose chord rises above the leaders.
    n_orders = len(orders)
    knots = np.union1d(np.arange(0, n_orders, _STRIDE), n_orders - 1)
    at_knots = log_moments(log_p[:, :, None], log_q[:, :, None], orders[knots])
    out = np.empty((len(log_p), n_orders))
    out[:, knots] = at_knots.max(axis=1)
    rows = np.arange(len(log_p))
    for segment in range(len(knots) - 1):
        inside = np.arange(knots[segment] + 1, knots[segment + 1])
        if not inside.size:
            continue
        ends = at_knots[..., segment : segment + 2]
        best = np.zeros((len(rows), inside.size))
        for end in (0, 1):
            leader = ends[..., end].argmax(axis=1)
            p, q = log_p[rows, leader, None], log_q[rows, leader, None]
            np.maximum(best, log_moments(p, q, orders[inside]), out=best)
        left_order, right_order = orders[knots[segment]], orders[knots[segment + 1]]
        part = (orders[inside] - left_order) / (right_order - left_order)
        chord = ends[..., :1] * (1 - part) + ends[..., 1:] * part
        row, candidate = np.nonzero((chord > best[:, None] * (1 + 1e-12)).any(axis=-1))
        if len(row):
            value = log_moments(
                log_p[row, candidate, None], log_q[row, candidate, None], orders[inside]
            )
            np.maximum.at(best, row, value)
        out[:, inside] = best
    return out


def cell_bound(
    corners: Floats,
    log_p: Floats,
    log_q: Floats,
    slope: Floats,
    orders: Floats,
    *,
    shift: float,
    step: Floats | float,
    dimension: int,
) -> Floats:
    """Bound (a - 1) D from above over cells of side `step` in `dimension` dimensions.

    `corners` are the largest values of `log_moments` at each cell's corners. `log_p`, `log_q` and
    `slope`, the norms of the gradients of log q, are taken at the cells' centres, with outcomes on
    the last axis. `shift` is the distance between the points of neighbours. `orders` and `step`
    broadcast against `corners`.
    """
    semiconvex = corners + orders * dimension * step**2 / 8

    half = np.asarray(step * np.sqrt(dimension) / 2)
    curvature = np.zeros(())
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(log_p.shape[-1]):  # two or three outcomes
            gap, gradient = log_p[..., k] - log_q[..., k], slope[..., k]
            high, low = gap + shift * half, gap - shift * half
            # x |g'(x)| = a |x^a - x|: at most a (x^a - x) above 1, a (1 - x^(a - 1)) below.
            at_high, at_low = np.expm1(orders * high), np.expm1(orders * low)
            over_high, over_low = np.expm1(high), np.expm1(low)
            g = np.maximum(at_high - orders * over_high, at_low - orders * over_low)
            below = -np.expm1((orders - 1) * np.minimum(low, 0.0))
            g_slope = np.maximum(np.where(high > 0, at_high - over_high, 0.0), below)
            per_slope = shift * (2 * (gradient + half) + _THIRD_DERIVATIVE + shift)
            q = np.exp(log_q[..., k] + gradient * half)
            curvature = curvature + q * (g + orders * g_slope * per_slope)
        scaled = np.log1p(np.expm1(corners) + curvature * dimension * step**2 / 8)
    return np.fmin(semiconvex, np.where(np.isfinite(scaled), scaled, np.inf))


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
    """Compute D(P || Q), rounded up, of bits that are 1 with probability Phi(x) and Phi(y)."""
    gap, other = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    divergence = renyi_divergence(bit_logs(gap), bit_logs(other), orders)
    return divergence * round_up(np.abs(gap - other))[..., None]


def exact_bit(
    gap: ArrayLike, ratio: float, *, can_widen: NDArray[np.bool_] | None = None
) -> Floats:
    """Compute the cost of a noisy bit at known gaps: both neighbours, both directions."""
    # Gaps and their largest change `ratio` are in standard deviations of the noise. `can_widen`
    # marks rows that have a neighbour with a wider gap; unanimous votes have none.
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
    """Bound the largest cost of a noisy bit over all gaps, to a relative 1e-9."""
    # At most the Gaussian cost; infinite at order infinity.
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
        # The absolute derivatives of log Phi(x) and log Phi(-x).
        slope = np.exp(log_density(x[:, 1::2] - ratio)[..., None] - log_q)
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
    """Compute log probabilities of the outcomes 1 and 0 at standardised gaps."""
    return np.stack([log_ndtr(x), log_ndtr(-x)], axis=-1)


def log_density(x: Floats) -> Floats:
    """Compute the logarithm of the standard normal density."""
    return np.asarray(-(x**2) / 2 - np.log(2 * np.pi) / 2)


def mills_ratio(x: Floats) -> Floats:
    """Compute phi(x) / Phi(x), the slope of log Phi."""
    return np.asarray(np.exp(log_density(x) - log_ndtr(x)))
