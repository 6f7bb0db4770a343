"""Vectors of private rows on a public scale of errors, and R^2 from their noisy means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from secretballot._base._numbers import check_number
from secretballot._base._objects import cached_property
from secretballot.measures._intervals import Interval, quantile

Floats = NDArray[np.float64]

#: Weight of a deviation, relative to the weight of its square.
_DEVIATION = 0.5
#: Weight of a product, relative to the weights of its factors.
_PRODUCTS = 0.25
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

    def noise_error(self, noise: float) -> float:
        """Compute the standard deviation of R^2 that is expected from the noise of the means."""
        if not self.deviation:
            return math.inf
        numbers, variance = noise / self.weights, (self.deviation / self.largest_deviation) ** 2
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


#: Nearly all targets are near an end of the range if their mean is within this share of it.
_NEAR = 0.05
#: Gauss-Hermite points and weights of a standard normal distribution.
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()
#: Mean squared error, as a share of the largest that counts, above which most errors are large.
_LARGE = 0.5


@dataclass(frozen=True)
class ErrorMoments:
    """Released means of the eight numbers of `ErrorScale`, over people."""

    scale: ErrorScale
    means: Floats
    noise: Floats  # standard deviations of the means' noise
    n: int  # people

    @classmethod
    def from_sums(cls, scale: ErrorScale, sums: Floats, sigma: float, n: int) -> ErrorMoments:
        return cls(scale, sums / n / scale.weights, sigma / n / scale.weights, n)

    @classmethod
    def expected_half_width(cls, scale: ErrorScale, noise: float, n: int, level: float) -> float:
        """Compute the half-width of the interval of R^2; infinite if noise hides it.

        Targets and errors are normal, with the scale's expectations; `noise` is that of a vector's
        mean.
        """
        if not scale.deviation:
            return math.inf
        explained = math.sqrt(max(1 - scale.unexplained, 0.0))
        predicted = scale.centre + scale.deviation * explained * _NODES[:, None]
        targets = predicted + scale.deviation * math.sqrt(scale.unexplained) * _NODES
        vectors = scale.vectors(targets.ravel(), np.repeat(predicted, len(_NODES)))
        means = np.outer(_NODE_WEIGHTS, _NODE_WEIGHTS).ravel() @ vectors
        low, high = cls.from_sums(scale, n * means, noise * n, n).r2_interval(level)
        return (high - low) / 2

    @property
    def _variance(self) -> float:
        """Variance of the targets, in units of the largest squared deviation; noisy."""
        # The square of a noisy mean is too large by the variance of its noise.
        return float(self.means[2] - self.means[1] ** 2 + self.noise[1] ** 2)

    @property
    def r2(self) -> float:
        """Share of the targets' variance that is explained; NaN if the noise hides the variance."""
        if self._variance <= 0:
            return math.nan
        return min(1 - self.scale.ratio * float(self.means[0]) / self._variance, 1.0)

    @property
    def rmse(self) -> float:
        return self.scale.largest_error * math.sqrt(max(float(self.means[0]), 0.0))

    def r2_interval(self, level: float) -> Interval:
        """Compute an interval for R^2 on the population.

        It is Fieller's: all r for which the mean of (error)^2 - (1 - r) (deviation)^2, which is 0
        at the true one, is within its noise and sampling error.
        """
        k, noise = quantile(level) ** 2, self.noise**2
        ratio, error, variance = self.scale.ratio, float(self.means[0]), self._variance
        errors, products, deviations = self._fourth_moments()
        of_variance = noise[2] + 4 * self.means[1] ** 2 * noise[1] + 2 * noise[1] ** 2
        # a u^2 - 2 b u + c <= 0 for u = 1 - r, in units of the largest squared deviation.
        a = variance**2 - k * (of_variance + deviations / self.n)
        b = ratio * (error * variance - k * products / self.n)
        c = ratio**2 * (error**2 - k * (noise[0] + errors / self.n))
        if a <= 0 or variance <= 0:
            return -math.inf, 1.0
        root = math.sqrt(max(b * b - a * c, 0.0))
        return float(1 - max(b + root, 0.0) / a), float(min(1 - (b - root) / a, 1.0))

    def rmse_interval(self, level: float) -> Interval:
        error, (errors, _, _) = min(max(float(self.means[0]), 0.0), 1.0), self._fourth_moments()
        sampling = max(errors - error**2, 0.0) / self.n
        reach = quantile(level) * math.sqrt(self.noise[0] ** 2 + sampling)
        low, high = (
            self.scale.largest_error * math.sqrt(min(max(end, 0.0), 1.0))
            for end in (error - reach, error + reach)
        )
        return low, high

    def hidden_by_noise(self, level: float) -> list[str]:
        """Describe estimates at the end of their range, and their intervals."""
        (low_r2, high_r2), (_, high) = self.r2_interval(level), self.rmse_interval(level)
        hidden = list[str]()
        if low_r2 == -math.inf:
            hidden.append(
                "The noise hides the variance of the targets, or rows are too few: R^2 may be "
                f"anything from -inf to {high_r2:.3g}, and r2={self.r2:.3g} says nothing."
            )
        if self.means[0] <= 0:
            hidden.append(
                f"The noise hides the mean squared error: rmse=0.0, and r2={self.r2:.3g}, are the "
                "best that is possible, not what was measured. By the interval the error is up to "
                f"{high:,.4g}."
            )
        return hidden

    def signs_of_other_units(self, level: float) -> list[str]:
        """Describe why targets may have another unit than predictions or bounds; none if R^2 > 0.

        A sign counts if the mean deviation, or mean squared error, shows it beyond twice its noise.
        """
        low_r2, high_r2 = self.r2_interval(level)
        if low_r2 > 0:
            return []
        scale, noise, signs = self.scale, 2 * self.noise, list[str]()
        ends = np.array([scale.low, scale.high]) - scale.centre
        low, high = np.clip(ends / scale.largest_deviation, -1.0, 1.0).tolist()
        distances = {low: self.means[1] - low, high: high - self.means[1]}
        for end, distance in distances.items():
            if distance + noise[1] < _NEAR * (high - low):
                value = scale.centre + end * scale.largest_deviation
                side = "below" if end == low else "above"
                signs.append(f"nearly all targets count as {value:,.4g}, or lie near it or {side}")
        if self.means[0] - noise[0] > _LARGE:
            signs.append(f"most errors are {scale.largest_error:,.4g}, the largest that counts")
        if high_r2 < 0:
            signs.append("predictions are further from the targets than their mean is")
        return signs

    def _fourth_moments(self) -> tuple[float, float, float]:
        """Compute the mean products of squared errors and squared deviations from the mean.

        The sampling error grows with the first and the last, and falls with the other one. So the
        standard deviation of its noise is added to each, or subtracted: the sampling error is
        seldom estimated too small. All are kept within what the means allow.
        """
        q, t, t2, q2, qt, qt2, t3, t4 = self.means.tolist()
        noise = self.noise
        q, variance = min(max(q, 0.0), 1.0), max(self._variance, 0.0)
        errors = float(np.clip(q2 + noise[3], q**2, q))
        deviations = t4 - 4 * t * t3 + 6 * t**2 * t2 - 3 * t**4
        deviations += math.hypot(noise[7], 4 * t * noise[6], 6 * t**2 * noise[2])
        deviations = float(np.clip(deviations, variance**2, (1 + abs(t)) ** 2 * variance))
        products = qt2 - 2 * t * qt + t**2 * q
        products -= math.hypot(noise[5], 2 * t * noise[4], t**2 * noise[0])
        return errors, min(max(products, 0.0), math.sqrt(errors * deviations)), deviations
