"""Regression of all labels in one ballot, beside the ensemble's student and gradient descent.

    python benchmarks/multilabel/one_ballot.py [SET ...] [--epsilons 2 8] [--seeds 10]
        [--components 16] [--descent] [--quick]

Random splits: as many private rows as the set's training part has (nine tenths of a set that has no
test part), 200 public rows (or three fifths of the others, if they are fewer), and the rest to test
on. Delta is 1e-5, and one private row is replaced. Figures are balanced accuracy, the mean over
labels, and its standard error over splits; of the regression the area under the ROC curve too.

regression       `PrivateLogisticRegression` on components of the scaled public rows, with
                 `label_threshold="rate"`; everything else as it is by default
student          the ensemble's, of all public rows: the teachers and the student of students.py,
                 with the numbers of teachers in `STUDENTS`, or else
                 `OTHER_STUDENTS` with ballots of as many labels as public rows have in the mean
difference       regression less student, on the same splits
descent          that of gradient_descent.py, on all columns or as many components: the best of its
                 settings *on the test rows*, which nobody could know
not private      logistic regression of each label on the regression's features

The student's and the descent's labels are balanced by rates of private labels, which are free.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from ballots import REAL, data_file, read
from gradient_descent import STUDENTS, best_accuracies
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from students import DELTA, Split, private_student

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.inspection import LabelScores, label_scores

N_PUBLIC, TEST_SHARE = 200, 0.4
#: Public and test rows of a set without a test part, as a share of all rows.
OTHER_SHARE = 0.1
#: Teachers of sets whose students are not in `STUDENTS`, by the largest epsilon.
OTHER_STUDENTS = ((2.0, 200), (8.0, 100))


def split(name: str, seed: int) -> Split:
    """Return the rows of one seed."""
    path = data_file(name)
    assert path is not None
    X, labels, n_private = read(path)
    Y = labels.astype(int)
    if n_private == len(X):
        n_private = round((1 - OTHER_SHARE) * len(X))
    n_public = min(N_PUBLIC, round((len(X) - n_private) * (1 - TEST_SHARE)))
    order = np.random.default_rng(seed).permutation(len(X))
    parts = np.split(order, [n_private, n_private + n_public])
    return Split(*((X[part], Y[part]) for part in parts))


def components(n_components: int) -> Any:
    """Return the components of scaled rows, to be fitted on public ones."""
    return make_pipeline(StandardScaler(), PCA(n_components, random_state=0))


def regression(rows: Split, epsilon: float, n_components: int, seed: int) -> LabelScores:
    """Return the scores of one fit."""
    model = PrivateLogisticRegression(
        components(n_components),
        label_threshold="rate",
        accountant=PrivacyAccountant(epsilon, DELTA),
        random_state=seed,
    )
    # Some rows of these sets are equal.
    model.fit(*rows.private, X_public=PublicData(rows.pool[0], may_be_private=True))
    X, Y = rows.test
    return label_scores(Y, model.predict(X), model.predict_proba(X))


def student(name: str, rows: Split, epsilon: float) -> LabelScores:
    """Return the scores of the ensemble's student."""
    if name in STUDENTS and epsilon in (2.0, 8.0):
        return private_student(rows, *STUDENTS[name][int(epsilon == 8.0)], epsilon)
    n_positives = max(1, round(rows.pool[1].sum(axis=1).mean()))
    n_teachers = next((n for largest, n in OTHER_STUDENTS if epsilon <= largest), 50)
    return private_student(rows, n_teachers, n_positives, epsilon)


def not_private(rows: Split, n_components: int) -> LabelScores:
    """Return the scores of a logistic regression of each label."""
    encode = components(n_components).fit(rows.pool[0])
    X, test = encode.transform(rows.private[0]), encode.transform(rows.test[0])
    margins = []
    for labels in rows.private[1].T:
        both = 0 < labels.sum() < len(labels)
        one = LogisticRegression(class_weight="balanced", max_iter=1000)
        fitted = (one if both else DummyClassifier()).fit(X, labels)
        margins.append(fitted.predict_proba(test)[:, -1] if both else np.zeros(len(test)))
    p = np.stack(margins, axis=1)
    return label_scores(rows.test[1], p > 0.5, p)


def mean(values: Sequence[float]) -> str:
    """Return a mean and its standard error, as text."""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return f"{np.mean(values):.4f} +- {error:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(REAL))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[2.0, 8.0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--components", type=int, default=16)
    parser.add_argument("--descent", action="store_true")
    parser.add_argument("--quick", action="store_true", help="emotions, epsilon 8, one seed")
    if parser.parse_args().quick:  # other defaults: options that are given count
        parser.set_defaults(sets=["emotions"], epsilons=[8.0], seeds=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise is seeded, and would drown single votes
    print("| set, epsilon | regression | AUC | student | difference | descent | not private |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in given.sets or REAL:
        if data_file(name) is None:
            print(f"left out: {name} is not in the folder of data")
            continue
        found = [split(name, seed) for seed in range(given.seeds)]
        limit = [not_private(rows, given.components).balanced_accuracy for rows in found]
        for epsilon in given.epsilons:
            ours = [
                regression(rows, epsilon, given.components, seed) for seed, rows in enumerate(found)
            ]
            accuracy = np.array([each.balanced_accuracy for each in ours])
            students = [student(name, rows, epsilon).balanced_accuracy for rows in found]
            descended = ""
            if given.descent:
                descended = mean(best_accuracies(found, given.components, epsilon))
            cells = [
                mean(accuracy),
                mean([float(each.auc or np.nan) for each in ours]),
                mean(students),
                mean(accuracy - students),
                descended,
                mean(limit),
            ]
            print(f"| {name}, {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
