"""The worst case of a whole plan over adaptive adversaries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from secretballot.divergences import Law, gaussian_delta
from secretballot.games._row import nodes, play
from secretballot.games.moves import GameMove, LossGrid, Node, ValueFunction, all_nodes


@dataclass(frozen=True)
class Fineness:
    """How fine the grids are, in units of what a row moves: of losses, and of gaps."""

    losses: float
    gaps: float

    def coarser(self, losses: float, gaps: float | None = None) -> Fineness:
        """Return grids that are so many times as wide."""
        return Fineness(self.losses * losses, self.gaps * (losses if gaps is None else gaps))


#: For noisy bits delta is then about a per cent above the truth, epsilon a few tenths of one.
FINE = Fineness(losses=0.05, gaps=0.04)

#: Where bits are chosen from, most of them small, losses are so much finer; gaps, of which there
#: are many, so much coarser, which adds about .1 per cent.
_CHOICE = 0.5, 2.0


def worst_game(
    law: Law,
    fineness: Fineness = FINE,
    n_answers: int | None = None,
    known: tuple[int, ValueFunction] | None = None,
) -> Iterator[ValueFunction]:
    """Yield what 0, 1, 2, ... rows are worth to the best adaptive adversary, forever.

    Parameters
    ----------
    law : Law
        Of every row.
    fineness : Fineness
    n_answers : int, default=None
        The run ends after so many rows whose first move came out positive.
    known : tuple of int and ValueFunction, default=None
        Begin at so many rows, with what they are worth.

    Yields
    ------
    ValueFunction
        Upper bounds of V: the delta at epsilon is V at the loss -epsilon, because moves are the
        same wherever the loss is, and so the game from 0 to epsilon is the one from -epsilon to 0.
        With `n_answers`, of shape (n_answers, n_nodes).
    """
    row = RowGame(law, fineness)
    worth = row.end()
    if n_answers is not None:
        worth = ValueFunction(row.grid, np.tile(worth.values, (n_answers, 1)), worth.first)
    n_rows, worth = (0, worth) if known is None else known
    while True:
        yield worth
        n_rows += 1
        alone = row.vectors(n_rows) if n_answers is None else None
        worth = alone or row.before(worth, n_rows, answers=n_answers is not None)


class RowGame:
    """One row of a plan: its moves, and the grids that they are played on."""

    def __init__(self, law: Law, fineness: Fineness) -> None:
        self._tree = tuple(node.expand() for node in nodes(law))
        sizes = [(*node.reach, times) for node, times in all_nodes(self._tree)]
        self._widest = max((ratio for ratio, _, _ in sizes), default=0.0)
        self._variance = sum(each * times for _, each, times in sizes)
        self._silent = math.prod((1 - node.delta) ** times for node, times in all_nodes(self._tree))
        self._least = sum(
            node.times * min((one.times for one in node.either), default=1) for node in self._tree
        )
        if any(node.either for node in self._tree):
            fineness = fineness.coarser(*_CHOICE)
        self._fineness = fineness
        self.grid = LossGrid(fineness.losses * min(self._widest, 1.0) if self._widest else 1e-3)

    @property
    def n_moves(self) -> int:
        """How many moves are played, those that are chosen from included."""
        return sum(
            times * max(sum(one.times for one in node.either), 1)
            for node, times in all_nodes(self._tree)
        )

    def vectors(self, n_rows: int) -> ValueFunction | None:
        """Return what rows of noisy vectors are worth, which is known; None of others.

        There is nothing to choose, and they tell what one vector does that is further away.
        """
        for node in self._tree:
            if not node.play.is_vector or node.delta or node.follow:
                return None
        low, high = self.reach(n_rows)
        loss = self.grid.step * np.arange(low, high)
        if not self._variance:
            return ValueFunction(self.grid, np.maximum(-np.expm1(-loss), 0.0), low)
        ratio = math.sqrt(n_rows * self._variance)
        return ValueFunction(self.grid, gaussian_delta(ratio, -loss), low)

    def end(self) -> ValueFunction:
        """Return the worth of the end of the game."""
        return self.grid.end(self._variance, self._widest) if self._widest else self.grid.end(4, 1)

    def reach(self, n_rows: int, further: float = 1.0) -> tuple[int, int]:
        """Return the nodes that matter before so many rows, or as for `further` their variance."""
        return self.grid.reach(further * self._variance * n_rows, self._widest)

    def before(
        self,
        worth: ValueFunction,
        n_rows: int,
        span: tuple[int, int] | None = None,
        answers: bool = False,
    ) -> ValueFunction:
        """Return what a position is worth before the last `n_rows` rows, given that after one."""
        if self._widest == 0:
            # Nothing is told, but where a step fails.
            return replace(worth, values=1 - self._silent * (1 - worth.values))
        # Few moves before the end, the best gaps lie further out; powers of 2 share their grids.
        zone = min(8.0, max(0.1, 5 / np.sqrt(2 ** np.floor(np.log2(n_rows * self._least)))))

        def moves(node: Node) -> GameMove | None:
            return node.play.on_grid(self.grid, self._fineness.gaps, float(zone))

        return play(self._tree, worth, span or self.reach(n_rows), moves, answers=answers)
