"""Integer counts with Skellam noise: which of two is larger, and the counts themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri_exp

from secretballot.divergences._divergence import largest_log_moment, round_up
from secretballot.divergences._law import Move, NoisyBit, NoisyVector
from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences.integer._skellam import Skellam, skellam

#: Standard deviations, and places on top of them, beyond which a tail is bounded.
_TAIL, _MORE = 16.0, 80

#: What log probabilities of gaps are that are compared with normal noise; with the rest, less than
#: 1e-65, an outcome is given away.
_LEAST = -150.0

_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, kw_only=True)
class IntegerBit(NoisyBit):
    """Releases whether an integer gap with Skellam noise of `variance` is positive, or not.

    A neighbour moves the gap by `moved`, a whole number. It is charged at its worst case only. A
    noisy bit with the gaussian `shift` over `scale` tells at least as much (`gaussian_ratio`).
    """

    variance: float
    moved: int

    @classmethod
    def from_variance(cls, variance: float, moved: int) -> IntegerBit:
        """Return the bit, with normal noise that tells at least as much."""
        shift = gaussian_ratio(variance, moved)
        return cls(scale=1.0, shift=shift, variance=variance, moved=moved)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return the supremum over all integer gaps."""
        return worst_integer_bit(self.variance, self.moved, orders)

    def exact(self, state: Any) -> Floats:
        """Return the worst case, for each row."""
        curve = self.worst_case()
        return np.broadcast_to(curve, (len(state), len(curve)))

    @property
    def kind(self) -> type[NoisyBit]:
        """Integer bits: a mixture over part of the noise dominates more noise."""
        return IntegerBit

    def dominated_by(self, other: Move) -> bool:
        """Compare moves and variances: more noise is some of it first, and then more."""
        if not isinstance(other, IntegerBit):
            return False
        return self.moved <= other.moved and self.variance >= other.variance


@dataclass(frozen=True, kw_only=True)
class IntegerCounts(NoisyVector):
    """Releases counts with Skellam noise of `variance` each; one goes up and one down by `moved`.

    It costs the same on all data. Normal numbers `ratio` standard deviations apart tell at least as
    much.
    """

    variance: float
    moved: int

    @classmethod
    def from_variance(cls, variance: float, moved: int) -> IntegerCounts:
        """Return the counts, with normal noise that tells at least as much."""
        ratio = float(np.sqrt(2)) * gaussian_ratio(variance, moved)
        return cls(ratio=ratio, variance=variance, moved=moved)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return what it costs, whatever the counts."""
        return 2 * shift_divergence(self.variance, self.moved, orders)

    def dominated_by(self, other: Move) -> bool:
        """Compare moves and variances, as integer bits do."""
        if not isinstance(other, IntegerCounts) or type(other) is not type(self):
            return False
        return self.moved <= other.moved and self.variance >= other.variance


@lru_cache(maxsize=4096)
def worst_integer_bit(
    variance: float, moved: int, orders: tuple[float, ...] | None = None
) -> Floats:
    """Largest cost of the sign of an integer plus Skellam noise: the maximum over all integers.

    Parameters
    ----------
    variance : float
        Of the noise on the gap.
    moved : int
        By how much a neighbour's gap is another.
    orders : tuple of float, default=None
        Orders; the shared grid if None.

    Returns
    -------
    ndarray of shape (n_orders,)
        Rounded up. Infinite at order infinity.

    Notes
    -----
    With F(g) = P(N <= g), which is the probability that g + N is at least 0, the maximum is that
    of D(F(g), F(g - d)) over all integers g, d being `moved`. The other direction, and what counts
    a gap of 0 as negative, are among them by relabelling: 1 - F(g) = F(-g - 1).

    All gaps are looked at from -(a - 1)(d + 1) to 0, and 16 standard deviations and 80 further on
    either side. Below that one term of the moment is at most 1. The other is at most, by joint
    convexity, the sum of f(k)^a f(k + d)^(1 - a) over all k from there on, f being the law of N.
    These terms fall faster than a geometric series: f(k) / f(k - 1) falls, and by bounds of Amos
    (1974), v being the variance, so does what

        [f(k) / f(k - 1)] / [f(k + d) / f(k + d - 1)]

    is at most, exp(arsinh((k + d + 1/2) / v) - arsinh((k - 1/2) / v)). Above, where p is next to 1,
    the moment is at most F(g - d)^(1 - a) + 1 - F(g).
    """
    return _at_orders(variance, moved, orders, _largest_bit)


@lru_cache(maxsize=4096)
def shift_divergence(
    variance: float, moved: int, orders: tuple[float, ...] | None = None
) -> Floats:
    """Divergence of an integer with Skellam noise that is moved, at `orders`; rounded up."""
    return _at_orders(variance, moved, orders, _log_shift)


def _at_orders(variance: float, moved: int, orders: Any, log_moment: Any) -> Floats:
    at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
    out = np.full(len(at), np.inf if moved else 0.0)
    finite = np.isfinite(at)
    if moved and finite.any():
        table = table_for(variance, moved, float(at[finite].max()))
        tell = round_up(moved / np.sqrt(variance))
        out[finite] = log_moment(table, moved, at[finite]) / (at[finite] - 1) * tell
    out.flags.writeable = False
    return out


def table_for(variance: float, moved: int, order: float) -> Skellam:
    """Return tables that reach as far as matters at an order."""
    far = (order - 1) * (moved + 1) + _TAIL * np.sqrt(variance) + _MORE
    return skellam(variance, int(np.ceil(far)) + moved)


def _largest_bit(table: Skellam, moved: int, orders: Floats) -> Floats:
    last = table.reach - moved
    first = int(np.ceil(_TAIL * np.sqrt(table.variance))) + _MORE
    gaps = np.arange(-last, first)
    log_p, log_q = (
        np.stack([table.cdf_at(at), table.cdf_at(-at - 1)], axis=-1)[None]
        for at in (gaps, gaps - moved)
    )
    best = largest_log_moment(log_p, log_q, orders)[0]
    low = np.logaddexp(0.0, _log_rest(table, moved, orders))
    high = np.logaddexp((1 - orders) * table.cdf_at(first - moved), table.cdf_at(-first - 1))
    return np.asarray(np.maximum(best, np.maximum(low, high)))


def _log_rest(table: Skellam, moved: int, orders: Floats) -> Floats:
    """Bound the log of the sum of f(k)^a f(k + d)^(1 - a) beyond the table."""
    last = table.reach - moved
    here, there = table.pmf_at(last), table.pmf_at(last + moved)
    ends = np.array([last + 0.5, last + moved + 1.5])
    (bend,) = np.diff(np.arcsinh(ends / table.variance))
    falls = here - table.pmf_at(last - 1) + (orders - 1) * bend
    assert np.all(falls < 0), "the table ends before the terms fall"
    return np.asarray(orders * here - (orders - 1) * there - np.log(-np.expm1(falls)))


def _log_shift(table: Skellam, moved: int, orders: Floats) -> Floats:
    """Return the log of the sum of f(k)^a f(k + d)^(1 - a) over all k."""
    k = np.arange(-table.reach, table.reach - moved + 1)
    log_p, log_q = table.pmf_at(k), table.pmf_at(k + moved)
    gap, q = log_p - log_q, np.exp(log_q)
    out = np.empty(len(orders))
    for i, order in enumerate(orders):
        if order * gap.max() < 300:
            # As in `renyi_divergence`: both sums see the same rounding.
            excess = (q * (np.expm1(order * gap) - order * np.expm1(gap))).sum()
            out[i] = np.log1p(max(excess, 0.0))
        else:
            out[i] = np.logaddexp.reduce(order * log_p - (order - 1) * log_q)
    # At the other end p is less than q, and a term less than (a - 1) q.
    left = np.log(orders) + table.cdf_at(moved - table.reach)
    rest = np.logaddexp(_log_rest(table, moved, orders), left)
    return np.asarray(np.logaddexp(out, rest))


@lru_cache(maxsize=4096)
def gaussian_ratio(variance: float, moved: int) -> float:
    """Return a shift, in standard deviations of normal noise, that tells at least as much.

    Parameters
    ----------
    variance : float
        Of the Skellam noise.
    moved : int
        By how much a neighbour's integer is another.

    Returns
    -------
    float
        Next to moved / sqrt(variance) (1 + 1 / (6 variance)), for small moves. Rounded up.

    Notes
    -----
    With F(g) = Phi(x_g) an integer's sign is a noisy bit at the standardised gap x_g, and the
    neighbour's one at x_(g - d). Where these lie no more than r apart a bit whose gap is moved by r
    has the same first probability and a second one further from it: what the integer tells is a
    randomisation of what that bit does (its point lies in the other's testing region). So the
    largest x_g - x_(g - d) is enough, for any adversary and any number of rows. Since the tests of
    the integer itself are its signs, and mixtures of two of them, it is enough for that too.

    It is next to g = 0; tails are heavier than normal. Where one outcome of both has a probability
    below e^-150 it is given away, which adds less to delta than floats can tell.
    """
    if not moved:
        return 0.0
    table = skellam(variance, int(np.ceil(19 * np.sqrt(variance))) + 200 + 2 * moved)
    # At g < 0; the others are its mirror image, x_g = -x_(-g - 1).
    left = ndtri_exp(table.log_cdf[: table.reach][table.log_cdf[: table.reach] >= _LEAST])
    x = np.append(left, -left[::-1])
    steps = x[moved:] - x[:-moved] if moved < len(x) else x[-1:] - x[:1]
    return float(steps.max()) * _ROUNDING
