"""Settings of one fit, read once: which columns, what is learned of a row, sizes and budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import TransformerMixin

from secretballot._base._numbers import check_number, quoted
from secretballot.accounting._accountant import PrivacyAccountant
from secretballot.ledger._budget import Scope
from secretballot.linear._classes import ClassResponse
from secretballot.linear._design import Floats
from secretballot.linear._labels import LabelResponse
from secretballot.linear._numbers import NumberResponse
from secretballot.linear._response import ClassifierResponse, Response
from secretballot.measures._targets import check_target_bounds, read_targets
from secretballot.tables._labels import (
    NO_CLASSES_OF_PARTS,
    check_label_classes,
    check_targets,
    declared_classes,
    declared_n_labels,
    learned_classes,
)
from secretballot.tables._table_checks import check_target_length, warn_private_extremes

ClassWeight = Mapping[Hashable, float] | str | None

#: Labels a row of the public guess, and the largest guess of a rate.
_LABELS_PER_ROW, _LARGEST_GUESS = 2.0, 0.5
#: Most labels: time and memory grow with them.
MOST_LABELS = 1000


class AnswerReader(ABC):
    """Parameters of an estimator that say what is learned of a row."""

    @abstractmethod
    def read(self, y: ArrayLike, n_rows: int) -> tuple[Response, ArrayLike]:
        """Check the targets of private rows; return the response of a fit, and the targets."""

    @abstractmethod
    def without_rows(self, n_labels: int | None) -> Response:
        """Return the response of a fit without rows, on which its plan depends."""

    @abstractmethod
    def of_columns(self, y: str | list[str]) -> Response:
        """Return the response of rows in parts, of which nothing is learned without noise."""


@dataclass(frozen=True)
class NumberReader(AnswerReader):
    """Numbers between bounds."""

    target_bounds: tuple[float, float] | None

    def read(self, y: ArrayLike, n_rows: int) -> tuple[NumberResponse, ArrayLike]:
        bounds = check_target_bounds(self.target_bounds)
        targets = read_targets(y)
        check_target_length(targets, n_rows)
        warn_private_extremes("target_bounds", {"y": bounds}, {"y": targets})
        return NumberResponse(bounds), targets

    def without_rows(self, n_labels: int | None) -> NumberResponse:
        if n_labels is not None:
            raise ValueError(f"n_labels={n_labels!r}, and this model predicts a number.")
        return NumberResponse(check_target_bounds(self.target_bounds))

    def of_columns(self, y: str | list[str]) -> NumberResponse:
        return self.without_rows(None if isinstance(y, str) else len(y))


@dataclass(frozen=True)
class ClassReader(AnswerReader):
    """One class a row, or the indicators of several labels."""

    classes: ArrayLike | None
    class_weight: ClassWeight
    label_rate: ArrayLike | None
    label_threshold: str | ArrayLike

    def read(self, y: ArrayLike, n_rows: int) -> tuple[ClassifierResponse, ArrayLike]:
        targets = check_targets(y)
        check_target_length(targets, n_rows)
        if targets.ndim == 2:
            check_class_weight(self.class_weight, None)
            check_label_classes(self.classes, targets.shape[1], is_sparse=issparse(targets))
            return self._labels(targets.shape[1]), targets
        self._check_no_label_settings()
        declared = self.classes
        classes = learned_classes(targets) if declared is None else declared_classes(declared)
        check_class_weight(self.class_weight, classes)
        return ClassResponse(classes, classes_learned=declared is None), targets

    def without_rows(self, n_labels: int | None) -> ClassifierResponse:
        """Return the response of declared classes, two by default, or of a number of labels."""
        if n_labels is None:
            n_labels = declared_n_labels(self.classes)
        if n_labels is not None:
            check_class_weight(self.class_weight, None)
            check_label_classes(self.classes, n_labels)
            return self._labels(n_labels)
        self._check_no_label_settings("without n_labels= a plan is of")
        classes = np.arange(2) if self.classes is None else declared_classes(self.classes)
        if self.classes is not None:
            check_class_weight(self.class_weight, classes)
        return ClassResponse(classes, classes_learned=False)

    def of_columns(self, y: str | list[str]) -> ClassifierResponse:
        if not isinstance(y, str):
            return self.without_rows(len(y))
        if self.classes is None:
            raise ValueError(NO_CLASSES_OF_PARTS)
        self._check_no_label_settings()
        check_class_weight(self.class_weight, declared_classes(self.classes))
        return self.without_rows(None)

    def _check_no_label_settings(self, target: str = "y has") -> None:
        defaults = {"label_rate": None, "label_threshold": 0.5}
        for name, default in defaults.items():
            value = getattr(self, name)
            if np.any(np.asarray(value) != default):
                raise ValueError(
                    f"{name}={quoted(value)} is for several labels a row, and {target} one "
                    "class a row. Leave it out; class_weight= moves the predictions of classes."
                )

    def _labels(self, n_labels: int) -> LabelResponse:
        if n_labels > MOST_LABELS:
            raise ValueError(f"y has {n_labels} labels, and at most {MOST_LABELS} are taken.")
        guess = min(_LABELS_PER_ROW / n_labels, _LARGEST_GUESS)
        rate = guess if self.label_rate is None else self.label_rate
        rates = _shares("label_rate", rate, n_labels)
        is_rate = isinstance(self.label_threshold, str)
        thresholds = None if is_rate else _shares("label_threshold", self.label_threshold, n_labels)
        return LabelResponse(rates, thresholds)


def _shares(name: str, values: ArrayLike, n_labels: int) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.shape not in ((), (n_labels,)) or not ((table > 0) & (table < 1)).all():
        raise ValueError(
            f"{name}={values!r} must be a number between 0 and 1, or {n_labels} of them: one for "
            "each label."
        )
    return np.broadcast_to(table, (n_labels,)).copy()


def check_class_weight(class_weight: ClassWeight, classes: NDArray[np.generic] | None) -> None:
    """Raise ValueError if weights are invalid, or there are several labels (`classes` is None)."""
    if class_weight is None:
        return
    if classes is None:
        raise ValueError(
            f"class_weight={class_weight!r} weighs the classes of rows that have one class, and y "
            "has several labels: label_threshold='rate' predicts each label above its own rate."
        )
    if isinstance(class_weight, Mapping):
        names = classes.tolist()
        for name, weight in class_weight.items():
            if name not in names:
                raise ValueError(f"class_weight names {name!r}, which is none of {names!r}.")
            check_number(f"class_weight[{name!r}]", weight, above=0)


@dataclass(frozen=True, kw_only=True)
class ColumnSettings:
    """Parameters of an estimator that say which columns are read, and how."""

    features: str | TransformerMixin
    columns: ArrayLike | None
    categories: Mapping[Hashable, Sequence[Hashable]] | None
    bounds: ArrayLike | Mapping[Hashable, ArrayLike] | None
    monotonic_cst: ArrayLike | dict[str, object] | None

    @property
    def kind(self) -> str | TransformerMixin:
        """The features with which a fit begins: additive ones, if it may choose."""
        is_open = isinstance(self.features, str) and self.features == "auto"
        return "additive" if is_open else self.features


@dataclass(frozen=True, kw_only=True)
class Settings(ColumnSettings):
    """Parameters of an estimator, and the part of the budget that one fit may spend."""

    estimator: str  # its name, for messages
    answer: AnswerReader  # of what is learned
    n_bins: int | str
    rounds: int | str
    interactions: int | str
    epsilon: float | Mapping[str, float] | None
    check_public_rows: bool
    rows_per_call: int | str
    accountant: PrivacyAccountant
    scope: Scope
    is_copy: bool = False  # whether a tool around the estimator made it
