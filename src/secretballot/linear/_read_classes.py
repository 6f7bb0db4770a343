"""Responses of classifiers, read from private targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from secretballot._base._numbers import quoted
from secretballot._base._sklearn_compat import _num_samples
from secretballot.ensemble._private_labels import declared_classes, learned_classes
from secretballot.ensemble._read_target import check_targets, target_of_data
from secretballot.linear._class_weights import check_class_weight
from secretballot.linear.features import Floats
from secretballot.linear.rounds import ClassifierResponse, ClassResponse, LabelResponse, Targets
from secretballot.tables._row_order import check_lengths

if TYPE_CHECKING:
    from secretballot.linear._private_logistic_regression import PrivateLogisticRegression

#: Labels a row of the public guess, and the largest guess of a rate.
_LABELS_PER_ROW, _LARGEST_GUESS = 2.0, 0.5
#: Most labels: time and memory grow with them.
MOST_LABELS = 1000


def read_classes(
    model: PrivateLogisticRegression, y: ArrayLike, X: ArrayLike
) -> tuple[ClassifierResponse, Targets]:
    """Read one class a row, or the indicators of several labels."""
    targets = check_targets(y)
    check_lengths("y", targets, _num_samples(targets), _num_samples(X))
    if targets.ndim == 2:
        check_class_weight(model.class_weight, None)
        target_of_data(targets, model.classes)
        labels = _label_response(model, targets.shape[1])
        return labels, labels.encode(targets)
    _check_no_label_settings(model)
    declared = model.classes
    classes = learned_classes(targets) if declared is None else declared_classes(declared)
    check_class_weight(model.class_weight, classes)
    response = ClassResponse(classes, classes_learned=declared is None)
    return response, response.encode(targets)


def response_without_rows(
    model: PrivateLogisticRegression, n_labels: int | None
) -> ClassifierResponse:
    """Return the response of declared classes, two by default, or of a number of labels."""
    if n_labels is not None:
        return _label_response(model, n_labels)
    classes = np.arange(2) if model.classes is None else declared_classes(model.classes)
    return ClassResponse(classes, classes_learned=False)


def response_of_columns(model: PrivateLogisticRegression, y: str | list[str]) -> ClassifierResponse:
    """Return the response of rows in parts, of which nothing is learned without noise."""
    if not isinstance(y, str):
        check_class_weight(model.class_weight, None)
        return _label_response(model, len(y))
    if model.classes is None:
        raise ValueError(
            "classes=None: the classes of rows in parts are not read from them. Pass "
            "classes=[0, 1], or as they are in the column of y."
        )
    _check_no_label_settings(model)
    check_class_weight(model.class_weight, declared_classes(model.classes))
    return response_without_rows(model, None)


def _check_no_label_settings(model: PrivateLogisticRegression) -> None:
    defaults = {"label_rate": None, "label_threshold": 0.5}
    for name, default in defaults.items():
        value = getattr(model, name)
        if np.any(np.asarray(value) != default):
            raise ValueError(
                f"{name}={quoted(value)} is for several labels a row, and y has one class a row. "
                "Leave it out; class_weight= moves the predictions of classes."
            )


def _label_response(model: PrivateLogisticRegression, n_labels: int) -> LabelResponse:
    if n_labels > MOST_LABELS:
        raise ValueError(f"y has {n_labels} labels, and at most {MOST_LABELS} are taken.")
    guess = min(_LABELS_PER_ROW / n_labels, _LARGEST_GUESS)
    rates = _shares("label_rate", guess if model.label_rate is None else model.label_rate, n_labels)
    is_rate = isinstance(model.label_threshold, str)
    thresholds = None if is_rate else _shares("label_threshold", model.label_threshold, n_labels)
    return LabelResponse(rates, thresholds)


def _shares(name: str, values: ArrayLike, n_labels: int) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.shape not in ((), (n_labels,)) or not ((table > 0) & (table < 1)).all():
        raise ValueError(
            f"{name}={values!r} must be a number between 0 and 1, or {n_labels} of them: one for "
            "each label."
        )
    return np.broadcast_to(table, (n_labels,)).copy()
