"""Expected targets and errors of a fitted regression, and the scale on which it is scored."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from secretballot.linear._design import Floats
from secretballot.linear._reference_rows import ReferenceRows
from secretballot.linear._residual_histogram import ResidualHistogram
from secretballot.measures._error_scale import ErrorScale, clip_error

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
            deviation=float(np.sqrt(self.variance)) * half,
        )
