"""The winner of three or more integer counts with Skellam noise: its worst case, searched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from secretballot.divergences._orders import ORDERS, Floats
from secretballot.divergences.integer._integer_bit import (
    IntegerCounts,
    shift_divergence,
    table_for,
    worst_integer_bit,
)
from secretballot.divergences.integer._skellam import skellam

#: Orders of similar tilt (a - 1) w / sigma are searched together. Beyond the last the counts are
#: charged, which are next to it, and where sigma is not small beyond the last but one.
_TILTS = (0.0, 1.0, 3.0, 8.0, 16.0)
_FEW, _LAST = 20.0, 8.0

#: How far above the best value found the bound may be, relative: where levels are looked at one by
#: one, and in steps.
_PRECISION = 2e-4, 5e-3

#: How far the tilts are apart at which it is searched; chords between them add some .2 per cent.
_CHORD = 0.1

#: Levels are summed in steps of a standard deviation over this: as polynomials, of degree 7, which
#: is right to some 1e-9, of p and of q alike.
_STEPS = 40
_NODES: Floats = np.arange(-3.0, 5.0)

#: Log of the probability, as it is or tilted, beyond which noise is left out.
_FURTHEST = -45.0

#: Smaller probabilities are none: not their logarithms.
_LEAST = 1e-300

_ROUNDING = 1 + 1e-6
_BLOCK = 2_000_000  # values worked on together

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class IntegerMax(IntegerCounts):
    """Releases which of three or more counts is largest, with Skellam noise of `variance` on each.

    A ballot moves one count down by `moved` and another up. It is charged at its worst case only.
    In a game, and in mu^2, it is charged like the noisy counts behind it: that a winner tells less
    is used for Renyi divergences alone.
    """

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Return a bound of the supremum over all counts, of any number of classes."""
        return worst_integer_max(self.variance, self.moved, orders)


@lru_cache(maxsize=1024)
def worst_integer_max(
    variance: float, moved: int, orders: tuple[float, ...] | None = None
) -> Floats:
    """Largest cost of a winner of any number of classes, ties by lowest index: an upper bound.

    Parameters
    ----------
    variance : float
        Of the noise on each count.
    moved : int
        What a ballot weighs.
    orders : tuple of float, default=None
        Orders; the shared grid if None.

    Returns
    -------
    ndarray of shape (n_orders,)
        Never below that of two classes, nor above that of the noisy counts. Infinite at infinity.

    Notes
    -----
    The ballot moves from class i to class j. Condition on z, the largest noisy count among the
    classes that it doesn't touch, and on the lowest index that has it: both are alike on the data
    and on the neighbour, and exp((a - 1) D) is jointly convex, so D is at most its supremum over
    what they can be. With n_i and n_j counted from z, and by 1 less or more where a tie with z is
    lost or won, i beats the others if X_i >= 0, j if X_j >= 0, and of a tie between the two one of
    them always wins (either, as n_i and n_j are counted): three outcomes, i, j and neither.

    exp((a - 1) D) - 1 is the sum over them of q h(log(p/q)), h(x) = e^(a x) - 1 - a (e^x - 1) >= 0,
    which is convex and homogeneous in (p, q), so no less when an outcome is split up. Let
    u = n_i and v = n_j. Log-concavity of the noise makes all three log(p/q) fall with u and grow
    with v (each p_k is log-concave in either, and that of the winner i is totally positive of order
    2 in (u, v), as a sum over X_i of products of such), and q_k is monotone. Cells are of some
    neighbouring gaps u - v, at levels of z between two: what lies between these levels is split
    off, from "neither" and from the winner alike. So q h is at most the largest q times the larger
    h of the two ends, for each of the five parts; for one gap and one level it is what it is. Cells
    of gaps whose bound is too far above the best value found are cut in two.

    Between the orders at which it is searched the logarithm of this sum over a (a - 1) lies below
    its chord, being convex in a: h(x) / (a (a - 1)) is the integral of |e^x - t| t^(a - 2) between
    1 and e^x, and sums and suprema of what is log-convex are so too.

    Beyond the gaps and levels looked at one outcome has a probability below e^-45, as it is and
    tilted by (p/q)^(a - 1), and the other two are a bit: between two classes, which is searched by
    itself, or between one class and z, which costs less.
    """
    at = ORDERS if orders is None else np.asarray(orders, dtype=np.float64)
    out = np.array(2 * shift_divergence(variance, moved, orders))
    pair = worst_integer_bit(2 * variance, 2 * moved, orders)
    tilt = (at - 1) * moved / np.sqrt(variance)
    for low, high in pairwise(_TILTS):
        group = np.flatnonzero((tilt > low) & (tilt <= high))
        few = variance < _FEW**2
        if moved and group.size and (few or high <= _LAST):
            knots = group[_knots(tilt[group])]
            floor = np.expm1((at[knots] - 1) * pair[knots])
            logs = np.log(_Search(variance, moved, at[knots]).largest(floor) / _scale(at[knots]))
            excess = _scale(at[group]) * np.exp(np.interp(at[group], at[knots], logs))
            found = np.log1p(excess) / (at[group] - 1) * _ROUNDING
            out[group] = np.minimum(out[group], np.maximum(found, pair[group]))
    out.flags.writeable = False
    return out


@dataclass(frozen=True)
class _Cells:
    """Gaps n_i - n_j and levels z - n_j, from the first to the last of either, both among them.

    Levels are counted in steps. Neighbouring cells share their ends.
    """

    gap: tuple[Ints, Ints]
    level: tuple[Ints, Ints]

    def __getitem__(self, which: Any) -> _Cells:
        return _Cells(*((low[which], high[which]) for low, high in (self.gap, self.level)))

    def halves(self, by_level: NDArray[np.bool_]) -> _Cells:
        """Return both halves of each, by level or by gap; of two next to each other, either."""
        ends = []
        for (low, high), cut in ((self.gap, ~by_level), (self.level, by_level)):
            middle, pair = (low + high) // 2, high - low == 1
            above = np.where(cut, np.where(pair, high, middle), low)
            ends.append((np.append(low, above), np.append(np.where(cut, middle, high), high)))
        return _Cells(*ends)


class _Search:
    """Bounds of exp((a - 1) D) - 1 over all gaps and levels, at some orders of similar tilt."""

    def __init__(self, variance: float, moved: int, orders: Floats) -> None:
        self._moved, self._orders = moved, orders
        self._low, self._high = _spread(variance, moved, float(orders[-1]))
        sigma = float(np.sqrt(variance))
        self._width, self._step = max(1, int(sigma / 2)), max(1, int(sigma / _STEPS))
        room = self._low + self._high + moved + self._width + len(_NODES) * self._step
        self._noise = skellam(variance, 3 * room + 4)
        self._pmf, self._cdf = np.exp(self._noise.log_pmf), np.exp(self._noise.log_cdf)

    def largest(self, floor: Floats) -> Floats:
        """Return an upper bound, or `floor` where that is more."""
        best, bounds = floor.copy(), floor.copy()
        for favoured in (0, 1):
            cells, sums = self._all(), _Sums(self._winners, favoured)
            while len(cells.gap[0]):
                found, bound, split = self._bounds(cells, sums, favoured)
                best = np.maximum(best, found.max(axis=0))
                above = np.log1p(bound) / (np.log1p(best) * (1 + _PRECISION[self._step > 1]))
                wide = cells.gap[0] < cells.gap[1]
                deep = cells.level[1] - cells.level[0] > (self._step > 1)
                cut = (above > 1).any(axis=1) & (wide | deep)
                bounds = np.maximum(bounds, bound[~cut].max(axis=0, initial=0.0))
                at = np.arange(len(above)), above.argmax(axis=1)
                by_level = deep & (~wide | (split[at] > (bound - found)[at] / 2))
                cells = cells[cut].halves(by_level[cut])
        return np.asarray(bounds)

    def _all(self) -> _Cells:
        low, high, more, step = self._low, self._high, self._moved, self._step
        deep = max(1, self._width // step)
        gap = np.arange(-2 * high - more, 2 * low + more, self._width)
        level = np.arange((-high - more) // step - 1, (2 * low + high + 2 * more) // step + 1, deep)
        first, begin = (each.ravel() for each in np.meshgrid(gap, level))
        last, end = first + self._width, begin + deep
        # Below, neither has no probability, and above it has all.
        within = end * step >= first - low - more
        within &= begin * step <= np.maximum(last + high, low) + more
        return _Cells((first[within], last[within]), (begin[within], end[within]))

    def _bounds(self, cells: _Cells, sums: _Sums, favoured: int) -> tuple[Floats, Floats, Floats]:
        """Return what is found, the bounds, and the part of the outcomes that are split."""
        out = np.empty((3, len(cells.gap[0]), len(self._orders)))
        size = max(1, _BLOCK // len(self._orders))
        sums.add(np.unique(np.concatenate(cells.gap)))
        for start in range(0, out.shape[1], size):
            part = slice(start, start + size)
            out[:, part] = self._bounds_of(cells[part], sums, favoured)
        return out[0], out[1], out[2]

    def _bounds_of(self, cells: _Cells, sums: _Sums, favoured: int) -> Floats:
        (p_first, q_first), (p_last, q_last) = (
            self._laws(gap, *cells.level, sums) for gap in cells.gap
        )
        rise = np.log(p_first / q_first), np.log(p_last / q_last)
        # i at the levels from the last on, j there, neither below the first; i gains by the gap.
        largest = np.stack([q_last[0], *q_first[1:3]])
        bound = _sum(largest, rise[0][:3], rise[1][:3], self._orders)
        at_end = [0, 1, 3]
        found = _sum(q_first[at_end], rise[0][at_end], rise[0][at_end], self._orders)
        split = _sum(*self._split(cells, favoured), self._orders)
        return np.stack([found, bound + split, split])

    def _laws(self, gap: Ints, begin: Ints, end: Ints, sums: _Sums) -> tuple[Floats, Floats]:
        """Return what i, j, and neither (twice) have on the data, and on the neighbour."""
        out = []
        for w, above in zip((0, self._moved), sums.at(gap, end), strict=True):
            below = [
                self._F(z - 1 - gap + w) * self._F(z - 1 - w)
                for z in (self._step * begin, self._step * end)
            ]
            out.append(np.maximum(np.stack([*above, *below]), _LEAST))
        return out[0], out[1]

    def _winners(self, gap: Ints, favoured: int) -> tuple[Ints, Floats]:
        """Return the first steps for each gap, and what i and j win at all levels from each on.

        On the data and on the neighbour, shape (2, 2, n_gaps, n_steps).
        """
        moved, step, beside = self._moved, self._step, len(_NODES) // 2
        n_steps = (self._low + self._high + 2 * moved) // step + 2 * beside
        # As far up as i or j can be, and down to where one of them always is above.
        start = (np.maximum(-self._high, gap - self._low) - moved) // step
        g, k = gap[:, None], step * (start[:, None] + np.arange(1 - beside, n_steps + beside))
        out = np.empty((2, 2, len(gap), n_steps))
        for law, w in enumerate((0, moved)):
            each = (
                self._f(k - g + w) * self._F(k - favoured - w),
                self._f(k - w) * self._F(k - 1 + favoured - g + w),
            )
            for who, at_steps in enumerate(each):
                out[law, who] = _sums_from(at_steps, step)
        return start, out

    def _split(self, cells: _Cells, favoured: int) -> tuple[Floats, Floats, Floats]:
        """Return of what lies between two levels, i and j, the largest q and the ends of log p/q.

        Nothing where begin and end are the same level.
        """
        (first, last), w = cells.gap, self._moved
        begin, end = (self._step * level for level in cells.level)
        top, n_levels = end - 1, end - begin
        i = n_levels * self._peak(begin - last + w, top - first + w) * self._F(top - favoured - w)
        j = n_levels * self._peak(begin - w, top - w) * self._F(top - 1 + favoured - first + w)

        def drop(table: Callable[[Ints], Floats], x: Ints, by: int) -> Floats:
            return np.asarray(table(x) - table(x + by))

        pmf, cdf = self._noise.pmf_at, self._noise.cdf_at
        least = [
            drop(pmf, begin - last, w) + drop(cdf, top - favoured, -w),
            drop(pmf, top, -w) + drop(cdf, begin - 1 + favoured - last, w),
        ]
        most = [
            drop(pmf, top - first, w) + drop(cdf, begin - favoured, -w),
            drop(pmf, begin, -w) + drop(cdf, top - 1 + favoured - first, w),
        ]
        return np.stack([i, j]), np.stack(least), np.stack(most)

    def _f(self, k: Ints) -> Floats:
        return np.asarray(self._pmf[k + self._noise.reach])

    def _F(self, k: Ints) -> Floats:
        return np.asarray(self._cdf[k + self._noise.reach])

    def _peak(self, low: Ints, high: Ints) -> Floats:
        """Return the largest probability of the integers from `low` to `high`."""
        return self._f(np.clip(0, low, np.maximum(low, high)))


def _sum(q: Floats, one: Floats, other: Floats, orders: Floats) -> Floats:
    """Return the sum over outcomes of q times the larger h of two log ratios, for each order."""
    out = np.zeros((q.shape[1], len(orders)))
    for mass, ends in zip(q, np.stack([one, other], axis=1), strict=True):
        # h falls up to 0 and grows from there; what is too large for a float is infinite.
        with np.errstate(over="ignore"):
            each = [np.expm1(orders * x[:, None]) - orders * np.expm1(x)[:, None] for x in ends]
        some = mass > 0
        out[some] += mass[some, None] * np.maximum(*each)[some]
    return out


class _Sums:
    """What `winners` gives for gaps, kept for whenever they are asked for again."""

    def __init__(self, winners: Callable[[Ints, int], tuple[Ints, Floats]], favoured: int) -> None:
        self._winners, self._favoured = winners, favoured
        self._gaps, self._starts, self._rows = np.zeros((3, 0), dtype=np.int64)
        self._values: list[Floats] = []

    def add(self, gaps: Ints) -> None:
        """Work out those of gaps that are new."""
        new = np.setdiff1d(gaps, self._gaps, assume_unique=True)
        starts, values = self._winners(new, self._favoured)
        self._values = [np.concatenate([*self._values, values], axis=2)]
        rows = np.append(self._rows, len(self._gaps) + np.arange(len(new)))
        every = np.append(self._gaps, new)
        order = np.argsort(every)
        self._gaps, self._rows = every[order], rows[order]
        self._starts = np.append(self._starts, starts)

    def at(self, gap: Ints, level: Ints) -> Floats:
        """Return what i and j win from a level on, shape (2, 2, n_gaps)."""
        (values,) = self._values
        row = self._rows[np.searchsorted(self._gaps, gap)]
        place = np.clip(level - self._starts[row], 0, values.shape[-1] - 1)
        return np.asarray(values[:, :, row, place])


def _sums_from(at_steps: Floats, step: int) -> Floats:
    """Return the sums over all levels from each step on, but a few at the ends."""
    if step == 1:
        beside = len(_NODES) // 2
        blocks = at_steps[:, beside - 1 : -beside]
    else:
        inside, powers = np.arange(step) / step, np.arange(len(_NODES))[:, None]
        weights = np.linalg.solve(_NODES**powers, (inside**powers).sum(axis=1))
        blocks = sliding_window_view(at_steps, len(_NODES), axis=1) @ weights
    return np.asarray(np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1])


def _spread(variance: float, moved: int, order: float) -> tuple[int, int]:
    """Return how far the noise goes, and the noise tilted by f(k)^a f(k + w)^(1 - a)."""
    table = table_for(variance, moved, order)
    k = np.arange(table.reach - moved)
    tilted = order * table.pmf_at(k) - (order - 1) * table.pmf_at(k + moved)
    ends = [np.flatnonzero(log - log.max() > _FURTHEST)[-1] for log in (table.pmf_at(k), tilted)]
    return int(ends[0]) + 1, int(ends[1]) + 1


def _knots(tilt: Floats) -> Ints:
    """Return positions of orders so near each other that chords between them add little."""
    chosen = [0]
    for place in range(1, len(tilt) - 1):
        if tilt[place + 1] - tilt[chosen[-1]] > _CHORD:
            chosen.append(place)
    return np.unique([*chosen, len(tilt) - 1])


def _scale(orders: Floats) -> Floats:
    return orders * (orders - 1)
