"""Training of a student on released labels."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.parallel import Parallel, delayed

from secretballot._base._errors import warn
from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.ensemble._estimator_types import Classes, Learner, Rows
from secretballot.ensemble._label_model import fit_classes, fit_labels
from secretballot.ensemble._learners import last_step
from secretballot.ensemble._private_labels import PrivateLabels
from secretballot.ensemble._teachers import seed_estimator
from secretballot.tables._labels import encode
from secretballot.tables._randomness import Randomness


def fit_student(
    student: Learner,
    X_public: Rows,
    labels: PrivateLabels,
    classes: Classes,
    unanswered: str,
    randomness: Randomness,
) -> Any:
    """Train a student on positions of classes, or on labels; -1 marks those not answered."""
    if not labels.answered.any():
        raise ValueError(
            f"not one of the {len(labels.answered)} rows of X_public was answered, so there is "
            "nothing to train the student on; lower the mechanism's threshold, or give more "
            "public rows."
        )
    seeded = clone(student)
    if randomness.seeded:
        seed_estimator(seeded, randomness.student(), keep=True)
    if not isinstance(classes, list):
        return _fit_on_classes(seeded, X_public, labels, classes, unanswered)
    learner = single_label_learner(seeded)
    if learner is None:
        return _fit_together(seeded, X_public, labels.labels, unanswered)
    return _fit_each_label(seeded, learner, X_public, labels.labels, unanswered)


def _fit_on_classes(
    student: Learner, X_public: Rows, labels: PrivateLabels, classes: NDArray[Any], unanswered: str
) -> Any:
    """Train on positions of classes; ``unanswered="mark"`` adds the other rows as -1."""
    answered = np.flatnonzero(labels.answered)
    codes = np.full(len(labels.answered), -1, dtype=np.int64)
    codes[answered] = encode(labels.labels[answered].astype(classes.dtype), classes, "labels")
    released_codes = np.unique(codes[answered])
    if unanswered == "drop":
        X_public, codes = _safe_indexing(X_public, answered), codes[answered]
    try:
        return fit_classes(student, X_public, codes)
    except ValueError as error:
        if len(released_codes) > 1:
            raise _unfitted(student, f"the {len(answered)} answered rows", error) from error
        message = str(error)
    # A constant student, as for teachers: labels that are paid for should not end in an error.
    warn(
        f"all {len(answered)} answered rows have the label "
        f"{classes[released_codes].tolist()[0]!r} and the student can't learn from one "
        f"class; a constant one replaces it. Its error: {message}"
    )
    return _constant(X_public, released_codes[0])


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


def _fit_together(student: Learner, X: Rows, labels: NDArray[np.int64], unanswered: str) -> Any:
    """Fit a student of all labels on the rows that have all, or with "mark" on all rows."""
    rows = np.flatnonzero((labels >= 0).all(axis=1))
    if unanswered == "mark":
        rows = np.arange(len(labels))
    if not len(rows):
        raise ValueError(
            f"student={student!r} learns all labels together, and not one of {len(labels)} rows "
            "has all of them. They are paid for and kept in pool_labels_; fit a student on them "
            "that learns each label on its own, such as MultiOutputClassifier(estimator)."
        )
    X, labels = _safe_indexing(X, rows), labels[rows]
    try:
        model = fit_labels(student, X, labels, labels >= 0)
    except ValueError as error:
        raise _unfitted(student, f"the {len(rows)} rows", error) from error
    _warn_constant(labels)
    return _constant(X, labels.max(axis=0)) if model is None else model


def _fit_each_label(
    student: Learner, learner: Learner, X: Rows, labels: NDArray[np.int64], unanswered: str
) -> MultiOutputClassifier:
    """Fit one learner for each label, on all rows that have it."""
    each_label = MultiOutputClassifier(learner)
    each_label.estimators_ = list(
        Parallel(n_jobs=getattr(last_step(student), "n_jobs", None))(
            delayed(_fit_label)(learner, X, column, unanswered, label)
            for label, column in enumerate(labels.T)
        )
    )
    each_label.classes_ = [model.classes_ for model in each_label.estimators_]
    for name in ("n_features_in_", "feature_names_in_"):
        for model in each_label.estimators_:
            if hasattr(model, name):
                setattr(each_label, name, getattr(model, name))
    _warn_constant(labels)
    return each_label


def _fit_label(
    learner: Learner, X: Rows, labels: NDArray[np.int64], unanswered: str, label: int
) -> Any:
    """Fit a student of one label on the rows that have it."""
    answered = np.flatnonzero(labels >= 0)
    if _is_constant(labels):
        return _constant(X, max(labels.max(), 0))
    rows = answered if unanswered == "drop" else np.arange(len(labels))
    try:
        return clone(learner).fit(_safe_indexing(X, rows), labels[rows])
    except ValueError as error:
        present = int((labels == 1).sum())
        where = f"label {label}, present in {present} of {len(answered)} rows"
        raise _unfitted(learner, where, error) from error


def _unfitted(student: Learner, where: str, error: ValueError) -> ValueError:
    return ValueError(
        f"student={student!r} could not be fitted on {where}. Their labels are paid for and kept "
        f"in pool_labels_; fit another student on them. The student's error: {error}"
    )


def _constant(X: Rows, label: ArrayLike) -> DummyClassifier:
    """Return a student that predicts one class, or one set of labels, on every row."""
    constant = DummyClassifier(strategy="constant", constant=label)
    return constant.fit(X, np.repeat(np.asarray(label)[None], _num_samples(X), axis=0))


def _is_constant(labels: NDArray[np.int64]) -> bool:
    return len(np.unique(labels[labels >= 0])) < 2


def _warn_constant(labels: NDArray[np.int64]) -> None:
    numbers = [str(label) for label, column in enumerate(labels.T) if _is_constant(column)]
    if numbers:
        shown = ", ".join(numbers[:5]) + ", ..." * (len(numbers) > 5)
        warn(
            f"{len(numbers)} of {labels.shape[1]} labels ({shown}) are present in all rows that "
            "were answered, or in none: they are predicted as that. Give more public rows, a "
            "mechanism with a lower threshold if it has one, or one with a low ballot_threshold, "
            "by which teachers vote for rare labels."
        )
