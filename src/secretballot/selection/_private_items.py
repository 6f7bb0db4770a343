"""Items that were released."""

from __future__ import annotations

from typing import Any, NamedTuple

from secretballot._views import Prose, Shown, View

#: So many items are shown.
_MOST = 20


class PrivateItems(NamedTuple):
    """Items with the largest counts, as `private_top_k` releases them.

    Attributes
    ----------
    items : ndarray or Index of shape (n_items,)
        Positions of an array's entries or a matrix's columns, or names, sorted: nothing is said
        about which of them has the larger count. None if nothing was released. Of items that come
        from the data an array of objects, as whose type tells of no other name.
    released : bool
        Whether something was. An empty set may have been.
    """

    items: Any
    released: bool

    def _view(self) -> View:
        if not self.released:
            return View("PrivateItems", (Prose.of("nothing was released"),))
        shown = [str(item) for item in self.items[:_MOST]]
        further = ", ..." if len(self.items) > _MOST else ""
        told = [Prose.of(f"{len(self.items):,} items, sorted by name")]
        if shown:
            told.append(Prose.of(f"{', '.join(shown)}{further}"))
        return View("PrivateItems", tuple(told))

    __str__, _repr_html_ = Shown.__str__, Shown._repr_html_
