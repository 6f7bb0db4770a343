"""One row of a plan in the game: its moves, and what follows what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from secretballot.divergences import ConfidentMax, Floats, Law, StableTest
from secretballot.games._grid import Padded, ValueFunction


class GameMove(Protocol):
    """A move as the adversary can play it."""

    @property
    def pad(self) -> int:
        """How many nodes the move reads beyond those it writes to."""

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return at least what the best choice is worth, given what each outcome leads to."""


@dataclass(frozen=True)
class Node:
    """A move of a row, how often it is made, and the moves that follow a positive outcome.

    With `either` the adversary makes one of those instead, and chooses anew every time. With a
    `delta` the move may fail, and tell everything, so often.
    """

    name: str
    move: Any
    times: int
    follow: tuple[Node, ...]
    either: tuple[Node, ...] = ()
    delta: float = 0.0

    @property
    def answers(self) -> bool:
        """Whether a positive outcome is an answer, which others don't get."""
        return bool(self.follow) or isinstance(self.move, ConfidentMax)

    def failing(self, best: Floats, silent: Floats) -> Floats:
        """Return what the move is worth if it may fail.

        Parameters
        ----------
        best, silent : ndarray
            What it is worth if it can't, and what follows if it tells nothing.
        """
        if self.delta == 0:
            return best
        if isinstance(self.move, StableTest):
            # Neighbours with different sets fail, and tell nothing otherwise; others don't fail.
            return np.maximum(best, self.delta + (1 - self.delta) * silent)
        return np.asarray(self.delta + (1 - self.delta) * best)


def nodes(law: Law) -> tuple[Node, ...]:
    """Return a law as a tree.

    Raises
    ------
    ValueError
        If a step follows one that isn't there, or can't be shared out among its repetitions.
    """
    names = {step.name for step in law}
    strays = [step.after for step in law if step.after is not None and step.after not in names]
    if strays:
        raise ValueError(f"a step follows {strays[0]!r}, which the law does not have.")

    def after(name: str | None, times: int) -> tuple[Node, ...]:
        found = []
        for step in law:
            if step.after == name:
                if step.times % times:
                    raise ValueError(
                        f"step {step.name!r} is made {step.times} times after {times} of "
                        f"{name!r}: a game needs as many after each."
                    )
                follow = after(step.name, step.times)
                n_times = step.times // times
                found.append(Node(step.name, step.move, n_times, follow, delta=step.delta))
        return tuple(found)

    return after(None, 1)


def all_nodes(tree: tuple[Node, ...]) -> Iterator[tuple[Node, int]]:
    """Yield every node of a row, and how often it is made at most."""
    for node in tree:
        yield node, node.times
        for inner, times in all_nodes(node.follow):
            yield inner, times * node.times


def play(
    tree: tuple[Node, ...],
    worth: ValueFunction,
    span: tuple[int, int],
    moves: Callable[[Node], GameMove | None],
    answers: bool = False,
) -> ValueFunction:
    """Return what a position before the row is worth, given `worth` after it.

    Parameters
    ----------
    tree : tuple of Node
    worth : ValueFunction
        With `answers`, of shape (n_answers, n_nodes): what the position is worth with 1, 2, ...
        answers left.
    span : tuple of int
        The nodes [low, high) that matter before the row.
    moves : callable
        From a node to the move the adversary can play; None if it has no effect.
    answers : bool, default=False
        Whether the positive outcomes of the row's first moves use an answer up. With none left
        the game has ended.
    """
    for node in reversed(tree):
        for _ in range(node.times):
            if node.either:
                each = [play((one,), worth, span, moves) for one in node.either]
                best = np.max([one.values for one in each], axis=0)
                worth = replace(each[0], values=node.failing(best, best))
                continue
            positive = _one_answer_less(worth) if answers and node.answers else worth
            if node.follow:
                positive = play(node.follow, positive, span, moves)
            move = moves(node)
            if move is None:
                if node.delta:
                    here = worth.over(*span)
                    worth = ValueFunction(worth.grid, node.failing(here, here), span[0])
                continue
            no = Padded.of(worth, *span, move.pad)
            yes = no if positive is worth else Padded.of(positive, *span, move.pad)
            best = node.failing(move.best(yes, no), no.shifted(0))
            worth = ValueFunction(worth.grid, best, span[0])
    if worth.first == span[0] and worth.values.shape[-1] == span[1] - span[0]:
        return worth
    return replace(worth, values=worth.over(*span), first=span[0])


def _one_answer_less(worth: ValueFunction) -> ValueFunction:
    loss = worth.grid.step * (worth.first + np.arange(worth.values.shape[-1]))
    over = np.maximum(-np.expm1(-loss), 0.0)
    return replace(worth, values=np.concatenate([over[None], worth.values[:-1]]))
