"""Comparison of private labels with predictions, row by row.

No row may change the count of another: a text among numbers would, if all labels were converted to
one array. So labels of a list keep their types, and a label that can't be compared is a wrong
answer instead of an error.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from secretballot._base._errors import NOT_FOR_PUBLICATION, warn
from secretballot._base._numbers import listed_classes
from secretballot.tables._cells import missing_cells
from secretballot.tables._frames import check_column
from secretballot.tables._labels import check_no_complex, class_positions, codes_of

#: Largest share of labels that are no classes without a warning.
_FEW_FOREIGN = 0.01
#: Effect of such labels, and the remedy.
_FOREIGN = (
    "An accuracy counts them as wrong answers, and recalls leave them out. Give labels in the "
    "words and codes of these classes."
)


def right_answers(y_true: ArrayLike, y_pred: ArrayLike) -> NDArray[np.float64]:
    """Compare rows: 1 for a right prediction (of several labels: of all of them), else 0."""
    true, predicted = _as_table(y_true, "y_true"), _as_table(y_pred, "y_pred")
    if true.shape != predicted.shape:
        raise ValueError(
            f"y_true has shape {true.shape} and y_pred {predicted.shape}; give a prediction for "
            "each private label."
        )
    pairs = zip(true.ravel().tolist(), predicted.ravel().tolist(), strict=True)
    right = np.fromiter((_are_equal(*pair) for pair in pairs), bool, true.size)
    return np.asarray(right.reshape(len(true), -1).all(axis=1), dtype=np.float64)


def check_no_missing_labels(y_true: ArrayLike) -> None:
    n_missing = int(missing_cells(_as_table(y_true, "y_true").ravel()).sum())
    _refuse_missing(n_missing, "y_true", "y_true and y_pred")


def _refuse_missing(n_missing: int, name: str, names: str) -> None:
    if n_missing:
        raise ValueError(
            f"{name} contains NaN or None: Every row needs a label. Leave rows without one out of "
            f"{names}. Nothing was spent. {NOT_FOR_PUBLICATION}"
        )


def check_label_types(first: ArrayLike, second: ArrayLike, names: tuple[str, str]) -> None:
    """Refuse labels that are all texts on one side and all numbers on the other.

    One label of another type among many changes nothing: it is a wrong answer.
    """
    pair = [
        {_label_type(label) for label in _as_table(labels, name).ravel().tolist()}
        for labels, name in zip((first, second), names, strict=True)
    ]
    if {*pair[0], *pair[1]} == {"texts", "numbers"} and not pair[0] & pair[1]:
        kinds = [kind for (kind,) in pair]
        raise ValueError(
            f"Mix of label input types: {names[0]} holds {kinds[0]} and {names[1]} {kinds[1]}, so "
            "that no two labels are equal. Give both as they were in fit. Nothing was spent. "
            f"{NOT_FOR_PUBLICATION}"
        )


def check_known_predictions(
    y_true: ArrayLike, y_pred: ArrayLike, classes: ArrayLike | None = None
) -> None:
    """Refuse predictions half of which, or all, are none of the labels; warn of some.

    Such predictions are coded or spelt differently. If `y_true` holds a single label, honest
    predictions may all be wrong, so only all of them are refused. Labels are those in `y_true`, or
    the classes of a confusion matrix.
    """
    labels = _as_table(y_true if classes is None else classes, "y_true").ravel()
    cells = _as_table(y_pred, "y_pred").ravel()
    n, n_foreign = len(cells), int((codes_of(cells, labels) < 0).sum())
    is_single = len(class_positions(labels)) < 2 and classes is None
    what = (
        "in y_pred are none of the labels in y_true, and count as wrong answers. Give both in the "
        "same words and codes."
        if classes is None
        else "in y_pred are none of the classes, and in no cell of the matrix: the accuracy counts "
        "them as wrong answers, and recalls leave them out. Give y_pred in the words and codes of "
        "classes=, or name all that may be predicted."
    )
    if n_foreign == n or (2 * n_foreign >= n and not is_single):
        raise ValueError(
            f"half or more of the predictions {what} Nothing was spent. {NOT_FOR_PUBLICATION}"
        )
    if n_foreign > _FEW_FOREIGN * n and not is_single:
        warn(f"{n_foreign:,} of {n:,} predictions {what} {NOT_FOR_PUBLICATION}")


def check_no_fractions(labels: ArrayLike, name: str, answer: str = "score_private") -> None:
    """Refuse labels that are mostly fractions: they are no classes. A few are wrong answers."""
    cells = _as_table(labels, name).ravel().tolist()
    n_fractions = sum(isinstance(cell, float) and cell % 1 > 0 for cell in cells)
    if 2 * n_fractions > len(cells):
        raise ValueError(
            f"{name} holds numbers with fractions, and {answer} compares classes, which are "
            "right only where they are equal. Take regression_score_private for numbers, or "
            f"give the classes as texts. Nothing was spent. {NOT_FOR_PUBLICATION}"
        )


def _label_type(label: object) -> str:
    if isinstance(label, str | bytes):
        return "texts"
    return "numbers" if isinstance(label, Real) else "others"


def class_codes(labels: ArrayLike, classes: ArrayLike, name: str) -> NDArray[np.intp]:
    table = _as_table(labels, name)
    if table.ndim != 1:
        raise ValueError(
            f"{name} has shape {table.shape}; a confusion matrix is of one class a row."
        )
    return codes_of(table, _as_table(classes, "classes"))


def count_foreign(
    y_true: ArrayLike, classes: NDArray[Any] | list[NDArray[Any]]
) -> NDArray[np.intp]:
    """Count labels of no class, by column; then missing ones, and all rows.

    The classes are a list of arrays for several labels a row. If their number is not that of the
    columns, a later check refuses that: the counts are 0 missing ones and all rows.
    """
    table = _as_table(y_true, "y")
    columns = table.T if table.ndim == 2 else table[None]
    classes = classes if isinstance(classes, list) else [classes]
    if len(columns) != len(classes):
        return np.array([0, len(table)])  # refused elsewhere
    pairs = zip(columns, classes, strict=True)
    counts = [int((codes_of(labels, names) < 0).sum()) for labels, names in pairs]
    return np.array([*counts, int(missing_cells(table.ravel()).sum()), len(table)])


def check_foreign_labels(
    counts: NDArray[np.intp], classes: NDArray[Any] | list[NDArray[Any]], name: str = "y"
) -> None:
    """Refuse missing labels, and columns with mostly labels of no class; warn of a few.

    `counts` are those of `count_foreign`.
    """
    classes = classes if isinstance(classes, list) else [classes]
    *n_others, n_missing, n_rows = counts.tolist()
    _refuse_missing(n_missing, name, f"X and {name}")
    for n_foreign, names in zip(n_others, classes, strict=False):
        if 2 * n_foreign > n_rows:
            raise ValueError(
                f"most labels in {name} are none of the classes {listed_classes(names)}. "
                f"{_FOREIGN} Nothing was spent. {NOT_FOR_PUBLICATION}"
            )
        if n_foreign > _FEW_FOREIGN * n_rows:
            warn(
                f"{n_foreign:,} of {n_rows:,} labels in {name} are none of the classes "
                f"{listed_classes(names)}. {_FOREIGN} {NOT_FOR_PUBLICATION}"
            )


def _as_table(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Convert labels to an array; labels of a list keep their types."""
    check_column(labels, name)
    if issparse(labels):
        return np.asarray(cast("csr_array", labels).toarray())
    table = np.asarray(labels) if hasattr(labels, "dtype") else _as_objects(labels)
    check_no_complex(table, name)
    if table.ndim not in (1, 2) or table.size == 0:
        raise ValueError(
            f"{name} has shape {table.shape}; give (n_rows,) labels, or (n_rows, n_labels)."
        )
    return table[:, 0] if table.ndim == 2 and table.shape[1] == 1 else table


def _as_objects(labels: Any) -> NDArray[np.object_]:
    try:
        table = np.array(labels, dtype=object)
    except ValueError:  # rows of different lengths
        table = np.empty(0, dtype=object)
    if table.ndim != 1 or not len(labels):
        return table
    flat = np.empty(len(labels), dtype=object)
    for row, label in enumerate(labels):
        # Where all rows are lists of one label, a longer one must not make lists of the others.
        is_single = isinstance(label, list | tuple | np.ndarray) and np.shape(label)[:1] == (1,)
        flat[row] = label[0] if is_single else label
    return flat


def _are_equal(label: object, prediction: object) -> bool:
    try:
        return bool(label == prediction)
    except Exception:  # a missing value, several in the place of one, or one that refuses
        return False
