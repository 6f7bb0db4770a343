"""Moves on integer counts with Skellam noise: the larger of two, the largest of more, all counts.

Proofs: docs/theory/divergences.md, "Skellam noise".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtri_exp

from secretballot.costs._divergence import curve_at_orders, largest_log_moment, round_up
from secretballot.costs._law import Move, NoisyBit, NoisyVector
from secretballot.costs._noise import Skellam, skellam
from secretballot.costs._orders import Floats, order_array

#: Standard deviations, plus places, beyond which a tail is bounded.
_TAIL, _MORE = 16.0, 80

#: Log probability down to which gaps are compared with normal noise. Rarer outcomes, less than
#: 1e-65 together, are given away.
_LEAST = -150.0

_ROUNDING = 1 + 1e-9

LogMoment = Callable[[Skellam, int, Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class IntegerBit(NoisyBit):
    """Release of the sign of an integer gap with Skellam noise, moved by the whole number `moved`.

    The noisy bit with the Gaussian `shift` over `scale` dominates it. It is charged at its worst
    case.
    """

    variance: float
    moved: int

    @classmethod
    def from_variance(cls, variance: float, moved: int) -> IntegerBit:
        shift = gaussian_ratio(variance, moved)
        return cls(scale=1.0, shift=shift, variance=variance, moved=moved)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        return worst_integer_bit(self.variance, self.moved, orders)

    def exact(self, state: Floats) -> Floats:
        return Move.exact(self, state)

    @property
    def kind(self) -> type[NoisyBit]:
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
        ratio = float(np.sqrt(2)) * gaussian_ratio(variance, moved)
        return cls(ratio=ratio, variance=variance, moved=moved)

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
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
    """Compute the largest cost of the sign of an integer with Skellam noise, rounded up."""
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
    """Compute the shift of the Gaussian pair that dominates a moved integer, rounded up."""
    # For small moves it is about moved / sqrt(variance) (1 + 1 / (6 variance)) standard deviations.
    if not moved:
        return 0.0
    table = skellam(variance, int(np.ceil(19 * np.sqrt(variance))) + 200 + 2 * moved)
    # At g < 0; the gaps above mirror them, x_g = -x_(-g - 1).
    negative_x = ndtri_exp(table.log_cdf[: table.reach][table.log_cdf[: table.reach] >= _LEAST])
    x = np.append(negative_x, -negative_x[::-1])
    steps = x[moved:] - x[:-moved] if moved < len(x) else x[-1:] - x[:1]
    return float(steps.max()) * _ROUNDING


#: Orders of similar tilt (a - 1) w / sigma are searched together. Beyond the last tilt the counts
#: are charged, which cost about as much; for a sigma of `_FEW` or more beyond the last but one.
_TILTS = (0.0, 1.0, 3.0, 8.0, 16.0)
_FEW, _LAST = 20.0, 8.0

#: Relative distance of the bound from the best value: for single levels, and for steps of levels.
_PRECISION = 2e-4, 5e-3

#: Distance of the tilts that are searched; chords between them add some .2 per cent.
_CHORD = 0.1

#: Steps of levels per standard deviation. Within a step sums are polynomials of degree 7, right to
#: some 1e-9, for p and q alike.
_STEPS = 40
_NODES: Floats = np.arange(-3.0, 5.0)

#: Log of the probability, as it is or tilted, beyond which noise is left out.
_FURTHEST = -45.0

#: Probabilities below this count as this, so that they have logarithms.
_LEAST_MASS = 1e-300

_WINNER_ROUNDING = 1 + 1e-6
_BLOCK = 2_000_000  # values worked on together

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class IntegerMax(IntegerCounts):
    """Release of the largest of three or more counts with Skellam noise of `variance` on each.

    A ballot moves one count down by `moved` and another up. A Renyi budget charges the worst case
    of the winner; games and Gaussian budgets charge the noisy counts before post-processing.
    """

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        return worst_integer_max(self.variance, self.moved, orders)


@lru_cache(maxsize=1024)
def worst_integer_max(
    variance: float, moved: int, orders: tuple[float, ...] | None = None
) -> Floats:
    """Bound the largest cost of the winner for any number of classes, ties going to the first.

    At least the cost of two classes, at most that of the noisy counts; infinite at infinity.
    """
    at = order_array(orders)
    out = np.array(2 * shift_divergence(variance, moved, orders))
    pair = worst_integer_bit(2 * variance, 2 * moved, orders)
    tilt = (at - 1) * moved / np.sqrt(variance)
    for low, high in pairwise(_TILTS):
        group = np.flatnonzero((tilt > low) & (tilt <= high))
        few = variance < _FEW**2
        if moved and group.size and (few or high <= _LAST):
            knots = group[_knots(tilt[group])]
            floor = np.expm1((at[knots] - 1) * pair[knots])
            bound = WinnerSearch(variance, moved, at[knots]).largest(floor)
            # The log of this sum over a (a - 1) is convex in the order a: below its chord.
            logs = np.log(bound / _scale(at[knots]))
            excess = _scale(at[group]) * np.exp(np.interp(at[group], at[knots], logs))
            winner = np.log1p(excess) / (at[group] - 1) * _WINNER_ROUNDING
            out[group] = np.minimum(out[group], np.maximum(winner, pair[group]))
    out.flags.writeable = False
    return out


@dataclass(frozen=True)
class Cells:
    """Ranges of gaps n_i - n_j and of levels z - n_j, in steps; neighbouring cells share ends."""

    gap: tuple[Ints, Ints]  # first and last
    level: tuple[Ints, Ints]

    def __getitem__(self, part: slice | NDArray[np.bool_]) -> Cells:
        return Cells(*((low[part], high[part]) for low, high in (self.gap, self.level)))

    def halves(self, by_level: NDArray[np.bool_]) -> Cells:
        """Cut each cell in two, by level or by gap; a pair becomes its two members."""
        ends = []
        for (low, high), cut in ((self.gap, ~by_level), (self.level, by_level)):
            middle, pair = (low + high) // 2, high - low == 1
            above = np.where(cut, np.where(pair, high, middle), low)
            ends.append((np.append(low, above), np.append(np.where(cut, middle, high), high)))
        return Cells(*ends)


@dataclass(frozen=True)
class TailSums:
    """Probabilities that i, or j, wins from each step on, for data and neighbour, at some gaps."""

    gaps: Ints
    starts: Ints  # first step of each gap
    values: Floats  # (2, 2, n_gaps, n_steps): data and neighbour, i and j

    def at(self, gap: Ints, level: Ints) -> Floats:
        row = np.searchsorted(self.gaps, gap)
        place = np.clip(level - self.starts[row], 0, self.values.shape[-1] - 1)
        return np.asarray(self.values[:, :, row, place])


class WinnerSearch:
    """Bounds of exp((a - 1) D) - 1 over all gaps and levels, at orders of similar tilt."""

    def __init__(self, variance: float, moved: int, orders: Floats) -> None:
        self._moved, self._orders = moved, orders
        self._low, self._high = _spread(variance, moved, float(orders[-1]))
        sigma = float(np.sqrt(variance))
        self._width, self._step = max(1, int(sigma / 2)), max(1, int(sigma / _STEPS))
        room = self._low + self._high + moved + self._width + len(_NODES) * self._step
        self._noise = skellam(variance, 3 * room + 4)
        self._pmf, self._cdf = np.exp(self._noise.log_pmf), np.exp(self._noise.log_cdf)

    def largest(self, floor: Floats) -> Floats:
        """Bound the supremum from above, by at least `floor`."""
        best, bounds = floor.copy(), floor.copy()
        for tie_to in (0, 1):
            cells = self._all()
            while len(cells.gap[0]):
                value, bound, split = self._bounds(cells, tie_to)
                best = np.maximum(best, value.max(axis=0))
                above = np.log1p(bound) / (np.log1p(best) * (1 + _PRECISION[self._step > 1]))
                wide = cells.gap[0] < cells.gap[1]
                deep = cells.level[1] - cells.level[0] > (self._step > 1)
                cut = (above > 1).any(axis=1) & (wide | deep)
                bounds = np.maximum(bounds, bound[~cut].max(axis=0, initial=0.0))
                at = np.arange(len(above)), above.argmax(axis=1)
                by_level = deep & (~wide | (split[at] > (bound - value)[at] / 2))
                cells = cells[cut].halves(by_level[cut])
        return np.asarray(bounds)

    def _all(self) -> Cells:
        """Cover all gaps and levels at which no outcome is negligible."""
        low, high, moved, step = self._low, self._high, self._moved, self._step
        deep = max(1, self._width // step)
        gap = np.arange(-2 * high - moved, 2 * low + moved, self._width)
        level = np.arange(
            (-high - moved) // step - 1, (2 * low + high + 2 * moved) // step + 1, deep
        )
        first, begin = (axis.ravel() for axis in np.meshgrid(gap, level))
        last, end = first + self._width, begin + deep
        # Below, "neither" has no probability, and above it has all.
        within = end * step >= first - low - moved
        within &= begin * step <= np.maximum(last + high, low) + moved
        return Cells((first[within], last[within]), (begin[within], end[within]))

    def _bounds(self, cells: Cells, tie_to: int) -> tuple[Floats, Floats, Floats]:
        """Compute the value at the ends of cells, the bound, and its part from split outcomes."""
        out = np.empty((3, len(cells.gap[0]), len(self._orders)))
        size = max(1, _BLOCK // len(self._orders))
        gaps = np.unique(np.concatenate(cells.gap))
        sums = TailSums(gaps, *self._winners(gaps, tie_to))
        for start in range(0, out.shape[1], size):
            part = slice(start, start + size)
            out[:, part] = self._bounds_of(cells[part], sums, tie_to)
        return out[0], out[1], out[2]

    def _bounds_of(self, cells: Cells, sums: TailSums, tie_to: int) -> Floats:
        (p_first, q_first), (p_last, q_last) = (
            self._laws(gap, *cells.level, sums) for gap in cells.gap
        )
        rise = np.log(p_first / q_first), np.log(p_last / q_last)
        # i at the levels from the last on, j there, neither below the first; i gains by the gap.
        largest = np.stack([q_last[0], *q_first[1:3]])
        bound = _sum(largest, rise[0][:3], rise[1][:3], self._orders)
        at_end = [0, 1, 3]
        value = _sum(q_first[at_end], rise[0][at_end], rise[0][at_end], self._orders)
        split = _sum(*self._split(cells, tie_to), self._orders)
        return np.stack([value, bound + split, split])

    def _laws(self, gap: Ints, begin: Ints, end: Ints, sums: TailSums) -> tuple[Floats, Floats]:
        """Compute probabilities of i, j and neither (twice) on the data, and on the neighbour."""
        out = []
        for w, above in zip((0, self._moved), sums.at(gap, end), strict=True):
            below = [
                self._F(z - 1 - gap + w) * self._F(z - 1 - w)
                for z in (self._step * begin, self._step * end)
            ]
            out.append(np.maximum(np.stack([*above, *below]), _LEAST_MASS))
        return out[0], out[1]

    def _winners(self, gap: Ints, tie_to: int) -> tuple[Ints, Floats]:
        """Compute the starts and the values of `TailSums`."""
        moved, step, beside = self._moved, self._step, len(_NODES) // 2
        n_steps = (self._low + self._high + 2 * moved) // step + 2 * beside
        # From where one of i and j is always above, as far up as either can be.
        start = (np.maximum(-self._high, gap - self._low) - moved) // step
        g, k = gap[:, None], step * (start[:, None] + np.arange(1 - beside, n_steps + beside))
        out = np.empty((2, 2, len(gap), n_steps))
        for law, w in enumerate((0, moved)):
            winners = (
                self._f(k - g + w) * self._F(k - tie_to - w),
                self._f(k - w) * self._F(k - 1 + tie_to - g + w),
            )
            for winner, at_steps in enumerate(winners):
                out[law, winner] = _sums_from(at_steps, step)
        return start, out

    def _split(self, cells: Cells, tie_to: int) -> tuple[Floats, Floats, Floats]:
        """Bound i and j between two levels: the largest q, and the ends of log p/q."""
        (first, last), w = cells.gap, self._moved
        begin, end = (self._step * level for level in cells.level)
        top, n_levels = end - 1, end - begin
        i = n_levels * self._peak(begin - last + w, top - first + w) * self._F(top - tie_to - w)
        j = n_levels * self._peak(begin - w, top - w) * self._F(top - 1 + tie_to - first + w)

        def drop(table: Callable[[Ints], Floats], x: Ints, by: int) -> Floats:
            return np.asarray(table(x) - table(x + by))

        pmf, cdf = self._noise.pmf_at, self._noise.cdf_at
        least = [
            drop(pmf, begin - last, w) + drop(cdf, top - tie_to, -w),
            drop(pmf, top, -w) + drop(cdf, begin - 1 + tie_to - last, w),
        ]
        most = [
            drop(pmf, top - first, w) + drop(cdf, begin - tie_to, -w),
            drop(pmf, begin, -w) + drop(cdf, top - 1 + tie_to - first, w),
        ]
        return np.stack([i, j]), np.stack(least), np.stack(most)

    def _f(self, k: Ints) -> Floats:
        return np.asarray(self._pmf[k + self._noise.reach])

    def _F(self, k: Ints) -> Floats:
        return np.asarray(self._cdf[k + self._noise.reach])

    def _peak(self, low: Ints, high: Ints) -> Floats:
        """Compute the largest probability of the integers from `low` to `high`."""
        return self._f(np.clip(0, low, np.maximum(low, high)))


def _sum(q: Floats, first: Floats, last: Floats, orders: Floats) -> Floats:
    """Sum q times the larger h of two log ratios over outcomes, for each order."""
    out = np.zeros((q.shape[1], len(orders)))
    for mass, ends in zip(q, np.stack([first, last], axis=1), strict=True):
        # h falls up to 0 and rises from there: it is largest at an end.
        with np.errstate(over="ignore"):
            h = [np.expm1(orders * x[:, None]) - orders * np.expm1(x)[:, None] for x in ends]
        positive = mass > 0
        out[positive] += mass[positive, None] * np.maximum(*h)[positive]
    return out


def _sums_from(at_steps: Floats, step: int) -> Floats:
    """Sum over all levels from each step on, without a few at the ends."""
    if step == 1:
        beside = len(_NODES) // 2
        blocks = at_steps[:, beside - 1 : -beside]
    else:
        inside, powers = np.arange(step) / step, np.arange(len(_NODES))[:, None]
        weights = np.linalg.solve(_NODES**powers, (inside**powers).sum(axis=1))
        blocks = sliding_window_view(at_steps, len(_NODES), axis=1) @ weights
    return np.asarray(np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1])


def _spread(variance: float, moved: int, order: float) -> tuple[int, int]:
    """Compute the reach of the noise, and of the noise tilted by f(k)^a f(k + w)^(1 - a)."""
    table = table_for(variance, moved, order)
    k = np.arange(table.reach - moved)
    tilted = order * table.pmf_at(k) - (order - 1) * table.pmf_at(k + moved)
    ends = [np.flatnonzero(log - log.max() > _FURTHEST)[-1] for log in (table.pmf_at(k), tilted)]
    return int(ends[0]) + 1, int(ends[1]) + 1


def _knots(tilt: Floats) -> Ints:
    """Select positions of orders that are dense enough for chords between them."""
    chosen = [0]
    for place in range(1, len(tilt) - 1):
        if tilt[place + 1] - tilt[chosen[-1]] > _CHORD:
            chosen.append(place)
    return np.unique([*chosen, len(tilt) - 1])


def _scale(orders: Floats) -> Floats:
    return orders * (orders - 1)
