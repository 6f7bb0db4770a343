"""Certified upper bounds of a divergence between the points of a grid.

Proof: docs/theory/divergences.md, "Suprema between grid points".
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
