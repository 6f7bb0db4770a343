"""Predictions from scores: one class a row, or several labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from secretballot.linear.features import Floats
from secretballot.linear.rounds._reference_rows import probabilities
from secretballot.linear.rounds._response import FittedRounds, Response


class Output(ABC):
    """Predictions of a fitted classifier; it holds nothing private."""

    @abstractmethod
    def decision(self, scores: Floats) -> Floats:
        """Return the numbers from which predictions follow."""

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each class or label: (n_rows, n_outputs)."""

    @abstractmethod
    def class_values(self) -> NDArray[np.generic] | list[NDArray[np.generic]]:
        """Return the classes, or the values of each label."""

    @abstractmethod
    def predict(self, scores: Floats) -> NDArray[np.generic]:
        """Return the most probable classes, or the labels that are present."""

    @abstractmethod
    def find_target(self, target: Hashable) -> tuple[int, float]:
        """Return the column of a target's scores, and their sign, or raise ValueError."""


class ClassifierResponse(Response):
    """Response of a classifier."""

    @abstractmethod
    def output(self, rounds: FittedRounds) -> Output:
        """Return the predictions of a fit."""


@dataclass(frozen=True)
class ClassOutput(Output):
    """Predictions of one class a row."""

    classes: NDArray[np.generic]  # (n_classes,)

    def decision(self, scores: Floats) -> Floats:
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def probabilities(self, scores: Floats) -> Floats:
        p = probabilities(scores)
        return np.concatenate([1 - p, p], axis=1) if p.shape[1] == 1 else p

    def class_values(self) -> NDArray[np.generic]:
        return self.classes

    def predict(self, scores: Floats) -> NDArray[np.generic]:
        codes = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes[np.asarray(codes, dtype=np.intp)])

    def find_target(self, target: Hashable) -> tuple[int, float]:
        """Return the column of a class; the first of two has the second's with the other sign."""
        classes = self.classes.tolist()
        if target is None and len(classes) > 2:
            raise ValueError(f"target=None, and there are more than two classes: one of {classes}.")
        if target is not None and target not in classes:
            raise ValueError(f"target={target!r} is none of the classes: {classes}.")
        code = len(classes) - 1 if target is None else classes.index(target)
        return (code, 1.0) if len(classes) > 2 else (0, 1.0 if code else -1.0)


@dataclass(frozen=True)
class LabelOutput(Output):
    """Predictions of several labels a row."""

    thresholds: Floats  # (n_labels,): probability above which a label is predicted

    def class_values(self) -> list[NDArray[np.generic]]:
        return [np.array([0, 1]) for _ in self.thresholds]

    def decision(self, scores: Floats) -> Floats:
        return np.asarray(scores - logit(self.thresholds))

    def probabilities(self, scores: Floats) -> Floats:
        return np.asarray(expit(scores))

    def predict(self, scores: Floats) -> NDArray[np.generic]:
        return np.asarray(self.decision(scores) > 0, dtype=np.int64)

    def find_target(self, target: Hashable) -> tuple[int, float]:
        n_labels = len(self.thresholds)
        codes: dict[Hashable, int] = {code: code for code in range(n_labels)}
        if target not in codes:
            raise ValueError(
                f"target={target!r} is no label; give the index of one, from 0 to {n_labels - 1}."
            )
        return codes[target], 1.0
