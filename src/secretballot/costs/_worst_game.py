"""The worst case of a whole plan over adaptive adversaries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from secretballot.costs._additive_noise import gaussian_delta
from secretballot.costs._law import Law
from secretballot.costs._row import build_tree, play_row
from secretballot.costs.moves import (
    FINE,
    Fineness,
    GameMove,
    LossGrid,
    Node,
    ValueFunction,
    all_nodes,
)

#: Factors where the adversary chooses among bits, most of them small: finer losses, and coarser
#: gaps, of which there are many; that adds about .1 per cent.
_CHOICE = 0.5, 2.0


def worst_game(
    law: Law,
    fineness: Fineness = FINE,
    n_answers: int | None = None,
    start: tuple[int, ValueFunction] | None = None,
) -> Iterator[ValueFunction]:
    """Yield upper bounds of V for 0, 1, 2, ... rows and the best adaptive adversary, forever.

    With `n_answers` the run ends after so many rows whose first move came out positive, and values
    have shape (n_answers, n_nodes). `start` is a number of rows to begin at, and their value. Moves
    are the same at any loss, so the delta at epsilon is V at the loss -epsilon.
    """
    row = RowGame(law, fineness)
    value = row.end()
    if n_answers is not None:
        value = replace(value, values=np.tile(value.values, (n_answers, 1)))
    n_rows, value = (0, value) if start is None else start
    while True:
        yield value
        n_rows += 1
        vectors = row.vectors(n_rows) if n_answers is None else None
        value = vectors or row.before(value, n_rows, count_answers=n_answers is not None)


class RowGame:
    """One row of a plan: its moves, and the grids that they are played on."""

    def __init__(self, law: Law, fineness: Fineness) -> None:
        # The grid of losses has to cover the loss of all moves of the row, repetitions included.
        self._tree = tuple(node.expand() for node in build_tree(law))
        nodes = list(all_nodes(self._tree))
        self._loss_scale = max((node.reach[0] for node, _ in nodes), default=0.0)
        self._variance = sum(node.reach[1] * times for node, times in nodes)
        self._no_failure = math.prod((1 - node.delta) ** times for node, times in nodes)
        fewest = [min((branch.times for branch in node.either), default=1) for node in self._tree]
        self._least_moves = sum(n * node.times for n, node in zip(fewest, self._tree, strict=True))
        if any(node.either for node in self._tree):
            fineness = fineness.coarser(*_CHOICE)
        self._fineness = fineness
        scale = min(self._loss_scale, 1.0)
        self.grid = LossGrid(fineness.losses * scale if scale else 1e-3)

    @property
    def n_moves(self) -> int:
        """Number of moves that are played, those that are chosen from included."""
        return sum(
            times * max(sum(branch.times for branch in node.either), 1)
            for node, times in all_nodes(self._tree)
        )

    def vectors(self, n_rows: int) -> ValueFunction | None:
        """Compute the value of noisy vectors, which are one vector together; None for others."""
        if any(not node.play.is_vector or node.delta or node.follow for node in self._tree):
            return None
        value = self.grid.final_value(*self.span(n_rows))
        if not self._variance:
            return value
        ratio = math.sqrt(n_rows * self._variance)
        return replace(value, values=gaussian_delta(ratio, -value.losses))

    def end(self) -> ValueFunction:
        """Compute the value at the end of the game."""
        sizes = (self._variance, self._loss_scale) if self._loss_scale else (4.0, 1.0)
        return self.grid.final_value(*self.grid.node_range(*sizes))

    def span(self, n_rows: int, factor: float = 1.0) -> tuple[int, int]:
        """Compute the nodes before `n_rows` rows, with `factor` times their variance."""
        return self.grid.node_range(factor * self._variance * n_rows, self._loss_scale)

    def before(
        self,
        after: ValueFunction,
        n_rows: int,
        span: tuple[int, int] | None = None,
        count_answers: bool = False,
    ) -> ValueFunction:
        """Compute the value before the last `n_rows` rows from that after one of them."""
        if self._loss_scale == 0:
            # Nothing is revealed, unless a step fails.
            return replace(after, values=1 - self._no_failure * (1 - after.values))
        # Few moves before the end, the best gaps lie further out; powers of 2 share their grids.
        n_moves = 2 ** np.floor(np.log2(n_rows * self._least_moves))
        zone = float(min(8.0, max(0.1, 5 / np.sqrt(n_moves))))

        def build_move(node: Node) -> GameMove | None:
            return node.play.on_grid(self.grid, self._fineness.gaps, zone)

        return play_row(self._tree, after, span or self.span(n_rows), build_move, count_answers)
