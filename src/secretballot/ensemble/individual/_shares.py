"""Shares of a vote that budgets can afford."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def affordable(rates: Floats, values: Floats, *, power: int) -> Floats:
    """Choices of a value per level, among which is the best.

    A level with rate r that chose v lasts for r / v^power votes, and a vote is the better the
    larger the values. Whatever level runs out first, the others should choose the largest value
    with which they last as long: so it is enough to try each level as the first, with each value.

    Parameters
    ----------
    rates : ndarray of shape (n_levels,)
    values : ndarray of shape (n_values,)
        Ascending.
    power : int

    Returns
    -------
    ndarray of shape (n_choices, n_levels)
    """
    spends = values**power
    lasts = np.unique(rates[:, None] / spends)  # how long the first level lasts
    room = rates / lasts[:, None] * (1 + 1e-12)
    largest = np.searchsorted(spends, room, side="right") - 1
    return np.asarray(np.unique(values[largest[(largest >= 0).all(axis=1)]], axis=0))


def largest_remainder(shares: Floats, total: int) -> NDArray[np.intp]:
    """Return whole numbers proportional to `shares` that add up to `total`."""
    exact = shares / shares.sum() * total
    whole = np.floor(exact).astype(np.intp)
    rest = total - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:rest]] += 1
    return whole
