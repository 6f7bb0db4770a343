"""Training of a student on several labels a row, some of them unanswered."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed

from secretballot._errors import warn
from secretballot._sklearn_compat import _safe_indexing
from secretballot.ensemble._estimator_types import Learner, Rows
from secretballot.ensemble._frozen_parties import last_step
from secretballot.ensemble._label_model import fit_labels
from secretballot.ensemble._teacher_ballots import ConstantTeacher


def fit_on_labels(student: Learner, X: Rows, labels: NDArray[np.int64], unanswered: str) -> Any:
    """Fit a student on labels, -1 where they were not answered.

    A student that learns each label separately learns it from all rows that have it. Any other
    student learns from rows that have all labels, or with ``unanswered="mark"`` from all rows.
    """
    learner = single_label_learner(student)
    if learner is not None:
        n_jobs = getattr(last_step(student), "n_jobs", None)
        fitted = Parallel(n_jobs=n_jobs)(
            delayed(_fit_label)(learner, X, labels[:, label], unanswered, label)
            for label in range(labels.shape[1])
        )
        _warn_constant([isinstance(model, ConstantTeacher) for model in fitted], labels)
        return PerLabelStudent(list(fitted))
    rows = np.flatnonzero((labels >= 0).all(axis=1))
    if unanswered == "mark":
        rows = np.arange(len(labels))
    if not len(rows):
        raise ValueError(
            f"student={student!r} learns all labels together, and not one of {len(labels)} rows "
            "has all of them. They are paid for and kept in pool_labels_; fit a student on them "
            "that learns each label on its own, such as MultiOutputClassifier(estimator)."
        )
    learned = labels[rows]
    try:
        model = fit_labels(student, _safe_indexing(X, rows), learned, learned >= 0)
    except ValueError as error:
        raise _unfitted(student, f"the {len(rows)} rows", error) from error
    _warn_constant([len(np.unique(column[column >= 0])) < 2 for column in learned.T], learned)
    if model is not None:
        return model
    return PerLabelStudent([_constant(column) for column in learned.T])


def single_label_learner(student: Any) -> Learner | None:
    """Return the estimator of each label; None if the student learns all labels together."""
    if isinstance(student, MultiOutputClassifier | OneVsRestClassifier):
        return student.estimator
    if not hasattr(student, "steps"):
        return None
    *steps, (name, last) = student.steps
    learner = single_label_learner(last)
    if learner is None:
        return None
    pipeline = copy(student)
    pipeline.steps = [*steps, (name, learner)]
    return pipeline


def _fit_label(
    estimator: Learner, X: Rows, labels: NDArray[np.int64], unanswered: str, label: int
) -> Any:
    """Fit a student of one label on the rows that have it."""
    answered = np.flatnonzero(labels >= 0)
    if len(np.unique(labels[answered])) < 2:
        return _constant(labels)
    rows = answered if unanswered == "drop" else np.arange(len(labels))
    try:
        return clone(estimator).fit(_safe_indexing(X, rows), labels[rows])
    except ValueError as error:
        present = int((labels == 1).sum())
        where = f"label {label}, present in {present} of {len(answered)} rows"
        raise _unfitted(estimator, where, error) from error


def _unfitted(student: Learner, where: str, error: ValueError) -> ValueError:
    return ValueError(
        f"student={student!r} could not be fitted on {where}. Their labels are paid for and kept "
        f"in pool_labels_; fit another student on them. The student's error: {error}"
    )


def _constant(labels: NDArray[np.int64]) -> ConstantTeacher:
    """Return a student that predicts the label present if all answered rows have it."""
    answered = labels[labels >= 0]
    return ConstantTeacher(np.array([int(len(answered) > 0 and bool(answered.all()))]))


def _warn_constant(constant: list[bool], labels: NDArray[np.int64]) -> None:
    """Warn of labels that do not vary."""
    if any(constant):
        numbers = np.flatnonzero(constant)
        shown = ", ".join(map(str, numbers[:5])) + ", ..." * (len(numbers) > 5)
        warn(
            f"{len(numbers)} of {labels.shape[1]} labels ({shown}) are present in all rows that "
            "were answered, or in none: they are predicted as that. Give more public rows, a "
            "mechanism with a lower threshold if it has one, or one with a low ballot_threshold, "
            "by which teachers vote for rare labels."
        )


class PerLabelStudent(BaseEstimator):
    """One student for each label.

    Parameters
    ----------
    estimators : list of estimator
        Fitted; each predicts one label as 0 and 1.
    """

    def __init__(self, estimators: list[Any]) -> None:
        self.estimators = estimators

    @property
    def _trained(self) -> list[Any]:
        return [model for model in self.estimators if not isinstance(model, ConstantTeacher)]

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in fit, if a student has it."""
        return self._first_attribute("n_features_in_")

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if a student has them."""
        return self._first_attribute("feature_names_in_")

    def _first_attribute(self, name: str) -> Any:
        for model in self._trained:
            return getattr(model, name)
        raise AttributeError(name)

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self._trained[0]) if self._trained else super().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Rows) -> NDArray[np.int64]:
        """Return all labels, shape (n_rows, n_labels)."""
        return np.stack([np.asarray(model.predict(X)) for model in self.estimators], axis=1)

    @available_if(lambda self: all(hasattr(model, "predict_proba") for model in self.estimators))
    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n_rows, n_labels)."""
        return np.stack([_presence(model, X) for model in self.estimators], axis=1)


def _presence(model: Any, X: Rows) -> NDArray[np.float64]:
    """Return the probability that one label is present."""
    probabilities = np.asarray(model.predict_proba(X))
    if isinstance(model, ConstantTeacher):
        return probabilities
    return np.asarray(probabilities[:, np.asarray(model.classes_).tolist().index(1)])
