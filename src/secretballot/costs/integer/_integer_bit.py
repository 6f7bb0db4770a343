"""Moves on integer counts with Skellam noise: the larger of two, and the counts themselves.

Proofs: docs/theory/divergences.md, "Skellam noise".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy.special import ndtri_exp

from secretballot.costs._divergence import curve_at_orders, largest_log_moment, round_up
from secretballot.costs._moves import Move, NoisyBit, NoisyVector
from secretballot.costs._orders import Floats
from secretballot.costs.integer._skellam import Skellam, skellam

#: Standard deviations, plus places, beyond which a tail is bounded.
_TAIL, _MORE = 16.0, 80

#: Log probability down to which gaps are compared with normal noise. Rarer outcomes, less than
#: 1e-65 together, are given away.
_LEAST = -150.0

_ROUNDING = 1 + 1e-9

LogMoment = Callable[[Skellam, int, Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class IntegerBit(NoisyBit):
    """Release of the sign of an integer gap with Skellam noise of `variance`.

    A neighbour moves the gap by the whole number `moved`. The noisy bit with the Gaussian `shift`
    over `scale` dominates it (`gaussian_ratio`). It is charged at its worst case.
    """

    variance: float
    moved: int

    @classmethod
    def from_variance(cls, variance: float, moved: int) -> IntegerBit:
        """Make the bit, with the Gaussian noise that dominates it."""
        shift = gaussian_ratio(variance, moved)
        return cls(scale=1.0, shift=shift, variance=variance, moved=moved)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the supremum over all integer gaps."""
        return worst_integer_bit(self.variance, self.moved, orders)

    def exact(self, state: Floats) -> Floats:
        """Compute the worst case, for each row."""
        return Move.exact(self, state)

    @property
    def kind(self) -> type[NoisyBit]:
        """Integer bits, which compare by variance."""
        return IntegerBit

    def dominated_by(self, other: Move) -> bool:
        """Compare changes and variances: more noise is post-processing of less."""
        if not isinstance(other, IntegerBit):
            return False
        return self.moved <= other.moved and self.variance >= other.variance


@dataclass(frozen=True, kw_only=True)
class IntegerCounts(NoisyVector):
    """Release of counts with Skellam noise of `variance`; one rises and one falls by `moved`.

    The cost is the same on all data. The Gaussian pair `ratio` standard deviations apart dominates.
    """

    variance: float
    moved: int

    @classmethod
    def from_variance(cls, variance: float, moved: int) -> IntegerCounts:
        """Make the counts, with the Gaussian pair that dominates them."""
        ratio = float(np.sqrt(2)) * gaussian_ratio(variance, moved)
        return cls(ratio=ratio, variance=variance, moved=moved)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the cost, the same for all counts."""
        return 2 * shift_divergence(self.variance, self.moved, orders)

    def dominated_by(self, other: Move) -> bool:
        """Compare changes and variances."""
        if not isinstance(other, IntegerCounts) or type(other) is not type(self):
            return False
        return self.moved <= other.moved and self.variance >= other.variance


@lru_cache(maxsize=4096)
def worst_integer_bit(
    variance: float, moved: int, orders: tuple[float, ...] | None = None
) -> Floats:
    """Compute the largest cost of the sign of an integer with Skellam noise, rounded up.

    `moved` is the change between neighbours. At order infinity the cost is infinite.
    """
    return curve_at_orders(orders, moved, partial(_curve, _largest_bit, variance, moved))


@lru_cache(maxsize=4096)
def shift_divergence(
    variance: float, moved: int, orders: tuple[float, ...] | None = None
) -> Floats:
    """Compute the divergence of an integer with Skellam noise that moves, rounded up."""
    return curve_at_orders(orders, moved, partial(_curve, _log_shift, variance, moved))


def table_for(variance: float, moved: int, order: float) -> Skellam:
    """Tabulate the noise as far as it matters at an order."""
    far = (order - 1) * (moved + 1) + _TAIL * np.sqrt(variance) + _MORE
    return skellam(variance, int(np.ceil(far)) + moved)


def _curve(log_moment: LogMoment, variance: float, moved: int, orders: Floats) -> Floats:
    """Convert a logarithm of moments to divergences, rounded up."""
    table = table_for(variance, moved, float(orders.max()))
    rounding = round_up(moved / np.sqrt(variance))
    return log_moment(table, moved, orders) / (orders - 1) * rounding


def _largest_bit(table: Skellam, moved: int, orders: Floats) -> Floats:
    """Compute the largest (a - 1) D over all gaps in the table, and bounds beyond it."""
    last = table.reach - moved
    first = int(np.ceil(_TAIL * np.sqrt(table.variance))) + _MORE
    gaps = np.arange(-last, first)
    log_p, log_q = (
        np.stack([table.cdf_at(at), table.cdf_at(-at - 1)], axis=-1)[None]
        for at in (gaps, gaps - moved)
    )
    best = largest_log_moment(log_p, log_q, orders)[0]
    low = np.logaddexp(0.0, _log_tail(table, moved, orders))
    high = np.logaddexp((1 - orders) * table.cdf_at(first - moved), table.cdf_at(-first - 1))
    return np.asarray(np.maximum(best, np.maximum(low, high)))


def _log_tail(table: Skellam, moved: int, orders: Floats) -> Floats:
    """Bound the log of the sum of f(k)^a f(k + d)^(1 - a) beyond the table."""
    last = table.reach - moved
    log_p, log_q = table.pmf_at(last), table.pmf_at(last + moved)
    ends = np.array([last + 0.5, last + moved + 1.5])
    (bend,) = np.diff(np.arcsinh(ends / table.variance))
    falls = log_p - table.pmf_at(last - 1) + (orders - 1) * bend
    assert np.all(falls < 0), "the table ends before the terms fall"
    return np.asarray(orders * log_p - (orders - 1) * log_q - np.log(-np.expm1(falls)))


def _log_shift(table: Skellam, moved: int, orders: Floats) -> Floats:
    """Compute the log of the sum of f(k)^a f(k + d)^(1 - a) over all k."""
    k = np.arange(-table.reach, table.reach - moved + 1)
    log_p, log_q = table.pmf_at(k), table.pmf_at(k + moved)
    gap, q = log_p - log_q, np.exp(log_q)
    out = np.empty(len(orders))
    for i, order in enumerate(orders):
        if order * gap.max() < 300:
            # Both sums have the same rounding, as in `log_moments`.
            excess = (q * (np.expm1(order * gap) - order * np.expm1(gap))).sum()
            out[i] = np.log1p(max(excess, 0.0))
        else:
            out[i] = np.logaddexp.reduce(order * log_p - (order - 1) * log_q)
    # At the lower end p is less than q, and a term less than (a - 1) q.
    lower = np.log(orders) + table.cdf_at(moved - table.reach)
    tails = np.logaddexp(_log_tail(table, moved, orders), lower)
    return np.asarray(np.logaddexp(out, tails))


@lru_cache(maxsize=4096)
def gaussian_ratio(variance: float, moved: int) -> float:
    """Compute the shift of the Gaussian pair that dominates a moved integer with Skellam noise.

    Rounded up, in standard deviations. For small moves it is about
    moved / sqrt(variance) (1 + 1 / (6 variance)).
    """
    if not moved:
        return 0.0
    table = skellam(variance, int(np.ceil(19 * np.sqrt(variance))) + 200 + 2 * moved)
    # At g < 0; the gaps above mirror them, x_g = -x_(-g - 1).
    negative_x = ndtri_exp(table.log_cdf[: table.reach][table.log_cdf[: table.reach] >= _LEAST])
    x = np.append(negative_x, -negative_x[::-1])
    steps = x[moved:] - x[:-moved] if moved < len(x) else x[-1:] - x[:1]
    return float(steps.max()) * _ROUNDING
