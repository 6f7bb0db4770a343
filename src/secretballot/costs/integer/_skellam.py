"""Skellam noise, the difference of two Poisson numbers: its law, draws, and winners with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import i0e

from secretballot.costs._orders import Floats

#: Recursion steps beyond the table, from which on its start is forgotten.
_AHEAD = 60

#: Random bits of a draw besides its sign; rarer values are not drawn.
_BITS = 128

#: Standard deviations, plus places, beyond which winners ignore noise.
_TAIL, _MORE = 20.0, 100


@dataclass(frozen=True, eq=False)
class Skellam:
    """Log probabilities of Skellam noise of mean 0, at -reach, ..., reach.

    `log_cdf`, of "at most", has full relative precision in both tails.
    """

    variance: float
    reach: int
    log_pmf: Floats
    log_cdf: Floats

    def pmf_at(self, k: ArrayLike) -> Floats:
        """Look up log P(N = k)."""
        return np.asarray(self.log_pmf[self._place(k)])

    def cdf_at(self, k: ArrayLike) -> Floats:
        """Look up log P(N <= k)."""
        return np.asarray(self.log_cdf[self._place(k)])

    def _place(self, k: ArrayLike) -> NDArray[np.int64]:
        place = np.asarray(k) + self.reach
        assert place.min() >= 0, "beyond the table"
        return place


@lru_cache(maxsize=32)
def skellam(variance: float, reach: int) -> Skellam:
    """Tabulate the law up to `reach`, at least 2."""
    # P(k) = e^-v I_k(v), and I_k / I_(k-1) = 1 / (2 k / v + I_(k+1) / I_k): downwards from a bound
    # of Amos (1974), which is soon forgotten, this recursion is stable and never underflows.
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
    # Beyond the end is less than a geometric series, which is soon negligible.
    left_log_pmf = log_pmf[: reach + 1].copy()
    left_log_pmf[0] -= np.log1p(-ratios[-1])
    left_log_pmf = np.logaddexp.accumulate(left_log_pmf)
    beyond = left_log_pmf[0] + np.log(ratios[-1])
    above = np.append(left_log_pmf[reach - 2 :: -1], beyond)  # of "at least k + 1", for k = 1, ...
    log_cdf = np.append(left_log_pmf, np.log1p(-np.exp(above)))
    for table in (log_pmf, log_cdf):
        table.flags.writeable = False
    return Skellam(variance, reach, log_pmf, log_cdf)


def draw_skellam(
    variance: float, shape: int | tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw Skellam numbers by inversion, with tail probabilities as small as 2^-128.

    Probabilities have a relative error of some 1e-13, and 1e-11 at a variance of 1e8. (Numpy's
    Poisson numbers have 1e-9 at a mean of 500,000.)
    """
    # The size of a number is the number of tails P(|N| >= k) above a uniform number of 128 bits.
    tails = _tails(variance)
    sizes = (3, shape) if isinstance(shape, int) else (3, *shape)
    high, low, signs = rng.integers(0, 2**64, size=sizes, dtype=np.uint64)
    uniform = np.ldexp(high.astype(np.float64), -_BITS // 2)
    uniform += np.ldexp(low.astype(np.float64), -_BITS)
    size = len(tails) - np.searchsorted(tails, uniform, side="right")
    return np.asarray(np.where(signs >> np.uint64(63), size, -size), dtype=np.int64)


@lru_cache(maxsize=32)
def _tails(variance: float) -> Floats:
    """Compute P(|N| >= k) for k = 1, 2, ..., in ascending order, down to 2^-128."""
    reach = int(np.ceil(14 * np.sqrt(variance))) + 150
    tails = 2 * np.exp(skellam(variance, reach).log_cdf[:reach])
    return tails[tails > 2.0**-_BITS]


def winner_log_probabilities(counts: ArrayLike, variance: float) -> Floats:
    """Compute the log probability of each class to have the largest noisy integer count.

    `variance` is that of the noise on each count; ties go to the first class.
    """
    votes = np.asarray(counts).astype(np.int64)
    far = int(np.ceil(_TAIL * np.sqrt(variance))) + _MORE
    out = np.empty(votes.shape)
    for row, log_p in zip(votes, out, strict=True):
        # No winner is below the lowest noisy value of the largest count.
        levels = np.arange(row.max() - far, row.max() + far + 1)[:, None]
        table = skellam(variance, 2 * far + int(row.max() - row.min()) + 1)
        up_to, below = table.cdf_at(levels - row), table.cdf_at(levels - 1 - row)
        for winner in range(len(row)):
            log_others_lose = below[:, :winner].sum(axis=1) + up_to[:, winner + 1 :].sum(axis=1)
            log_winner = table.pmf_at(levels[:, 0] - row[winner])
            log_p[winner] = np.logaddexp.reduce(log_winner + log_others_lose)
    return out
