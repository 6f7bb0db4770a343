"""Renyi divergences between small discrete distributions given by their logarithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences._orders import Floats

# Beyond this exponent sums are taken in log space.
LARGEST_EXPONENT = 600.0

# Of many divergences, all are evaluated at every tenth order.
_STRIDE = 10


def round_up(ratio: ArrayLike) -> Floats:
    """Factor by which a divergence is rounded up, to be above its float error.

    Probabilities of neighbours a shift `ratio` (in units of the noise) apart have log ratios of
    that size, which are differences of logarithms: their relative error grows as it shrinks.
    """
    return 1 + 1e-11 + 1e-13 / np.maximum(ratio, 1e-12)


def renyi_divergence(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Renyi divergence D(P || Q) over the last axis of `log_p` and `log_q`.

    Parameters
    ----------
    log_p, log_q : ndarray of shape (..., n_outcomes)
        Logarithms of the probabilities.
    orders : ndarray of shape (n_orders,)
        Ascending orders above 1; the last may be infinity.

    Returns
    -------
    ndarray of shape (..., n_orders)

    Notes
    -----
    With L = log(p/q), exp((a - 1) D) - 1 = sum q (e^(a L) - 1) - a sum q (e^L - 1), because both
    distributions sum to one. The two sums see the same rounding of L, so that small divergences
    keep their relative precision where 1 - sum p^a q^(1-a) would lose it.
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
    """Return (a - 1) D = log sum q (p/q)^a, at least 0.

    Outcomes are on the last axis; what is before it broadcasts against `orders`, which are finite.
    """
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


def largest_log_moment(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Maximum over candidates of (a - 1) D_a(P || Q) at each order.

    Parameters
    ----------
    log_p, log_q : ndarray of shape (n_rows, n_candidates, n_outcomes)
    orders : ndarray of shape (n_orders,)
        Ascending and finite.

    Returns
    -------
    ndarray of shape (n_rows, n_orders)

    Notes
    -----
    (a - 1) D_a is convex in a, so between two orders it lies below its chord. All candidates are
    evaluated at every tenth order; between those, only the leaders at either end and the
    candidates whose chord rises above the leaders.
    """
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
        left, right = orders[knots[segment]], orders[knots[segment + 1]]
        part = (orders[inside] - left) / (right - left)
        chord = ends[..., :1] * (1 - part) + ends[..., 1:] * part
        row, candidate = np.nonzero((chord > best[:, None] * (1 + 1e-12)).any(axis=-1))
        if len(row):
            value = log_moments(
                log_p[row, candidate, None], log_q[row, candidate, None], orders[inside]
            )
            np.maximum.at(best, row, value)
        out[:, inside] = best
    return out
