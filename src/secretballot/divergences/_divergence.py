"""Renyi divergences between small discrete distributions given by their logarithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences._orders import Floats

# Beyond this exponent sums are taken in log space.
LARGEST_EXPONENT = 600.0


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
