"""The game on known data: only the neighbour's ballot is left to choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences import Law
from secretballot.games._row import build_tree, play_row
from secretballot.games.moves import (
    GameMove,
    KnownChoices,
    LossGrid,
    Node,
    State,
    ValueFunction,
    all_nodes,
)

#: Step of the grid: where most rows cost next to nothing, finer than where gaps are chosen.
_STEP = 0.02

#: A grid reaches this many times 3 of the largest losses that occur.
_LOSS_FACTOR = 4.0


@dataclass(frozen=True)
class _KnownRow:
    """The moves of one row, and the neighbour's choices in each."""

    tree: tuple[Node, ...]
    choices: Mapping[str, KnownChoices]

    @classmethod
    def build(cls, tree: tuple[Node, ...], states: Mapping[str, State]) -> _KnownRow:
        """Build a row with these states; steps that one ballot moves together are one move."""
        choices: dict[str, KnownChoices] = {}

        def split(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
            parts = [part for node in nodes for part in node.play.split_known(node, states)]
            choices.update({node.name: node_choices for node, node_choices in parts})
            return tuple(replace(node, follow=split(node.follow)) for node, _ in parts)

        return cls(split(tree), choices)


class KnownPlan:
    """A plan on known data, row by row.

    Parameters
    ----------
    law : Law
    states : mapping of str to array-like
        The state of each step's move, one entry per row.
    """

    def __init__(self, law: Law, states: Mapping[str, ArrayLike]) -> None:
        tree = build_tree(law)
        nodes = [node for node, _ in all_nodes(tree)]
        self._loss_scale = max(node.play.known_loss_scale for node in nodes)
        arrays = {node.name: np.asarray(states[node.name], dtype=np.float64) for node in nodes}
        rows: dict[tuple[bytes, ...], _KnownRow] = {}
        self._rows: list[_KnownRow] = []
        for row in range(len(next(iter(arrays.values())))):
            states_of_row = {name: np.asarray(array[row]) for name, array in arrays.items()}
            key = tuple(array.tobytes() for array in states_of_row.values())
            if key not in rows:
                rows[key] = _KnownRow.build(tree, states_of_row)
            self._rows.append(rows[key])

    def __len__(self) -> int:
        return len(self._rows)

    def value_functions(
        self, n_rows: int, step: float = _STEP
    ) -> tuple[ValueFunction, ValueFunction]:
        """Compute the values of the first `n_rows` rows, in both directions."""
        return self._value(n_rows, step, False), self._value(n_rows, step, True)

    def _value(self, n_rows: int, step: float, to_data: bool) -> ValueFunction:
        grid = LossGrid(step * min(self._loss_scale, 1.0))
        moves: dict[int, GameMove | None] = {}

        def move_on_grid(choices: KnownChoices) -> GameMove | None:
            if id(choices) not in moves:
                moves[id(choices)] = choices.on_grid(grid, to_data)
            return moves[id(choices)]

        def moves_of(row: _KnownRow) -> Callable[[Node], GameMove | None]:
            return lambda node: move_on_grid(row.choices[node.name])

        variance, largest_loss = 0.0, self._loss_scale
        value = grid.final_value(*grid.node_range(0.0, largest_loss))
        for row in reversed(self._rows[:n_rows]):
            row_choices = row.choices.values()
            variance += sum(choices.variance for choices in row_choices)
            # Where teachers agree, the loss is a rare large one: a few of them, not a Gaussian.
            rare = _LOSS_FACTOR * max(choices.largest_loss for choices in row_choices)
            largest_loss = max(largest_loss, rare)
            span = grid.node_range(variance, largest_loss)
            value = play_row(row.tree, value, span, moves_of(row))
        return value
