"""The game of a plan: kinds of moves, the tree of a row, and the worst adaptive adversary."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
from scipy.special import ndtri

from secretballot.costs._grid import FINE, Fineness, LossGrid, PaddedValues, ValueFunction
from secretballot.costs._law import Law, Move
from secretballot.costs._noise import gaussian_delta
from secretballot.costs._orders import Floats

M_co = TypeVar("M_co", covariant=True)


class GameMove(Protocol):
    """A move on a grid of losses, with all choices of the adversary."""

    @property
    def pad(self) -> int:
        """Number of nodes read beyond those that are written to, on either side."""

    def best(self, positive: PaddedValues, negative: PaddedValues) -> Floats:
        """Bound the value of the best choice, from the values after positive and other outcomes."""


@dataclass(frozen=True)
class Play(Generic[M_co]):
    """Kind of move in the game. A subclass defines `noisy_shift`, `on_grid`, and is registered."""

    #: A positive outcome is an answer, even if no step follows it.
    positive_is_answer: ClassVar[bool] = False
    #: The release is a vector with Gaussian noise: the adversary has nothing to choose.
    is_vector: ClassVar[bool] = False
    #: Time of a move, in noisy bits: fewer slow moves are played.
    slowness: ClassVar[int] = 1

    move: M_co

    @property
    def noisy_shift(self) -> float:
        """Shift, in standard deviations, of the noisy numbers that the outcome post-processes."""
        raise NotImplementedError

    @property
    def is_slow(self) -> bool:
        """True if a game of many rows takes minutes: budgets then charge the noisy numbers."""
        return False

    @property
    def loss_scale(self) -> float:
        """Scale of the loss, in units of a noisy bit's shift: it sets the step of the grid."""
        return self.noisy_shift

    @property
    def loss_variance(self) -> float:
        """Upper bound of the variance of the loss, by default a noisy bit's."""
        return 2 / np.pi * self.loss_scale**2

    def most_loss(self, n_moves: float) -> float:
        """Bound the loss of moves up to a probability of 1e-16; infinity if unknown."""
        del n_moves
        return math.inf

    def expand(self, node: Node) -> Node:
        """Replace the move by one that reveals at least as much."""
        return node

    def on_grid(self, grid: LossGrid, spacing: float, zone: float) -> GameMove | None:
        """Build the worst case over all data; None if the move has no effect."""
        # Standardised gaps are tried `spacing` shifts apart, up to `zone` one by one.
        raise NotImplementedError

    def fail(self, delta: float, best: Floats, silent: Floats) -> Floats:
        """Compute the value of a move that fails, and reveals everything, with `delta`."""
        # `best` is its value if it cannot fail, `silent` the value if it reveals nothing.
        del silent
        return np.asarray(delta + (1 - delta) * best)

    @property
    def bits(self) -> tuple[float, float] | None:
        """Number and squared shift of noisy bits with the same cost in long plans, if known."""
        return None

    def estimate_share(self, n_moves: float, delta: float) -> float | None:
        """Estimate the price of `n_moves` as a share of their noisy numbers' mu^2."""
        del n_moves, delta
        return None


@dataclass(frozen=True)
class Node:
    """A move of a row, its repetitions, and the moves that follow a positive outcome.

    If `either` is not empty, the adversary makes one of its moves instead, and chooses anew every
    time. With probability `delta` the move fails, and reveals everything.
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
        return replace(self, play=play_of(move))

    def fail(self, best: Floats, silent: Floats) -> Floats:
        return best if self.delta == 0 else self.play.fail(self.delta, best, silent)

    @property
    def reach(self) -> tuple[float, float]:
        if self.either:
            sizes = [(*node.reach, node.times) for node in self.either]
            # With many bits, the loss beyond the ends of the grid counts once for each of them.
            variance = max(square * times for _, square, times in sizes)
            return max(scale for scale, _, _ in sizes), _CHOICE_REACH * variance
        return self.play.loss_scale, self.play.loss_variance


#: If the adversary chooses among moves, the grid covers this multiple of their variance.
_CHOICE_REACH = 1.3


@singledispatch
def play_of(move: Move) -> Play[Move]:
    """Build the play of a move; raise `TypeError` if its kind is not registered."""
    raise TypeError(f"{type(move).__name__} has no game.")


def has_play(move: Move) -> bool:
    return play_of.dispatch(type(move)) is not play_of.dispatch(object)


def all_nodes(tree: tuple[Node, ...]) -> Iterator[tuple[Node, int]]:
    """Yield every node of a row, and its repetitions."""
    for node in tree:
        yield node, node.times
        for inner, times in all_nodes(node.follow):
            yield inner, times * node.times


def build_tree(law: Law) -> tuple[Node, ...]:
    """Build the tree of a law's moves; refuse a law that has no game."""
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


#: Factors of the steps of losses and of gaps if the adversary chooses among bits. Most bits are
#: small, so losses are finer. Gaps are many, so they are coarser: this adds about .1 per cent.
_CHOICE = 0.5, 2.0


def worst_game(
    law: Law,
    fineness: Fineness = FINE,
    n_answers: int | None = None,
    start: tuple[int, ValueFunction] | None = None,
) -> Iterator[ValueFunction]:
    """Yield upper bounds of V for 0, 1, 2, ... rows and the best adaptive adversary, forever.

    With `n_answers` the run ends after that number of rows with a positive first move, and values
    have shape (n_answers, n_nodes). `start` is a number of rows to begin at, and their value. Moves
    are the same at any loss, so the delta at epsilon is V at the loss -epsilon.
    """
    row = RowGame(law, fineness)
    value = row.end()
    if n_answers is not None:
        value = replace(value, values=np.tile(value.values, (n_answers, 1)))
    n_rows, value = (0, value) if start is None else start
    while True:
        yield value
        n_rows += 1
        vectors = row.vectors(n_rows) if n_answers is None else None
        value = vectors or row.before(value, n_rows, count_answers=n_answers is not None)


class RowGame:
    """One row of a plan: its moves, and the grids that they are played on."""

    def __init__(self, law: Law, fineness: Fineness) -> None:
        # The grid of losses has to cover the loss of all moves of the row, repetitions included.
        self._tree = tuple(node.expand() for node in build_tree(law))
        nodes = list(all_nodes(self._tree))
        self._loss_scale = max((node.reach[0] for node, _ in nodes), default=0.0)
        self._variance = sum(node.reach[1] * times for node, times in nodes)
        self._no_failure = math.prod((1 - node.delta) ** times for node, times in nodes)
        fewest = [min((branch.times for branch in node.either), default=1) for node in self._tree]
        self._least_moves = sum(n * node.times for n, node in zip(fewest, self._tree, strict=True))
        if any(node.either for node in self._tree):
            fineness = fineness.coarser(*_CHOICE)
        self._fineness = fineness
        scale = min(self._loss_scale, 1.0)
        self.grid = LossGrid(fineness.losses * scale if scale else 1e-3)

    @property
    def n_moves(self) -> int:
        """Number of moves that are played, with all that the adversary chooses from."""
        return sum(
            times * max(sum(branch.times for branch in node.either), 1)
            for node, times in all_nodes(self._tree)
        )

    def vectors(self, n_rows: int) -> ValueFunction | None:
        """Compute the value of noisy vectors, which compose to one vector; None for other moves."""
        if any(not node.play.is_vector or node.delta or node.follow for node in self._tree):
            return None
        value = self.grid.final_value(*self.span(n_rows))
        if not self._variance:
            return value
        ratio = math.sqrt(n_rows * self._variance)
        return replace(value, values=gaussian_delta(ratio, -value.losses))

    def end(self) -> ValueFunction:
        sizes = (self._variance, self._loss_scale) if self._loss_scale else (4.0, 1.0)
        return self.grid.final_value(*self.grid.node_range(*sizes))

    def span(self, n_rows: float, factor: float = 1.0) -> tuple[int, int]:
        """Compute the nodes before `n_rows` rows, with `factor` times their variance."""
        n_rows *= factor
        most = math.inf
        if len(self._tree) == 1 and not (self._tree[0].follow or self._tree[0].either):
            most = self._tree[0].play.most_loss(n_rows * self._tree[0].times)
        return self.grid.node_range(self._variance * n_rows, self._loss_scale, most)

    def before(
        self,
        after: ValueFunction,
        n_rows: int,
        span: tuple[int, int] | None = None,
        count_answers: bool = False,
    ) -> ValueFunction:
        """Compute the value before the last `n_rows` rows from that after one of them."""
        if self._loss_scale == 0:
            # Nothing is revealed, unless a step fails.
            return replace(after, values=1 - self._no_failure * (1 - after.values))
        # With few moves left, the best gaps are larger. Powers of 2: counts share their grids.
        n_moves = 2 ** np.floor(np.log2(n_rows * self._least_moves))
        zone = float(min(8.0, max(0.1, 5 / np.sqrt(n_moves))))

        def build_move(node: Node) -> GameMove | None:
            return node.play.on_grid(self.grid, self._fineness.gaps, zone)

        return play_row(self._tree, after, span or self.span(n_rows), build_move, count_answers)


_ROWS = np.log([1, 2, 4, 10, 30, 100, 300, 1000, 20_000])
_QUANTILES = -ndtri([1e-4, 1e-6, 5e-8, 1e-10, 1e-12])

#: Shares of the noisy counts' mu^2 that plans of two classes cost, by rows and by their delta.
TWO_CLASSES = np.array(
    [
        [1.000, 1.001, 1.001, 1.008, 1.012],
        [0.861, 0.900, 0.915, 0.937, 0.947],
        [0.766, 0.797, 0.816, 0.848, 0.867],
        [0.697, 0.712, 0.722, 0.741, 0.754],
        [0.6604, 0.6659, 0.6694, 0.6765, 0.6818],
        [0.6449, 0.6470, 0.6481, 0.6503, 0.6520],
        [0.6396, 0.6409, 0.6413, 0.6421, 0.6426],
        [0.6373, 0.6386, 0.6386, 0.6389, 0.6391],
        [0.6383, 0.6384, 0.6386, 0.6387, 0.6388],
    ]
)

#: The same for three and more classes.
MORE_CLASSES = TWO_CLASSES + np.array(
    [
        [0.000, 0.000, 0.000, 0.000, 0.000],
        [0.006, 0.024, 0.029, 0.052, 0.050],
        [0.007, 0.011, 0.016, 0.036, 0.036],
        [0.008, 0.009, 0.010, 0.012, 0.015],
        [0.009, 0.009, 0.0095, 0.0096, 0.0097],
        [0.009, 0.009, 0.0094, 0.0096, 0.0098],
        [0.0098, 0.0098, 0.0096, 0.0093, 0.0092],
        [0.0098, 0.0098, 0.0096, 0.0093, 0.0092],
        [0.0100, 0.0101, 0.0101, 0.0103, 0.0103],
    ]
)


def interpolate_share(n_moves: float, delta: float, shares: Floats = TWO_CLASSES) -> float | None:
    """Interpolate the share of its noisy numbers' mu^2 that a plan costs; None off the table."""
    if n_moves < 1 or not 0 < delta < 1:
        return None
    quantile = float(-ndtri(delta))
    by_rows = [np.interp(quantile, _QUANTILES, row) for row in shares]
    return float(np.interp(math.log(n_moves), _ROWS, by_rows))
