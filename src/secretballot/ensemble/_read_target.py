"""What is voted on, read off labels or parties, or as it was declared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from secretballot._errors import NOT_FOR_PUBLICATION
from secretballot.ensemble._labels import declared_classes, encode, learned_classes
from secretballot.ensemble._parts import model_of
from secretballot.ensemble._target import ClassTarget, LabelTarget, Target

_OF_SETS = (
    "For sets of names use MultiLabelBinarizer(classes=[...]) with all labels there may be: those "
    "that it finds in private rows are a release."
)


class Found(NamedTuple):
    """What is voted on, and whether private labels said so."""

    target: Target
    learned: bool


def check_targets(y: Any) -> Any:
    """Return private labels: one class a row, or 0 and 1 for each label of a row.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_labels), or CSR array of shape (n_rows, n_labels)
    """
    if issparse(y):
        table = y.tocsr(copy=True)
        table.sum_duplicates()
        return _indicators(table, table.data)
    table = _table(y)
    if table is not None:
        table = _numbers(table)
        return _indicators(table, table)
    _check_no_sets(y)
    y = column_or_1d(y, warn=True)
    _check_none_missing(y)
    check_classification_targets(y)
    return y


def _check_none_missing(y: NDArray[Any]) -> None:
    """Refuse labels that are missing, or infinite."""
    if y.dtype.kind == "O":
        missing = np.fromiter((each is None or each != each for each in y), bool, len(y))
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


def _table(y: Any) -> NDArray[Any] | None:
    """Return labels of several columns as an array, None if they are something else."""
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
    """Check that labels are 0 and 1; `values` are those of them that may be something else."""
    if table.shape[1] < 2:
        raise ValueError(
            f"y has shape {table.shape}: one label only. Pass an array of one class a row, of "
            "shape (n_samples,)."
        )
    if values.dtype.kind not in "biuf" or not ((values == 0) | (values == 1)).all():
        raise ValueError(
            f"y has shape {table.shape} and holds other values than 0 and 1: several columns are "
            f"labels, each present (1) or absent (0). {_OF_SETS} Several classes a column are not "
            f"voted on. {NOT_FOR_PUBLICATION}"
        )
    return table if issparse(table) else table.astype(np.int64)


def _numbers(table: NDArray[Any]) -> NDArray[Any]:
    """Return 0 and 1 that are objects, as data frames make of some of their types, as numbers."""
    if table.dtype.kind != "O":
        return table
    try:
        return table.astype(np.int64) if bool(np.isin(table, (0, 1)).all()) else table
    except TypeError:  # what is missing can't be compared
        return table


def _check_no_sets(y: Any) -> None:
    """Refuse names of the labels of each row."""
    of_objects = isinstance(y, list | tuple) or getattr(y, "dtype", None) == np.dtype(object)
    for row, each in enumerate(y if of_objects else ()):
        sets = isinstance(each, set | frozenset)
        if sets or (isinstance(each, list | tuple) and len(each) != 1):
            kind = type(each).__name__
            raise ValueError(
                f"y has a {kind} in row {row}, instead of a class. {_OF_SETS} {NOT_FOR_PUBLICATION}"
            )


def target_of_data(y: Any, classes: Any) -> Found:
    """Return what is voted on, given checked labels and the parameter ``classes``."""
    if y.ndim == 2:
        found = _labels_of(classes)
        if classes is not None and (found is None or found.n_labels != y.shape[1]):
            raise ValueError(
                f"classes={classes!r} is not what y has, {y.shape[1]} labels that are present or "
                f"absent; leave it out, or give classes=[[0, 1]] * {y.shape[1]}."
            )
        # How many columns y has is public, as its number of rows is.
        return Found(LabelTarget(y.shape[1]), False)
    known = learned_classes(y) if classes is None else declared_classes(classes)
    encode(y, known, "y")
    return Found(ClassTarget(known), classes is None)


def target_of_parties(parties: list[Any], classes: Any) -> Found:
    """Return what parties vote on, given the parameter ``classes``."""
    declared = None if classes is None else _labels_of(classes)
    if declared is not None:
        return Found(declared, False)
    if classes is None:
        known = [_known(party) for party in parties]
        if any(each is None for each in known):
            raise ValueError(
                "classes=None, but not every party has classes_; name them in classes."
            )
        several = {len(each) for each in known if isinstance(each, list)}
        if several:
            if len(several) > 1 or not all(isinstance(each, list) for each in known):
                raise ValueError(
                    "estimator: the parties differ in what they predict, one class a row or "
                    "labels, or in how many labels; all must vote on the same ones."
                )
            return Found(LabelTarget(several.pop()), False)
        together = np.concatenate([np.asarray(each) for each in known])
        return Found(ClassTarget(learned_classes(together)), True)
    return Found(ClassTarget(declared_classes(classes)), False)


def _known(party: Any) -> Any:
    """Return the classes that a party knows of; of labels a list, one entry for each."""
    classes, model = getattr(party, "classes_", None), model_of(party)
    # Some have one array of labels for what others have a list of pairs.
    kind = getattr(getattr(model, "_label_binarizer", None), "y_type_", "")
    several = getattr(model, "multilabel_", False) or kind == "multilabel-indicator"
    return list(classes) if several and classes is not None else classes


def _labels_of(classes: Any) -> LabelTarget | None:
    """Return the labels that are declared as one pair of 0 and 1 each; None if it is no such."""
    if classes is None:
        return None
    try:
        table = np.asarray(classes)
    except ValueError:
        return None
    labels = table.ndim == 2 and table.shape[1] == 2 and table.dtype.kind in "biuf"
    if labels and len(table) > 1 and (table == [0, 1]).all():
        return LabelTarget(len(table))
    return None
