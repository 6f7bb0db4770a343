"""Trial of a student on public rows with made-up labels, before real ones are paid for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from secretballot._base._sklearn_compat import _num_samples, _safe_indexing
from secretballot.ensemble._estimator_types import Classes, Learner, Rows
from secretballot.ensemble._learners import check_learner
from secretballot.ensemble._public_rows import check_values
from secretballot.ensemble._target import dense_labels
from secretballot.ensemble._text_remedies import text_remedy
from secretballot.ensemble.student._fit_student import single_label_learner
from secretballot.ensemble.student._public_student import PublicStudent
from secretballot.tables._column_schema import ColumnSchema
from secretballot.tables._frames import columns_of
from secretballot.tables._table_checks import check_text_reader

#: Rows of a trial, and rows of each class that some learners need (folds of a calibration).
_ROWS, _ROWS_PER_CLASS = 100, 10

#: Remedy for a classifier of one class a row that was to learn labels.
_LABELS_REMEDY = (
    " for each of {} labels; MultiOutputClassifier(estimator) makes a student of labels from any "
    "classifier"
)


def try_student(
    student: Learner,
    X_public: Rows,
    classes: Classes,
    unanswered: str,
    scorer: Callable[..., float] | None = None,
) -> Any:
    """Return a student fitted on made-up labels, and score it if there is a scorer.

    Raise ValueError if it cannot learn from rows of the pool, or does not predict classes.
    """
    check_learner("student", student)
    check_text_reader(student, X_public, "X_public", "student")
    check_values(X_public, [student], "X_public (which the student learns from)")
    n_labels, n_classes = (len(classes), 2) if isinstance(classes, list) else (0, len(classes))
    if n_labels:
        learner = single_label_learner(student)
        if learner is not None:  # a trial of one label is a trial of all
            student, n_labels = learner, 0
    try:
        fitted = _try(student, X_public, n_classes, n_labels, unanswered, _ROWS)
    except ValueError:
        # It may need more rows than the sample has, for neighbours or components.
        n_rows = _num_samples(X_public)
        fitted = _try(student, X_public, n_classes, n_labels, unanswered, n_rows)
    if scorer is not None:
        _try_scorer(scorer, fitted, X_public, classes)
    return fitted


def _try_scorer(
    scorer: Callable[..., float], fitted: Learner, X_public: Rows, classes: Classes
) -> None:
    """Score a fitted student on a few rows with made-up labels."""
    multilabel = isinstance(classes, list)
    rows, codes = _made_up_labels(X_public, 2 if multilabel else len(classes), "drop", _ROWS)
    labels = np.stack([codes] * len(classes), axis=1) if multilabel else np.asarray(classes)[codes]
    problem = (
        f"scoring={scorer!r} could not score {fitted!r} on rows of X_public with made-up labels"
    )
    with _trial_of(problem):
        float(scorer(PublicStudent(fitted, classes, {}), _safe_indexing(X_public, rows), labels))


@contextmanager
def _trial_of(problem: str, remedy: str = "") -> Iterator[None]:
    """Silence warnings about made-up labels, and explain an error by `problem`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(
            f"{problem}. Nothing was trained, released or spent. {remedy}Its error: "
            f"{type(error).__name__}: {error}"
        ) from error


def _try(
    student: Learner, X_public: Rows, n_classes: int, n_labels: int, unanswered: str, n_rows: int
) -> Any:
    """Fit a clone on `n_rows` rows or a few more, predict them, and return it."""
    rows, codes = _made_up_labels(X_public, n_classes, unanswered, n_rows)
    if n_labels:
        # Labels are permuted, so that no two are the same.
        codes = np.stack([np.roll(codes, label) for label in range(n_labels)], axis=1)
    sample, labels = _safe_indexing(X_public, rows), np.unique(codes).tolist()
    kind = _LABELS_REMEDY.format(n_labels) if n_labels else ", as positions in classes"
    remedy = text_remedy(X_public) if _has_texts(X_public) else ""
    with _trial_of(
        f"student={student!r} could not be fitted on {len(rows)} rows of X_public with made-up "
        f"labels {labels}{kind}",
        remedy,
    ):
        fitted = clone(student).fit(sample, codes)
        predicted = dense_labels(fitted.predict(sample))
    if predicted.shape != codes.shape or not np.isin(predicted, codes).all():
        raise ValueError(
            f"student={student!r} was fitted on the made-up labels {labels} and predicts other "
            f"ones, or not one for each row (an array of shape {predicted.shape} for {len(rows)} "
            "rows); give a classifier. Nothing was trained, released or spent."
        )
    if (predicted < 0).any() or -1 in np.unique(getattr(fitted, "classes_", [])):
        raise ValueError(
            f"student={student!r} takes -1 for a class, but unanswered='mark' gives it that label "
            "for rows without one. Use a semi-supervised learner, which takes -1 as that, or "
            "unanswered='drop'. Nothing was trained, released or spent."
        )
    return fitted


def _made_up_labels(
    X_public: Rows, n_classes: int, unanswered: str, n_sampled: int
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    n_rows = _num_samples(X_public)
    spread = np.linspace(0, n_rows - 1, max(n_sampled, _ROWS_PER_CLASS * n_classes), dtype=np.intp)
    rows = np.unique(np.concatenate([spread, _incomplete(X_public)[:_ROWS_PER_CLASS]]))
    # Few rows get labels of few classes: the real labels may not have more.
    codes = np.arange(len(rows)) % min(n_classes, max(2, len(rows) // _ROWS_PER_CLASS))
    if unanswered == "mark":
        codes[len(rows) // 2 :: 3] = -1
    return rows, codes


def _has_texts(X_public: Rows) -> bool:
    if not hasattr(X_public, "columns"):
        return getattr(getattr(X_public, "dtype", None), "kind", "") in "OU"
    columns = enumerate(columns_of(X_public))
    return any(ColumnSchema.of(*column).kind not in ("number", "boolean") for column in columns)


def _incomplete(X_public: Rows) -> NDArray[np.intp]:
    """Return the positions of rows with missing values, if the table can show them."""
    if hasattr(X_public, "isna"):
        return np.flatnonzero(np.asarray(X_public.isna()).any(axis=1))
    if isinstance(X_public, np.ndarray) and X_public.dtype.kind == "f":
        return np.flatnonzero(np.isnan(X_public).any(axis=1))
    return np.empty(0, dtype=np.intp)
