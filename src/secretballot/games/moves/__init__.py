"""The moves of a game: one file for each kind of move, registered with `play_of`."""

from secretballot.divergences import (
    BoundedRange,
    ClippedBits,
    ConfidentMax,
    FewDraws,
    NoisyBit,
    NoisyMax,
    NoisyTop,
    NoisyVector,
    PureRelease,
    StableTest,
)
from secretballot.games.moves._bit_move import BitPlay, StableTestPlay, TopPlay
from secretballot.games.moves._choices import Choices
from secretballot.games.moves._clipped_move import ClippedPlay
from secretballot.games.moves._confident_move import ConfidentPlay
from secretballot.games.moves._gaussian_move import GaussianPairMove, VectorPlay
from secretballot.games.moves._grid import LossGrid, Padded, Stencil, ValueFunction, add_up
from secretballot.games.moves._max_move import MaxPlay
from secretballot.games.moves._play import GameMove, Node, Play, all_nodes, has_play, play_of
from secretballot.games.moves._range_move import FewDrawsPlay, RangePlay, ResponsePlay
from secretballot.games.moves._share_table import expected_share
from secretballot.games.moves._small_bits import SmallBits, SmallBitsPlay

__all__ = [
    "Choices",
    "GameMove",
    "GaussianPairMove",
    "LossGrid",
    "Node",
    "Padded",
    "Play",
    "Stencil",
    "ValueFunction",
    "add_up",
    "all_nodes",
    "expected_share",
    "has_play",
    "play_of",
]

# A new kind of move is one more line.
play_of.register(BoundedRange, RangePlay)
play_of.register(ClippedBits, ClippedPlay)
play_of.register(ConfidentMax, ConfidentPlay)
play_of.register(FewDraws, FewDrawsPlay)
play_of.register(NoisyBit, BitPlay)
play_of.register(NoisyMax, MaxPlay)
play_of.register(NoisyTop, TopPlay)
play_of.register(NoisyVector, VectorPlay)
play_of.register(PureRelease, ResponsePlay)
play_of.register(SmallBits, SmallBitsPlay)
play_of.register(StableTest, StableTestPlay)
