"""What is voted on: one class a row, or a set of labels; and ballots as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from secretballot.ensemble._labels import PrivateLabels, positions, private_labels
from secretballot.mechanisms import CountClasses, Counting, CountLabels

#: What a teacher has not answered.
NO_BALLOT = -1


class Target(ABC):
    """What is voted on.

    Attributes
    ----------
    classes : ndarray or list of ndarray
        What the ensemble has for ``classes_``.
    n_columns : int
        How many classes, or labels, there are.
    counting : Counting
        How ballots are counted where no mechanism says otherwise.
    """

    multilabel: bool
    classes: Any
    n_columns: int
    counting: Counting

    @abstractmethod
    def codes(self, predicted: Any, n_rows: int) -> NDArray[np.intp]:
        """Return ballots as numbers, all `NO_BALLOT` in rows where a prediction is none."""

    @abstractmethod
    def by_rule(self, index: int) -> NDArray[Any]:
        """Return, as predictions of shape (1, ...), what a teacher votes for that has no ballot."""

    @abstractmethod
    def released(self, outcome: NDArray[Any], n_queries: int) -> PrivateLabels:
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

    def codes(self, predicted: Any, n_rows: int) -> NDArray[np.intp]:
        labels = np.asarray(predicted)
        if labels.shape != (n_rows,):
            raise ValueError(
                f"predict gave an array of shape {labels.shape} for {n_rows} row(s), instead of "
                "one class label per row"
            )
        return positions(labels, self.classes)

    def by_rule(self, index: int) -> NDArray[Any]:
        at = index % len(self.classes)
        return self.classes[at : at + 1]

    def released(self, outcome: NDArray[Any], n_queries: int) -> PrivateLabels:
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

    def codes(self, predicted: Any, n_rows: int) -> NDArray[np.intp]:
        labels = np.asarray(predicted.toarray() if issparse(predicted) else predicted)
        if labels.shape != (n_rows, self.n_labels):
            raise ValueError(
                f"predict gave an array of shape {labels.shape} for {n_rows} row(s) of "
                f"{self.n_labels} labels"
            )
        said = (labels == 0) | (labels == 1)
        codes = np.where(said, labels == 1, 0).astype(np.intp)
        codes[~said.all(axis=1)] = NO_BALLOT
        return codes

    def by_rule(self, index: int) -> NDArray[Any]:
        # For all labels or against all: two teachers that have nothing to say cancel out.
        return np.full((1, self.n_labels), index % 2)

    def released(self, outcome: NDArray[Any], n_queries: int) -> PrivateLabels:
        labels = np.full((n_queries, self.n_labels), -1, dtype=np.int64)
        labels[: len(outcome)] = outcome
        return PrivateLabels(labels, labels >= 0)


def as_target(classes: Any) -> Target:
    """Return what the classes of an ensemble say is voted on; a list is one of labels."""
    return LabelTarget(len(classes)) if isinstance(classes, list) else ClassTarget(classes)
