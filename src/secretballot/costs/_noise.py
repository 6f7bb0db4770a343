"""Noise: draws with full tails, and the privacy of noisy numbers in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betaln, expit, gammaln, i0e, log_ndtr, ndtr

from secretballot.costs._orders import ORDERS, Floats

Shape = int | tuple[int, ...]
Words = NDArray[np.uint64]

#: Bits of a random word.
_WORD_BITS = 64


def draw_uniform(shape: Shape, rng: np.random.Generator) -> Floats:
    """Draw uniform numbers above 0, at most 1, with 53 significant bits however small they are."""
    return _scaled(_words((2, *_axes(shape)), rng), rng)


def draw_exponential(shape: Shape, rng: np.random.Generator) -> Floats:
    """Draw standard exponential numbers -log(U), with full precision at both ends.

    A uniform number U above 1/2 is drawn as 1 - U.
    """
    *words, sides = _words((3, *_axes(shape)), rng)
    return _exponential(_scaled(words, rng), sides)


def draw_gumbel(shape: Shape, rng: np.random.Generator) -> Floats:
    """Draw standard Gumbel numbers."""
    return np.asarray(-np.log(draw_exponential(shape, rng)))


def draw_laplace(shape: Shape, rng: np.random.Generator) -> Floats:
    """Draw standard Laplace numbers."""
    *words, sides = _words((3, *_axes(shape)), rng)
    size = _exponential(_scaled(words, rng), sides)
    negative = (sides >> np.uint64(_WORD_BITS - 2)) & np.uint64(1)
    return np.asarray(np.where(negative, -size, size))


def _axes(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else shape


def _words(shape: tuple[int, ...], rng: np.random.Generator) -> Words:
    return rng.integers(0, 2**_WORD_BITS, size=shape, dtype=np.uint64)


def _scaled(words: Words | list[Words], rng: np.random.Generator) -> Floats:
    """Convert two words to a number up to 1; leading zero words are followed by more words."""
    high, low = (np.array(word) for word in words)
    exponent = np.zeros(high.shape, dtype=np.int64)
    while (zero := high == 0).any():
        high[zero] = low[zero]
        low[zero] = _words((int(zero.sum()),), rng)
        exponent[zero] -= _WORD_BITS
    number = np.ldexp(low.astype(np.float64), -_WORD_BITS) + high
    return np.asarray(np.ldexp(number, exponent - _WORD_BITS))


def _exponential(uniform: Floats, sides: Words) -> Floats:
    half = uniform / 2
    return np.where(sides >> np.uint64(_WORD_BITS - 1), -np.log(half), -np.log1p(-half))


#: Recursion steps beyond the table, from which on its start is forgotten.
_AHEAD = 60

#: Random bits of a draw besides its sign; rarer values are not drawn.
_DRAW_BITS = 128

#: Standard deviations, plus places, beyond which winners ignore noise.
_TAIL, _MORE = 20.0, 100


@dataclass(frozen=True, eq=False)
class Skellam:
    """Log probabilities of noise from -reach to reach; `log_cdf` is precise in both tails."""

    variance: float
    reach: int
    log_pmf: Floats
    log_cdf: Floats

    def pmf_at(self, k: ArrayLike) -> Floats:
        return np.asarray(self.log_pmf[self._place(k)])

    def cdf_at(self, k: ArrayLike) -> Floats:
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
    """Draw by inversion; probabilities err by a relative 1e-13, by 1e-11 at a variance of 1e8."""
    # The size of a number is the number of tails P(|N| >= k) above a uniform number of 128 bits.
    tails = _tails(variance)
    sizes = (3, shape) if isinstance(shape, int) else (3, *shape)
    high, low, signs = rng.integers(0, 2**64, size=sizes, dtype=np.uint64)
    uniform = np.ldexp(high.astype(np.float64), -_DRAW_BITS // 2)
    uniform += np.ldexp(low.astype(np.float64), -_DRAW_BITS)
    size = len(tails) - np.searchsorted(tails, uniform, side="right")
    return np.asarray(np.where(signs >> np.uint64(63), size, -size), dtype=np.int64)


@lru_cache(maxsize=32)
def _tails(variance: float) -> Floats:
    """Compute P(|N| >= k) for k = 1, 2, ..., in ascending order, down to 2^-128."""
    reach = int(np.ceil(14 * np.sqrt(variance))) + 150
    tails = 2 * np.exp(skellam(variance, reach).log_cdf[:reach])
    return tails[tails > 2.0**-_DRAW_BITS]


def winner_log_probabilities(counts: ArrayLike, variance: float) -> Floats:
    """Compute each class's log probability to win under Skellam noise; ties go to the first."""
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


_PROFILE_ERROR = 1e-13
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
    return np.asarray(np.minimum(np.maximum(p - scaled_q, 0.0) + _PROFILE_ERROR * p + _TINY, 1.0))


def laplace_delta(ratio: float, epsilon: float, n_counts: int) -> float:
    """Compute the least delta at `epsilon` of Laplace noise on one or two counts, rounded up."""
    # `ratio` is the change of each count over the scale of the noise.
    # With u = n_counts * ratio - epsilon: 1 - e^(-u/2) for one count, 1 - (1 + u/4) e^(-u/2) for
    # two, the convolution of two losses that are `ratio` with probability 1/2 and have density
    # e^((l - ratio)/2)/4 elsewhere. For u <= 0 privacy is pure, up to the rounding of n/epsilon.
    beyond = n_counts * ratio - epsilon
    if beyond <= 4e-16 * epsilon:
        return 0.0
    delta = -math.expm1(-beyond / 2)
    if n_counts == 2:
        delta -= beyond / 4 * math.exp(-beyond / 2)
    return min(delta * (1 + _PROFILE_ERROR) + 1e-17, 1.0)


def laplace_renyi(ratio: float, n_counts: int, orders: Floats = ORDERS) -> Floats:
    """Compute the divergence of Laplace noise, rounded up (Mironov, 2017, Proposition 6)."""
    curve = np.full(len(orders), ratio)
    finite = np.isfinite(orders)
    a = orders[finite]
    moment = np.logaddexp(
        np.log(a / (2 * a - 1)) + (a - 1) * ratio, np.log((a - 1) / (2 * a - 1)) - a * ratio
    )
    curve[finite] = np.minimum((np.maximum(moment, 0.0) + 1e-15) / (a - 1), ratio)
    return n_counts * curve * (1 + _PROFILE_ERROR)


# Allowance for the relative error of an incomplete beta function, and of sums of log gammas; tests
# measure less than a hundredth of it.
_BETA_ERROR = 1e-11
_LOG_ERROR = 4e-15
_LARGEST_EXPONENT = 700.0
_FAR = 300.0


def dirichlet_tail(x: ArrayLike, y: ArrayLike, step: ArrayLike, epsilon: float) -> Floats:
    """Compute the probability of a privacy loss above `epsilon` (Iyer et al., 2016, Equation 9).

    A neighbour changes the two parameters `x` and `y` to ``x - step`` and ``y + step``; `step` is
    the change by one label. The probability bounds delta from above, loosely.
    """
    return _mass_above(x, y, _threshold(x, y, step, epsilon))


def dirichlet_delta(x: ArrayLike, y: ArrayLike, step: ArrayLike, epsilon: float) -> Floats:
    """Compute the least delta at `epsilon` of one pair in one direction, rounded up."""
    # Arguments as for `dirichlet_tail`.
    threshold = _threshold(x, y, step, epsilon)
    p = _mass_above(x, y, threshold)
    q = _mass_above(np.subtract(x, step), np.add(y, step), threshold)
    # Without the second term, where e^epsilon overflows, delta is too large at most.
    factor = np.exp(epsilon) if epsilon < _LARGEST_EXPONENT else 0.0
    return np.asarray(np.clip(p - factor * q + _BETA_ERROR * p, _TINY, 1.0))


def dirichlet_renyi(x: ArrayLike, y: ArrayLike, step: ArrayLike, orders: Floats = ORDERS) -> Floats:
    """Compute the Renyi divergence of the draw from its neighbour's, rounded up."""
    # Infinite from order 1 + y / step on, where the moment diverges.
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
