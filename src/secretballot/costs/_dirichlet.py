"""Privacy profile and Renyi curve of a Dirichlet draw, in closed form.

The density ratio of Dir(..., x, ..., y, ...) and Dir(..., x - s, ..., y + s, ...) depends on the
two coordinates' quotient alone, and a coordinate's share of the two is Beta distributed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betaln, expit, gammaln

from secretballot.costs._orders import ORDERS, Floats

# Allowance for the relative error of an incomplete beta function, and of sums of log gammas; tests
# measure less than a hundredth of it.
_BETA_ERROR = 1e-11
_LOG_ERROR = 4e-15
_LARGEST_EXPONENT = 700.0
_FAR = 300.0
#: Upper bound of a probability that underflows.
_TINY = 1e-300


def dirichlet_tail(x: ArrayLike, y: ArrayLike, step: ArrayLike, epsilon: float) -> Floats:
    """Compute the probability of a privacy loss above `epsilon` (Iyer et al., 2016, Equation 9).

    A neighbour changes the two parameters `x` and `y` to ``x - step`` and ``y + step``; `step` is
    the change by one label. The probability bounds delta from above, loosely.
    """
    return _mass_above(x, y, _threshold(x, y, step, epsilon))


def dirichlet_delta(x: ArrayLike, y: ArrayLike, step: ArrayLike, epsilon: float) -> Floats:
    """Compute the least delta at `epsilon` from the draw to its neighbour's, rounded up.

    One direction and one pair; the parameters are those of `dirichlet_tail`.
    """
    threshold = _threshold(x, y, step, epsilon)
    p = _mass_above(x, y, threshold)
    q = _mass_above(np.subtract(x, step), np.add(y, step), threshold)
    # Without the second term, where e^epsilon overflows, delta is too large at most.
    factor = np.exp(epsilon) if epsilon < _LARGEST_EXPONENT else 0.0
    return np.asarray(np.clip(p - factor * q + _BETA_ERROR * p, _TINY, 1.0))


def dirichlet_renyi(x: ArrayLike, y: ArrayLike, step: ArrayLike, orders: Floats = ORDERS) -> Floats:
    """Compute the Renyi divergence of the draw from its neighbour's, shape (..., n_orders).

    Rounded up; infinite from order ``1 + y / step`` on, where the moment diverges. The parameters
    are those of `dirichlet_tail`.
    """
    first, second, move = (np.asarray(v, dtype=np.float64)[..., None] for v in (x, y, step))
    tilted_second = second - (orders - 1) * move
    # betaln of a negative argument is a number without a meaning.
    exists = np.isfinite(orders) & (tilted_second > 0)
    at = np.where(np.isfinite(orders), orders, 2.0)
    moved = betaln(first - move, second + move)
    with np.errstate(invalid="ignore"):
        tilted = betaln(first + (at - 1) * move, np.where(exists, tilted_second, 1.0))
    base = betaln(first, second)
    moment = tilted - at * base - (1 - at) * moved
    # Each logarithm is a sum of larger ones: its size, and 1 for those.
    sizes = (1 + np.abs(tilted)) + at * (1 + np.abs(base)) + (at - 1) * (1 + np.abs(moved))
    error = _LOG_ERROR * sizes
    bound = (np.maximum(moment, 0.0) + error) / (at - 1)
    return np.asarray(np.where(exists, bound, np.inf))


def _threshold(x: ArrayLike, y: ArrayLike, step: ArrayLike, epsilon: float) -> Floats:
    """Compute the log quotient of the two coordinates above which the loss exceeds epsilon."""
    constant = gammaln(np.subtract(x, step)) + gammaln(np.add(y, step)) - gammaln(x) - gammaln(y)
    return np.asarray((epsilon - constant) / step)


def _mass_above(x: ArrayLike, y: ArrayLike, threshold: Floats) -> Floats:
    """Compute the probability that the log quotient of the two coordinates exceeds `threshold`."""
    near = np.where(
        threshold > 0,  # the smaller of two complementary arguments is precise
        betainc(y, x, expit(-threshold)),
        betaincc(x, y, expit(threshold)),
    )
    # Small parameters have mass where the argument underflows: the mass is a power of it.
    far = np.where(threshold > 0, _far_tail(y, x, threshold), 1 - _far_tail(x, y, -threshold))
    return np.asarray(np.where(np.abs(threshold) > _FAR, far, near))


def _far_tail(x: ArrayLike, y: ArrayLike, threshold: Floats) -> Floats:
    logarithm = -threshold * np.asarray(x) - np.log(x) - betaln(x, y)
    return np.asarray(np.exp(np.minimum(logarithm, 0.0)))
