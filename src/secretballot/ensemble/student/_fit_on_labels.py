"""A student of several labels a row, some of which may not have been answered."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.parallel import Parallel, delayed

from secretballot._errors import warn
from secretballot._sklearn_compat import _safe_indexing
from secretballot.ensemble._ballots import ConstantTeacher
from secretballot.ensemble._label_model import fit_labels
from secretballot.ensemble._parts import last_step
from secretballot.ensemble.student._per_label_student import PerLabelStudent


def fit_on_labels(student: Any, X: Any, labels: NDArray[np.int64], unanswered: str) -> Any:
    """Fit a student on labels, -1 where they were not answered.

    One that learns each label on its own learns it from all rows that have it; any other one from
    rows that have all labels, unless it is to see the marks.
    """
    one = of_one_label(student)
    if one is not None:
        n_jobs = getattr(last_step(student), "n_jobs", None)
        fitted = Parallel(n_jobs=n_jobs)(
            delayed(_fit_one)(one, X, labels[:, at], unanswered, at)
            for at in range(labels.shape[1])
        )
        _tell_constant([isinstance(each, ConstantTeacher) for each in fitted], labels)
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
    _tell_constant([len(np.unique(each[each >= 0])) < 2 for each in learned.T], learned)
    if model is not None:
        return model
    return PerLabelStudent([_constant(each) for each in learned.T])


def of_one_label(student: Any) -> Any:
    """Return what learns each label where each is learned on its own; None if they are not."""
    if isinstance(student, MultiOutputClassifier | OneVsRestClassifier):
        return student.estimator
    if not hasattr(student, "steps"):
        return None
    *others, (name, last) = student.steps
    inner = of_one_label(last)
    if inner is None:
        return None
    alone = copy(student)
    alone.steps = [*others, (name, inner)]
    return alone


def _fit_one(estimator: Any, X: Any, labels: NDArray[np.int64], unanswered: str, at: int) -> Any:
    """Fit a student of the label `at` on the rows that have it."""
    answered = np.flatnonzero(labels >= 0)
    if len(np.unique(labels[answered])) < 2:
        return _constant(labels)
    rows = answered if unanswered == "drop" else np.arange(len(labels))
    try:
        return clone(estimator).fit(_safe_indexing(X, rows), labels[rows])
    except ValueError as error:
        present = int((labels == 1).sum())
        where = f"label {at}, present in {present} of {len(answered)} rows"
        raise _unfitted(estimator, where, error) from error


def _unfitted(student: Any, where: str, error: ValueError) -> ValueError:
    return ValueError(
        f"student={student!r} could not be fitted on {where}. Their labels are paid for and kept "
        f"in pool_labels_; fit another student on them. The student said: {error}"
    )


def _constant(labels: NDArray[np.int64]) -> ConstantTeacher:
    """Return what predicts a label that all rows have; otherwise it is absent."""
    answered = labels[labels >= 0]
    return ConstantTeacher(np.array([int(len(answered) > 0 and bool(answered.all()))]))


def _tell_constant(constant: list[bool], labels: NDArray[np.int64]) -> None:
    """Warn of labels from which nothing can be learned."""
    if any(constant):
        which = [label for label, each in enumerate(constant) if each]
        some = ", ".join(map(str, which[:5])) + ", ..." * (len(which) > 5)
        warn(
            f"{len(which)} of {labels.shape[1]} labels ({some}) are present in all rows that were "
            "answered, or in none: they are predicted as that. Give more public rows, a mechanism "
            "with a lower threshold if it has one, or one with a low ballot_threshold, by which "
            "teachers vote for rare labels."
        )
