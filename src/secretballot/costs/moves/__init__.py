"""The moves of a game: one file for each kind of move, registered with `play_of`."""

from secretballot.costs._clipped_bits import ClippedBits
from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._moves import NoisyBit, NoisyMax, NoisyVector
from secretballot.costs.moves._bit_move import BitPlay, StableTestPlay
from secretballot.costs.moves._clipped_move import ClippedPlay, VectorPlay
from secretballot.costs.moves._confident_move import ConfidentPlay
from secretballot.costs.moves._grid import FINE, Fineness, LossGrid, PaddedValues, ValueFunction
from secretballot.costs.moves._max_move import MaxPlay
from secretballot.costs.moves._play import GameMove, Node, Play, all_nodes, has_play, play_of
from secretballot.costs.moves._range_move import FewDrawsPlay, RangePlay, ResponsePlay
from secretballot.costs.moves._share_table import interpolate_share
from secretballot.costs.selection._gaussian_selection import StableTest
from secretballot.costs.selection._pure_moves import BoundedRange, FewDraws, PureRelease

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
