"""Largest epsilon that keeps within limits."""

from __future__ import annotations

from collections.abc import Callable

#: Halvings of the interval in which the largest epsilon lies.
_HALVINGS = 60


def largest_epsilon(most: float, fits: Callable[[float], bool]) -> float:
    """Compute the largest epsilon, up to `most`, that fits, by bisection; smaller ones fit too."""
    if fits(most):
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
