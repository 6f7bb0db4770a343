"""A student tried out on public rows with made-up labels, before anything is paid for real ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor

from secretballot._sklearn_compat import _num_samples, _safe_indexing
from secretballot.ensemble._rows import check_values

#: Rows of a trial, and how many of each class some learners need (folds of a calibration).
_ROWS, _OF_EACH = 100, 10


def try_student(student: Any, X_public: Any, classes: NDArray[Any], unanswered: str) -> None:
    """Raise ValueError if a student can't learn from rows of the pool, or predicts no classes."""
    if is_regressor(student):
        raise ValueError(
            f"student={student!r} is a regressor, but it is to predict classes; give a classifier."
        )
    check_values(X_public, [student], "X_public (which the student learns from)")
    rows, codes = _made_up(X_public, len(classes), unanswered)
    sample = _safe_indexing(X_public, rows)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about labels that nobody means
            predicted = np.asarray(clone(student).fit(sample, codes).predict(sample))
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(
            f"student={student!r} could not be fitted on {len(rows)} rows of X_public with made-up "
            f"labels {np.unique(codes).tolist()}, as positions in classes. Nothing was trained, "
            f"released or spent. It said: {type(error).__name__}: {error}"
        ) from error
    if predicted.shape != codes.shape or not np.isin(predicted, codes).all():
        raise ValueError(
            f"student={student!r} was fitted on the made-up labels {np.unique(codes).tolist()} and "
            f"predicts other ones, or not one for each row (an array of shape {predicted.shape} "
            f"for {len(rows)} rows); give a classifier. Nothing was trained, released or spent."
        )


def _made_up(
    X_public: Any, n_classes: int, unanswered: str
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return positions of some rows of the pool, and labels for them."""
    n_rows = _num_samples(X_public)
    spread = np.linspace(0, n_rows - 1, max(_ROWS, _OF_EACH * n_classes), dtype=np.intp)
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
