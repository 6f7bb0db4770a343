"""Selection among private counts and numbers: the top k of items, and quantiles of columns."""

from secretballot._public import published
from secretballot.selection._noisy_ranks import NoisyRanks as NoisyRanks
from secretballot.selection._private_quantiles import PrivateQuantiles, private_quantiles
from secretballot.selection._private_top_k import PrivateItems, private_top_k
from secretballot.selection._rank_grid import RankGrid as RankGrid

__all__ = ["PrivateItems", "PrivateQuantiles", "private_quantiles", "private_top_k"]

published(globals())
