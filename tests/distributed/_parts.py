"""Small private tables in parts, and an engine that repeats and shuffles tasks."""

import numpy as np
import pandas as pd

from secretballot import PrivacyAccountant

OWNER, TARGET = "person", "outcome"


class RepeatingEngine:
    """Engine of this process: it runs every task twice, in a random order."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.n_tasks = 0

    def map(self, function, n_tasks):
        """Yield all results twice."""
        order = self.rng.permutation(np.repeat(np.arange(n_tasks), 2))
        for index in order.tolist():
            self.n_tasks += 1
            yield function(index)


def table(n_rows=3_000, n_owners=1_200, n_classes=2, seed=0):
    """Return private rows with a number, a whole number, a text and missing cells."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n_rows),
            "b": rng.integers(0, 6, n_rows).astype(float),
            "c": rng.choice(["x", "y", "z"], n_rows),
        }
    )
    score = X["a"] + (X["c"] == "x") + 0.4 * X["b"] + rng.normal(size=n_rows)
    X.loc[::40, "a"] = np.nan
    X.loc[5::60, "c"] = None
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    X[TARGET] = np.digitize(score, cuts)
    X[OWNER] = rng.integers(0, n_owners, n_rows)
    return X


def split(rows, folder, n_parts=4, seed=1):
    """Write rows into parts in a random order, and return the rows in the order of the parts."""
    order = np.random.default_rng(seed).permutation(len(rows))
    rows = rows.iloc[order].reset_index(drop=True)
    folder.mkdir(exist_ok=True)
    for index, places in enumerate(np.array_split(np.arange(len(rows)), n_parts)):
        rows.iloc[places].to_parquet(folder / f"part-{index}.parquet", index=False)
    return rows


def public_rows(n_rows=300, n_classes=2):
    """Return public rows."""
    return table(n_rows, n_classes=n_classes, seed=9).drop(columns=[TARGET, OWNER])


def budget(epsilon=4.0):
    """Return a budget of owners."""
    return PrivacyAccountant(epsilon, 1e-5, unit="owner")
