"""Predictions from scores: several labels of rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from secretballot.linear.features import Floats
from secretballot.linear.rounds._output import Output


@dataclass(frozen=True)
class LabelOutput(Output):
    """Predictions of several labels a row.

    Attributes
    ----------
    thresholds : ndarray of shape (n_labels,)
        Probability above which a label is predicted.
    """

    thresholds: Floats

    def class_values(self) -> list[NDArray[np.generic]]:
        """Return the values of each label: 0 and 1."""
        return [np.array([0, 1]) for _ in self.thresholds]

    def decision(self, scores: Floats) -> Floats:
        """Return the log odds of each label less those of its threshold."""
        return np.asarray(scores - logit(self.thresholds))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each label."""
        return np.asarray(expit(scores))

    def predict(self, scores: Floats) -> NDArray[np.generic]:
        """Return label indicators."""
        return np.asarray(self.decision(scores) > 0, dtype=np.int64)

    def find_target(self, target: Hashable) -> tuple[int, float]:
        """Return the column of a label, which is its index."""
        n_labels = len(self.thresholds)
        codes: dict[Hashable, int] = {code: code for code in range(n_labels)}
        if target not in codes:
            raise ValueError(
                f"target={target!r} is no label; give the index of one, from 0 to {n_labels - 1}."
            )
        return codes[target], 1.0
