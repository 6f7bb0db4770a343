"""A student tried out on public rows with made-up labels, before anything is paid for real ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator

from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.ensemble._parts import last_step
from secretballot.ensemble._rows import check_values
from secretballot.ensemble.student._fit_on_labels import of_one_label
from secretballot.ensemble.student._public_student import PublicStudent

#: Rows of a trial, and how many of each class some learners need (folds of a calibration).
_ROWS, _OF_EACH = 100, 10

#: What a classifier of one class a row is told that was to learn labels.
_LABELS_TAKE = (
    " for each of {} labels; MultiOutputClassifier(estimator) makes a student of labels from any "
    "classifier"
)


def try_student(
    student: Any, X_public: Any, classes: Any, unanswered: str, scorer: Any = None
) -> Any:
    """Return a student fitted on made-up labels.

    Raise ValueError if it can't learn from rows of the pool, or predicts no classes.

    With a scorer it has to be scored too.
    """
    if is_regressor(student):
        raise ValueError(
            f"student={student!r} is a regressor, but it is to predict classes; give a classifier."
        )
    if isinstance(last_step(student), FrozenEstimator):
        raise ValueError(
            f"student={student!r} is fitted already and learns nothing from the labels; give an "
            "estimator to be trained."
        )
    check_values(X_public, [student], "X_public (which the student learns from)")
    n_labels, n_classes = (len(classes), 2) if isinstance(classes, list) else (0, len(classes))
    if n_labels:
        one = of_one_label(student)
        if one is not None:  # each label is learned as the next one is
            student, n_labels = one, 0
    try:
        fitted = _try(student, X_public, n_classes, n_labels, unanswered, _ROWS)
    except ValueError:
        # It may need more rows than the sample has: that many neighbours, or components.
        every = _num_samples(X_public)
        fitted = _try(student, X_public, n_classes, n_labels, unanswered, every)
    if scorer is not None:
        _try_scorer(scorer, fitted, X_public, classes)
    return fitted


def dense_labels(predicted: Any) -> NDArray[Any]:
    """Return predictions as an array, sparse ones of several labels too."""
    return np.asarray(predicted.toarray() if issparse(predicted) else predicted)


def _try_scorer(scorer: Any, fitted: Any, X_public: Any, classes: Any) -> None:
    """Score a fitted student on a few rows with made-up labels."""
    several = isinstance(classes, list)
    rows, codes = _made_up(X_public, 2 if several else len(classes), "drop", _ROWS)
    labels = np.stack([codes] * len(classes), axis=1) if several else np.asarray(classes)[codes]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            float(
                scorer(PublicStudent(fitted, classes, {}), _safe_indexing(X_public, rows), labels)
            )
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(
            f"scoring={scorer!r} could not score {fitted!r} on rows of X_public with made-up "
            f"labels. Nothing was trained, released or spent. It said: {type(error).__name__}: "
            f"{error}"
        ) from error


def _try(
    student: Any, X_public: Any, n_classes: int, n_labels: int, unanswered: str, most: int
) -> Any:
    """Fit a clone on `most` rows or a few more, let it predict them, and return it."""
    rows, codes = _made_up(X_public, n_classes, unanswered, most)
    if n_labels:
        # Each label in another order, so that no two are the same.
        codes = np.stack([np.roll(codes, label) for label in range(n_labels)], axis=1)
    sample, labels = _safe_indexing(X_public, rows), np.unique(codes).tolist()
    of_each = _LABELS_TAKE.format(n_labels) if n_labels else ", as positions in classes"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about labels that nobody means
            fitted = clone(student).fit(sample, codes)
            predicted = dense_labels(fitted.predict(sample))
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(
            f"student={student!r} could not be fitted on {len(rows)} rows of X_public with made-up "
            f"labels {labels}{of_each}. Nothing was trained, released or spent. It said: "
            f"{type(error).__name__}: {error}"
        ) from error
    if predicted.shape != codes.shape or not np.isin(predicted, codes).all():
        raise ValueError(
            f"student={student!r} was fitted on the made-up labels {labels} and predicts other "
            f"ones, or not one for each row (an array of shape {predicted.shape} for {len(rows)} "
            "rows); give a classifier. Nothing was trained, released or spent."
        )
    if (predicted < 0).any() or -1 in np.unique(getattr(fitted, "classes_", [])):
        raise ValueError(
            f"student={student!r} takes -1 for a class, but unanswered='mark' gives it that label "
            "for rows that have none, as semi-supervised learners take it. Use one of those, or "
            "unanswered='drop'. Nothing was trained, released or spent."
        )
    return fitted


def _made_up(
    X_public: Any, n_classes: int, unanswered: str, most: int
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return positions of some rows of the pool, and labels for them."""
    n_rows = _num_samples(X_public)
    spread = np.linspace(0, n_rows - 1, max(most, _OF_EACH * n_classes), dtype=np.intp)
    rows = np.unique(np.concatenate([spread, _incomplete(X_public)[:_OF_EACH]]))
    # Few rows may get labels of few classes: nothing is asked that the real labels may not be.
    codes = np.arange(len(rows)) % min(n_classes, max(2, len(rows) // _OF_EACH))
    if unanswered == "mark":
        codes[len(rows) // 2 :: 3] = -1
    return rows, codes


def _incomplete(X_public: Any) -> NDArray[np.intp]:
    """Positions of rows with missing values, where that can be told."""
    if hasattr(X_public, "isna"):
        return np.flatnonzero(np.asarray(X_public.isna()).any(axis=1))
    if isinstance(X_public, np.ndarray) and X_public.dtype.kind == "f":
        return np.flatnonzero(np.isnan(X_public).any(axis=1))
    return np.empty(0, dtype=np.intp)
