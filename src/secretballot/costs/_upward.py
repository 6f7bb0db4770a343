"""Sums of charges, rounded up: no charge is lost in a larger sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secretballot.costs._orders import Floats


def add_up(first: ArrayLike, second: ArrayLike) -> Floats:
    """Add numbers, rounded up to the next float where the sum is not exact."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        # The exact error of the sum (Knuth); NaN at infinity.
        added = total - a
        error = (a - (total - added)) + (b - added)
        return np.where(error > 0, np.nextafter(total, np.inf), total)


def add_down(first: ArrayLike, second: ArrayLike) -> Floats:
    """Add numbers, rounded down to the next float where the sum is not exact."""
    return -add_up(-np.asarray(first), -np.asarray(second))


def sum_up(numbers: Floats) -> Floats:
    """Compute an upper bound of the sum of non-negative numbers along the first axis."""
    n_sums = max(len(numbers) - 1, 0)
    rounding = 1 + n_sums * np.finfo(np.longdouble).eps
    bound = np.sum(numbers, axis=0, dtype=np.longdouble) * rounding
    total = np.asarray(np.sum(numbers, axis=0), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        # Multiples of the last place of a sum add up without rounding.
        is_exact = (np.fmod(numbers, np.spacing(total)) == 0).all(axis=0)
    upper = np.asarray(bound, dtype=np.float64)
    upper = np.where(upper < bound, np.nextafter(upper, np.inf), upper)
    return np.where(is_exact, total, upper)


def sums_before(numbers: Floats) -> Floats:
    """Compute an upper bound of the sum of all earlier numbers, for each non-negative number."""
    before = np.zeros(len(numbers))
    np.cumsum(numbers[:-1], out=before[1:])
    return before * (1 + np.arange(len(numbers)) * np.finfo(float).eps)
