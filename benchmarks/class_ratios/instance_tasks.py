"""Bags for the benchmark of classifiers: by label, at random, and groups that are real."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from protocol import Array, data_folder, make_task
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from secretballot import load_adult


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


def adult_without(grouping: str, *also: str) -> tuple[Array, NDArray[np.int64], NDArray[Any]]:
    """Adult without the column that makes the bags, nor those that say the same."""
    found = load_adult()
    table = pd.DataFrame(found.data, columns=found.feature_names)
    kinds = [found.feature_names[column] for column in found.categorical_features]
    return _without(table, kinds, grouping, also), found.target, table[grouping].to_numpy()


def bank_by_month() -> tuple[Array, NDArray[np.int64], NDArray[Any]] | None:
    folder = data_folder()
    if folder is None or not (folder / "bank_full.csv.gz").exists():
        return None
    table = pd.read_csv(folder / "bank_full.csv.gz", sep=None, engine="python")
    y = (table.pop("y") == "yes").to_numpy().astype(np.int64)
    kinds = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    return _without(table, kinds, "month", ()), y, table["month"].to_numpy()


def _without(table: pd.DataFrame, kinds: list[str], grouping: str, also: Any) -> Array:
    left = table.drop(columns=[grouping, *also])
    kinds = [name for name in kinds if name in left]
    numbers = StandardScaler().fit_transform(left.drop(columns=kinds))
    encoder = OneHotEncoder(sparse_output=False, min_frequency=50)
    return np.concatenate([numbers, encoder.fit_transform(left[kinds])], axis=1)
