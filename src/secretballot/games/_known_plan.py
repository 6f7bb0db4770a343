"""The game on known data: only the neighbour's ballot is left to choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

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

#: The moves of one row, and the neighbour's choices in each.
_KnownRow = tuple[tuple[Node, ...], dict[Node, KnownChoices]]


def _known_row(tree: tuple[Node, ...], states: Mapping[str, State]) -> _KnownRow:
    """Build a row with these states; steps that one ballot moves together are one move."""
    nodes: list[Node] = []
    choices: dict[Node, KnownChoices] = {}
    for node in tree:
        for part, part_choices in node.play.split_known(node, states):
            follow, inner_choices = _known_row(part.follow, states)
            nodes.append(replace(part, follow=follow))
            choices |= {nodes[-1]: part_choices, **inner_choices}
    return tuple(nodes), choices


class KnownPlan:
    """A plan on known data, row by row: the state of each step's move, one entry per row."""

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
                rows[key] = _known_row(tree, states_of_row)
            self._rows.append(rows[key])

    def value_functions(
        self, n_rows: int, step: float = _STEP
    ) -> tuple[ValueFunction, ValueFunction]:
        """Compute the values of the first `n_rows` rows, in both directions."""
        return self._value(n_rows, step, False), self._value(n_rows, step, True)

    def _value(self, n_rows: int, step: float, to_data: bool) -> ValueFunction:
        grid = LossGrid(step * min(self._loss_scale, 1.0))

        @cache
        def move_on_grid(choices: KnownChoices) -> GameMove | None:
            return choices.on_grid(grid, to_data)

        variance, largest_loss = 0.0, self._loss_scale
        value = grid.final_value(*grid.node_range(0.0, largest_loss))
        for tree, choices in reversed(self._rows[:n_rows]):
            variance += sum(play.variance for play in choices.values())
            # Where teachers agree, the loss is a rare large one: a few of them, not a Gaussian.
            rare = _LOSS_FACTOR * max(play.largest_loss for play in choices.values())
            largest_loss = max(largest_loss, rare)
            span = grid.node_range(variance, largest_loss)
            moves = {node: move_on_grid(play) for node, play in choices.items()}
            value = play_row(tree, value, span, moves.__getitem__)
        return value
