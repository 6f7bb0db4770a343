"""Renyi divergences of small discrete distributions, and bounds between the points of a grid.

Proof of `cell_bound`: docs/theory/divergences.md, "Suprema between grid points".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from secretballot.costs._orders import ORDERS, Floats, order_array

# Above this exponent sums are taken in log space.
LARGEST_EXPONENT = 600.0

# Of many divergences, all are evaluated at every tenth order.
_STRIDE = 10

# Largest third derivative of a log probability along two unit vectors.
_THIRD_DERIVATIVE = 2.0


def round_up(ratio: ArrayLike) -> Floats:
    """Compute the factor that lifts a divergence above its float error.

    Log ratios of neighbours that are `ratio` noise scales apart are differences of logarithms:
    their relative error grows as `ratio` shrinks.
    """
    return 1 + 1e-11 + 1e-13 / np.maximum(ratio, 1e-12)


def curve_at_orders(
    orders: tuple[float, ...] | None, shift: float, at_finite: Callable[[Floats], Floats]
) -> Floats:
    """Evaluate a worst case at finite orders; at infinity it is infinite, or 0 without a shift.

    The array is read-only: callers cache it.
    """
    order = order_array(orders)
    curve = np.full(len(order), np.inf if shift > 0 else 0.0)
    finite = np.isfinite(order)
    if shift > 0 and finite.any():
        curve[finite] = at_finite(order[finite])
    curve.flags.writeable = False
    return curve


def renyi_divergence(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Compute the Renyi divergence D(P || Q) over the last axis of the log probabilities.

    `orders` ascend; the last may be infinity. The result has shape (..., n_orders).
    """
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
    """Compute (a - 1) D = log sum q (p/q)^a, at least 0, for finite orders a.

    Outcomes are on the last axis; the other axes broadcast against `orders`.
    """
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
    """Compute the largest divergence between rows and their neighbours, in both directions.

    Log probabilities of neighbours have shape (n_rows, n_neighbours, n_outcomes), those of the data
    broadcast against them. The result has shape (n_rows, n_orders).
    """
    data = np.broadcast_to(data, neighbours.shape)
    log_p = np.concatenate([data, neighbours], axis=1)
    log_q = np.concatenate([neighbours, data], axis=1)
    out = np.empty((len(log_p), len(ORDERS)))
    finite = ORDERS[:-1]
    out[:, :-1] = largest_log_moment(log_p, log_q, finite) / (finite - 1)
    out[:, -1] = np.maximum((log_p - log_q).max(axis=(1, 2)), 0.0)
    return out


def largest_log_moment(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Compute the maximum of (a - 1) D_a(P || Q) over each row's candidates, at finite orders.

    `log_p` and `log_q` have shape (n_rows, n_candidates, n_outcomes).
    """
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
