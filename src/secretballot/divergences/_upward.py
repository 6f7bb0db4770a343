"""Sums of charges, rounded upwards: no charge is lost in a larger sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences._orders import Floats


def add_up(first: ArrayLike, second: ArrayLike) -> Floats:
    """Add numbers, rounded up to the next float where the sum is not exact."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        # The exact error of the sum (Knuth); NaN at infinity.
        rest = total - a
        error = (a - (total - rest)) + (b - rest)
        return np.where(error > 0, np.nextafter(total, np.inf), total)


def sum_up(numbers: Floats) -> Floats:
    """Sum up along the first axis, rounded up."""
    while len(numbers) > 1:
        half = len(numbers) // 2
        sums = add_up(numbers[:half], numbers[half : 2 * half])
        numbers = np.concatenate([sums, numbers[2 * half :]])
    return numbers[0] if len(numbers) else np.zeros(numbers.shape[1:])


def sums_before(numbers: Floats) -> Floats:
    """Bound the sum of the numbers, not negative, before each of them from above."""
    before = np.zeros(len(numbers))
    np.cumsum(numbers[:-1], out=before[1:])
    return before * (1 + np.arange(len(numbers)) * np.finfo(float).eps)
