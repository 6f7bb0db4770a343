"""Draws with Gumbel noise in the game: the adversary chooses how the log ratios lie."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from secretballot.divergences import FewDraws, Floats
from secretballot.games._grid import LossGrid, Padded, add_up
from secretballot.games._row import GameMove, Node


@dataclass(frozen=True)
class RangeMove:
    """Two outcomes that shift the loss by t and by t - width, for the best t in [0, width].

    With x = e^t the first has probability (1 - x e^-width) / (1 - e^-width) under P. As t grows
    both shifted losses cross nodes; between two crossings each lies on one chord of V,
    a - b u, and what the move is worth is a constant less

        ((a1 - a2) e^-width x + (b1 - b2) u / x) / (1 - e^-width).

    V falls with u and is convex, so a1 >= a2 and b1 >= b2: the best x is their square root's, or at
    a crossing. So the maximum over all t is exact for the chords.
    """

    width: float
    grid: LossGrid

    @property
    def pad(self) -> int:
        return int(np.ceil(self.width / self.grid.step)) + 2

    def _cells(self) -> list[tuple[float, float, int, int]]:
        """Return where t lies between crossings, and the nodes left of both shifted losses."""
        step = self.grid.step
        crossings = step * np.arange(1, int(np.ceil(self.width / step)))
        ends = np.unique(np.concatenate([[0.0, self.width], crossings, self.width - crossings]))
        ends = ends[np.concatenate([[True], np.diff(ends) > 1e-9 * step])]
        ends[-1] = self.width
        middle = (ends[:-1] + ends[1:]) / 2
        first = np.floor(middle / step).astype(int)
        second = np.floor((middle - self.width) / step).astype(int)
        return list(zip(ends[:-1], ends[1:], first, second, strict=True))

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return what the best ratios are worth at the nodes written to."""
        if yes is not no:
            raise ValueError("what follows a draw can't depend on it.")
        step, edge = self.grid.step, float(np.exp(-self.width))
        # Of every cell to the right of a node: the slope in u, times the u of that node.
        slopes = np.diff(yes.values, axis=-1) / -np.expm1(-step)
        intercepts = yes.values[..., :-1] + slopes
        best = np.array(yes.shifted(0))
        for low, high, first, second in self._cells():
            up, down = np.exp(step * first), np.exp(step * second)
            b1, b2 = yes.shifted(first, slopes) * up, yes.shifted(second, slopes) * down
            a1, a2 = yes.shifted(first, intercepts), yes.shifted(second, intercepts)
            falls, rises = (a1 - a2) * edge, b1 - b2
            with np.errstate(divide="ignore", invalid="ignore"):
                x = np.sqrt(np.maximum(rises, 0.0) / np.maximum(falls, 0.0))
            x = np.clip(np.nan_to_num(x, nan=np.exp(low)), np.exp(low), np.exp(high))
            worth = a1 + (b1 - a2) * edge - b2 - falls * x - rises / x
            np.maximum(best, worth / (1 - edge), out=best)
        return best


@dataclass(frozen=True)
class ResponseMove:
    """Randomised response: nothing is known of a release but that it is purely private."""

    epsilon: float
    grid: LossGrid

    @property
    def pad(self) -> int:
        return int(np.ceil(self.epsilon / self.grid.step)) + 2

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return what the answer is worth at the nodes written to."""
        truth = float(1 / (1 + np.exp(-self.epsilon)))
        out, scratch = np.empty_like(yes.shifted(0)), np.empty_like(yes.shifted(0))
        terms = (
            (yes, self.grid.stencil(self.epsilon, truth)),
            (no, self.grid.stencil(-self.epsilon, 1 - truth)),
        )
        return add_up(terms, out, scratch)


def response_move(epsilon: float, grid: LossGrid) -> GameMove | None:
    """Return the move of a purely private release; None if it tells nothing."""
    return ResponseMove(epsilon, grid) if epsilon else None


def few_draws_node(node: Node) -> Node:
    """Return the draws for each number that there may be, of which the adversary makes one."""
    assert isinstance(node.move, FewDraws)
    either = tuple(Node(f"{n} draws", draw, n, ()) for n, draw in node.move.choices)
    return replace(node, either=either)
