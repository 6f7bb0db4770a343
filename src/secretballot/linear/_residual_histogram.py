"""Histogram of residuals, released beside a sum of clipped ones, and expected errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from secretballot.linear._design import Floats
from secretballot.linear._reference_rows import ReferenceRows
from secretballot.measures._squared_errors import ErrorScale, clip_error

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
_ALL_EDGES = np.concatenate([[-TOP], _EDGES, [TOP]])
#: Number of bins; the last one is for large residuals.
N_BINS = len(_EDGES) + 2
#: Largest share of residuals beyond the edge from which the next scale follows.
_TAIL = 0.03
#: Smallest scale, and the share of large residuals at which the scale doubles.
_LEAST_SCALE, _FAR_TOO_MANY = 0.01, 0.2
#: Scales that are compared, in units of the present one; the least share that counts as unclipped;
#: and points that stand for a histogram.
_SCALES = np.geomspace(0.05, 1.0, 25)
_LEAST_SLOPE, _N_POINTS = 0.35, 400


def residual_bins(clipped: Floats) -> NDArray[np.intp]:
    """Return the bin of each residual, in units of the scale at which they are clipped."""
    return np.where(np.abs(clipped) < TOP, np.searchsorted(_EDGES, clipped), N_BINS - 1)


@dataclass(frozen=True)
class ResidualHistogram:
    """Noisy shares of residuals, smoothed."""

    scale: float  # size at which residuals are clipped
    # (n_bins - 2,): share of the residuals below each inner edge, half of the large ones among
    # them.
    below: Floats
    large: float  # share of residuals of at least `TOP` times the scale
    # Mean distance by which predictions have moved since the residuals were taken.
    moved: float = 0.0

    @classmethod
    def from_counts(cls, counts: Floats, total: float, scale: float) -> ResidualHistogram:
        """Smooth noisy counts of bins, whose true sum is `total`."""
        large = float(np.clip(counts[-1] / total, 0.0, 1.0))
        inner_shares = np.cumsum(counts[:-1]) / total
        # The shares of all bins add to 1: the noise of their sum is shared out.
        surplus = inner_shares[-1] + large - 1
        inner_shares = inner_shares - surplus * np.arange(1, N_BINS) / (N_BINS - 1)
        below = (
            np.maximum.accumulate(inner_shares[:-1])
            + np.minimum.accumulate(inner_shares[:-1][::-1])[::-1]
        )
        return cls(scale, np.clip(below / 2, 0.0, 1 - large) + large / 2, large)

    @property
    def _levels(self) -> Floats:
        """Share of the residuals below each of the edges, both ends among them."""
        return np.concatenate([[self.large / 2], self.below, [1 - self.large / 2]])

    @property
    def _near(self) -> float:
        """Share of large residuals that are not clipped: the density goes on as below `TOP`."""
        outer = self._levels[1] - self._levels[0] + self._levels[-1] - self._levels[-2]
        return min(self.large, outer * (1 - TOP) / (TOP - TOP * _ENDS[-1]))

    @property
    def unclipped(self) -> float:
        """Share of residuals that are not clipped."""
        return max(1 - self.large + self._near, _LEAST_SLOPE)

    @property
    def variance(self) -> float:
        """Mean square of clipped residuals."""
        squares = (
            _ALL_EDGES[1:] ** 2 + _ALL_EDGES[1:] * _ALL_EDGES[:-1] + _ALL_EDGES[:-1] ** 2
        ) / 3
        near = (TOP**2 + TOP + 1) / 3
        inside = np.diff(self._levels) @ squares + self._near * near
        return float(inside + self.large - self._near) * self.scale**2

    def clipped_at(self, scale: float) -> tuple[float, float]:
        """Return the share of residuals that another scale does not clip, and their mean square."""
        if scale >= self.scale:
            return self.unclipped, self.variance
        points = self.points()
        share = float(np.mean(np.abs(points) < scale))
        return max(share, _LEAST_SLOPE), float(np.mean(np.clip(points, -scale, scale) ** 2))

    def points(self) -> Floats:
        """Return residuals of even shares; large ones stand between `TOP` and the scale."""
        levels = (np.arange(_N_POINTS) + 0.5) / _N_POINTS
        edges = np.concatenate([[-1.0], _ALL_EDGES, [1.0]])
        residuals = np.interp(levels, [0.0, *self._levels, 1.0], edges) * self.scale
        return np.asarray(residuals - self.moved)

    def tail_scale(self) -> float:
        """Choose the scale beyond which few residuals lie; if many are large, it grows."""
        if self.large > _FAR_TOO_MANY:
            return min(2 * self.scale, 1.0)
        size = float(np.quantile(np.abs(self.points()), 1 - _TAIL))
        return float(np.clip(size / TOP, _LEAST_SCALE, 1.0))

    def efficient_scale(
        self, loss: Callable[[float, float, float, float], float], tolerance: float
    ) -> float:
        """Choose the largest scale with almost the least loss.

        `loss` is a function of a scale, the slope and the mean square of residuals clipped there,
        and the distance of their centre from the mean.
        """
        points = self.points()
        points = points - points.mean()
        losses = []
        for scale in self.scale * _SCALES:
            clipped = np.clip(points, -scale, scale)
            slope = float(np.mean(np.abs(points) < scale))
            losses.append(
                loss(scale, slope, float(np.mean(clipped**2)), float(clipped.mean()) / slope)
                if slope >= _LEAST_SLOPE
                else np.inf
            )
        best = int(np.flatnonzero(np.array(losses) <= min(losses) + tolerance)[-1])
        if np.isinf(losses[best]) or (best == len(_SCALES) - 1 and self.large > _FAR_TOO_MANY):
            return min(2 * self.scale, 1.0)
        return float(np.clip(self.scale * _SCALES[best], _LEAST_SCALE, 1.0))

    def quantile(self, level: float) -> float:
        """Compute a quantile of the residuals; infinite if it is among the large ones."""
        below, above = self._levels[0], self._levels[-1]
        if not below <= level <= above:
            return -math.inf if level < below else math.inf
        return float(np.interp(level, self._levels, _ALL_EDGES)) * self.scale - self.moved


#: Least share of residuals from which the shares of larger ones follow; noise may hide smaller.
_LEAST_TAIL = 0.01
#: Bias by clipping errors that is accepted, in standard deviations of the noise.
_BIAS = 0.5
#: Least expected ratio of the mean squared error to the variance of targets.
_LEAST_UNEXPLAINED = 0.002
#: Number of sizes that are compared.
_N_SIZES = 100


@dataclass(frozen=True)
class ExpectedErrors:
    """Expected targets and errors, all of it released or public."""

    bounds: tuple[float, float]  # declared bounds of the target
    mean: float  # of the targets, where the bounds are -1 and 1
    variance: float  # the same
    residuals: ResidualHistogram  # residuals in the last round, in the same units
    is_known: bool = True  # whether the variance is above the noise

    @classmethod
    def of(
        cls,
        bounds: tuple[float, float],
        reference: ReferenceRows,
        coefficients: Floats,
        residuals: ResidualHistogram,
    ) -> ExpectedErrors:
        """Add the residuals to the predictions for the reference rows."""
        predicted = np.clip(reference.scores(coefficients), -1.0, 1.0)
        mean = float(reference.weights @ predicted)
        variance = float(reference.weights @ (predicted - mean) ** 2) + residuals.variance
        mean += float(residuals.points().mean())
        return cls(bounds, float(np.clip(mean, -1.0, 1.0)), variance, residuals)

    def scale(self, noise: float, largest_error: float | None = None) -> ErrorScale:
        """Choose the scale of errors.

        Errors are clipped where that is expected to change R^2 by half of its noise, if the share
        of larger residuals falls with the fourth power of their size. Deviations of targets are
        clipped at as many standard deviations. `noise` is the standard deviation of the noise of a
        mean over people.
        """
        if largest_error is not None:
            half = (self.bounds[1] - self.bounds[0]) / 2
            return self._scale(clip_error(largest_error, self.bounds) / half)
        share = max(self.residuals.large, _LEAST_TAIL)
        least = float(np.quantile(np.abs(self.residuals.points()), 1 - share))
        for size in np.geomspace(least, 2.0, _N_SIZES).tolist():
            scale = self._scale(size)
            bias = share * least**4 * (1 / size**2 - 1 / 4) / self.variance
            if bias <= _BIAS * scale.noise_error(noise):
                break
        return scale

    def _scale(self, size: float) -> ErrorScale:
        """Return the scale of errors up to a size, where the bounds are -1 and 1."""
        low, high = self.bounds
        half = (high - low) / 2
        unexplained = self.residuals.variance / self.variance
        unexplained = float(np.clip(unexplained, _LEAST_UNEXPLAINED, 1.0))
        deviation = min(size / np.sqrt(unexplained), 1 + abs(self.mean))
        return replace(
            ErrorScale.between(self.bounds),
            centre=low + (1 + self.mean) * half,
            largest_error=min(size * half, high - low),
            largest_deviation=float(deviation) * half,
            unexplained=unexplained,
            deviation=float(np.sqrt(self.variance)) * half if self.is_known else 0.0,
        )
