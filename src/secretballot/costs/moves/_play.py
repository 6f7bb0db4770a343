"""Interface of a kind of move in the game, and the registry of kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from secretballot.costs._moves import Move
    from secretballot.costs._orders import Floats
    from secretballot.costs.moves._grid import LossGrid, PaddedValues

M_co = TypeVar("M_co", covariant=True)


class GameMove(Protocol):
    """A move on a grid of losses, with all choices of the adversary."""

    @property
    def pad(self) -> int:
        """Number of nodes read beyond those that are written to, on either side."""

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        """Bound the value under the best choice, given that after a positive outcome, or others."""


@dataclass(frozen=True)
class Play(Generic[M_co]):
    """Base class: a kind of move in the game.

    A subclass needs `noisy_shift` and `on_grid`, and is registered with `play_of`. Nothing else in
    this layer knows the kinds of moves.
    """

    #: A positive outcome is an answer, even if no step follows it.
    positive_is_answer: ClassVar[bool] = False
    #: The release is a vector with Gaussian noise: the adversary has nothing to choose.
    is_vector: ClassVar[bool] = False

    move: M_co

    @property
    def noisy_shift(self) -> float:
        """Shift, in standard deviations, of noisy numbers that the outcome is a function of."""
        raise NotImplementedError

    @property
    def is_slow(self) -> bool:
        """A game of many rows takes minutes; budgets charge the noisy numbers instead."""
        return False

    @property
    def loss_scale(self) -> float:
        """Scale of the loss, in units of a noisy bit's shift: it sets the step of the grid."""
        return self.noisy_shift

    @property
    def loss_variance(self) -> float:
        """Upper bound of the variance of the loss, by default a noisy bit's."""
        return 2 / np.pi * self.loss_scale**2

    def expand(self, node: Node) -> Node:
        """Replace the move by one that reveals at least as much."""
        return node

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        """Build the worst case over all data; None if the move has no effect.

        Gaps that are tried are `spacing` shifts apart. Standardised gaps up to `zone` are searched
        one by one.
        """
        raise NotImplementedError

    def fail(self, delta: float, best: Floats, silent: Floats) -> Floats:
        """Compute the value of a move that fails, and reveals everything, with `delta`.

        `best` is its value if it cannot fail, `silent` the value if it reveals nothing.
        """
        del silent
        return np.asarray(delta + (1 - delta) * best)

    @property
    def bits(self) -> tuple[float, float] | None:
        """Number and squared shift of noisy bits that cost as much in long plans; None if unknown.

        Laws of several kinds of such moves are estimated together.
        """
        return None

    def estimate_share(self, n_moves: float, delta: float) -> float | None:
        """Estimate the price of `n_moves` as a share of their noisy numbers' mu^2."""
        del n_moves, delta
        return None


@dataclass(frozen=True)
class Node:
    """A move of a row, its repetitions, and the moves that follow a positive outcome.

    With `either` the adversary makes one of those instead, and chooses anew every time. With a
    `delta` the move may fail, and reveal everything, with that probability.
    """

    name: str
    play: Play[object]
    times: int
    follow: tuple[Node, ...]
    either: tuple[Node, ...] = ()
    delta: float = 0.0

    @property
    def counts_answers(self) -> bool:
        """True if a positive outcome is an answer; a plan may limit the number of answers."""
        return bool(self.follow) or self.play.positive_is_answer

    def expand(self) -> Node:
        """Return the node with the adversary's worst-case choice substituted."""
        return self.play.expand(self)

    def with_move(self, move: Move) -> Node:
        """Replace the move."""
        return replace(self, play=play_of(move))

    def fail(self, best: Floats, silent: Floats) -> Floats:
        """Compute the value of the move with its chance of failure (`Play.fail`)."""
        return best if self.delta == 0 else self.play.fail(self.delta, best, silent)

    @property
    def reach(self) -> tuple[float, float]:
        """Loss scale and loss variance that a grid has to cover."""
        if self.either:
            sizes = [(*node.reach, node.times) for node in self.either]
            # The loss beyond the ends of a grid counts once for each of many bits.
            variance = max(square * times for _, square, times in sizes)
            return max(scale for scale, _, _ in sizes), _CHOICE_REACH * variance
        return self.play.loss_scale, self.play.loss_variance


#: Grids of moves that are chosen from cover this multiple of the variance.
_CHOICE_REACH = 1.3


@singledispatch
def play_of(move: Move) -> Play[Move]:
    """Build the play of a move; raise `TypeError` if its kind is not registered."""
    raise TypeError(f"{type(move).__name__} has no game.")


def has_play(move: Move) -> bool:
    """Check that the kind of a move is registered."""
    return play_of.dispatch(type(move)) is not play_of.dispatch(object)


def all_nodes(tree: tuple[Node, ...]) -> Iterator[tuple[Node, int]]:
    """Yield every node of a row, and its repetitions."""
    for node in tree:
        yield node, node.times
        for inner, times in all_nodes(node.follow):
            yield inner, times * node.times
