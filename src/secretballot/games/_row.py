"""One row of a plan in the game: its tree of moves, and its value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from secretballot.divergences import Law
from secretballot.games.moves import GameMove, Node, Padded, ValueFunction, has_play, play_of


def nodes(law: Law) -> tuple[Node, ...]:
    """Return a law as a tree.

    Raises
    ------
    ValueError
        If a step follows one that isn't there, or can't be shared out among its repetitions.
    TypeError
        If a step's move has no play.
    """
    for step in law:
        if not has_play(step.move):
            raise TypeError(
                f"{type(step.move).__name__} of step {step.name!r} has no game; plans are priced "
                "for noisy bits, noisy maxima, noisy vectors and draws with Gumbel noise."
            )
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
                found.append(Node(step.name, play_of(step.move), n_times, follow, delta=step.delta))
        return tuple(found)

    return after(None, 1)


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
                worth = replace(each[0], values=node.fail(best, best))
                continue
            positive = _one_answer_less(worth) if answers and node.answers else worth
            if node.follow:
                positive = play(node.follow, positive, span, moves)
            move = moves(node)
            if move is None:
                if node.delta:
                    here = worth.over(*span)
                    worth = ValueFunction(worth.grid, node.fail(here, here), span[0])
                continue
            no = Padded.of(worth, *span, move.pad)
            yes = no if positive is worth else Padded.of(positive, *span, move.pad)
            best = node.fail(move.best(yes, no), no.shifted(0))
            worth = ValueFunction(worth.grid, best, span[0])
    if worth.first == span[0] and worth.values.shape[-1] == span[1] - span[0]:
        return worth
    return replace(worth, values=worth.over(*span), first=span[0])


def _one_answer_less(worth: ValueFunction) -> ValueFunction:
    loss = worth.grid.step * (worth.first + np.arange(worth.values.shape[-1]))
    over = np.maximum(-np.expm1(-loss), 0.0)
    return replace(worth, values=np.concatenate([over[None], worth.values[:-1]]))
