"""Private top k: the items with the largest counts, from a table to names."""

from secretballot._public import published
from secretballot.selection._private_top_k import PrivateItems, private_top_k

__all__ = ["PrivateItems", "private_top_k"]

published(globals())
