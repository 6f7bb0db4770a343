"""Confidence intervals from noisy counts, for the rows themselves and for their population.

Each interval is the set of all shares that a test does not reject, with the variance of the counts
under that share (as in Wilson's interval), noise included. Coverage is about nominal, and lower
where a handful of wrong (or right) answers is expected and the noise is next to none. Averages over
an owner's rows vary less than single answers, so intervals of owners are conservative.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Interval = tuple[float, float]


def sample_interval(count: float, n: int, noise: float, level: float) -> Interval:
    """Compute an interval for the share of the rows themselves; `noise` is that of the count.

    A count beyond its range is clipped first: the interval is never narrower than the noise.
    """
    reach, count = quantile(level) * noise, min(max(count, 0.0), n)
    return _share(count - reach, n), _share(count + reach, n)


def population_interval(count: float, n: int, noise: float, level: float) -> Interval:
    """Compute an interval for the share of the population that the rows are drawn from."""
    k, share = quantile(level) ** 2, _share(count, n)
    scale = 1 + k / n
    variance = k / n * share * (1 - share) + (k / n) ** 2 / 4 + k * scale * (noise / n) ** 2
    centre, half = share + k / n / 2, math.sqrt(variance)
    return max((centre - half) / scale, 0.0), min((centre + half) / scale, 1.0)


def recall_interval(
    right: float, total: float, sigma: float, n_classes: int, level: float
) -> Interval:
    """Compute Fieller's interval for the recall of a class, from the noisy cells of its row.

    right - share * total has mean 0 at the true share, whatever the number of rows of the class.
    If the count may be noise alone, the interval is 0 to 1.
    """
    if total <= 0:
        return 0.0, 1.0
    k, right = quantile(level) ** 2, min(max(right, 0.0), total)
    noise = k * sigma**2
    # a p^2 + b p + c <= 0
    a = total**2 + k * total - n_classes * noise
    b = -2 * right * total - k * total + 2 * noise
    c = right**2 - noise
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    if a <= 0:
        return 0.0, 1.0
    return max((-b - root) / (2 * a), 0.0), min((-b + root) / (2 * a), 1.0)


def mean_interval(values: NDArray[np.float64], intervals: NDArray[np.float64]) -> Interval:
    """Compute an interval for the mean of independent estimates, from the interval of each.

    References
    ----------
    Zou and Donner, "Construction of confidence limits about effect measures: A general approach"
    (Statistics in Medicine, 2008).
    """
    if not np.isfinite(values).all():
        return 0.0, 1.0
    low, high = np.sqrt(((intervals - values[:, None]) ** 2).sum(axis=0)) / len(values)
    mean = float(values.mean())
    return max(mean - float(low), 0.0), min(mean + float(high), 1.0)


def quantile(level: float) -> float:
    """Compute the half-width of a two-sided interval in standard deviations."""
    return float(ndtri((1 + level) / 2))


def _share(count: float, n: int) -> float:
    return min(max(count / n, 0.0), 1.0)
