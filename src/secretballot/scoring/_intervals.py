"""Intervals from noisy counts: what the noise, and the rows that there happened to be, leave open.

Each is the set of all shares that a test does not reject, with the variance that the counts would
have if the share were true (as Wilson's interval has it), the noise included. They hold about as
often as they say; less often where a handful of wrong answers is expected, or of right ones, and
next to no noise hides it. Averages over an
owner's rows vary less than single answers do, so intervals of owners are at least as wide as they
need be.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Interval = tuple[float, float]


def quantile(level: float) -> float:
    """Return how many standard deviations a two-sided interval reaches."""
    return float(ndtri((1 + level) / 2))


def of_these_rows(count: float, n: int, noise: float, level: float) -> Interval:
    """Return an interval for the share of the rows themselves; `noise` is that of the count."""
    reach = quantile(level) * noise
    return _within(count - reach, n), _within(count + reach, n)


def of_population(count: float, n: int, noise: float, level: float) -> Interval:
    """Return an interval for the share of the population that the rows are drawn from."""
    k, share = quantile(level) ** 2, _within(count, n)
    more = 1 + k / n
    inside = k / n * share * (1 - share) + (k / n) ** 2 / 4 + k * more * (noise / n) ** 2
    middle, half = share + k / n / 2, math.sqrt(inside)
    return max((middle - half) / more, 0.0), min((middle + half) / more, 1.0)


def of_class(right: float, all_: float, sigma: float, n_classes: int, level: float) -> Interval:
    """Return an interval for the recall of a class, by the noisy cells of its row.

    That is Fieller's: right - share * all has mean 0 if the share is true, whatever number of rows
    the class has. Where the noise may be all that there is, nothing is excluded.
    """
    if all_ <= 0:
        return 0.0, 1.0
    k, right = quantile(level) ** 2, min(max(right, 0.0), all_)
    noise = k * sigma**2
    # a p^2 + b p + c <= 0
    a = all_**2 + k * all_ - n_classes * noise
    b = -2 * right * all_ - k * all_ + 2 * noise
    c = right**2 - noise
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    if a <= 0:
        return 0.0, 1.0
    return max((-b - root) / (2 * a), 0.0), min((-b + root) / (2 * a), 1.0)


def of_mean(values: NDArray[np.float64], intervals: NDArray[np.float64]) -> Interval:
    """Return an interval for the mean of independent estimates, by the intervals of each.

    References
    ----------
    Zou and Donner, "Construction of confidence limits about effect measures: A general approach"
    (Statistics in Medicine, 2008).
    """
    if not np.isfinite(values).all():
        return 0.0, 1.0
    reach = np.sqrt(((intervals - values[:, None]) ** 2).sum(axis=0)) / len(values)
    mean = float(values.mean())
    return max(mean - float(reach[0]), 0.0), min(mean + float(reach[1]), 1.0)


def _within(count: float, n: int) -> float:
    return min(max(count / n, 0.0), 1.0)
