"""Skellam numbers from random bits."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences._orders import Floats
from secretballot.divergences.integer._skellam import skellam

#: Random bits of each number beside its sign; rarer ones are not told apart.
_BITS = 128


def draw_skellam(
    variance: float, shape: int | tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw differences of two Poisson numbers, by inversion.

    Parameters
    ----------
    variance : float
    shape : int or tuple of int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int64

    Notes
    -----
    Its size is the number of tails, P(|N| >= k) for k = 1, 2, ..., that are above a uniform number
    of 128 bits, rounded to its first 53 significant ones: far tails keep all their digits, which
    those of a float between 0 and 1 don't. Each probability is right to some 1e-13, relative, and
    1e-11 at a variance of 1e8, as far as 128 bits can tell it. (Poisson numbers of numpy are drawn
    by rejection, by logarithms that are rounded by 1e-9 for a mean of 500,000.)
    """
    tails = _tails(variance)
    sizes = (3, shape) if isinstance(shape, int) else (3, *shape)
    high, low, signs = rng.integers(0, 2**64, size=sizes, dtype=np.uint64)
    uniform = np.ldexp(high.astype(np.float64), -_BITS // 2)
    uniform += np.ldexp(low.astype(np.float64), -_BITS)
    size = len(tails) - np.searchsorted(tails, uniform, side="right")
    return np.asarray(np.where(signs >> np.uint64(63), size, -size), dtype=np.int64)


@lru_cache(maxsize=32)
def _tails(variance: float) -> Floats:
    """Return P(|N| >= k), ascending, of all k from 1 on with a chance of 2^-128."""
    reach = int(np.ceil(14 * np.sqrt(variance))) + 150
    tails = 2 * np.exp(skellam(variance, reach).log_cdf[:reach])
    return tails[tails > 2.0**-_BITS]
