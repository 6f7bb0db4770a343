"""The largest of many counts, in linear time and in a public order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Of rows this short, or where more than this part is wanted, everything is sorted.
_SHORT, _MOST = 512, 0.25


def largest(counts: NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the `n` largest counts of each row in falling order, and where they are.

    Equal ones go by their position. Of long rows only those are sorted.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_items)
    n : int
        Items beyond those that there are count 0, and have a position beyond the last.

    Returns
    -------
    values, positions : ndarray of shape (n_rows, n)
    """
    n_rows, n_items = counts.shape
    kept = min(n, n_items)
    if n_items <= _SHORT or kept > _MOST * n_items:
        positions = np.argsort(-counts, axis=1, kind="stable")[:, :kept]
    else:
        found = _top(counts, kept)
        order = np.argsort(-np.take_along_axis(counts, found, axis=1), axis=1, kind="stable")
        positions = np.take_along_axis(found, order, axis=1)
    values = np.take_along_axis(counts, positions, axis=1)
    if kept < n:
        beyond = np.broadcast_to(np.arange(n_items, n_items + n - kept), (n_rows, n - kept))
        positions = np.hstack([positions, beyond])
        values = np.hstack([values, np.zeros((n_rows, n - kept), dtype=values.dtype)])
    return values, positions


def _top(counts: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return where the `n` largest of each row are, by position."""
    n_items = counts.shape[1]
    last = np.partition(counts, n_items - n, axis=1)[:, n_items - n]
    row, place = np.nonzero(counts >= last[:, None])
    if len(row) > n * len(counts):
        # Too many as large as the last: of these the first ones.
        equal = counts[row, place] == last[row]
        room = n - np.bincount(row[~equal], minlength=len(counts))
        before = np.cumsum(equal)
        begun = np.concatenate([[0], before])[np.searchsorted(row, np.arange(len(counts)))]
        place = place[~equal | (before - begun[row] <= room[row])]
    return place.reshape(len(counts), n)


def mark(n_items: int, positions: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return rows of zeros with ones at the chosen positions, those beyond the last left out."""
    outcome = np.zeros((len(positions), n_items), dtype=np.int64)
    row, place = np.nonzero(chosen & (positions < n_items))
    outcome[row, positions[row, place]] = 1
    return outcome
