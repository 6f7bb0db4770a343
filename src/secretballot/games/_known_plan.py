"""The game on known data: only the neighbour's ballot is left to choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secretballot.divergences import Floats, Law, NoisyBit, NoisyMax
from secretballot.games._choices import Choices, known_choices
from secretballot.games._gaussian_move import GaussianMove
from secretballot.games._grid import LossGrid, Padded, Stencil, ValueFunction, add_up
from secretballot.games._row import GameMove, Node, nodes, play

#: Where most rows cost next to nothing, the grid has to be finer than where gaps are chosen.
_LOSSES = 0.02


#: A grid reaches this many times 3 of the largest losses that occur.
_RARE = 4.0


@dataclass(frozen=True)
class KnownMove:
    """The best of a few laws. Smaller shifts are not among them: V is convex, so they are worse."""

    stencils: tuple[tuple[Stencil, ...], ...]

    @classmethod
    def of(cls, choices: Choices, grid: LossGrid, to_data: bool) -> KnownMove:
        """Return the move on a grid."""
        log_p, loss = choices.losses(to_data)
        return cls(
            tuple(
                tuple(
                    grid.stencil(float(shift), float(p))
                    for shift, p in zip(shifts, probabilities, strict=True)
                )
                for shifts, probabilities in zip(loss, np.exp(log_p), strict=True)
            )
        )

    @property
    def pad(self) -> int:
        offsets = [abs(stencil.offset) for choice in self.stencils for stencil in choice]
        return max(offsets, default=0) + 3

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return what the best choice is worth."""
        value = np.full_like(yes.shifted(0), -np.inf)
        out, scratch = np.empty_like(value), np.empty_like(value)
        for first, *others in self.stencils:
            terms = [(yes, first), *((no, stencil) for stencil in others)]
            np.maximum(value, add_up(terms, out, scratch), out=value)
        return value


class KnownPlan:
    """A plan on known data, row by row.

    Parameters
    ----------
    law : Law
    state : mapping of str to ndarray
        The state of each step's move, one entry per row.
    """

    def __init__(self, law: Law, state: Mapping[str, Any]) -> None:
        self._tree = nodes(law)
        self._names: list[Node] = []
        self._collect(self._tree)
        n_rows = len(next(iter(state.values())))
        cache: dict[tuple[str, bytes], Choices | float] = {}

        def look_up(node: Node, row: int) -> Choices | float:
            own = np.asarray(state[node.name][row], dtype=np.float64)
            key = (node.name, own.tobytes())
            if key not in cache:
                cache[key] = known_choices(node, own)
            return cache[key]

        self._rows = [
            {node.name: look_up(node, row) for node in self._names} for row in range(n_rows)
        ]
        self._widest = max(_ratio(node) for node in self._names)

    def _collect(self, tree: Sequence[Node]) -> None:
        for node in tree:
            self._names.append(node)
            self._collect(node.follow)

    def __len__(self) -> int:
        return len(self._rows)

    def value_functions(
        self, n_rows: int, losses: float = _LOSSES
    ) -> tuple[ValueFunction, ValueFunction]:
        """Return what the first `n_rows` rows are worth, the data first and the neighbour first."""
        return self._worth(n_rows, losses, False), self._worth(n_rows, losses, True)

    def _worth(self, n_rows: int, losses: float, to_data: bool) -> ValueFunction:
        grid = LossGrid(losses * min(self._widest, 1.0))
        made: dict[int, GameMove] = {}

        def game_move(choices: Choices | float) -> GameMove | None:
            if isinstance(choices, float):
                return GaussianMove(choices, grid)
            if len(choices.neighbours) == 0:
                return None
            if id(choices) not in made:
                made[id(choices)] = KnownMove.of(choices, grid, to_data)
            return made[id(choices)]

        def moves_of(row: Mapping[str, Choices | float]) -> Callable[[Node], GameMove | None]:
            return lambda node: game_move(row[node.name])

        variance, widest = 0.0, self._widest
        worth = grid.end(0.0, widest)
        for row in reversed(self._rows[:n_rows]):
            variance += sum(
                (one**2 if isinstance(one, float) else one.variance) for one in row.values()
            )
            # Where teachers agree, the loss is a rare large one: a few of them, not a Gaussian.
            for one in row.values():
                if isinstance(one, Choices):
                    widest = max(widest, _RARE * one.rarest)
            worth = play(self._tree, worth, grid.reach(variance, widest), moves_of(row))
        return worth


def _ratio(node: Node) -> float:
    move = node.move
    if isinstance(move, NoisyBit):
        return move.shift / move.scale
    return float(np.sqrt(2)) * move.ratio if isinstance(move, NoisyMax) else 0.0
