"""Ballots of teachers, 50 unless told, on real sets of labels; simulated ones whose truth is real.

The folder of data sets, which are not shipped, is $SECRETBALLOT_DATA or beside the project; sets
that are not there are left out.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge

N_TEACHERS = 50
#: How much likelier than in its own rows a teacher finds a label that it calls present.
LIFT = 1.5
#: Public rows, drawn from the test part.
MOST_PUBLIC = 500
REAL = ("scene", "emotions", "enron", "corel5k", "bibtex")
SETS = (*REAL, "celeba")


class Ballots(NamedTuple):
    """Ballots of shape (n_rows, n_teachers, n_labels), and which labels are there."""

    ballots: NDArray[np.uint8]
    truth: NDArray[np.uint8]


def data_file(name: str) -> Path | None:
    """Return where a set is, if it is there."""
    named = os.environ.get("SECRETBALLOT_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    path = folder / ("celeba_attributes.npz" if name == "celeba" else f"ml_{name}.npz")
    return path if path.exists() else None


def load_ballots(
    name: str,
    most_public: int = MOST_PUBLIC,
    max_positives: int | None = None,
    n_teachers: int = N_TEACHERS,
    lift: float = LIFT,
    errors: float = 1.0,
) -> Ballots | None:
    """Return ballots on a set's public rows; None where the set is not there.

    Simulated teachers (CelebA) err `errors` times as often as `simulated` says.

    With `max_positives` teachers name no more than their likeliest labels (not on CelebA, where
    they are simulated and have no scores).
    """
    path = data_file(name)
    if path is None:
        return None
    if name == "celeba":
        attributes = np.unpackbits(np.load(path)["packed"], axis=1)[:, :40]
        return simulated(attributes, most_public, n_teachers=n_teachers, errors=errors)
    return trained(*read(path), most_public, max_positives, n_teachers=n_teachers, lift=lift)


def read(path: Path) -> tuple[NDArray[np.float64], NDArray[np.uint8], int]:
    """Return rows, labels, and the size of the training part."""
    with np.load(path) as stored:
        if "X" in stored:
            X = stored["X"]
        else:
            parts = (stored["X_data"], stored["X_indices"], stored["X_indptr"])
            X = csr_matrix(parts, shape=stored["X_shape"]).toarray()
        return X.astype(np.float64), stored["Y"], int(stored["part_sizes"][0])


def trained(
    X: NDArray[np.float64],
    Y: NDArray[np.uint8],
    n_train: int,
    most_public: int,
    max_positives: int | None = None,
    seed: int = 0,
    n_teachers: int = N_TEACHERS,
    lift: float = LIFT,
) -> Ballots:
    """Return votes of teachers on disjoint shards: one ridge regression each, of all labels.

    A teacher calls a label present whose score is more than `lift` times the share of its own rows
    that have the label, or more than 1/2; one that it never saw is absent. (Forests cut at 1/2 call
    next to nothing present: shards have 8 to 98 rows, and most labels are rare.) Where a set has no
    test part a tenth of it is public.
    """
    order = np.random.default_rng(seed).permutation(len(X))
    if n_train < len(X):
        train, rest = order[order < n_train], order[order >= n_train]
    else:
        train, rest = np.split(order, [len(X) * 9 // 10])
    public, truth = X[rest[:most_public]], Y[rest[:most_public]]
    ballots = np.empty((len(public), n_teachers, Y.shape[1]), np.uint8)
    for teacher, shard in enumerate(np.array_split(train, n_teachers)):
        score = Ridge(alpha=10.0).fit(X[shard], Y[shard].astype(np.float64)).predict(public)
        share = Y[shard].mean(axis=0)
        called = (score > np.minimum(lift * share, 0.5)) & (share > 0)
        if max_positives is not None:
            rank = score.argsort(axis=1)[:, ::-1].argsort(axis=1)
            called &= rank < max_positives
        ballots[:, teacher] = called
    return Ballots(ballots, truth)


def simulated(
    attributes: NDArray[np.uint8],
    n_rows: int,
    wrong: float = 0.05,
    misread: float = 0.2,
    seed: int = 0,
    n_teachers: int = N_TEACHERS,
    errors: float = 1.0,
) -> Ballots:
    """Return ballots of teachers that err, on rows whose labels are real.

    Errors are correlated twice. Every row has a double, another real row: a teacher that takes the
    one for the other has all of its labels, and that happens on some rows more often than on
    others, with a chance that is exponential with mean `misread` (at most .9). Besides, labels flip
    one by one with a chance that is exponential with mean `wrong` over rows and labels (at most
    .5), the same for all teachers. Both means are taken `errors` times.
    """
    rng = np.random.default_rng(seed)
    chosen, doubles = rng.choice(len(attributes), (2, n_rows), replace=False)
    truth, double = attributes[chosen], attributes[doubles]
    n_labels = truth.shape[1]
    taken = np.minimum(rng.exponential(errors * misread, (n_rows, 1, 1)), 0.9)
    is_double = rng.random((n_rows, n_teachers, 1)) < taken
    flip = np.minimum(rng.exponential(errors * wrong, (n_rows, 1, n_labels)), 0.5)
    flips = rng.random((n_rows, n_teachers, n_labels), dtype=np.float32) < flip
    seen: NDArray[Any] = np.where(is_double, double[:, None], truth[:, None])
    return Ballots((seen ^ flips).astype(np.uint8), truth)
