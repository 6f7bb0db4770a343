"""Sets of three classes and more, with what is public about them.

mnist      53,000 private rows of 784 pixels
digits     1,097 private rows of 64 pixels
make3      20,000 private rows of 16 numbers that tell three classes together
           (`make_classification`), as make10 and make26 tell ten and 26
education  Adult: five levels of education from the other columns, and the income
workclass  Adult: seven kinds of work
late       Credit: how late the last payment was (four classes), from the other columns
steps      20,000 private rows of ten numbers: three classes of a sum of one function a column
signs      20,000 private rows of ten numbers: four classes, by the signs of two products

A number after a colon limits the private rows: make10:2000.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import sets
from numpy.typing import NDArray
from sets import SHARED
from sklearn.datasets import load_digits, make_classification
from sklearn.decomposition import PCA

#: Principal components of the public rows.
N_COMPONENTS = {"mnist": 30, "digits": 15}
N_ROWS, N_TEST = 20_000, 4_000
_TABLES = {"education": "adult", "workclass": "adult", "late": "credit"}

Rows = tuple[Any, NDArray[np.int_], Any, Any, NDArray[np.int_]]


def rows(name: str, public: int, seed: int) -> Rows:
    """Return private rows, their classes, public rows, test rows and their classes."""
    kind, _, size = name.partition(":")
    X, y, pool, X_test, answers = _rows(kind, public, seed)
    n_rows = int(size) if size else len(y)
    return X[:n_rows], y[:n_rows], pool, X_test, answers


def component_rows(name: str, public: int, seed: int) -> Rows:
    """Return `rows`, of MNIST and digits the public rows' principal components."""
    X, y, pool, X_test, answers = rows(name, public, seed)
    if (kind := name.partition(":")[0]) in N_COMPONENTS:
        pca = PCA(N_COMPONENTS[kind], random_state=0).fit(pool)
        X, pool, X_test = (pca.transform(part) for part in (X, pool, X_test))
    return X, y, pool, X_test, answers


def _rows(kind: str, public: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    if kind == "digits":
        X, y = load_digits(return_X_y=True)
        order = rng.permutation(len(y))
        test, private = order[300:700], order[700:]
        return X[private], y[private], X[order[: min(public, 300)]], X[test], y[test]
    if kind == "mnist":
        X, y, X_test, answers = _mnist()
        order = rng.permutation(len(y))
        return X[order[7000:]], y[order[7000:]], X[order[:public]], X_test, answers
    if kind in _TABLES:
        X, y = _table(kind)
        order = rng.permutation(len(y))
        test, pool, private = np.split(order, [len(y) // 5, len(y) // 5 + public])
        parts = [X.iloc[part].reset_index(drop=True) for part in (private, pool, test)]
        return parts[0], y[private], parts[1], parts[2], y[test]
    X, y = _made(kind, N_ROWS + public + N_TEST, rng, seed)
    pool, test = slice(N_ROWS, N_ROWS + public), slice(N_ROWS + public, None)
    return X[:N_ROWS], y[:N_ROWS], X[pool], X[test], y[test]


@cache
def _mnist() -> tuple[NDArray[Any], ...]:
    with np.load(SHARED / "mnist.npz") as mnist:
        X = mnist["X_train"].reshape(60_000, -1) / 255
        X_test = mnist["X_test"].reshape(10_000, -1) / 255
        return X, mnist["y_train"].astype(int), X_test, mnist["y_test"].astype(int)


@cache
def _table(kind: str) -> tuple[pd.DataFrame, NDArray[np.int_]]:
    table, income = sets._load(_TABLES[kind])
    X = table.assign(outcome=pd.Categorical(income.astype(str)))
    X.attrs = {}
    if kind == "workclass":
        return X, np.unique(X.pop("workclass").astype(str), return_inverse=True)[1]
    if kind == "late":
        return X, np.digitize(X.pop("PAY_0"), [-0.5, 0.5, 1.5])
    X = X.drop(columns="education", errors="ignore")
    return X, np.digitize(X.pop("education_num"), [9, 10, 13, 14])


def _made(
    kind: str, n_rows: int, rng: np.random.Generator, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    if kind.startswith("make"):
        X, y = make_classification(
            n_rows,
            16,
            n_informative=16,
            n_redundant=0,
            n_classes=int(kind.removeprefix("make")),
            n_clusters_per_class=1,
            random_state=1000 + seed,
        )
        return X, y
    X = rng.normal(size=(n_rows, 10))
    if kind == "signs":
        return X, (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] * X[:, 3] > 0)
    score = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2 + np.abs(X[:, 2]) + X[:, 3] + (X[:, 4] > 0.5)
    score = score - X[:, 5] / 2 + rng.logistic(scale=0.5, size=n_rows)
    return X, np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
