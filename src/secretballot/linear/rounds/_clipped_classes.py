"""Clipped residuals of three classes and more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secretballot.linear.features import Floats
from secretballot.linear.rounds._class_residuals import ClassResiduals
from secretballot.linear.rounds._clipped_residuals import ClippedResiduals
from secretballot.linear.rounds._private_sums import Residuals
from secretballot.linear.rounds._reference_rows import ReferenceRows

_CLIPPING_NORM = 0.3


@dataclass(frozen=True)
class ClippedClasses(ClippedResiduals):
    """Clipped residuals of the classes of private rows.

    Attributes
    ----------
    residuals : ClassResiduals
    """

    residuals: ClassResiduals

    @property
    def start(self) -> Floats:
        """Equal scores."""
        return np.zeros(self.residuals.n_classes)

    @property
    def clipping_norm(self) -> float:
        """Length to which residuals of a row with features of the largest length are clipped."""
        return _CLIPPING_NORM

    @property
    def inverse_slope(self) -> float:
        """Number of classes."""
        return float(self.residuals.n_classes)

    @property
    def scaled(self) -> Residuals:
        """Residuals in units of the clipping norm."""
        return self.residuals.times(lambda p: np.full(len(p), 1 / _CLIPPING_NORM))

    def read(
        self, mean: Floats, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, float]:
        """Centre a released mean: the residuals of a row sum to 0, so the rest is noise."""
        p = reference.probabilities(coefficients)
        factors = _factors(p, limits)
        weights = reference.weights[:, None] * (p * factors).sum(axis=1, keepdims=True)
        slopes = np.diag((weights * p).sum(axis=0)) - p.T @ (weights * p)
        largest = float(np.linalg.eigvalsh(slopes)[-1]) * p.shape[1]
        return mean - mean.mean(axis=1, keepdims=True), largest

    def moments(
        self, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, Floats]:
        """Compute each class's mean slope of clipped residuals, and their mean square."""
        p = reference.probabilities(coefficients)
        factors = _factors(p, limits)
        slopes = p * (1 - p) * (p * factors).sum(axis=1, keepdims=True)
        own = p * (factors * (1 - p)) ** 2
        others = p**2 * ((p * factors**2).sum(axis=1, keepdims=True) - p * factors**2)
        return reference.weights @ slopes, reference.weights @ (own + others)


def _factors(p: Floats, limits: Floats) -> Floats:
    """Compute the factor by which residuals are clipped, for each true class."""
    lengths = np.sqrt((p**2).sum(axis=1, keepdims=True) - 2 * p + 1)
    largest = _CLIPPING_NORM * limits
    return np.asarray(largest / np.maximum(lengths, largest))
