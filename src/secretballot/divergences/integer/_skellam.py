"""The Skellam law: the difference of two Poisson numbers, which sums of such noise have too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import i0e

from secretballot.divergences._orders import Floats

#: Ratios are worked out downwards from so many places further out, where a bound stands for them.
_AHEAD = 60


@dataclass(frozen=True, eq=False)
class Skellam:
    """Logarithms of the probabilities of an integer of mean 0, and of those up to it.

    Attributes
    ----------
    variance : float
    reach : int
        The largest integer in the tables.
    log_pmf : ndarray of shape (2 * reach + 1,)
        At -reach, ..., reach.
    log_cdf : ndarray of shape (2 * reach + 1,)
        Of "at most", in both tails with all digits: those of "at least" are its mirror image.

    Notes
    -----
    The probability of k is e^-v I_k(v), v the variance. Consecutive ones have the ratio
    I_k / I_(k-1) = 1 / (2 k / v + I_(k+1) / I_k), which forgets how it was begun when it is worked
    out downwards (from a bound of Amos, 1974), and underflows nowhere.
    """

    variance: float
    reach: int
    log_pmf: Floats
    log_cdf: Floats

    def pmf_at(self, k: ArrayLike) -> Floats:
        """Return log P(N = k)."""
        return np.asarray(self.log_pmf[self._place(k)])

    def cdf_at(self, k: ArrayLike) -> Floats:
        """Return log P(N <= k)."""
        return np.asarray(self.log_cdf[self._place(k)])

    def _place(self, k: ArrayLike) -> NDArray[Any]:
        place = np.asarray(k) + self.reach
        assert place.min() >= 0, "beyond the table"
        return place


@lru_cache(maxsize=32)
def skellam(variance: float, reach: int) -> Skellam:
    """Return the tables up to `reach`, at least 2."""
    first = reach + _AHEAD
    ratio = variance / (first + 0.5 + np.hypot(first + 1.5, variance))
    ratios, twice = [0.0] * reach, 2.0 / variance
    for k in range(first, 0, -1):
        ratio = 1.0 / (twice * k + ratio)
        if k <= reach:
            ratios[k - 1] = ratio
    log_ratios = np.log(ratios)
    right = np.log(i0e(variance)) + np.append(0.0, np.cumsum(log_ratios))
    log_pmf = np.append(right[:0:-1], right)
    # What is beyond the end is less than a geometric series, and soon forgotten.
    left = log_pmf[: reach + 1].copy()
    left[0] -= np.log1p(-ratios[-1])
    left = np.logaddexp.accumulate(left)
    beyond = left[0] + np.log(ratios[-1])
    above = np.append(left[reach - 2 :: -1], beyond)  # of "at least k + 1", for k = 1, ...
    log_cdf = np.append(left, np.log1p(-np.exp(above)))
    for table in (log_pmf, log_cdf):
        table.flags.writeable = False
    return Skellam(variance, reach, log_pmf, log_cdf)
