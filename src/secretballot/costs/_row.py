"""One row of a plan in the game: its tree of moves, and its value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from secretballot.costs._law import Law
from secretballot.costs.moves import GameMove, Node, PaddedValues, ValueFunction, has_play, play_of


def build_tree(law: Law) -> tuple[Node, ...]:
    """Build the tree of a law's moves.

    ValueError if a step follows one that isn't there, or can't be shared out among its repetitions;
    TypeError if its move has no play.
    """
    names = {None, *(step.name for step in law)}
    for step in law:
        if not has_play(step.move):
            raise TypeError(
                f"{type(step.move).__name__} of step {step.name!r} has no game; plans are priced "
                "for noisy bits, noisy maxima, noisy vectors and draws with Gumbel noise."
            )
        if step.after not in names:
            raise ValueError(f"a step follows {step.after!r}, which the law does not have.")
    return _followers(law, None, 1)


def _followers(law: Law, name: str | None, times: int) -> tuple[Node, ...]:
    """Build the nodes that follow a step, which is made so many times."""
    nodes = []
    for step in law:
        if step.after == name:
            if step.times % times:
                raise ValueError(
                    f"step {step.name!r} is made {step.times} times after {times} of {name!r}: a "
                    "game needs as many after each."
                )
            play, follow = play_of(step.move), _followers(law, step.name, step.times)
            nodes.append(Node(step.name, play, step.times // times, follow, delta=step.delta))
    return tuple(nodes)


def play_row(
    tree: tuple[Node, ...],
    after: ValueFunction,
    span: tuple[int, int],
    build_move: Callable[[Node], GameMove | None],
    count_answers: bool = False,
) -> ValueFunction:
    """Compute the value before a row, at the nodes [low, high) of `span`, from that after it.

    `build_move` makes the adversary's move of a node; None if it has no effect. With
    `count_answers` the values have shape (n_answers, n_nodes), for 1, 2, ... answers left, and
    positive outcomes of the row's first moves use up an answer. With none left the game has ended.
    """
    value = after
    for node in reversed(tree):
        for _ in range(node.times):
            if node.either:
                branches = [play_row((branch,), value, span, build_move) for branch in node.either]
                best = np.max([branch.values for branch in branches], axis=0)
                value = replace(branches[0], values=node.fail(best, best))
                continue
            positive = _use_up_answer(value) if count_answers and node.counts_answers else value
            if node.follow:
                positive = play_row(node.follow, positive, span, build_move)
            move = build_move(node)
            if move is not None:
                no = yes = PaddedValues.from_function(value, *span, move.pad)
                if positive is not value:
                    yes = PaddedValues.from_function(positive, *span, move.pad)
                best = node.fail(move.best(yes, no), no.shifted(0))
                value = ValueFunction(value.grid, best, span[0])
            elif node.delta:
                silent = value.on_nodes(*span)
                value = ValueFunction(value.grid, node.fail(silent, silent), span[0])
    if value.first == span[0] and value.values.shape[-1] == span[1] - span[0]:
        return value
    return replace(value, values=value.on_nodes(*span), first=span[0])


def _use_up_answer(value: ValueFunction) -> ValueFunction:
    end = value.grid.final_value(value.first, value.first + value.values.shape[-1]).values
    return replace(value, values=np.concatenate([end[None], value.values[:-1]]))
