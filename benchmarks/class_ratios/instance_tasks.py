"""Bags for the benchmark of classifiers: by label, at random, and groups that are real."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from protocol import Array, make_task


class InstanceTask(NamedTuple):
    """Training instances with the ids of their bags, and test instances with labels."""

    X: Array
    y: NDArray[np.int64]
    bag: NDArray[np.int64]
    X_test: Array
    y_test: NDArray[np.int64]

    def table(self) -> pd.DataFrame:
        """The true proportions, keyed by id."""
        columns = range(int(self.y.max()) + 1)
        counts = pd.crosstab(self.bag, self.y).reindex(columns=columns, fill_value=0)
        return counts.div(counts.sum(axis=1), axis=0)


def by_label(X: Array, y: Any, seed: int, rho: float, size: int, **more: Any) -> InstanceTask:
    """Bags as in protocol.py, and one test set of its instances left, with classes alike in it."""
    c = int(y.max()) + 1
    rows = np.arange(len(y), dtype=float)[:, None]
    task = make_task(rows, y, seed, rho, size, np.full((1, c), 1 / c), 2000, **more)
    train = np.concatenate(task.bags.X)[:, 0].astype(int)
    test = task.tests[0][:, 0].astype(int)
    bag = np.repeat(np.arange(len(task.bags)), task.bags.sizes)
    return InstanceTask(X[train], y[train], bag, X[test], y[test])


def by_chance(X: Array, y: Any, seed: int, size: int, n_bags: int) -> InstanceTask:
    """Bags drawn at random, whose proportions differ by chance alone."""
    rows = np.random.default_rng([seed, 13]).permutation(len(y))
    train, test = rows[: size * n_bags], rows[size * n_bags :][:10_000]
    return InstanceTask(X[train], y[train], np.arange(len(train)) // size, X[test], y[test])


def by_group(
    X: Array, y: Any, group: NDArray[Any], seed: int, n_train: int = 10_000, least: int = 100
) -> InstanceTask:
    """Bags of a real grouping, of at least `least` training instances; others are left out."""
    rows = np.random.default_rng([seed, 17]).permutation(len(y))
    train, test = rows[:n_train], rows[n_train:][:10_000]
    _, codes = np.unique(group, return_inverse=True)
    large = np.flatnonzero(np.bincount(codes[train]) >= least)
    train, test = (part[np.isin(codes[part], large)] for part in (train, test))
    return InstanceTask(X[train], y[train], codes[train], X[test], y[test])
