"""What a Dirichlet draw reveals about the counts behind it, in closed form.

The density ratio of Dir(..., x, ..., y, ...) and Dir(..., x - s, ..., y + s, ...) depends on the
two coordinates' quotient alone, and a coordinate's share of the two is Beta distributed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betaln, expit, gammaln

from secretballot.divergences._orders import ORDERS, Floats

# Relative error allowed for in an incomplete beta function and in the sums of log gammas; the
# tests measure less than a hundredth of it.
_BETA_ERROR = 1e-11
_LOG_ERROR = 4e-15
_LARGEST_EXPONENT = 700.0
_FAR = 300.0
#: What a probability that underflows is rounded up to.
_TINY = 1e-300


def dirichlet_tail(x: ArrayLike, y: ArrayLike, step: ArrayLike, epsilon: float) -> Floats:
    """Probability that the privacy loss is above `epsilon` (Iyer et al., 2016, Equation 9).

    It bounds delta from above, loosely: the losses just above `epsilon` count in full.

    Parameters
    ----------
    x, y : array-like of shape (...)
        The two parameters that a neighbour changes, to ``x - step`` and ``y + step``.
    step : array-like of shape (...)
        What one label adds to a parameter.
    epsilon : float
    """
    return _mass_above(x, y, _threshold(x, y, step, epsilon))


def dirichlet_delta(x: ArrayLike, y: ArrayLike, step: ArrayLike, epsilon: float) -> Floats:
    """Least delta at `epsilon` from the draw to its neighbour's, rounded up.

    One direction and one pair; the parameters are those of `dirichlet_tail`.
    """
    threshold = _threshold(x, y, step, epsilon)
    here = _mass_above(x, y, threshold)
    there = _mass_above(np.subtract(x, step), np.add(y, step), threshold)
    # Where e^epsilon overflows, what would be subtracted is dropped: delta can only be too large.
    factor = np.exp(epsilon) if epsilon < _LARGEST_EXPONENT else 0.0
    return np.asarray(np.clip(here - factor * there + _BETA_ERROR * here, _TINY, 1.0))


def dirichlet_renyi(x: ArrayLike, y: ArrayLike, step: ArrayLike, orders: Floats = ORDERS) -> Floats:
    """Renyi divergence of the draw from its neighbour's, rounded up.

    Infinite from order ``1 + y / step`` on, where the moment diverges: the neighbour's density
    vanishes faster in the corner where the second coordinate is 0.

    Parameters
    ----------
    x, y, step : array-like of shape (...)
        As for `dirichlet_tail`.
    orders : ndarray of shape (n_orders,)

    Returns
    -------
    ndarray of shape (..., n_orders)
    """
    first, second, move = (np.asarray(v, dtype=np.float64)[..., None] for v in (x, y, step))
    left = second - (orders - 1) * move
    # betaln of a negative argument is a number all the same, of no meaning.
    exists = np.isfinite(orders) & (left > 0)
    at = np.where(np.isfinite(orders), orders, 2.0)
    moved = betaln(first - move, second + move)
    with np.errstate(invalid="ignore"):
        tilted = betaln(first + (at - 1) * move, np.where(exists, left, 1.0))
    here = betaln(first, second)
    moment = tilted - at * here - (1 - at) * moved
    # Each logarithm is a sum of larger ones: its own size, and one for those.
    sizes = (1 + np.abs(tilted)) + at * (1 + np.abs(here)) + (at - 1) * (1 + np.abs(moved))
    error = _LOG_ERROR * sizes
    bound = (np.maximum(moment, 0.0) + error) / (at - 1)
    return np.asarray(np.where(exists, bound, np.inf))


def _threshold(x: ArrayLike, y: ArrayLike, step: ArrayLike, epsilon: float) -> Floats:
    """Logarithm of the quotient of the two coordinates above which the loss is above epsilon."""
    constant = gammaln(np.subtract(x, step)) + gammaln(np.add(y, step)) - gammaln(x) - gammaln(y)
    return np.asarray((epsilon - constant) / step)


def _mass_above(x: ArrayLike, y: ArrayLike, threshold: Floats) -> Floats:
    """Probability that the log quotient of the two coordinates is above `threshold`."""
    near = np.where(
        threshold > 0,  # of two complementary arguments the small one keeps its digits
        betainc(y, x, expit(-threshold)),
        betaincc(x, y, expit(threshold)),
    )
    # Small parameters have mass where the argument underflows: there it is a power of it.
    far = np.where(threshold > 0, _far_tail(y, x, threshold), 1 - _far_tail(x, y, -threshold))
    return np.asarray(np.where(np.abs(threshold) > _FAR, far, near))


def _far_tail(x: ArrayLike, y: ArrayLike, threshold: Floats) -> Floats:
    logarithm = -threshold * np.asarray(x) - np.log(x) - betaln(x, y)
    return np.asarray(np.exp(np.minimum(logarithm, 0.0)))
