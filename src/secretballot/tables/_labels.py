"""Private labels: one class a row or several labels, the classes, and positions among them."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from secretballot._base._errors import NOT_FOR_PUBLICATION, PrivacyLeakWarning, marked_errors, warn
from secretballot._base._numbers import listed_classes, named_classes, sorted_classes
from secretballot.tables._cells import missing_cells
from secretballot.tables._frames import check_column

#: Most different numbers that are accepted as classes, if `classes` does not name them as codes.
_MOST_NUMBERS = 100
#: Error of a fit to rows in parts without their classes.
NO_CLASSES_OF_PARTS = (
    "classes=None: the classes of rows in parts are not read from them. Pass classes=[0, 1], or as "
    "they are in the column of y."
)
_OF_SETS = (
    "For sets of names use MultiLabelBinarizer(classes=[...]) with all labels there may be: those "
    "that it finds in private rows are a release."
)


def check_targets(y: ArrayLike) -> Any:
    """Return private labels, or raise: one class a row, or 0 and 1 for each label of a row."""
    check_column(y)
    with marked_errors("y"):
        if issparse(y) and hasattr(y, "tocsr"):
            table = y.tocsr(copy=True)
            table.sum_duplicates()
            return _indicators(table, table.data)
        table = _label_table(y)
        if table is not None:
            table = _as_numbers(table)
            return _indicators(table, table)
        _check_kinds(y)
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "O":
            # All booleans, or all numbers, as columns with missing cells hold them.
            types = set(map(type, labels))
            if types and (types <= {bool, np.bool_} or all(map(_is_number, types))):
                labels = np.array(labels.tolist())
        _check_labels(labels)
        check_classification_targets(labels)
        return labels


def _check_kinds(y: Any) -> None:
    """Refuse a set or list of label names in a row, texts among other labels, complex numbers."""
    is_object = getattr(y, "dtype", None) == np.dtype(object)
    for row, label in enumerate(y if is_object or isinstance(y, list | tuple) else ()):
        is_set = isinstance(label, set | frozenset)
        if is_set or (isinstance(label, list | tuple) and len(label) != 1):
            kind = type(label).__name__
            raise ValueError(
                f"y has a {kind} in row {row}, instead of a class. {_OF_SETS} {NOT_FOR_PUBLICATION}"
            )
    if (
        is_object
        and len({isinstance(label, str) for label in np.ravel(y) if label is not None}) > 1
    ):
        raise ValueError(
            "y mixes texts with numbers or missing labels: give one type, y.astype(str) and texts "
            f"in classes=. {NOT_FOR_PUBLICATION}"
        )
    check_no_complex(y, "y")


def _check_labels(y: NDArray[Any]) -> None:
    """Refuse missing labels; periods, intervals and other objects that are no labels."""
    missing = np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "O":
        missing = np.fromiter((label is None or label != label for label in y), bool, len(y))
    elif y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    if missing.any():
        numbers = y.dtype.kind == "f"
        raise ValueError(
            f"y contains {'NaN or infinity' if numbers else 'NaN or None'}: Every row needs a "
            "label. Leave rows without one out of X and y."
            + (" Is y a regression target? It must hold classes." if numbers else "")
            + f" {NOT_FOR_PUBLICATION}"
        )
    if y.dtype.kind == "O" and len(y) and not isinstance(y[0], str | bytes | Real):
        kind = type(y[0]).__name__
        raise ValueError(
            f"Unknown label type: y holds objects ({kind}), and classes are texts, whole numbers "
            f"or booleans. Pass y.astype(str), and texts in classes=. {NOT_FOR_PUBLICATION}"
        )


def _is_number(kind: type) -> bool:
    return issubclass(kind, Real) and not issubclass(kind, bool | np.bool_)


def _label_table(y: ArrayLike) -> NDArray[Any] | None:
    """Return labels of several columns as an array; None if each row has one label."""
    try:
        table = np.asarray(y)
    except ValueError:  # rows of different lengths
        return None
    if table.ndim > 2:
        raise ValueError(
            f"y has shape {table.shape}; pass (n_samples,), or (n_samples, n_labels) of 0 and 1."
        )
    return table if table.ndim == 2 and table.shape[1] != 1 else None


def _indicators(table: Any, values: NDArray[Any]) -> Any:
    """Check that labels are 0 and 1; `values` are the entries that are stored."""
    if table.shape[1] < 2:
        raise ValueError(
            f"y has shape {table.shape}: one label only. Pass an array of one class a row, of "
            "shape (n_samples,)."
        )
    if missing_cells(values.ravel()).any():
        raise ValueError(
            f"y has shape {table.shape} and contains NaN or None: each label is present (1) or "
            "absent (0). Leave rows with an unknown label out of X and y, or fit a model for each "
            f"label on the rows that have it. {NOT_FOR_PUBLICATION}"
        )
    if values.dtype.kind not in "biuf" or not ((values == 0) | (values == 1)).all():
        raise ValueError(
            f"y has shape {table.shape} and holds other values than 0 and 1: several columns are "
            f"labels, each present (1) or absent (0). {_OF_SETS} Several classes a column are not "
            f"voted on. {NOT_FOR_PUBLICATION}"
        )
    return table if issparse(table) else table.astype(np.int64)


def _as_numbers(table: NDArray[Any]) -> NDArray[Any]:
    """Convert objects 0 and 1, which data frames make of some of their types, to numbers."""
    if table.dtype.kind != "O":
        return table
    try:
        return table.astype(np.int64) if bool(np.isin(table, (0, 1)).all()) else table
    except TypeError:  # missing values cannot be compared
        return table


def check_no_complex(labels: Any, name: str) -> None:
    """Refuse labels that are all complex numbers."""
    cells = np.asarray(labels).ravel()
    if (
        len(cells)
        and cells.dtype.kind in "cO"
        and all(isinstance(cell, complex | np.complexfloating) for cell in cells)
    ):
        raise ValueError(
            f"Complex data not supported: {name} holds complex numbers, and labels are texts, "
            f"whole numbers or booleans. {NOT_FOR_PUBLICATION}"
        )


def declared_classes(classes: ArrayLike) -> NDArray[Any]:
    """Return the sorted classes of the parameter ``classes``."""
    names = named_classes(classes)
    _check_no_quantity(names, "classes")
    return names


def learned_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted classes that occur in ``y``."""
    classes = sorted_classes(y, "y")
    _check_no_quantity(classes, "y")
    return classes


def _check_no_quantity(classes: NDArray[Any], name: str) -> None:
    """Refuse many numbers, unless they were named and are 0, 1, 2, ... or 1, 2, 3, ..."""
    n_classes = len(classes)
    if classes.dtype.kind not in "iuf" or n_classes <= _MOST_NUMBERS:
        return
    if name == "classes" and np.array_equal(classes - classes[0], np.arange(n_classes)):
        return
    raise ValueError(
        f"{name} holds {n_classes:,} numbers, and each would be a class, for which a fit takes "
        "minutes and tells little. Take PrivateLinearRegression for a number, or groups of it, "
        "such as pandas.cut(y, edges).astype(str). If they are the codes 0, 1, 2, ... of classes, "
        f"name them: classes=range({n_classes}); if other codes, give y.astype(str). Nothing was "
        "spent." + (f" {NOT_FOR_PUBLICATION}" if name == "y" else "")
    )


def positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label in ``classes``, -1 for labels that are no class."""
    try:
        codes = np.searchsorted(classes, labels)
        codes[codes == len(classes)] = 0
        is_class = np.asarray(classes[codes] == labels, dtype=bool)
    except TypeError:
        return codes_of(labels, classes)  # text and numbers have no order among each other
    if is_class.shape != labels.shape:
        return np.full(len(labels), -1)
    return np.where(is_class, codes, -1)


def encode(labels: ArrayLike, classes: NDArray[Any], name: str) -> NDArray[np.intp]:
    labels = np.asarray(labels)
    with marked_errors(name):
        codes = positions(labels, classes)
    if (codes < 0).any():
        raise ValueError(
            f"{name} holds labels that are not among the classes {classes.tolist()!r}, such as "
            f"{labels[codes < 0][:1].tolist()!r}; name all of them in classes, or leave out rows "
            "whose label means that it is unknown. "
            f"{_encoded_hint(labels, classes)}{NOT_FOR_PUBLICATION}"
        )
    return codes


def _encoded_hint(labels: NDArray[Any], classes: NDArray[Any]) -> str:
    """Return a hint for labels that a meta-estimator of scikit-learn may have encoded."""
    codes = list(range(len(classes)))
    if labels.dtype.kind not in "iu" or not np.isin(labels, codes).all():
        return ""
    binary = "" if len(codes) == 2 else ", or classes=[0, 1] for one against the rest"
    return (
        "Within VotingClassifier, StackingClassifier and OneVsRestClassifier labels are encoded: "
        f"there give classes={codes!r}{binary}. "
    )


def warn_classes_learned() -> None:
    """Warn that the set of classes was read off private labels."""
    warn(
        "classes=None: the set of classes is learned from private labels and released exactly, "
        "outside the guarantee (a label that only one row has reveals that row). Name the "
        "possible labels: classes=[...].",
        PrivacyLeakWarning,
    )


def codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Look up the positions of labels among classes of any types; -1 for other labels."""
    codes = class_positions(classes)
    return np.array([_code_of(codes, label) for label in labels.tolist()], dtype=np.intp)


def class_positions(classes: NDArray[Any]) -> dict[Hashable, int]:
    codes = dict[Hashable, int]()
    for code, label in enumerate(classes.tolist()):
        with suppress(Exception):  # not hashable: no class
            codes[label] = code
    return codes


def _code_of(codes: dict[Hashable, int], label: Hashable) -> int:
    try:
        return codes.get(label, -1)
    except Exception:  # not hashable: no class
        return -1


def check_label_classes(
    classes: ArrayLike | None, n_labels: int, *, is_sparse: bool = False
) -> None:
    """Refuse classes other than [0, 1] for each of `n_labels`; `is_sparse` is for the remedy."""
    if classes is not None and declared_n_labels(classes) != n_labels:
        shown = listed_classes(np.array(classes, dtype=object))
        table = "y.toarray()" if is_sparse else "numpy.asarray(y)"
        raise ValueError(
            f"classes={shown} is not what y has, {n_labels} labels that are present or "
            f"absent; leave it out, or give classes=[[0, 1]] * {n_labels}. "
            "If each row has one class (a one-hot table), pass "
            f"numpy.take(names, {table}.argmax(axis=1)), where names lists the class of each "
            "column of y."
        )


def declared_n_labels(classes: ArrayLike | None) -> int | None:
    """Return the number of labels of ``[[0, 1], [0, 1], ...]``; None for other classes."""
    try:
        table = np.asarray(classes)
    except ValueError:
        return None
    pairs = table.ndim == 2 and table.shape[1] == 2 and table.dtype.kind in "biuf"
    return len(table) if pairs and len(table) > 1 and (table == [0, 1]).all() else None
