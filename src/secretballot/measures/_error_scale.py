"""Public scale of squared errors and deviations, and the vectors of private rows on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from secretballot._base._numbers import check_number
from secretballot._base._objects import cached_property

Floats = NDArray[np.float64]

#: Weight of deviations beside that of their squares, and of products beside their factors.
_DEVIATION, _PRODUCTS = 0.5, 0.25
#: Largest ratio of the weights of squared errors and squared deviations.
_LARGEST_RATIO = 1000.0
#: Relative margin of vectors below their largest distance: averages and products are rounded.
_MARGIN = 2.0**-20
#: Expected standard deviation of targets, as a share of the range of their bounds.
_EXPECTED_DEVIATION = 0.25


@dataclass(frozen=True)
class ErrorScale:
    """Public scale of squared errors and deviations.

    A row has the share q of its squared error in the largest one, and the share t of its target's
    deviation from the centre in the largest one: q from 0 to 1, t from -1 to 1. Its vector is
    (q, t, t^2, q^2, q t, q t^2, t^3, t^4), weighted.
    """

    low: float  # targets and predictions are clipped to low and high
    high: float
    centre: float  # expected mean of the targets
    largest_error: float  # errors are clipped to it
    largest_deviation: float  # deviations of targets from the centre are clipped to it
    unexplained: float  # expected MSE / variance; a wrong one only adds noise
    deviation: float  # expected, of the targets, for expected widths of intervals; 0 if unknown

    @classmethod
    def between(
        cls,
        bounds: tuple[float, float],
        largest_error: float | None = None,
        *,
        r2: float = 0.5,
        target_std: float | None = None,
    ) -> ErrorScale:
        low, high = bounds
        return cls(
            low=low,
            high=high,
            centre=low + (high - low) / 2,
            largest_error=clip_error(largest_error, bounds),
            largest_deviation=(high - low) / 2,
            unexplained=1 - r2,
            deviation=_EXPECTED_DEVIATION * (high - low) if target_std is None else target_std,
        )

    @property
    def ratio(self) -> float:
        """Ratio of the largest squared error to the largest squared deviation."""
        return (self.largest_error / self.largest_deviation) ** 2

    @cached_property
    def weights(self) -> Floats:
        """Weights of the numbers of a vector, with which two vectors are at most 1 apart."""
        # This ratio minimises the noise of (mean squared error) - unexplained * variance.
        ratio = float(np.sqrt(self.ratio / self.unexplained))
        ratio = min(max(ratio, 1 / _LARGEST_RATIO), _LARGEST_RATIO)
        error, square = ratio / np.hypot(1, ratio), 1 / np.hypot(1, ratio)
        mixed = np.sqrt(error * square)
        products = _PRODUCTS * np.array([error, mixed, mixed, square, square])
        weights = np.concatenate([[error, _DEVIATION * square, square], products])
        return np.asarray(weights / (diameter(weights) * (1 + _MARGIN)))

    def vectors(self, targets: Floats, predictions: Floats) -> Floats:
        """Compute the vectors of rows: (n_rows, 8). A prediction of NaN has the largest error."""
        z, f = np.clip(targets, self.low, self.high), np.clip(predictions, self.low, self.high)
        with np.errstate(over="ignore"):
            r = np.clip((z - f) / self.largest_error, -1.0, 1.0)
            t = np.clip((z - self.centre) / self.largest_deviation, -1.0, 1.0)
        # Products instead of powers, whose rounding may depend on the position of a row.
        q, s = np.where(np.isnan(f), 1.0, r * r), t * t
        numbers = [q, t, s, q * q, q * t, q * s, s * t, s * s]
        return np.stack(numbers, axis=1) * self.weights

    def noise(self, noise: float) -> Floats:
        """Compute the noise of the mean of each number, from that of a vector's mean: (8,)."""
        return noise / self.weights

    def noise_error(self, noise: float) -> float:
        """Compute the expected standard deviation of R^2 by the noise of a vector's mean."""
        if not self.deviation:
            return math.inf
        numbers, variance = self.noise(noise), (self.deviation / self.largest_deviation) ** 2
        error = np.hypot(self.ratio * numbers[0], self.unexplained * numbers[2])
        return float(error / variance)


def clip_error(largest_error: float | None, bounds: tuple[float, float]) -> float:
    low, high = bounds
    if largest_error is None:
        return high - low
    check_number("largest_error", largest_error, above=0)
    return min(float(largest_error), high - low)


def diameter(weights: Floats) -> float:
    """Compute the largest distance between the weighted vectors of two rows.

    The squared distance is convex in each of q and q', so these are 0 or 1; the weight of q^2 is at
    most half of that of q. Then it grows with the larger of |t| and |t'|, which is 1, and with the
    difference of their signs. One variable is left: t = 1, t' = -x. See "Private score of numbers"
    in `docs/theory/logistic-regression.md`.
    """
    w = (weights**2).tolist()
    x = Polynomial([0.0, 1.0])
    t, t2, t3, t4 = (1 + x) ** 2, (1 - x**2) ** 2, (1 + x**3) ** 2, (1 - x**4) ** 2
    deviations = w[1] * t + w[2] * t2 + w[6] * t3 + w[7] * t4
    # Errors of 1 and 0, or both of 1.
    squares = [deviations + (w[0] + w[3] + w[4] + w[5]), deviations + w[4] * t + w[5] * t2]
    return float(np.sqrt(max(map(_maximum, squares))))


def _maximum(polynomial: Polynomial) -> float:
    """Compute the maximum of a polynomial between 0 and 1."""
    roots = polynomial.deriv().roots()
    inner = roots.real[(roots.real > 0) & (roots.real < 1)]
    return float(polynomial(np.concatenate([[0.0, 1.0], inner])).max())
