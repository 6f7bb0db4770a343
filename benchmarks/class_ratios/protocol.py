"""Data, bags and test sets of the class ratio benchmark; nothing here looks at an estimate.

Bags, sizes and laws were fixed before anything was tuned: docs/topics/class-ratios.md has them in
words.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from secretballot import load_adult, publish_proportions
from secretballot.datasets import make_bags
from secretballot.quantification import Bags

#: Everything that was chosen (defaults included) was chosen on these.
TUNING = range(6)
#: And everything that is reported comes from others.
REPORTING = range(100, 110)

Array = NDArray[np.float64]


class Task(NamedTuple):
    """Training bags, their true proportions, and test sets with theirs."""

    bags: Bags
    proportions: Array
    tests: list[Array]
    ratios: Array

    def instances(self) -> tuple[Array, NDArray[np.int64]]:
        """All training instances with their labels: what rivals get and we don't."""
        return np.concatenate(self.bags.X), np.concatenate(self.bags.y)


def data_folder() -> Path | None:
    """The folder of data sets that are not shipped: $SECRETBALLOT_DATA, or beside the project."""
    named = os.environ.get("SECRETBALLOT_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    return folder if folder.is_dir() else None


def digits() -> tuple[Array, NDArray[np.int64]]:
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def mnist() -> tuple[Array, NDArray[np.int64]] | None:
    """Pixels projected on 50 principal components of all images; images are public here."""
    from sklearn.decomposition import PCA

    folder = data_folder()
    if folder is None or not (folder / "mnist.npz").exists():
        return None
    stored = np.load(folder / "mnist.npz")
    X = np.concatenate([stored["X_train"], stored["X_test"]]).reshape(70_000, -1) / 255
    y = np.concatenate([stored["y_train"], stored["y_test"]]).astype(np.int64)
    return PCA(50, svd_solver="covariance_eigh").fit_transform(X), y


def adult() -> tuple[Array, NDArray[np.int64]]:
    found = load_adult()
    return _encoded(found.data, found.categorical_features), found.target


def adult_marital() -> tuple[Array, NDArray[np.int64]]:
    """Three classes: married, never married, was married; without `relationship`, which tells."""
    found = load_adult()
    where = found.feature_names.index("marital_status")
    named = np.array(found.categories["marital_status"])[found.data[:, where].astype(int)]
    y = np.select([named == "Never-married", np.char.startswith(named, "Married")], [0, 1], 2)
    kept = [n for n in found.feature_names if n not in ("marital_status", "relationship")]
    columns = [found.feature_names.index(n) for n in kept]
    categorical = [i for i, c in enumerate(columns) if c in set(found.categorical_features)]
    return _encoded(found.data[:, columns], categorical), y


def bank() -> tuple[Array, NDArray[np.int64]] | None:
    folder = data_folder()
    if folder is None or not (folder / "bank_full.csv.gz").exists():
        return None
    table = pd.read_csv(folder / "bank_full.csv.gz", sep=None, engine="python")
    y = (table.pop("y") == "yes").to_numpy().astype(np.int64)
    texts = [n for n in table if not pd.api.types.is_numeric_dtype(table[n])]
    codes = {name: table[name].astype("category").cat.codes for name in texts}
    columns = [table.columns.get_loc(name) for name in texts]
    return _encoded(table.assign(**codes).to_numpy(float), columns), y


def _encoded(X: Array, categorical: list[int]) -> Array:
    """Numbers standardised, categories as indicators: public, unlabelled preprocessing."""
    rest = [column for column in range(X.shape[1]) if column not in set(categorical)]
    numbers = StandardScaler().fit_transform(X[:, rest])
    kinds = OneHotEncoder(sparse_output=False, min_frequency=50).fit_transform(X[:, categorical])
    return np.concatenate([numbers, kinds], axis=1)


def make_task(
    X: Array,
    y: NDArray[np.int64],
    seed: int,
    rho: float,
    size: int,
    tests: Array,
    test_size: int,
    n_bags: int | None = None,
) -> Task:
    """Draw bags by `make_bags`, and test sets from all other instances, with replacement.

    `tests` has wanted ratios, a row each; errors are to the ratios that came out.
    """
    rng = np.random.default_rng([seed, 7])
    # Rows beside the features, to know which are left.
    found = make_bags(np.arange(len(y))[:, None], y, n_bags, rho=rho, size=size, random_state=seed)
    rows = [bag[:, 0] for bag in found.X]
    bags = Bags.from_indices(X, y, rows, formed_by="label")
    left = np.setdiff1d(np.arange(len(y)), np.concatenate(rows))
    n_classes = int(y.max()) + 1
    by_class = [left[y[left] == k] for k in range(n_classes)]
    sets, ratios = [], []
    for wanted in tests:
        counts = rng.multinomial(test_size, wanted)
        chosen = [rng.choice(by_class[k], counts[k]) for k in range(n_classes) if counts[k]]
        sets.append(X[np.concatenate(chosen)])
        ratios.append(counts / test_size)
    proportions = np.array([np.bincount(b, minlength=n_classes) / len(b) for b in bags.y])
    return Task(bags, proportions, sets, np.array(ratios))


def four_laws(n_classes: int, seed: int, each: int = 10) -> Array:
    """Even, Dirichlet(1), Dirichlet(.1), and every class alone; `each` of every law."""
    rng = np.random.default_rng([seed, 11])
    alone = np.eye(n_classes)[np.arange(each) % n_classes]
    even = np.full((each, n_classes), 1 / n_classes)
    some = [rng.dirichlet(np.full(n_classes, a), size=each) for a in (1.0, 0.1)]
    return np.concatenate([alone, even, *some])


def published(task: Task, epsilon: float, delta: float, mechanism: str, seed: int):
    """Private proportions of a task's bags."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeded, and formed by label: a simulation
        return publish_proportions(
            task.bags,
            range(task.proportions.shape[1]),
            epsilon,
            delta,
            mechanism,
            random_state=seed,
        )


def noise_of(size: int, task: Task, epsilon: float, delta: float, seed: int):
    """Proportions of the task's bags with the noise of bags of another size, and its covariance."""
    counts = np.rint(task.proportions * size).astype(int)
    labels = [np.repeat(np.arange(counts.shape[1]), row) for row in counts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return publish_proportions(
            labels, range(counts.shape[1]), epsilon, delta, random_state=seed
        )


def l1(found: Array, truth: Array) -> Array:
    return np.abs(np.asarray(found) - truth).sum(axis=1)
