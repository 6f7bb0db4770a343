"""Moves that choose among candidates, and purely private releases.

Proofs: docs/theory/divergences.md, "Bounded privacy loss".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import ndtri_exp

from secretballot._base._objects import cached_property
from secretballot.costs._bit_move import BitPlay
from secretballot.costs._game import M_co, Node, Play, play_of
from secretballot.costs._grid import (
    ChoiceMove,
    LossGrid,
    PaddedValues,
    Stencil,
    larger_value,
    sum_outcomes,
)
from secretballot.costs._law import Move, NoisyBit
from secretballot.costs._orders import Floats, order_array


@dataclass(frozen=True, kw_only=True)
class NoisyGaps(Move):
    """Release of the largest of `n_scores` with N(0, sigma^2) on each; all move by `shift`.

    The charge at each order is the smaller of two bounds: the cost of the noisy scores, or that of
    one score against another with the number of scores added once (Zhu and Wang, "Adaptive Private-
    K-Selection with Adaptive K and Application to Multi-label PATE", AISTATS 2022, Theorem 8 and
    Corollary 9).
    """

    sigma: float
    shift: float
    n_scores: int

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        a = order_array(orders)
        if self.n_scores == 1:
            return np.zeros(len(a))
        score = a * (self.shift / self.sigma) ** 2 / 2
        pairwise = 4 * score + np.log(self.n_scores) / (a - 1)
        return np.asarray(np.minimum(self.n_scores * score, pairwise))


@dataclass(frozen=True, kw_only=True)
class StableTest(NoisyBit):
    """Release of a set if the gap below it, plus N(0, scale^2), is large enough.

    Two neighbours with the same set release a noisy bit. If their sets differ, each of them passes
    with exactly the delta of its step, and fails alike otherwise. In a game a row costs the larger
    of the two; where costs are added up, both. The cost is the same on all data: gaps are private.
    """

    def exact(self, state: Floats) -> Floats:
        return Move.exact(self, state)

    @property
    def kind(self) -> type[NoisyBit]:
        return StableTest


#: Rounding: relative, and of the logarithms whose difference a divergence is.
_RELATIVE, _OF_LOGARITHMS = 1e-11, 1e-15


@dataclass(frozen=True, kw_only=True)
class BoundedRange(Move):
    """Release of the largest score with Gumbel noise: log ratios lie in an interval of `width`.

    `width` is the largest difference between the changes of two candidates' scores, over the noise
    scale. The cost is the same on all data.

    References
    ----------
    Dong, Durfee and Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms"
    (ICML 2020); Cesar and Rogers, "Bounding, Concentrating, and Truncating" (ALT 2021), Lemma 17,
    for a width^2 / 8.
    """

    width: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the supremum over all data in closed form, rounded up."""
        a, width = order_array(orders), self.width
        out = np.full(a.shape, float(width))
        finite = np.isfinite(a)
        at = a[finite]
        if width > 0 and np.isfinite(width):
            first, second = -np.expm1(-at * width), -np.expm1(-(at - 1) * width)
            # Logarithms of quotients: small numbers would be rounded by more than their logarithms.
            log_x = np.log1p(-1 / at) + width + np.log(first / second)
            last = np.log(first / (at * -np.expm1(-width)))
            moment = (at - 1) * log_x + last
            error = _OF_LOGARITHMS * ((at - 1) * (1 + width + np.abs(log_x)) + 4 + np.abs(last))
            divergence = (np.maximum(moment, 0.0) + error) / (at - 1) * (1 + _RELATIVE)
            out[finite] = np.minimum(np.minimum(divergence, at * width**2 / 8), width)
        return out

    def dominated_by(self, other: Move) -> bool:
        """Compare widths."""
        return isinstance(other, BoundedRange) and self.width <= other.width

    @cached_property
    def ratio(self) -> float:
        """Shift of a Gaussian pair that dominates the move, in standard deviations."""
        return pure_ratio(self.width / 2)


@dataclass(frozen=True, kw_only=True)
class FewDraws(Move):
    """Release of at most `most` largest scores, one after the other, with Gumbel noise on all.

    Earlier outcomes fix the number n of draws. Fewer draws have less noise: each has log ratios in
    an interval of `width` / sqrt(n + 2), with n rounded up to one of `offered_draws`, so that all
    numbers cost about the same (Durfee and Rogers, "Practical Differentially Private Top-k
    Selection with Pay-what-you-get Composition", NeurIPS 2019, Lemma 4.2).
    """

    width: float
    most: int

    @property
    def draws_by_size(self) -> tuple[tuple[int, BoundedRange], ...]:
        """Offered numbers of draws, each with the move of one draw."""
        return tuple(
            (n, BoundedRange(width=self.width / draw_noise_factor(n)))
            for n in offered_draws(self.most)
        )

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        if self.most == 0:
            return np.zeros(len(order_array(orders)))
        costs = [n * draw.worst_case(orders) for n, draw in self.draws_by_size]
        return np.asarray(np.max(costs, axis=0))

    @cached_property
    def ratio(self) -> float:
        return max((float(np.sqrt(n)) * draw.ratio for n, draw in self.draws_by_size), default=0.0)


@dataclass(frozen=True, kw_only=True)
class PureRelease(Move):
    """Release that is `epsilon`-private; its step may have a delta besides.

    Randomised response, which tells the truth with probability e^epsilon / (1 + e^epsilon),
    dominates it.

    References
    ----------
    Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy" (ICML 2015).
    """

    epsilon: float

    def worst_case(self, orders: tuple[float, ...] | None = None) -> Floats:
        """Compute the divergence of randomised response, rounded up."""
        a = order_array(orders)
        out = np.full(a.shape, float(self.epsilon))
        finite = np.isfinite(a)
        at = a[finite]
        # p^a q^(1-a) + q^a p^(1-a) with p/q = e^epsilon: cosh((a - 1/2) eps) / cosh(eps / 2).
        moment = _log_cosh((at - 0.5) * self.epsilon) - _log_cosh(self.epsilon / 2)
        bound = (np.maximum(moment, 0.0) * (1 + _RELATIVE) + _OF_LOGARITHMS) / (at - 1)
        gaussian = at * self.epsilon**2 / 2
        out[finite] = np.minimum(np.minimum(bound, gaussian), self.epsilon)
        return out

    def dominated_by(self, other: Move) -> bool:
        """Compare epsilons."""
        return isinstance(other, PureRelease) and self.epsilon <= other.epsilon

    @cached_property
    def ratio(self) -> float:
        """Shift of a Gaussian pair that dominates the move, in standard deviations."""
        return pure_ratio(self.epsilon)


def pure_ratio(epsilon: float) -> float:
    """Compute the shift of the Gaussian pair that dominates randomised response."""
    return float(-2 * ndtri_exp(-np.logaddexp(0.0, epsilon))) * (1 + 1e-12)


def draw_noise_factor(number: int) -> float:
    """Compute the noise of each of `number` draws over that of a draw with the whole width."""
    return float(np.sqrt(number + 2))


def offered_draws(most: int) -> tuple[int, ...]:
    """List the numbers of draws with noise of their own: 1, 2, 3, 4, 6, 8, ... and the most."""
    sizes = {2**power * unit for power in range(most.bit_length()) for unit in (2, 3)} | {1}
    return (*sorted(size for size in sizes if size < most), most) if most else ()


def charged_draws(number: int, most: int) -> int:
    """Round a number of draws up to one of `offered_draws`."""
    return next((size for size in offered_draws(most) if size >= number), 0) if number else 0


def _log_cosh(x: Floats | float) -> Floats:
    """Compute log(cosh(x)) with full relative precision, for small x too."""
    size = np.abs(np.asarray(x, dtype=np.float64))
    far = size + np.log1p(np.exp(-2 * size)) - np.log(2)
    return np.asarray(np.where(size < 1, np.log1p(2 * np.sinh(np.minimum(size, 1) / 2) ** 2), far))


#: Distances of groups of t from half of the width, in widths.
_GROUP_ENDS = np.array([0.015, 0.045, 0.075, 0.105, 0.15, 0.2, 0.3])
#: Widths between the nodes on which a group is bounded.
_COARSE_STEP = 0.065
#: With a larger zone (see `bit_move`) there are few moves before the end, and any t may be best.
_FAR = 0.9

#: Places where a group may be best are played together if there are no more between them.
_MOST_BETWEEN = 32


#: Budgets play no game of rows with more draws, where the adversary chooses their number.
_MOST_DRAWS = 1_000


@dataclass(frozen=True)
class RatioCell:
    """Values of t between two crossings: no shifted loss crosses a node."""

    start: tuple[Stencil, Stencil]  # the move at the lower end
    first: int  # nodes that are left of both shifted losses
    second: int
    low: float  # e^(t / 2) at the ends
    high: float

    @classmethod
    def between(cls, low: float, high: float, width: float, grid: LossGrid) -> RatioCell:
        middle = (low + high) / 2
        p = float(np.expm1(low - width) / np.expm1(-width))
        return cls(
            (grid.stencil(low, p), grid.stencil(low - width, 1 - p)),
            int(np.floor(middle / grid.step)),
            int(np.floor((middle - width) / grid.step)),
            float(np.exp(low / 2)),
            float(np.exp(high / 2)),
        )


@dataclass(frozen=True)
class RangeMove:
    """Two outcomes that shift the loss by t and by t - width, for the best t in [0, width].

    Exact for the chords (docs/theory/game.md, "A draw with bounded range"). Groups of t that
    can't be best are bounded together, on some of the nodes.
    """

    width: float
    grid: LossGrid
    groups: tuple[tuple[RatioCell, ...], ...]
    envelopes: Floats
    stride: int

    @property
    def pad(self) -> int:
        reach = int(np.ceil(self.width / self.grid.step)) + 2
        return max(reach, (len(self.envelopes) // 2 + 3) * self.stride)

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        after = larger_value(positive, negative)
        value = np.array(after.shifted(0))
        half = len(self.envelopes) // 2
        coarse, jumps = after.slope_jumps(self.stride, half)
        bounds = sliding_window_view(jumps, 2 * half + 1, axis=-1) @ self.envelopes
        bounds += coarse[..., None]
        # Estimated addition of chords between these nodes: it only decides how tight the bound is.
        chords = jumps[..., half : jumps.shape[-1] - half] * (self.stride * self.grid.step / 7)
        for group, cells in enumerate(self.groups):
            bound, best = bounds[..., group], value[..., :: self.stride]
            above = (bound + chords)[..., :-1] > best * (1 + 1e-12) + 1e-15
            places = np.flatnonzero(above.any(axis=tuple(range(above.ndim - 1))))
            for run in np.split(places, np.flatnonzero(np.diff(places) > _MOST_BETWEEN) + 1):
                if run.size:
                    # From the node before the first to the one after the last.
                    start, stop = max(run[0] - 1, 0), run[-1] + 1
                    part = value[..., start * self.stride : stop * self.stride]
                    self._raise(cells, after.block(start * self.stride, part.shape[-1]), part)
                    bound[..., run[0] : stop + (stop == best.shape[-1])] = 0.0
            coarse = np.maximum(coarse, bound)
        return np.maximum(value, after.interpolate(coarse, self.stride))

    def _raise(self, cells: tuple[RatioCell, ...], after: PaddedValues, value: Floats) -> None:
        """Raise values to those of the best ratios in some cells."""
        # Of every cell to the right of a node: the slope in u, times the u of that node.
        slopes = after.slopes()
        intercepts = after.values[..., :-1] + slopes
        out, scratch = np.empty_like(value), np.empty_like(value)
        per_fall = np.sqrt(1 / np.expm1(self.width))
        per_rise = np.sqrt(1 / -np.expm1(-self.width))
        for cell in cells:
            up, down = cell.start
            sum_outcomes(((after, up), (after, down)), out, scratch)
            np.maximum(value, out, out=value)
            # Gain of the best t inside the cell over its lower end.
            falls = after.shifted(cell.first, intercepts) - after.shifted(cell.second, intercepts)
            falls = np.sqrt(np.maximum(falls, 0.0, out=falls), out=falls)
            falls *= per_fall
            rises = after.shifted(cell.first, slopes) * np.exp(after.step * cell.first)
            factor = np.exp(after.step * cell.second)
            rises -= np.multiply(after.shifted(cell.second, slopes), factor, out=scratch)
            rises = np.sqrt(np.maximum(rises, 0.0, out=rises), out=rises)
            rises *= per_rise
            inside = rises <= np.multiply(falls, cell.high**2, out=scratch)
            rises /= cell.low
            rises -= np.multiply(falls, cell.low, out=scratch)
            np.maximum(rises, 0.0, out=rises)
            rises *= rises
            rises *= inside
            out += rises
            np.maximum(value, out, out=value)


@lru_cache(maxsize=64)
def range_move(width: float, grid: LossGrid, zone: float) -> RangeMove | None:
    """Build the move of a draw, many moves before the end if `zone` is small; None of width 0."""
    if not width:
        return None
    step = grid.step
    crossings = step * np.arange(1, int(np.ceil(width / step)))
    ends = np.unique(np.concatenate([[0.0, width], crossings, width - crossings]))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-9 * step])]
    ends[-1] = width
    middle = (ends[:-1] + ends[1:]) / 2
    cells = [RatioCell.between(*pair, width, grid) for pair in pairwise(ends)]
    # The middle first, for the others to be compared with.
    group_ends = _GROUP_ENDS if zone < _FAR else np.array([np.inf])
    nearness = np.searchsorted(group_ends, np.abs(middle / width - 0.5))
    side = np.sign(middle / width - 0.5) * (nearness > 0)
    stride = max(1, round(_COARSE_STEP * width / step))
    half = int(np.ceil(width / (stride * step))) + 1
    z = np.asarray(stride * step * np.arange(-half, half + 1), dtype=np.float64)
    groups, envelopes = [], []
    for place in sorted({*zip(nearness, side, strict=True)}):
        chosen = np.flatnonzero((nearness == place[0]) & (side == place[1]))
        groups.append(tuple(cells[chosen[0] : chosen[-1] + 1]))
        t = np.clip((width + z) / 2, ends[chosen[0]], ends[chosen[-1] + 1])
        envelopes.append(_tent(t, z, width))
    return RangeMove(width, grid, tuple(groups), np.stack(envelopes, axis=-1), stride)


def _tent(t: Floats, z: Floats, width: float) -> Floats:
    """Compute e^z T_t(z)."""
    total = -np.expm1(-width)
    p, q = -np.expm1(t - width) / total, (np.exp(-t) - np.exp(-width)) / total
    rest_p, rest_q = -np.expm1(-t) * np.exp(t - width) / total, -np.expm1(-t) / total
    return np.asarray(np.maximum(np.minimum(p - q * np.exp(z), rest_q * np.exp(z) - rest_p), 0.0))


class _DrawPlay(Play[M_co]):
    """Base class: moves that cost the same on all data, and at most a noisy bit's share."""

    @property
    def noisy_shift(self) -> float:
        return float(self.move.ratio)  # type: ignore[attr-defined]

    @property
    def bits(self) -> tuple[float, float] | None:
        return 1, self.loss_scale**2


class RangePlay(_DrawPlay[BoundedRange]):
    slowness = 4

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> RangeMove | None:
        return range_move(self.move.width, grid, zone)


class ResponsePlay(_DrawPlay[PureRelease]):
    """Randomised response, which dominates any purely private release (Kairouz et al., 2015)."""

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> ChoiceMove | None:
        if not self.move.epsilon:
            return None
        losses = np.array([[-self.move.epsilon, self.move.epsilon]])
        log_p = -np.logaddexp(0.0, losses)
        return ChoiceMove.from_laws(log_p, -losses, grid, told_apart=False)


class FewDrawsPlay(_DrawPlay[FewDraws]):
    @property
    def is_slow(self) -> bool:
        return self.move.most > _MOST_DRAWS

    def expand(self, node: Node) -> Node:
        either = (
            Node(f"{number} draws", play_of(draw), number, ())
            for number, draw in self.move.draws_by_size
        )
        return replace(node, either=tuple(either))

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> None:
        return None  # no draws; any others are expanded

    @property
    def bits(self) -> tuple[float, float] | None:
        return self.move.most, self.loss_scale**2 / max(self.move.most, 1)


class StableTestPlay(BitPlay):
    """The test of a stable set: it is silent, not revealing, where it does not fail."""

    def fail(self, delta: float, best: Floats, silent: Floats) -> Floats:
        return np.maximum(best, delta + (1 - delta) * silent)


play_of.register(BoundedRange, RangePlay)
play_of.register(PureRelease, ResponsePlay)
play_of.register(FewDraws, FewDrawsPlay)
play_of.register(StableTest, StableTestPlay)
