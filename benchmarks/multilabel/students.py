"""Students of few, noisy labels, beside noiseless votes and true labels, on scene and emotions.

    python benchmarks/multilabel/students.py [--quick] [--splits 5]

All public rows are asked, with as much noise as that takes: single labels are then wrong nearly as
often as right, and a regular student averages over them. Each figure is the mean balanced accuracy
over labels, on public rows that were not asked, over random splits of all rows.

Goal: at epsilon 2 within .03 of the best noiseless vote over 10, 25, 50 and 100 teachers.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, collect_votes
from secretballot.mechanisms import BinaryVoting, TauVoting

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
DELTA = 1e-5
#: Rows that are not asked, on which students are compared.
TEST_SHARE = 0.4


class Split(NamedTuple):
    """One way to part all rows."""

    private: tuple[NDArray[Any], NDArray[Any]]
    pool: tuple[NDArray[Any], NDArray[Any]]
    test: tuple[NDArray[Any], NDArray[Any]]


def splits(name: str, n_splits: int) -> list[Split]:
    """Return random splits, with as many private rows as the set's training part has."""
    with np.load(DATA / f"ml_{name}.npz") as data:
        X, Y = data["X"], data["Y"].astype(int)
        n_private = int(data["part_sizes"][0])
    n_pool = round((len(X) - n_private) * (1 - TEST_SHARE))
    found = []
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(X))
        parts = np.split(order, [n_private, n_private + n_pool])
        found.append(Split(*((X[part], Y[part]) for part in parts)))
    return found


def learner(pool: NDArray[Any], strength: float) -> Any:
    """Return a classifier of labels on columns that are scaled by public rows."""
    scaler = FrozenEstimator(StandardScaler().fit(pool))
    one = LogisticRegression(C=strength, class_weight="balanced", max_iter=1000)
    return make_pipeline(scaler, MultiOutputClassifier(one))


def balance(truth: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Return the mean balanced accuracy over labels."""
    columns = zip(truth.T, predicted.T, strict=True)
    return float(np.mean([balanced_accuracy_score(one, other) for one, other in columns]))


def noiseless(split: Split, n_teachers: int) -> float:
    """Return the balanced accuracy of the majority's labels on the test rows."""
    teachers = PrivateTeacherEnsemble(learner(split.pool[0], 0.01), n_teachers, random_state=0).fit(
        *split.private
    )
    votes = collect_votes(teachers._teachers, split.test[0], teachers.classes_, None)["*"]
    return balance(split.test[1], 2 * votes > n_teachers)


def private_student(split: Split, n_teachers: int, epsilon: float, n_positives: int) -> float:
    """Return the same of a student; ballots name so many labels, or any if 0."""
    n_pool, n_labels = split.pool[1].shape
    accountant = PrivacyAccountant(epsilon, DELTA, order="renyi")

    def made(sigma: float) -> BinaryVoting | TauVoting:
        if not n_positives:
            return BinaryVoting(sigma=sigma, n_votes=n_teachers)
        return TauVoting(
            sigma=sigma,
            n_votes=n_teachers,
            tau=n_positives**0.5,
            ballot_threshold=1e-6,
            max_positives=n_positives,
        )

    mechanism = accountant.calibrate(made, n_pool, n_columns=n_labels)
    ensemble = PrivateTeacherEnsemble(
        learner(split.pool[0], 0.01),
        n_teachers,
        mechanism=mechanism,
        student=learner(split.pool[0], 0.001),
        accountant=accountant,
    )
    ensemble.fit(*split.private, X_public=split.pool[0])
    assert ensemble.n_answered_ == n_pool
    return balance(split.test[1], ensemble.predict(split.test[0]))


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one split, few teachers")
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of noise that would drown single votes: it is meant
    for name in ("scene", "emotions"):
        found = splits(name, 1 if given.quick else given.splits)
        positives = max(1, round(found[0].pool[1].sum(axis=1).mean()))
        print(f"\n{name}: {[len(part[0]) for part in found[0]]} rows, {positives} labels a row")
        votes = {n: np.mean([noiseless(each, n) for each in found]) for n in (10, 25, 50, 100)}
        print("noiseless votes  ", "  ".join(f"{n}: {score:.3f}" for n, score in votes.items()))
        true = [
            balance(each.test[1], learner(each.pool[0], 0.01).fit(*each.pool).predict(each.test[0]))
            for each in found
        ]
        print(f"student of the same rows' true labels  {np.mean(true):.3f}")
        many = {"scene": (100, 150, 200), "emotions": (50, 75, 100)}[name]
        for epsilon in (2.0, 8.0):
            for n_positives in (0, positives):
                kind = f"tau = sqrt({n_positives})" if n_positives else "Binary"
                cells = []
                for n_teachers in many[:1] if given.quick else many:
                    scores = [
                        private_student(each, n_teachers, epsilon, n_positives) for each in found
                    ]
                    cells.append(f"{n_teachers}: {np.mean(scores):.3f} (sd {np.std(scores):.3f})")
                print(f"epsilon {epsilon:g}, {kind:15s}", "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
