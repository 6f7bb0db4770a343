"""Students of few, noisy labels; for one_ballot.py.

All public rows are asked, with as much noise as that takes: single labels are then wrong nearly as
often as right, and a regular student averages over them. Teachers of a handful of rows are simpler
than the usual ones.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.inspection import LabelScores, label_scores
from secretballot.mechanisms import BinaryVoting, TauVoting

DELTA = 1e-5
#: How little a student follows its labels: nearly half of them are wrong.
STUDENT = 0.0003


class Split(NamedTuple):
    """One way to part all rows."""

    private: tuple[NDArray[Any], NDArray[Any]]
    pool: tuple[NDArray[Any], NDArray[Any]]
    test: tuple[NDArray[Any], NDArray[Any]]


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
