"""Costs, divergences of noisy moves, and whole batches as games: what an outcome can reveal.

Mathematics only: no budget, no file."""

from secretballot._base._public import published
from secretballot.costs._clipped_bits import ClippedBits
from secretballot.costs._confident_max import ConfidentMax
from secretballot.costs._cost import RenyiCost
from secretballot.costs._full_tails import draw_exponential, draw_gumbel, draw_laplace, draw_uniform
from secretballot.costs._gaussian_cost import GaussianCost
from secretballot.costs._law import Step
from secretballot.costs._moves import Move, NoisyBit, NoisyMax, NoisyVector
from secretballot.costs.selection._pure_moves import BoundedRange, PureRelease

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
