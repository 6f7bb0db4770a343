"""The game on known data: only the neighbour's ballot is left to choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secretballot.divergences import Floats, Law
from secretballot.games._row import nodes, play
from secretballot.games.moves import (
    Choices,
    GameMove,
    GaussianPairMove,
    LossGrid,
    Node,
    Padded,
    Stencil,
    ValueFunction,
    add_up,
    all_nodes,
)

#: Where most rows cost next to nothing, the grid has to be finer than where gaps are chosen.
_LOSSES = 0.02


#: A grid reaches this many times 3 of the largest losses that occur.
_RARE = 4.0


@dataclass(frozen=True)
class KnownMove:
    """The best of a few laws.

    Smaller shifts of a bit or a maximum are not among them: V is convex, so they are worse.
    """

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


@dataclass(frozen=True)
class _Row:
    """The moves of one row, and what the neighbour can choose from in each."""

    tree: tuple[Node, ...]
    choices: Mapping[str, Choices | float]

    @classmethod
    def of(cls, tree: tuple[Node, ...], known: Mapping[str, Floats]) -> _Row:
        """Return a row with these states; steps that one ballot moves together are one move."""
        choices: dict[str, Choices | float] = {}

        def played(tree: tuple[Node, ...]) -> tuple[Node, ...]:
            return tuple(each for node in tree for each in moves(node))

        def moves(node: Node) -> list[Node]:
            whole = node.play.joint_choices(node, known)
            if whole is not None:
                choices[node.name] = whole
                own = node.delta + sum(vote.delta for vote in node.follow)
                return [replace(node, follow=(), delta=own)]
            labels = node.play.label_choices(known[node.name])
            if labels:
                named = {f"{node.name} {label}": each for label, each in enumerate(labels)}
                choices.update(named)
                return [replace(node, name=name) for name in named]
            choices[node.name] = node.play.on_known_data(known[node.name])
            return [replace(node, follow=played(node.follow))]

        return cls(played(tree), choices)


class KnownPlan:
    """A plan on known data, row by row.

    Parameters
    ----------
    law : Law
    state : mapping of str to ndarray
        The state of each step's move, one entry per row.
    """

    def __init__(self, law: Law, state: Mapping[str, Any]) -> None:
        tree = nodes(law)
        every = tuple(all_nodes(tree))
        self._widest = max(node.play.known_shift for node, _ in every)
        cache: dict[tuple[bytes, ...], _Row] = {}

        def look_up(row: int) -> _Row:
            known = {
                node.name: np.asarray(state[node.name][row], dtype=np.float64) for node, _ in every
            }
            key = tuple(each.tobytes() for each in known.values())
            if key not in cache:
                cache[key] = _Row.of(tree, known)
            return cache[key]

        self._rows = [look_up(row) for row in range(len(next(iter(state.values()))))]

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
                return GaussianPairMove(choices, grid)
            if len(choices.neighbours) == 0:
                return None
            if id(choices) not in made:
                made[id(choices)] = KnownMove.of(choices, grid, to_data)
            return made[id(choices)]

        def moves_of(row: _Row) -> Callable[[Node], GameMove | None]:
            return lambda node: game_move(row.choices[node.name])

        variance, widest = 0.0, self._widest
        worth = grid.end(0.0, widest)
        for row in reversed(self._rows[:n_rows]):
            of_row = row.choices.values()
            variance += sum((one**2 if isinstance(one, float) else one.variance) for one in of_row)
            # Where teachers agree, the loss is a rare large one: a few of them, not a Gaussian.
            for one in of_row:
                if isinstance(one, Choices):
                    widest = max(widest, _RARE * one.rarest)
            worth = play(row.tree, worth, grid.reach(variance, widest), moves_of(row))
        return worth
