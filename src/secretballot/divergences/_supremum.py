"""Certified upper bounds on a divergence between grid points.

The data decide where a mechanism operates (a gap, a pair of gaps: a point theta), a neighbour moves
that point by a fixed shift delta, and the worst case is a supremum over theta. A grid alone proves
nothing; this module bounds how far a divergence can rise *between* points, from two facts about
p_k(theta), the Gaussian probability that theta + noise falls into a convex cell K of the outcomes:

1. log p_k is concave with Hessian in [-I, 0] (Prekopa; Brascamp and Lieb, 1976);
2. its third derivative along two unit vectors, one of them twice, is at most 2. It is the
   covariance of Z and (Y - EY)^2 for two projections Y, Z of a distribution more log-concave than
   the standard normal, so by Brascamp and Lieb, Var Z <= 1 and Var (Y - EY)^2 <= 4 Var Y <= 4.
"""

from __future__ import annotations

import numpy as np

from secretballot.divergences._orders import Floats

_THIRD_DERIVATIVE = 2.0


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
    """Upper bound of (a - 1) D over cells of side `step`.

    Parameters
    ----------
    corners : ndarray
        Largest value of `log_moments` at each cell's corners.
    log_p, log_q : ndarray, outcomes on the last axis
        At the cells' centres.
    slope : ndarray, outcomes on the last axis
        Norm of the gradient of log q_k at the centres.
    orders, step : broadcast against `corners`
    shift : float
        Norm of delta.
    dimension : int
        Of theta.

    Notes
    -----
    A function whose second directional derivatives are at least -C exceeds its largest corner by
    at most C * dimension * step^2 / 8 inside a cell. Two such C are available, and the smaller
    bound is taken.

    - For (a - 1) D itself: a. A log-sum-exp is at least as convex as its exponents
      a log p_k - (a - 1) log q_k, whose Hessians are at least -a I. Best where D is large.
    - For f = exp((a - 1) D) - 1 = sum q g(p/q), g(x) = x^a - 1 - a (x - 1): differentiating twice
      and dropping what is non-negative, -f'' <= sum q [g(x) + x |g'(x)| |delta| (2 |grad log q|
      + 2 + |delta|)], each factor at its largest in the cell. It shrinks like f, so that
      small divergences are bounded to the same relative precision.
    """
    semiconvex = corners + orders * dimension * step**2 / 8

    half = np.asarray(step * np.sqrt(dimension) / 2)
    curvature = np.zeros(())
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(log_p.shape[-1]):  # two or three outcomes
            gap, grade = log_p[..., k] - log_q[..., k], slope[..., k]
            high, low = gap + shift * half, gap - shift * half
            # x |g'(x)| = a |x^a - x|: at most a (x^a - x) above 1, a (1 - x^(a - 1)) below.
            at_high, at_low = np.expm1(orders * high), np.expm1(orders * low)
            over_high, over_low = np.expm1(high), np.expm1(low)
            g = np.maximum(at_high - orders * over_high, at_low - orders * over_low)
            below = -np.expm1((orders - 1) * np.minimum(low, 0.0))
            g_slope = np.maximum(np.where(high > 0, at_high - over_high, 0.0), below)
            per_slope = shift * (2 * (grade + half) + _THIRD_DERIVATIVE + shift)
            q = np.exp(log_q[..., k] + grade * half)
            curvature = curvature + q * (g + orders * g_slope * per_slope)
        scaled = np.log1p(np.expm1(corners) + curvature * dimension * step**2 / 8)
    return np.fmin(semiconvex, np.where(np.isfinite(scaled), scaled, np.inf))
