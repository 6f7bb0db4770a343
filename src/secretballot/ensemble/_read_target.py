"""Target of a vote, read off private labels or parties, or declared."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from secretballot._base._errors import NOT_FOR_PUBLICATION, marked_errors
from secretballot._base._numbers import listed_classes
from secretballot.ensemble._estimator_types import Rows, Teacher
from secretballot.ensemble._frozen_parties import model_of
from secretballot.ensemble._private_labels import declared_classes, encode, learned_classes
from secretballot.ensemble._target import ClassTarget, LabelTarget, Target
from secretballot.measures._answers import check_no_complex
from secretballot.measures._targets import check_column
from secretballot.tables._cells import missing_cells

_OF_SETS = (
    "For sets of names use MultiLabelBinarizer(classes=[...]) with all labels there may be: those "
    "that it finds in private rows are a release."
)


def check_targets(y: Rows) -> Any:
    """Return private labels, or raise: one class a row, or 0 and 1 for each label of a row."""
    check_column(y)
    with marked_errors("y"):
        return _read_labels(y)


def _read_labels(y: Any) -> Any:
    if issparse(y) and hasattr(y, "tocsr"):
        table = y.tocsr(copy=True)
        table.sum_duplicates()
        return _indicators(table, table.data)
    table = _label_table(y)
    if table is not None:
        table = _as_numbers(table)
        return _indicators(table, table)
    _check_no_sets(y)
    _check_no_mixture(y)
    check_no_complex(y, "y")
    y = _typed(column_or_1d(y, warn=True))
    _check_none_missing(y)
    _check_no_other_objects(y)
    check_classification_targets(y)
    return y


def _check_no_other_objects(y: NDArray[Any]) -> None:
    """Refuse periods, intervals and other objects that are no labels."""
    if y.dtype.kind == "O" and len(y) and not isinstance(y[0], str | bytes | Real):
        kind = type(y[0]).__name__
        raise ValueError(
            f"Unknown label type: y holds objects ({kind}), and classes are texts, whole numbers "
            f"or booleans. Pass y.astype(str), and texts in classes=. {NOT_FOR_PUBLICATION}"
        )


def _check_no_mixture(y: Any) -> None:
    """Refuse texts among other labels in one column."""
    if getattr(y, "dtype", None) != np.dtype(object):
        return
    texts = {isinstance(label, str) for label in np.ravel(y) if label is not None}
    if len(texts) > 1:
        raise ValueError(
            "y mixes texts with numbers or missing labels: give one type, y.astype(str) and texts "
            f"in classes=. {NOT_FOR_PUBLICATION}"
        )


def _check_none_missing(y: NDArray[Any]) -> None:
    if y.dtype.kind == "O":
        missing = np.fromiter((label is None or label != label for label in y), bool, len(y))
    elif y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    else:
        return
    if missing.any():
        numbers = y.dtype.kind == "f"
        raise ValueError(
            f"y contains {'NaN or infinity' if numbers else 'NaN or None'}: Every row needs a "
            "label. Leave rows without one out of X and y."
            + (" Is y a regression target? It must hold classes." if numbers else "")
            + f" {NOT_FOR_PUBLICATION}"
        )


def _typed(y: NDArray[Any]) -> NDArray[Any]:
    """Convert objects that are all booleans, or all numbers, as columns with missing cells hold."""
    types = {type(label) for label in y} if y.dtype.kind == "O" else set()
    if types and (types <= {bool, np.bool_} or all(map(_is_number, types))):
        return np.array(y.tolist())
    return y


def _is_number(kind: type) -> bool:
    return issubclass(kind, Real) and not issubclass(kind, bool | np.bool_)


def _label_table(y: Rows) -> NDArray[Any] | None:
    """Return labels of several columns as an array, None for other labels."""
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


def _check_no_sets(y: Any) -> None:
    """Refuse a set or list of label names in a row."""
    has_objects = isinstance(y, list | tuple) or getattr(y, "dtype", None) == np.dtype(object)
    for row, label in enumerate(y if has_objects else ()):
        is_set = isinstance(label, set | frozenset)
        if is_set or (isinstance(label, list | tuple) and len(label) != 1):
            kind = type(label).__name__
            raise ValueError(
                f"y has a {kind} in row {row}, instead of a class. {_OF_SETS} {NOT_FOR_PUBLICATION}"
            )


def target_of_data(y: NDArray[Any], classes: ArrayLike | None) -> tuple[Target, bool]:
    """Return the target of checked labels, and whether its classes were learned from them."""
    if y.ndim == 2:
        check_label_classes(
            classes, y.shape[1], "y.toarray()" if issparse(y) else "numpy.asarray(y)"
        )
        # The number of columns of y is public, as its number of rows is.
        return LabelTarget(y.shape[1]), False
    names = learned_classes(y) if classes is None else declared_classes(classes)
    encode(y, names, "y")
    return ClassTarget(names), classes is None


def check_label_classes(
    classes: ArrayLike | None, n_labels: int, table: str = "numpy.asarray(y)"
) -> None:
    """Refuse classes that are not those of so many labels; `table` is the array of y, in words."""
    declared = declared_labels(classes)
    if classes is not None and (declared is None or declared.n_labels != n_labels):
        shown = listed_classes(np.array(classes, dtype=object))
        raise ValueError(
            f"classes={shown} is not what y has, {n_labels} labels that are present or "
            f"absent; leave it out, or give classes=[[0, 1]] * {n_labels}. "
            "If each row has one class (a one-hot table), pass "
            f"numpy.take(names, {table}.argmax(axis=1)), where names lists the class of each "
            "column of y."
        )


def declared_target(classes: ArrayLike | None, n_labels: int | None) -> Target:
    """Return the target of declared classes, or of a number of labels; by default two classes."""
    if n_labels is not None:
        check_label_classes(classes, n_labels)
        return LabelTarget(n_labels)
    names = [0, 1] if classes is None else classes
    return declared_labels(names) or ClassTarget(declared_classes(names))


def target_of_parties(parties: Sequence[Teacher], classes: ArrayLike | None) -> tuple[Target, bool]:
    """Return the target of parties, and whether its classes were learned from them."""
    if classes is not None:
        return declared_target(classes, None), False
    names = [_classes_of(party) for party in parties]
    if any(party_names is None for party_names in names):
        raise ValueError("classes=None, but not every party has classes_; name them in classes.")
    n_labels = {len(party_names) for party_names in names if isinstance(party_names, list)}
    if not n_labels:
        together = np.concatenate([np.asarray(party_names) for party_names in names])
        return ClassTarget(learned_classes(together)), True
    if len(n_labels) > 1 or not all(isinstance(party_names, list) for party_names in names):
        raise ValueError(
            "estimator: the parties differ in what they predict, one class a row or "
            "labels, or in how many labels; all must vote on the same ones."
        )
    return LabelTarget(n_labels.pop()), False


def _classes_of(party: Teacher) -> Any:
    """Return the classes of a party: for labels a list, one entry for each label."""
    classes, model = getattr(party, "classes_", None), model_of(party)
    # Some models have one array of labels where others have a list of pairs.
    kind = getattr(getattr(model, "_label_binarizer", None), "y_type_", "")
    several = getattr(model, "multilabel_", False) or kind == "multilabel-indicator"
    return list(classes) if several and classes is not None else classes


def declared_labels(classes: ArrayLike | None) -> LabelTarget | None:
    """Return the target of ``[[0, 1], [0, 1], ...]``; None for other classes."""
    try:
        table = np.asarray(classes)
    except ValueError:
        return None
    pairs = table.ndim == 2 and table.shape[1] == 2 and table.dtype.kind in "biuf"
    if pairs and len(table) > 1 and (table == [0, 1]).all():
        return LabelTarget(len(table))
    return None
