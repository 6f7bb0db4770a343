"""Costs, divergences of noisy moves, and whole batches as games: what an outcome can reveal.

Mathematics only: no budget, no file."""

from secretballot._base._objects import published
from secretballot.costs import _max_move as _max_move  # a kind of move that nothing else imports
from secretballot.costs._clipped_bits import ClippedBits
from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._cost import GaussianCost, RenyiCost
from secretballot.costs._law import Move, NoisyBit, NoisyMax, NoisyVector, Step
from secretballot.costs._noise import draw_exponential, draw_gumbel, draw_laplace, draw_uniform
from secretballot.costs._selection import BoundedRange, PureRelease

__all__ = [
    "BoundedRange",
    "ClippedBits",
    "ConfidentMax",
    "Move",
    "NoisyBit",
    "NoisyMax",
    "NoisyVector",
    "PureRelease",
    "Step",
    "draw_exponential",
    "draw_gumbel",
    "draw_laplace",
    "draw_uniform",
]

# Public names belong to the package that users import them from.
published(globals())
RenyiCost.__module__ = GaussianCost.__module__ = "secretballot.accounting"
