"""Privacy profiles and Renyi curves of counts with Laplace or Gaussian noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from secretballot.costs._orders import ORDERS, Floats

_ERROR = 1e-13
#: Upper bound of a probability that underflows.
_TINY = 1e-300


def gaussian_delta(ratio: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Compute the least delta of the Gaussian mechanism at `epsilon`, rounded up.

    `ratio` is the L2 sensitivity over the standard deviation of the noise, above 0. Balle and Wang,
    "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018), Theorem 8.
    """
    move, at = np.asarray(ratio, dtype=np.float64), np.asarray(epsilon, dtype=np.float64)
    p = ndtr(move / 2 - at / move)
    scaled_q = np.exp(np.minimum(at + log_ndtr(-move / 2 - at / move), 0.0))
    return np.asarray(np.minimum(np.maximum(p - scaled_q, 0.0) + _ERROR * p + _TINY, 1.0))


def laplace_delta(ratio: float, epsilon: float, n_counts: int) -> float:
    """Compute the least delta of Laplace noise on one or two counts at `epsilon`, rounded up.

    `ratio` is the change of each count between neighbours over the scale of the noise.
    """
    # With u = n_counts * ratio - epsilon: 1 - e^(-u/2) for one count, 1 - (1 + u/4) e^(-u/2) for
    # two, the convolution of two losses that are `ratio` with probability 1/2 and have density
    # e^((l - ratio)/2)/4 elsewhere. For u <= 0 privacy is pure, up to the rounding of n/epsilon.
    beyond = n_counts * ratio - epsilon
    if beyond <= 4e-16 * epsilon:
        return 0.0
    delta = -math.expm1(-beyond / 2)
    if n_counts == 2:
        delta -= beyond / 4 * math.exp(-beyond / 2)
    return min(delta * (1 + _ERROR) + 1e-17, 1.0)


def laplace_renyi(ratio: float, n_counts: int, orders: Floats = ORDERS) -> Floats:
    """Compute the Renyi divergence of Laplace noise on one or two counts, rounded up.

    Mironov, "Renyi Differential Privacy" (2017), Proposition 6.
    """
    curve = np.full(len(orders), ratio)
    finite = np.isfinite(orders)
    a = orders[finite]
    moment = np.logaddexp(
        np.log(a / (2 * a - 1)) + (a - 1) * ratio, np.log((a - 1) / (2 * a - 1)) - a * ratio
    )
    curve[finite] = np.minimum((np.maximum(moment, 0.0) + 1e-15) / (a - 1), ratio)
    return n_counts * curve * (1 + _ERROR)
