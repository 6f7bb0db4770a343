"""Histogram of residuals that is released beside a sum of clipped residuals, free of charge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secretballot.linear.features import Floats

#: Clipped residuals of at least this size share one bin, whatever their sign.
TOP = 0.8
#: Length of a row's vote for a bin, in units of its largest clipped residual times features: with
#: it two rows are no further apart than without. The shorter one is for rows that release their
#: features too. See "Numbers" in `docs/theory/logistic-regression.md`.
VOTE_LENGTH, FIRST_VOTE_LENGTH = 0.61, 0.42
#: Ends of the bins of one sign, in units of `TOP`.
_ENDS = np.array([1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8])
#: Inner edges of the bins of clipped residuals below `TOP`.
_EDGES = TOP * np.concatenate([-_ENDS[::-1], [0.0], _ENDS])
#: Number of bins; the last one is for large residuals.
N_BINS = len(_EDGES) + 2
#: Largest share of residuals beyond the edge from which the next scale follows.
_TAIL = 0.03
#: Smallest scale, and the share of large residuals at which the scale doubles.
_LEAST_SCALE, _FAR_TOO_MANY = 0.01, 0.2


def residual_bins(clipped: Floats) -> NDArray[np.intp]:
    """Return the bin of each residual, in units of the scale at which they are clipped."""
    return np.where(np.abs(clipped) < TOP, np.searchsorted(_EDGES, clipped), N_BINS - 1)


@dataclass(frozen=True)
class ResidualHistogram:
    """Noisy shares of residuals, smoothed.

    Attributes
    ----------
    scale : float
        Size at which residuals are clipped.
    below : ndarray of shape (n_bins - 2,)
        Share of the residuals below each inner edge, half of the large ones among them.
    large : float
        Share of residuals of at least `TOP` times the scale.
    """

    scale: float
    below: Floats
    large: float

    @classmethod
    def from_counts(cls, counts: Floats, total: float, scale: float) -> ResidualHistogram:
        """Smooth noisy counts of bins, whose true sum is `total`."""
        large = float(np.clip(counts[-1] / total, 0.0, 1.0))
        rest = np.cumsum(counts[:-1]) / total
        # The shares of all bins add to 1: the noise of their sum is shared out.
        surplus = rest[-1] + large - 1
        rest = rest - surplus * np.arange(1, N_BINS) / (N_BINS - 1)
        below = np.maximum.accumulate(rest[:-1]) + np.minimum.accumulate(rest[:-1][::-1])[::-1]
        return cls(scale, np.clip(below / 2, 0.0, 1 - large) + large / 2, large)

    def rescaled(self, scale: float) -> ResidualHistogram:
        """Return the histogram of the same residuals, clipped at a smaller scale."""
        edges = self.scale * np.concatenate([[-TOP], _EDGES, [TOP]])
        levels = np.concatenate([[self.large / 2], self.below, [1 - self.large / 2]])
        below = np.interp(scale * _EDGES, edges, levels)
        ends = np.interp([-scale * TOP, scale * TOP], edges, levels)
        return ResidualHistogram(scale, below, float(1 - ends[1] + ends[0]))

    def next_scale(self) -> float:
        """Choose the scale of the next round: few residuals lie beyond it."""
        if self.large > _FAR_TOO_MANY:
            return min(2 * self.scale, 1.0)
        ends = np.append(_ENDS, 1.0)
        # Residuals of either sign beyond each end.
        n = len(_ENDS)
        beyond = np.append(self.below[n - 1 :: -1] + 1 - self.below[n + 1 :], self.large)
        beyond = np.maximum.accumulate(beyond[::-1])[::-1]
        enough = np.flatnonzero(beyond <= _TAIL)
        end = float(ends[enough[0]]) if len(enough) else 1.0 / TOP
        return float(np.clip(self.scale * end, _LEAST_SCALE, 1.0))

    @property
    def unclipped(self) -> float:
        """Share of residuals that are not clipped; half of the large ones are taken as clipped."""
        return 1 - self.large / 2

    @property
    def variance(self) -> float:
        """Mean square of clipped residuals."""
        edges = np.concatenate([[-TOP], _EDGES, [TOP]])
        shares = np.diff(np.concatenate([[self.large / 2], self.below, [1 - self.large / 2]]))
        squares = (edges[1:] ** 2 + edges[1:] * edges[:-1] + edges[:-1] ** 2) / 3
        top = (TOP**2 + TOP + 1) / 3
        return float(shares @ squares + self.large * top) * self.scale**2

    def quantile(self, level: float) -> float:
        """Compute a quantile of the residuals; NaN if it is among the large ones."""
        edges = np.concatenate([[-TOP], _EDGES, [TOP]])
        levels = np.concatenate([[self.large / 2], self.below, [1 - self.large / 2]])
        if not levels[0] <= level <= levels[-1]:
            return float("nan")
        return float(np.interp(level, levels, edges)) * self.scale
