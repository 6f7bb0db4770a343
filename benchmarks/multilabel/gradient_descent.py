"""Differentially private gradient descent on all labels; for one_ballot.py.

Gradient descent learns a logistic model of all labels from all private rows: a row's gradient, of
all labels together, is clipped to one norm, and normal noise added to the sum. Steps are charged
exactly (mu = 2 clip / sd each, mu squared adds).

What favours gradient descent, and a user would have to pay for or do without: its steps, rate, clip
and columns are the best of a list *on the test rows*, and the shares of labels among private rows,
which balance its classes, are free. It needs no public rows but to scale columns, or to find the
few on which they vary most.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from students import DELTA, Split

from secretballot.costs._cost import gaussian_budget
from secretballot.inspection import LabelScores, label_scores

#: Teachers at each epsilon, and how many labels their ballots name (0: any number, Binary).
STUDENTS = {"scene": ((200, 1), (100, 1), (50, 1)), "emotions": ((130, 0), (50, 0), (25, 0))}
#: A constant column is so long, in lengths of a row.
CONSTANT = 0.3


class Setting(NamedTuple):
    """How gradient descent goes; rates are of clipped rows of length 1."""

    steps: int
    rate: float
    clip: float
    n_columns: int | None


STEPS, RATES, CLIPS = (30, 100), (0.1, 0.3, 1.0), (2.0, 8.0)


class Rows(NamedTuple):
    """Private and test rows of a split, on columns that public rows have scaled."""

    X: NDArray[np.float64]
    Y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    Y_test: NDArray[np.int64]


def rows_of(split: Split, n_columns: int | None) -> Rows:
    public = split.pool[0]
    columns: Pipeline = make_pipeline(StandardScaler())
    if n_columns:
        columns = make_pipeline(StandardScaler(), PCA(n_columns, random_state=0))
    length = np.sqrt((columns.fit_transform(public) ** 2).sum(axis=1).mean())

    def on(X: NDArray[Any]) -> NDArray[np.float64]:
        return np.column_stack([columns.transform(X), np.full(len(X), CONSTANT * length)])

    return Rows(on(split.private[0]), split.private[1], on(split.test[0]), split.test[1])


def descend(rows: Rows, setting: Setting, epsilon: float, seed: int) -> NDArray[np.float64]:
    """Return weights of columns, for each label: the mean over the later half of all steps."""
    X, Y = rows.X, rows.Y
    rng, positive = np.random.default_rng(seed), Y.mean(axis=0)
    noise_sd = 2 * np.sqrt(setting.steps / gaussian_budget(epsilon, DELTA, 0.0))
    balance = np.where(Y, 0.5 / positive, 0.5 / (1 - positive))
    lengths = np.linalg.norm(X, axis=1)
    weights, kept = np.zeros((X.shape[1], Y.shape[1])), []
    for step in range(setting.steps):
        wrong = balance * (expit(X @ weights) - Y)
        # A row's gradient is its columns times how wrong its labels are: its length is a product.
        size = lengths * np.linalg.norm(wrong, axis=1)
        wrong /= np.maximum(size, setting.clip)[:, None]
        gradient = X.T @ wrong + noise_sd * rng.normal(size=weights.shape)
        weights = weights - setting.rate * gradient / len(X)
        if step >= setting.steps // 2:
            kept.append(weights)
    return np.mean(kept, axis=0)


def gradient_scores(rows: Rows, setting: Setting, epsilon: float, seed: int) -> LabelScores:
    """Return the scores on the test rows."""
    margins = rows.X_test @ descend(rows, setting, epsilon, seed)
    return label_scores(rows.Y_test, margins > 0, margins)


def best_accuracies(splits: Sequence[Split], n_columns: int, epsilon: float) -> list[float]:
    """Return balanced accuracies of the setting whose mean is the best on the test rows."""
    parted = {n: [rows_of(split, n) for split in splits] for n in (None, n_columns)}
    found = [
        [
            gradient_scores(rows, setting, epsilon, seed).balanced_accuracy
            for seed, rows in enumerate(parted[setting.n_columns])
        ]
        for setting in itertools.starmap(Setting, itertools.product(STEPS, RATES, CLIPS, parted))
    ]
    return max(found, key=np.mean)
