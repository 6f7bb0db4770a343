"""Private labels beside predictions, each row on its own.

One row must not change what another counts: a label of another type, such as text among numbers,
would if all of them were made one array. So labels of a list are compared one by one, and what
can't be compared is no right answer rather than an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from secretballot._numbers import check_unmasked


def right_answers(y_true: Any, y_pred: Any) -> NDArray[np.float64]:
    """Return 1 for each row whose prediction is right (of several labels: all of them), else 0."""
    truth, told = _table(y_true, "y_true"), _table(y_pred, "y_pred")
    if truth.shape != told.shape:
        raise ValueError(
            f"y_true has shape {truth.shape} and y_pred {told.shape}; give a prediction for each "
            "private label."
        )
    pairs = zip(truth.ravel().tolist(), told.ravel().tolist(), strict=True)
    right = np.fromiter((_same(one, other) for one, other in pairs), bool, truth.size)
    return right.reshape(len(truth), -1).all(axis=1).astype(np.float64)


def class_codes(labels: Any, classes: Any, name: str) -> NDArray[np.intp]:
    """Return the position of each label among classes, -1 for what is none of them."""
    table = _table(labels, name)
    if table.ndim != 1:
        raise ValueError(
            f"{name} has shape {table.shape}; a confusion matrix is of one class a row."
        )
    known = {label: code for code, label in enumerate(_table(classes, "classes").tolist())}
    return np.array([_code(known, label) for label in table.tolist()], dtype=np.intp)


def _table(labels: Any, name: str) -> NDArray[Any]:
    """Return labels as an array; those of a list keep their types."""
    check_unmasked(name, labels)
    if issparse(labels):
        return np.asarray(labels.toarray())
    table = np.asarray(labels) if hasattr(labels, "dtype") else _of_objects(labels)
    if table.ndim not in (1, 2) or table.size == 0:
        raise ValueError(
            f"{name} has shape {table.shape}; give (n_rows,) labels, or (n_rows, n_labels)."
        )
    return table[:, 0] if table.ndim == 2 and table.shape[1] == 1 else table


def _of_objects(labels: Any) -> NDArray[Any]:
    try:
        table = np.array(labels, dtype=object)
    except ValueError:  # rows of different lengths
        table = np.empty(0, dtype=object)
    if table.ndim != 1 or not len(labels):
        return table
    flat = np.empty(len(labels), dtype=object)
    for row, label in enumerate(labels):
        # Where all rows are lists of one label, a longer one must not make lists of the others.
        one = isinstance(label, list | tuple | np.ndarray) and np.shape(label)[:1] == (1,)
        flat[row] = label[0] if one else label
    return flat


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # what is missing, or several in the place of one
        return False


def _code(known: dict[Any, int], label: Any) -> int:
    try:
        return known.get(label, -1)
    except TypeError:  # what can't be looked up is no label
        return -1
