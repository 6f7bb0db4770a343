"""Renyi divergences between small discrete distributions given by their logarithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Beyond this exponent sums are taken in log space.
LARGEST_EXPONENT = 600.0
# Float error of the formulas below, relative; costs are rounded up by it.
ROUND_UP = 1.0 + 1e-11


def renyi_divergence(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Renyi divergence D(P || Q) over the last axis of `log_p` and `log_q`, rounded up.

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
    largest = gap.max() if gap.size else 0.0
    fits = n_finite
    if largest * orders[:n_finite].max(initial=0.0) > LARGEST_EXPONENT:
        fits = int(np.searchsorted(orders[:n_finite], LARGEST_EXPONENT / largest, side="right"))
    if fits:
        np.log1p(moment_excess(gap, log_q, orders[:fits]), out=out[..., :fits])
    if fits < n_finite:
        rest = log_moments(log_p[..., None, :], log_q[..., None, :], orders[fits:n_finite])
        out[..., fits:n_finite] = np.maximum(rest, 0.0)
    out[..., :n_finite] /= orders[:n_finite] - 1
    out *= ROUND_UP
    return out


def moment_excess(gap: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Return sum q (p/q)^a - 1 at finite orders, at least 0; exponents must not overflow."""
    q = np.exp(log_q)
    linear = (q * np.expm1(gap)).sum(axis=-1)
    excess = linear[..., None] * -orders
    for outcome in range(gap.shape[-1]):  # a handful of outcomes, never rows
        term = gap[..., outcome, None] * orders
        np.expm1(term, out=term)
        term *= q[..., outcome, None]
        excess += term
    np.maximum(excess, 0.0, out=excess)
    return excess


def log_moments(log_p: Floats, log_q: Floats, orders: Floats) -> Floats:
    """Return (a - 1) D = log sum q (p/q)^a; outcomes on the last axis, `orders` broadcast."""
    gap = log_p - log_q
    q = np.exp(log_q)
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.expm1(orders[..., None] * gap)
        linear = np.einsum("...k,...k->...", q, np.expm1(gap))
        excess = np.einsum("...k,...k->...", powers, q) - orders * linear
    if gap.max(initial=0.0) * orders.max(initial=0.0) <= LARGEST_EXPONENT:
        return np.asarray(np.log1p(np.maximum(excess, 0.0)))
    fits = orders * gap.max(axis=-1) <= LARGEST_EXPONENT
    large = np.logaddexp.reduce(log_q + orders[..., None] * gap, axis=-1)
    return np.where(fits, np.log1p(np.where(fits, np.maximum(excess, 0.0), 0.0)), large)
