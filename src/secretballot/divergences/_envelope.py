"""The largest of many divergences at every order, without evaluating all of them everywhere."""

from __future__ import annotations

import numpy as np

from secretballot.divergences._divergence import log_moments
from secretballot.divergences._orders import Floats

_STRIDE = 10


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
