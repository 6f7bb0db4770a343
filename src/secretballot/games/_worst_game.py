"""The worst case of a whole plan over adaptive adversaries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from secretballot.divergences import (
    BoundedRange,
    ClippedBits,
    ConfidentMax,
    FewDraws,
    Law,
    NoisyBit,
    NoisyMax,
    NoisyVector,
    PureRelease,
    gaussian_delta,
)
from secretballot.games._bit_move import bit_move
from secretballot.games._clipped_row import clipped_node
from secretballot.games._confident_move import confident_move, confident_variance
from secretballot.games._gaussian_move import GaussianMove
from secretballot.games._grid import LossGrid, ValueFunction
from secretballot.games._max_move import max_move
from secretballot.games._range_move import few_draws_node, range_move, response_move
from secretballot.games._row import GameMove, Node, all_nodes, nodes, play
from secretballot.games._small_bits import SmallBits, SmallBitsMove


@dataclass(frozen=True)
class Fineness:
    """How fine the grids are, in units of what a row moves: of losses, and of gaps."""

    losses: float
    gaps: float

    def coarser(self, losses: float, gaps: float | None = None) -> Fineness:
        """Return grids that are so many times as wide."""
        return Fineness(self.losses * losses, self.gaps * (losses if gaps is None else gaps))


#: For noisy bits delta is then about a per cent above the truth, epsilon a few tenths of one.
FINE = Fineness(losses=0.05, gaps=0.04)

#: Where bits are chosen from, most of them small, losses are so much finer; gaps, of which there
#: are many, so much coarser, which adds about .1 per cent.
_CHOICE = 0.5, 2.0

#: Where bits are chosen from, grids reach as far as for so much more variance.
_FURTHER = 1.3


def is_gaussian(move: NoisyMax) -> bool:
    """Whether a maximum is priced as the noisy counts behind it.

    Several ballots that go from and to different classes are: that they move like one heavy ballot
    at worst is proven for Renyi divergences, not for every convex V.
    """
    return move.bound == "papernot" or (move.ballots > 1 and move.n_classes != 2)


def _bit_ratio(move: object) -> float | None:
    """Return d/s where a move is a noisy bit in the worst case."""
    if isinstance(move, NoisyBit):
        return move.shift / move.scale
    if isinstance(move, NoisyMax) and move.n_classes == 2 and not is_gaussian(move):
        return float(np.sqrt(2)) * move.ratio
    return None


def _priced(node: Node) -> Node:
    """Return a node as the moves it is played with.

    A threshold and its vote are two where their gaps are not finitely many.
    """
    whole = node.move
    if isinstance(whole, ClippedBits):
        return clipped_node(node)
    if isinstance(whole, FewDraws):
        return few_draws_node(node)
    if not isinstance(whole, ConfidentMax) or whole.alike:
        return node
    vote = NoisyMax(sigma=whole.sigma, weight=whole.weight, ballots=whole.ballots, n_classes=2)
    bit = NoisyBit(scale=1.0, shift=whole.bit_ratio)
    return replace(node, move=bit, follow=(Node("vote", vote, 1, ()),))


def _widest(node: Node) -> tuple[float, float]:
    """Return a move's shift in standard deviations, and at least the variance of its loss.

    Behind a threshold the shift is that of a noisy bit which tells as much.
    """
    if node.either:
        sizes = [(*_widest(one), one.times) for one in node.either]
        # What is left beyond the grid's ends counts against many bits, once for each.
        return max(ratio for ratio, _, _ in sizes), _FURTHER * max(each * n for _, each, n in sizes)
    if isinstance(node.move, SmallBits):
        return node.move.ratio, 2 / np.pi * node.move.n_bits * node.move.ratio**2
    if isinstance(node.move, ConfidentMax):
        variance = confident_variance(node.move)
        # Few rows pass, but those that lead far out all do: grids have to reach as far as for the
        # vote and the threshold's bit together.
        far = 2 / np.pi * (node.move.vote_ratio**2 + node.move.bit_ratio**2)
        return float(np.sqrt(np.pi / 2 * variance)), max(variance, far)
    ratio = _bit_ratio(node.move)
    if isinstance(node.move, BoundedRange | PureRelease):
        ratio = node.move.ratio
    if ratio is not None:
        return ratio, 2 / np.pi * ratio**2
    if isinstance(node.move, NoisyVector):
        return node.move.ratio, node.move.ratio**2
    if isinstance(node.move, NoisyMax):
        ratio = float(np.sqrt(2)) * node.move.ratio if node.move.n_classes != 1 else 0.0
        return ratio, ratio**2 * (1.0 if is_gaussian(node.move) else 0.65)
    raise TypeError(
        f"{type(node.move).__name__} of step {node.name!r} has no game; plans are priced for "
        "noisy bits, noisy maxima, noisy vectors and draws with Gumbel noise."
    )


def worst_game(
    law: Law,
    fineness: Fineness = FINE,
    n_answers: int | None = None,
    known: tuple[int, ValueFunction] | None = None,
) -> Iterator[ValueFunction]:
    """Yield what 0, 1, 2, ... rows are worth to the best adaptive adversary, forever.

    Parameters
    ----------
    law : Law
        Of every row.
    fineness : Fineness
    n_answers : int, default=None
        The run ends after so many rows whose first move came out positive.
    known : tuple of int and ValueFunction, default=None
        Begin at so many rows, with what they are worth.

    Yields
    ------
    ValueFunction
        Upper bounds of V: the delta at epsilon is V at the loss -epsilon, because moves are the
        same wherever the loss is, and so the game from 0 to epsilon is the one from -epsilon to 0.
        With `n_answers`, of shape (n_answers, n_nodes).
    """
    row = RowGame(law, fineness)
    worth = row.end()
    if n_answers is not None:
        worth = ValueFunction(row.grid, np.tile(worth.values, (n_answers, 1)), worth.first)
    n_rows, worth = (0, worth) if known is None else known
    while True:
        yield worth
        n_rows += 1
        alone = row.vectors(n_rows) if n_answers is None else None
        worth = alone or row.before(worth, n_rows, answers=n_answers is not None)


class RowGame:
    """One row of a plan: its moves, and the grids that they are played on."""

    def __init__(self, law: Law, fineness: Fineness) -> None:
        self._tree = tuple(map(_priced, nodes(law)))
        sizes = [(*_widest(node), times) for node, times in all_nodes(self._tree)]
        self._widest = max((ratio for ratio, _, _ in sizes), default=0.0)
        self._variance = sum(each * times for _, each, times in sizes)
        self._silent = math.prod((1 - node.delta) ** times for node, times in all_nodes(self._tree))
        self._least = sum(
            node.times * min((one.times for one in node.either), default=1) for node in self._tree
        )
        if any(node.either for node in self._tree):
            fineness = fineness.coarser(*_CHOICE)
        self._fineness = fineness
        self.grid = LossGrid(fineness.losses * min(self._widest, 1.0) if self._widest else 1e-3)

    @property
    def n_moves(self) -> int:
        """How many moves are played, those that are chosen from included."""
        return sum(
            times * max(sum(one.times for one in node.either), 1)
            for node, times in all_nodes(self._tree)
        )

    def vectors(self, n_rows: int) -> ValueFunction | None:
        """Return what rows of noisy vectors are worth, which is known; None of others.

        There is nothing to choose, and they tell what one vector does that is further away.
        """
        for node in self._tree:
            if not isinstance(node.move, NoisyVector) or node.delta or node.follow:
                return None
        low, high = self.reach(n_rows)
        loss = self.grid.step * np.arange(low, high)
        if not self._variance:
            return ValueFunction(self.grid, np.maximum(-np.expm1(-loss), 0.0), low)
        ratio = math.sqrt(n_rows * self._variance)
        return ValueFunction(self.grid, gaussian_delta(ratio, -loss), low)

    def end(self) -> ValueFunction:
        """Return the worth of the end of the game."""
        return self.grid.end(self._variance, self._widest) if self._widest else self.grid.end(4, 1)

    def reach(self, n_rows: int, further: float = 1.0) -> tuple[int, int]:
        """Return the nodes that matter before so many rows, or as for `further` their variance."""
        return self.grid.reach(further * self._variance * n_rows, self._widest)

    def before(
        self,
        worth: ValueFunction,
        n_rows: int,
        span: tuple[int, int] | None = None,
        answers: bool = False,
    ) -> ValueFunction:
        """Return what a position is worth before the last `n_rows` rows, given that after one."""
        if self._widest == 0:
            # Nothing is told, but where a step fails.
            return replace(worth, values=1 - self._silent * (1 - worth.values))
        # Few moves before the end, the best gaps lie further out; powers of 2 share their grids.
        zone = min(8.0, max(0.1, 5 / np.sqrt(2 ** np.floor(np.log2(n_rows * self._least)))))

        def moves(node: Node) -> GameMove | None:
            return _worst_move(node, self.grid, self._fineness, float(zone))

        return play(self._tree, worth, span or self.reach(n_rows), moves, answers=answers)


def _worst_move(node: Node, grid: LossGrid, fineness: Fineness, zone: float) -> GameMove | None:
    if isinstance(node.move, ConfidentMax):
        return confident_move(node.move, grid, fineness.gaps, float(zone))
    ratio = _bit_ratio(node.move)
    if ratio is not None:
        return bit_move(ratio, grid, fineness.gaps, float(zone))
    move = node.move
    if isinstance(move, BoundedRange):
        return range_move(move.width, grid, float(zone))
    if isinstance(move, PureRelease):
        return response_move(move.epsilon, grid)
    if isinstance(move, NoisyVector):
        return GaussianMove(move.ratio, grid)
    if isinstance(move, SmallBits):
        return SmallBitsMove(bit_move(move.ratio, grid, fineness.gaps, float(zone)), move, grid)
    assert isinstance(move, NoisyMax)
    if move.n_classes == 1:
        return None
    if is_gaussian(move):
        return GaussianMove(float(np.sqrt(2)) * move.ratio, grid)
    return max_move(move.ratio, grid, fineness.gaps, float(zone))
