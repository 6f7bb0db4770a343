"""Residuals of classes: indicators less probabilities, with a gain for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secretballot.linear.features import Floats
from secretballot.linear.rounds._posterior import probabilities
from secretballot.linear.rounds._private_sums import Residuals

Gains = Callable[[Floats], Floats]


@dataclass(frozen=True)
class ClassResiduals:
    """Residuals of the classes of private rows.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        Class codes.
    n_classes : int
    """

    codes: NDArray[np.intp]
    n_classes: int

    @property
    def n_columns(self) -> int:
        """Residuals of a row: one of two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def times(self, gains: Gains) -> Residuals:
        """Return the residuals of rows as a function of their scores.

        Parameters
        ----------
        gains : callable
            Function from probabilities (n_rows, n_columns) to the gain of each row;
            `residual_gains`, for instance, under which no residual is clipped.
        """

        def residuals(rows: slice, scores: Floats) -> Floats:
            p = probabilities(scores)
            targets = class_indicators(self.codes[rows], self.n_classes)
            return np.asarray(gains(p)[:, None] * (targets - p))

        return residuals


def class_indicators(codes: NDArray[np.intp], n_classes: int) -> Floats:
    """Return an indicator column for each class, or for the second of two."""
    if n_classes == 2:
        return np.asarray(codes[:, None] == 1, dtype=np.float64)
    return np.asarray(codes[:, None] == np.arange(n_classes), dtype=np.float64)


def residual_gains(p: Floats) -> Floats:
    """Compute the inverse of the largest residual length at the probabilities of each row."""
    if p.shape[1] == 1:
        return np.asarray(1 / np.maximum(p, 1 - p)[:, 0])
    return np.asarray(1 / np.sqrt((p**2).sum(axis=1) - 2 * p.min(axis=1) + 1))
