"""A noisy bit in the game: the adversary chooses its gap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from secretballot.divergences import Floats, NoisyBit, NoisyMax
from secretballot.games.moves._choices import Choices, bit_choices, confident_choices
from secretballot.games.moves._grid import LossGrid, Padded, Stencil, add_up
from secretballot.games.moves._play import GameMove, Node, Play

#: Standardised gaps beyond this are not searched: they add less than Phi(-_FURTHEST) a move.
_FURTHEST = 8.5

#: Where the outer gaps are bounded together once they can't be best.
_OUTER = 1.0
_EVERY = 0.3  # shifts between the nodes on which that is done

_ROOT = float(np.sqrt(2 * np.pi))
_BLOCK = 4096  # nodes worked on together, so that they stay in the processor's cache


@dataclass(frozen=True)
class Cells:
    """Neighbouring gaps with the bound on what lies between them."""

    stencils: tuple[tuple[Stencil, Stencil], ...]
    right: int  # nodes that the first outcome moves the loss up at most
    left: int  # and the second one down
    per_intercept: float

    @classmethod
    def between(cls, gaps: Floats, ratio: float, grid: LossGrid) -> Cells:
        up = log_ndtr(gaps) - log_ndtr(gaps - ratio)
        down = log_ndtr(-gaps) - log_ndtr(ratio - gaps)
        stencils = tuple(
            (grid.stencil(rise, float(ndtr(gap))), grid.stencil(fall, float(ndtr(-gap))))
            for gap, rise, fall in zip(gaps, up, down, strict=True)
        )
        width = float(np.max(np.diff(gaps)))
        nearest = max(gaps[0], -gaps[-1], 0.0)
        furthest = max(abs(gaps[0] - ratio), abs(gaps[-1] - ratio))
        bend = ratio + furthest * np.expm1(ratio * width / 2)
        return cls(
            stencils,
            right=int(np.floor(up.max() / grid.step)),
            left=int(np.ceil(-down.min() / grid.step)),
            per_intercept=float(width**2 / 8 * bend * np.exp(-(nearest**2) / 2) / _ROOT),
        )

    @property
    def pad(self) -> int:
        return max(self.right, self.left) + 2

    def best(
        self, yes: Padded, no: Padded, slopes: tuple[Floats, ...], out: Floats, scratch: Floats
    ) -> Floats:
        """Return an upper bound of what the best gap among these is worth."""
        best = np.full_like(out, -np.inf)
        for first, second in self.stencils:
            np.maximum(best, add_up(((yes, first), (no, second)), out, scratch), out=best)
        best += self._margin(yes, no, slopes[0], slopes[-1])
        return best

    def _margin(self, yes: Padded, no: Padded, rise: Floats, fall: Floats) -> Floats:
        upper = yes.shifted(self.right) + yes.shifted(self.right, rise)
        lower = no.shifted(-self.left) + no.shifted(-self.left, fall)
        intercept = upper - lower
        if yes is not no:
            least = yes.shifted(0) + yes.shifted(0, rise) - no.shifted(-1) - no.shifted(-1, fall)
            intercept = np.maximum(intercept, -least)
        return np.asarray(self.per_intercept * np.maximum(intercept, 0.0))


@dataclass(frozen=True)
class BitMove:
    """The best of all gaps x for q = Phi(x - ratio): an upper bound of what the move is worth.

    J(x) = p V_yes(u q/p) + (1 - p) V_no(u (1 - q)/(1 - p)), p = Phi(x), is wanted at its supremum
    over x, and evaluated at some gaps. With a, b >= 0 the intercept and minus the slope of a
    tangent, V_yes >= a1 - b1 u and V_no >= a2 - b2 u, touching where J(x*) reads them, J is touched
    from below at x* by f(x) = A Phi(x) - B Phi(x - r) + constant, A = a1 - a2, B = u (b1 - b2). If
    J is largest in a cell of width w at x* inside it, so is f; hence A phi(x*) = B phi(x* - r) and
    -f''(x) = A phi(x) [x - (x - r) e^(r (x - x*))]. The nearer end of the cell is at most w/2 away,
    so J there is less by at most w^2/8 |A| max phi(x) (r + |x - r| (e^(r w/2) - 1)). Intercepts
    grow with the loss, which bounds A by its values at the ends of what the cell's gaps reach.

    Gaps beyond +-8.5 (and the ratio) are bounded by what remains when the rare outcome is given
    away: V_yes or V_no, and Phi(-8.5) on top.

    Beyond a gap of 1 or more, once few gaps matter, all are bounded together: what a gap adds to V
    is u times the integral of a tent over V's curvature (Green's function of a two-point spread),
    T_x(z) = max(0, min(p e^-z - q, 1 - q - (1 - p) e^-z)) at z above the loss, and the supremum of
    T_x(z) over x >= X is T at the gap max(X, r/2 - z/r) for z < 0, at X for z >= 0. This is done on
    some of the nodes: chords between them only add.
    """

    ratio: float
    grid: LossGrid
    inner: tuple[Cells, ...]
    outer: tuple[Cells, ...]
    envelopes: tuple[Floats, Floats]

    @property
    def _stride(self) -> int:
        return _stride(self.ratio, self.grid)

    @property
    def pad(self) -> int:
        reach = max(cells.pad for cells in self.inner + self.outer)
        return max(reach, (len(self.envelopes[0]) // 2 + 3) * self._stride)

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return an upper bound of what the best gap is worth at the nodes written to.

        Where a positive bit continues otherwise than a negative one, the neighbour may make either
        likelier.
        """
        value = self._best(yes, no)
        if yes is not no:
            np.maximum(value, self._best(no, yes), out=value)
        return value

    def _best(self, yes: Padded, no: Padded) -> Floats:
        same = yes is no
        rise = yes.slopes()
        slopes = (rise, rise if same else no.slopes())
        # No news at all: the limits of large gaps.
        value = np.maximum(yes.shifted(0), no.shifted(0))
        self._raise(self.inner, yes, no, slopes, value)
        bound = self._outer_bound(yes, value) if same and value.ndim == 1 else None
        if bound is None:
            self._raise(self.outer, yes, no, slopes, value)
        else:
            np.maximum(value, bound, out=value)
        value += ndtr(-_FURTHEST)
        return value

    def _raise(
        self,
        groups: tuple[Cells, ...],
        yes: Padded,
        no: Padded,
        slopes: tuple[Floats, Floats],
        value: Floats,
    ) -> None:
        """Raise `value` to what the best gap among the cells is worth, block by block."""
        for start in range(0, yes.n_nodes, _BLOCK):
            part = value[..., start : start + _BLOCK]
            first = yes.block(start, part.shape[-1])
            second = first if yes is no else no.block(start, part.shape[-1])
            bends = tuple(slope[..., start:] for slope in slopes)
            out, scratch = np.empty_like(part), np.empty_like(part)
            for cells in groups:
                np.maximum(part, cells.best(first, second, bends, out, scratch), out=part)

    def _outer_bound(self, worth: Padded, value: Floats) -> Floats | None:
        """Bound the outer gaps, or return None where they may be best."""
        half = len(self.envelopes[0]) // 2
        here, bends = worth.bends(self._stride, half)
        bound = here + np.maximum(
            *(np.correlate(bends, kernel, "valid") for kernel in self.envelopes)
        )
        best = value[:: self._stride]
        if np.any(bound[: len(best)] > best * (1 + 1e-12) + 1e-15):
            return None
        return worth.between(bound, self._stride)


@lru_cache(maxsize=64)
def bit_move(ratio: float, grid: LossGrid, spacing: float, zone: float) -> BitMove:
    """Return the move with gaps `spacing` apart up to `zone`, and wider beyond."""
    middle = max(_OUTER, 3 * zone)
    twice = max(3 * zone, 0.4)
    inner = _gaps((0.0, zone, spacing), (zone, twice, 2 * spacing), (twice, middle, 5 * spacing))
    outer = _gaps((middle, 4.0, min(8 * spacing, 0.3)), (4.0, _FURTHEST, 0.5))
    both = [side for gaps in outer for side in (gaps, -gaps[::-1])]
    both += _gaps((_FURTHEST, _FURTHEST + ratio, 0.5))
    return BitMove(
        ratio,
        grid,
        tuple(Cells.between(side, ratio, grid) for gaps in inner for side in (gaps, -gaps[::-1])),
        tuple(Cells.between(gaps, ratio, grid) for gaps in both),
        _envelopes(ratio, grid, middle),
    )


def _stride(ratio: float, grid: LossGrid) -> int:
    return max(1, round(_EVERY * min(ratio, 1.0) / grid.step))


def _gaps(*zones: tuple[float, float, float]) -> list[Floats]:
    """Return gaps in groups that reach about as far, so that their margins are alike."""
    groups = []
    for low, high, spacing in zones:
        n_cells = int(np.ceil((high - low) / spacing - 1e-9))
        if n_cells > 0:
            gaps = np.linspace(low, high, n_cells + 1)
            size = max(1, round((0.6 if high <= 1.0 else 0.3) / (gaps[1] - gaps[0])))
            groups += [gaps[k : k + size + 1] for k in range(0, n_cells, size)]
    return groups


def _envelopes(ratio: float, grid: LossGrid, beyond: float) -> tuple[Floats, Floats]:
    """Return the suprema of tents over the gaps beyond, right and left, on the nodes looked at."""
    step = grid.step * _stride(ratio, grid)
    furthest = log_ndtr(ratio - _FURTHEST) - log_ndtr(-_FURTHEST)
    half = int(np.ceil(2 * furthest / step)) + 1
    z = step * np.arange(-half, half + 1)
    centre = ratio / 2 - z / ratio
    right = np.where(z < 0, np.maximum(centre, beyond), beyond)
    left = np.where(z > 0, np.minimum(centre, -beyond), -beyond)
    return _tent(right, z, ratio), _tent(left, z, ratio)


def _tent(gap: NDArray[Any], z: NDArray[Any], ratio: float) -> Floats:
    """Return e^z T_x(z)."""
    above = ndtr(gap) - ndtr(gap - ratio) * np.exp(z)
    below = ndtr(ratio - gap) * np.exp(z) - ndtr(-gap)
    return np.asarray(np.maximum(np.minimum(above, below), 0.0))


class BitPlay(Play[NoisyBit]):
    """A noisy bit: the adversary chooses its gap."""

    @property
    def noisy_shift(self) -> float:
        return self.move.shift / self.move.scale

    @property
    def shift(self) -> float:
        return self.noisy_shift

    @property
    def loss_variance(self) -> float:
        return 2 / np.pi * self.shift**2

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        return bit_move(self.shift, grid, spacing, zone)

    def on_known_data(self, state: Any) -> Choices | float:
        return bit_choices(float(state) / self.move.scale, self.shift)

    @property
    def bits(self) -> tuple[float, float] | None:
        return 1, self.shift**2


class TopPlay(BitPlay):
    """A threshold on the largest count, whose vote follows: on known data they are one move."""

    def joint_choices(self, node: Node, states: Mapping[str, Any]) -> Choices | None:
        if len(node.follow) != 1:
            return None
        (vote,) = node.follow
        counts, noise = np.asarray(states[vote.name], dtype=np.float64), vote.play.move
        is_maximum = isinstance(noise, NoisyMax) and vote.times == 1 and not vote.follow
        if not is_maximum or noise.n_classes not in (None, len(counts)):
            return None
        ballots = noise.sigma, noise.weight, noise.ballots
        return confident_choices(counts, float(states[node.name]), self.move.scale, *ballots)


class StableTestPlay(BitPlay):
    """The test of a stable set: it is silent, not revealing, where it does not fail."""

    def on_known_data(self, state: Any) -> Choices | float:
        return self.shift  # which gap is tested is private

    def fail(self, delta: float, best: Floats, silent: Floats) -> Floats:
        return np.maximum(best, delta + (1 - delta) * silent)
