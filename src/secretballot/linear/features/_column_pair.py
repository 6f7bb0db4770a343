"""Pair of columns, with merged bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Groups = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ColumnPair:
    """Two columns, whose bins are merged; a cell is a pair of merged bins.

    Attributes
    ----------
    columns : tuple of (int, int)
        Positions of the columns.
    groups : tuple of two ndarrays of shape (n_bins,)
        Merged bin of each bin.
    """

    columns: tuple[int, int]
    groups: tuple[Groups, Groups]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of merged bins."""
        return int(self.groups[0].max()) + 1, int(self.groups[1].max()) + 1

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.shape[0] * self.shape[1]
