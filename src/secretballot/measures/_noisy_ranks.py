"""Released ranks of columns, and the quantiles that they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Standard errors by which a column's number of people exceeds 0, if it has quantiles.
LEAST_ERRORS = 2.0


@dataclass(frozen=True)
class NoisyRanks:
    """Noisy numbers of people at or below each bin of a grid, released."""

    edges: Floats  # of the bins, shape (n_columns, n_bins + 1)
    ranks: Floats  # people in a bin or below, shape (n_columns, n_bins); they rise along the bins
    error: float  # largest standard deviation of a rank
    n_people: int  # with and without a value

    def quantiles(self, q: Floats) -> Floats:
        """Compute quantiles by column, shape (n_columns, n_levels).

        Values are spread evenly within a bin. A column in which no more people have a value than
        noise could show has NaN.
        """
        bins, people = self._bins(q), np.diff(self.ranks, prepend=0.0)
        below = np.take_along_axis(self.ranks - people, bins, axis=1)
        inside = np.maximum(np.take_along_axis(people, bins, axis=1), np.finfo(float).tiny)
        parts = np.clip((self._wanted_ranks(q) - below) / inside, 0.0, 1.0)
        low, high = self._ends(bins)
        return np.where(self._has_people, low + parts * (high - low), np.nan)

    def intervals(self, q: Floats, width: float) -> Floats:
        """Compute the ends of the bins that hold the quantiles at q - width and at q + width."""
        low, _ = self._ends(self._bins(q - width))
        _, high = self._ends(self._bins(q + width))
        return np.where(self._has_people[..., None], np.stack([low, high], axis=-1), np.nan)

    @property
    def _has_people(self) -> NDArray[np.bool_]:
        return np.asarray(self.ranks[:, -1:] > LEAST_ERRORS * self.error)

    def _wanted_ranks(self, q: Floats) -> Floats:
        return np.asarray(np.clip(q, 0, 1) * self.ranks[:, -1:])

    def _bins(self, q: Floats) -> NDArray[np.intp]:
        bins = np.stack(list(map(np.searchsorted, self.ranks, self._wanted_ranks(q))))
        return np.minimum(bins, self.ranks.shape[1] - 1)

    def _ends(self, bins: NDArray[np.intp]) -> tuple[Floats, Floats]:
        edges = self.edges
        return np.take_along_axis(edges, bins, axis=1), np.take_along_axis(edges, bins + 1, axis=1)
