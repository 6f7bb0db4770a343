"""Items that were released."""

from __future__ import annotations

from typing import Any, NamedTuple


class PrivateItems(NamedTuple):
    """Items with the largest counts, as `private_top_k` releases them.

    Attributes
    ----------
    items : ndarray or Index of shape (n_items,)
        Positions of an array's entries or a matrix's columns, or names, in their public order:
        nothing is said about which of them has the larger count. None if nothing was released. Of
        items that come from the data an array of objects, as whose type tells of no other name.
    released : bool
        Whether something was. An empty set may have been.
    """

    items: Any
    released: bool
