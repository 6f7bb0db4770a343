"""A move as the game plays it: one class of plays for each kind of move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from secretballot.divergences import Floats, Move
from secretballot.games.moves._choices import Choices
from secretballot.games.moves._grid import LossGrid, Padded

M_co = TypeVar("M_co", covariant=True)


class GameMove(Protocol):
    """A move on a grid of losses, with all choices of the adversary."""

    @property
    def pad(self) -> int:
        """Number of nodes read beyond those that are written to, on either side."""

    def best(self, yes: Padded, no: Padded) -> Floats:
        """Return an upper bound of the value under the best choice.

        Parameters
        ----------
        yes, no : Padded
            Value of the game after a positive outcome and after all others.
        """


@dataclass(frozen=True)
class Play(Generic[M_co]):
    """Base class: the answers of one kind of move to every question of a game.

    A subclass is registered with `play_of`, in the file of its game move; nothing else in this
    layer knows which kinds of moves there are.

    Attributes
    ----------
    move : Move
        The move that is played.
    """

    #: Whether a positive outcome is an answer, also where no step follows it.
    answers: ClassVar[bool] = False
    #: Whether the release is a vector with Gaussian noise, so that there is nothing to choose.
    is_vector: ClassVar[bool] = False

    move: M_co

    @property
    def noisy_shift(self) -> float:
        """Shift, in standard deviations, of noisy numbers that the outcome is a function of."""
        raise NotImplementedError

    @property
    def is_slow(self) -> bool:
        """Whether a game of many rows takes minutes; budgets charge the noisy numbers instead."""
        return False

    @property
    def shift(self) -> float:
        """Shift, in standard deviations, of a noisy bit that is as easy to tell apart."""
        raise NotImplementedError

    @property
    def loss_variance(self) -> float:
        """Upper bound of the variance of the privacy loss, for the reach of grids."""
        raise NotImplementedError

    @property
    def known_shift(self) -> float:
        """Scale of the losses on known data, in which grids are cut."""
        return self.shift

    def expand(self, node: Node) -> Node:
        """Return a node that is played in place of the move and is worth at least as much."""
        return node

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        """Return the move in the worst case over all data; None if it has no effect.

        Parameters
        ----------
        grid : LossGrid
        spacing : float
            Distance of the gaps that are tried, in units of the shift.
        zone : float
            Standardised gaps up to this are searched one by one.
        """
        raise NotImplementedError

    def on_known_data(self, state: Any) -> Choices | float:
        """Return the neighbours' choices on one row's state.

        A number is the shift of a Gaussian pair that dominates the move.
        """
        raise NotImplementedError

    def label_choices(self, state: Any) -> list[Choices]:
        """Return the choices of each label, where they dominate the move; else nothing."""
        del state
        return []

    def joint_choices(self, node: Node, states: Mapping[str, Any]) -> Choices | None:
        """Return the choices of the move and its followers as one move, if they have such."""
        del node, states
        return None

    def fail(self, delta: float, best: Floats, silent: Floats) -> Floats:
        """Return the value of the move if it fails, and reveals everything, with `delta`.

        Parameters
        ----------
        delta : float
        best : ndarray
            Value if it cannot fail.
        silent : ndarray
            Value of what follows if it reveals nothing.
        """
        del silent
        return np.asarray(delta + (1 - delta) * best)

    @property
    def bits(self) -> tuple[float, float] | None:
        """Number and squared shift of noisy bits that cost as much in long plans; None if unknown.

        Laws of several kinds of such moves are estimated together.
        """
        return None

    def expected_share(self, n_moves: float, delta: float) -> float | None:
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
    play: Play[Any]
    times: int
    follow: tuple[Node, ...]
    either: tuple[Node, ...] = ()
    delta: float = 0.0

    @property
    def answers(self) -> bool:
        """Whether a positive outcome is an answer, of which a plan may have a limited number."""
        return bool(self.follow) or self.play.answers

    def expand(self) -> Node:
        """Return the node that is played in the worst case."""
        return self.play.expand(self)

    def playing(self, move: Any, **changes: Any) -> Node:
        """Return the node with another move."""
        return replace(self, play=play_of(move), **changes)

    def fail(self, best: Floats, silent: Floats) -> Floats:
        """Return the value of the move with its chance of failure (`Play.fail`)."""
        return best if self.delta == 0 else self.play.fail(self.delta, best, silent)

    @property
    def reach(self) -> tuple[float, float]:
        """Shift and loss variance that grids have to cover."""
        if self.either:
            sizes = [(*node.reach, node.times) for node in self.either]
            # The loss beyond the ends of a grid counts once for each of many bits.
            variance = max(each * times for _, each, times in sizes)
            return max(shift for shift, _, _ in sizes), _FURTHER * variance
        return self.play.shift, self.play.loss_variance


#: Grids of moves that are chosen from reach as far as for this multiple of the variance.
_FURTHER = 1.3


@singledispatch
def play_of(move: Any) -> Play[Any]:
    """Return the play of a move; TypeError for a kind of move that has none."""
    raise TypeError(f"{type(move).__name__} has no game.")


def has_play(move: Move) -> bool:
    """Whether a move's kind is registered."""
    return play_of.dispatch(type(move)) is not play_of.dispatch(object)


def all_nodes(tree: tuple[Node, ...]) -> Iterator[tuple[Node, int]]:
    """Yield every node of a row, and its repetitions."""
    for node in tree:
        yield node, node.times
        for inner, times in all_nodes(node.follow):
            yield inner, times * node.times
