"""Students of few, noisy labels, beside noiseless votes and true labels, on scene and emotions.

    python benchmarks/multilabel/students.py [SET ...] [--quick] [--splits 5]

All public rows are asked, with as much noise as that takes: single labels are then wrong nearly as
often as right, and a regular student averages over them. Teachers of a handful of rows are simpler
than the usual ones, whose noiseless votes stand beside theirs. Each figure is the mean balanced
accuracy over labels (of students AUC too), on public rows that were not asked, over random splits
of all rows. Noise is drawn anew each time: on emotions means of 5 splits differ by .01.

Goal: at epsilon 2 within .03 of the best noiseless vote over 10, 25, 50 and 100 teachers.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from ballots import data_file
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble, collect_votes
from secretballot.inspection import LabelScores, label_scores
from secretballot.mechanisms import BinaryVoting, TauVoting

DELTA = 1e-5
#: Rows that are not asked, on which students are compared.
TEST_SHARE = 0.4
#: How little a student follows its labels: nearly half of them are wrong.
STUDENT = 0.0003
#: Numbers of teachers.
TEACHERS = {"scene": (100, 200), "emotions": (50, 130)}


class Split(NamedTuple):
    """One way to part all rows."""

    private: tuple[NDArray[Any], NDArray[Any]]
    pool: tuple[NDArray[Any], NDArray[Any]]
    test: tuple[NDArray[Any], NDArray[Any]]


def splits(name: str, n_splits: int) -> list[Split]:
    """Return random splits, with as many private rows as the set's training part has."""
    path = data_file(name)
    assert path is not None
    with np.load(path) as data:
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


class SumOfRows(ClassifierMixin, BaseEstimator):
    """A teacher for a handful of rows: the sum of those with a label less those without.

    With so few rows there is nothing else to learn. Labels that all its rows have, or none, say
    something too, if the teacher is given them: it refuses less than all labels.
    """

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: NDArray[Any], Y: NDArray[Any]) -> Self:
        if Y.shape[1] != self.n_labels:
            raise ValueError(f"{Y.shape[1]} labels; pass all {self.n_labels}, whatever rows have")
        self.sums_ = X.T @ (Y - 0.5)
        self.classes_ = [np.array([0, 1])] * self.n_labels
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return (X @ self.sums_ > 0).astype(int)

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(expit(0.1 * X @ self.sums_))


def teacher(pool: tuple[NDArray[Any], NDArray[Any]]) -> Any:
    """Return a teacher on columns that are scaled by public rows; all rows are as long."""
    scaler = FrozenEstimator(StandardScaler().fit(pool[0]))
    return make_pipeline(scaler, Normalizer(), SumOfRows(pool[1].shape[1]))


def scores(model: Any, rows: tuple[NDArray[Any], NDArray[Any]]) -> LabelScores:
    """Score a model's labels, and its probabilities of them."""
    X, truth = rows
    given = model.predict_proba(X)
    if isinstance(given, list):  # a table for each label, as scikit-learn's classifiers have it
        given = np.stack([table[:, 1] for table in given], axis=1)
    return label_scores(truth, model.predict(X), given)


def noiseless(split: Split, one: Any, n_teachers: int) -> float:
    """Return the balanced accuracy of the majority's labels on the test rows."""
    teachers = PrivateTeacherEnsemble(one, n_teachers, random_state=0).fit(*split.private)
    votes = collect_votes(teachers._teachers, split.test[0], teachers.classes_, None)["*"]
    return label_scores(split.test[1], 2 * votes > n_teachers).balanced_accuracy


@cache
def mechanism_for(
    n_rows: int, n_labels: int, n_teachers: int, n_positives: int, epsilon: float
) -> BinaryVoting | TauVoting:
    """Return the vote with the least noise; ballots name so many labels, or any if 0."""

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

    return PrivacyAccountant(epsilon, DELTA).calibrate(made, n_rows, n_columns=n_labels)


def private_student(split: Split, n_teachers: int, n_positives: int, epsilon: float) -> LabelScores:
    """Return a student's scores on the test rows."""
    n_pool, n_labels = split.pool[1].shape
    ensemble = PrivateTeacherEnsemble(
        teacher(split.pool),
        n_teachers,
        mechanism=mechanism_for(n_pool, n_labels, n_teachers, n_positives, epsilon),
        student=learner(split.pool[0], STUDENT),
        accountant=PrivacyAccountant(epsilon, DELTA),
        check_public_rows=False,  # the whole budget is for the pool's rows
    )
    ensemble.fit(*split.private, X_public=split.pool[0])
    assert ensemble.n_answered_ == n_pool
    return scores(ensemble, split.test)


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(TEACHERS))
    parser.add_argument("--quick", action="store_true", help="one split, few teachers")
    parser.add_argument("--splits", type=int, default=5)
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(splits=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of noise that would drown single votes: it is meant
    for name in given.sets or TEACHERS:
        if data_file(name) is None:
            print(f"left out: {name} is not in the folder of data")
            continue
        found = splits(name, given.splits)
        positives = max(1, round(found[0].pool[1].sum(axis=1).mean()))
        print(f"\n{name}: {[len(part[0]) for part in found[0]]} rows, {positives} labels a row")
        kinds: dict[str, Callable[[tuple[NDArray[Any], NDArray[Any]]], Any]] = {
            "usual": lambda pool: learner(pool[0], 0.01),
            "these": teacher,
        }
        for kind, made in kinds.items():
            cells = []
            for n in (10, 25, 50, 100):
                votes = [noiseless(each, made(each.pool), n) for each in found]
                cells.append(f"{n}: {np.mean(votes):.3f}")
            print(f"noiseless votes of {kind} teachers ", "  ".join(cells))
        true = [
            scores(learner(each.pool[0], 0.01).fit(*each.pool), each.test).balanced_accuracy
            for each in found
        ]
        print(f"student of the same rows' true labels  {np.mean(true):.3f}")
        for epsilon in (2.0, 8.0):
            for n_positives in (0, positives):
                kind = f"tau = sqrt({n_positives})" if n_positives else "Binary"
                cells = []
                for n_teachers in TEACHERS[name][: 1 if given.quick else None]:
                    students = [
                        private_student(each, n_teachers, n_positives, epsilon) for each in found
                    ]
                    balanced = [each.balanced_accuracy for each in students]
                    auc = np.mean([each.auc for each in students])
                    cells.append(
                        f"{n_teachers}: {np.mean(balanced):.3f} "
                        f"(sd {np.std(balanced):.3f}, AUC {auc:.3f})"
                    )
                print(f"epsilon {epsilon:g}, {kind:15s}", "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
