"""Targets of a vote: one class a row, or a set of labels; ballots as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from secretballot.ensemble._estimator_types import Classes, Rows, Teacher
from secretballot.ensemble._learners import model_of
from secretballot.ensemble._private_labels import PrivateLabels, private_labels
from secretballot.mechanisms._counting import CountClasses, Counting, CountLabels
from secretballot.tables._labels import (
    check_label_classes,
    declared_classes,
    declared_n_labels,
    encode,
    learned_classes,
    positions,
)

#: Code of a ballot that a teacher did not cast.
NO_BALLOT = -1


class Target(ABC):
    """Target of a vote."""

    multilabel: bool
    classes: Any  # the ensemble's `classes_`

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of classes, or labels."""

    @property
    def n_classes(self) -> int:
        """Number of classes that a teacher tells apart; 2 for each of several labels."""
        return 2 if self.multilabel else self.n_columns

    @property
    @abstractmethod
    def counting(self) -> Counting:
        """Rule for counting ballots where no mechanism has one."""

    @abstractmethod
    def codes(self, predicted: Rows, n_rows: int) -> NDArray[np.intp]:
        """Return ballots as numbers, all `NO_BALLOT` in rows with a prediction of another kind."""

    @abstractmethod
    def default_ballot(self, index: int) -> NDArray[Any]:
        """Return the prediction, of shape (1, ...), of a teacher that cannot vote."""

    @abstractmethod
    def private_labels(self, outcome: NDArray[Any], n_queries: int) -> PrivateLabels:
        """Return an outcome as labels; rows that were not begun have none."""


@dataclass(frozen=True)
class ClassTarget(Target):
    """One class a row; ballots are its positions, shape (n_rows,)."""

    classes: NDArray[Any]
    multilabel = False

    @property
    def n_columns(self) -> int:
        return len(self.classes)

    @property
    def counting(self) -> Counting:
        return CountClasses(n_classes=self.n_columns)

    def codes(self, predicted: Rows, n_rows: int) -> NDArray[np.intp]:
        labels = np.asarray(predicted)
        if labels.shape != (n_rows,):
            raise ValueError(
                f"predict gave an array of shape {labels.shape} for {n_rows} row(s), instead of "
                "one class label per row"
            )
        return positions(labels, self.classes)

    def default_ballot(self, index: int) -> NDArray[Any]:
        position = index % len(self.classes)
        return self.classes[position : position + 1]

    def private_labels(self, outcome: NDArray[Any], n_queries: int) -> PrivateLabels:
        return private_labels(outcome, n_queries, self.classes)


@dataclass(frozen=True)
class LabelTarget(Target):
    """A set of labels a row; ballots are 0 and 1, shape (n_rows, n_labels)."""

    n_labels: int
    multilabel = True

    @property
    def classes(self) -> list[NDArray[Any]]:
        return [np.array([0, 1]) for _ in range(self.n_labels)]

    @property
    def n_columns(self) -> int:
        return self.n_labels

    @property
    def counting(self) -> Counting:
        return CountLabels()

    def codes(self, predicted: Rows, n_rows: int) -> NDArray[np.intp]:
        labels = dense_labels(predicted)
        if labels.shape != (n_rows, self.n_labels):
            raise ValueError(
                f"predict gave an array of shape {labels.shape} for {n_rows} row(s) of "
                f"{self.n_labels} labels"
            )
        is_label = (labels == 0) | (labels == 1)
        codes = np.where(is_label, labels == 1, 0).astype(np.intp)
        codes[~is_label.all(axis=1)] = NO_BALLOT
        return codes

    def default_ballot(self, index: int) -> NDArray[Any]:
        # All labels or none: two teachers that cannot vote cancel each other out.
        return np.full((1, self.n_labels), index % 2)

    def private_labels(self, outcome: NDArray[Any], n_queries: int) -> PrivateLabels:
        labels = np.full((n_queries, self.n_labels), -1, dtype=np.int64)
        labels[: len(outcome)] = outcome
        return PrivateLabels(labels, labels >= 0)


def as_target(classes: Classes) -> Target:
    return LabelTarget(len(classes)) if isinstance(classes, list) else ClassTarget(classes)


def dense_labels(labels: Rows) -> NDArray[Any]:
    return np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels)


def target_of_data(y: NDArray[Any], classes: ArrayLike | None) -> tuple[Target, bool]:
    """Return the target of checked labels, and whether its classes were learned from them."""
    if y.ndim == 2:
        check_label_classes(classes, y.shape[1], is_sparse=issparse(y))
        # The number of columns of y is public, as its number of rows is.
        return LabelTarget(y.shape[1]), False
    names = learned_classes(y) if classes is None else declared_classes(classes)
    encode(y, names, "y")
    return ClassTarget(names), classes is None


def declared_target(classes: ArrayLike | None, n_labels: int | None) -> Target:
    """Return the target of declared classes, or of a number of labels; by default two classes."""
    if n_labels is not None:
        check_label_classes(classes, n_labels)
        return LabelTarget(n_labels)
    names = [0, 1] if classes is None else classes
    n_labels = declared_n_labels(names)
    return ClassTarget(declared_classes(names)) if n_labels is None else LabelTarget(n_labels)


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
