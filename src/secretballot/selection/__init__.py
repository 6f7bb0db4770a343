"""Which items have the largest counts, privately: from a table to names."""

from secretballot._public import published
from secretballot.selection._private_items import PrivateItems
from secretballot.selection._private_top_k import private_top_k

__all__ = ["PrivateItems", "private_top_k"]

published(globals())
