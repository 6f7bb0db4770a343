"""Targets of a vote: one class a row, or a set of labels; ballots as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.ensemble._estimator_types import Classes, Rows
from secretballot.ensemble._private_labels import PrivateLabels, positions, private_labels
from secretballot.mechanisms._counting import CountClasses, Counting, CountLabels

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
