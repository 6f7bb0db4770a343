"""The moves of a game: one file for each kind of move, registered with `play_of`."""

from secretballot.divergences import (
    BoundedRange,
    ClippedBits,
    ConfidentMax,
    FewDraws,
    NoisyBit,
    NoisyMax,
    NoisyVector,
    PureRelease,
    StableTest,
)
from secretballot.games.moves._bit_move import BitPlay, StableTestPlay
from secretballot.games.moves._clipped_move import ClippedPlay, VectorPlay
from secretballot.games.moves._confident_move import ConfidentPlay
from secretballot.games.moves._grid import FINE, Fineness, LossGrid, PaddedValues, ValueFunction
from secretballot.games.moves._max_move import MaxPlay
from secretballot.games.moves._play import (
    GameMove,
    Node,
    Play,
    all_nodes,
    has_play,
    play_of,
)
from secretballot.games.moves._range_move import FewDrawsPlay, RangePlay, ResponsePlay
from secretballot.games.moves._share_table import interpolate_share

__all__ = [
    "FINE",
    "Fineness",
    "GameMove",
    "LossGrid",
    "Node",
    "PaddedValues",
    "Play",
    "ValueFunction",
    "all_nodes",
    "has_play",
    "interpolate_share",
    "play_of",
]

# A new kind of move is one more line.
play_of.register(BoundedRange, RangePlay)
play_of.register(ClippedBits, ClippedPlay)
play_of.register(ConfidentMax, ConfidentPlay)
play_of.register(FewDraws, FewDrawsPlay)
play_of.register(NoisyBit, BitPlay)
play_of.register(NoisyMax, MaxPlay)
play_of.register(NoisyVector, VectorPlay)
play_of.register(PureRelease, ResponsePlay)
play_of.register(StableTest, StableTestPlay)
