"""Residuals of classes: indicators less probabilities, with a gain for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from secretballot.linear.features import Floats
from secretballot.linear.rounds._clipped_residuals import ClippedResiduals
from secretballot.linear.rounds._private_sums import Residuals, Targets
from secretballot.linear.rounds._reference_rows import ReferenceRows, probabilities

Gains = Callable[[Floats], Floats]

#: Length to which residuals of a row with features of the largest length are clipped.
_CLIPPING_NORM = 0.3


@dataclass(frozen=True)
class ClassResiduals:
    """Residuals of class codes.

    Attributes
    ----------
    n_classes : int
    """

    n_classes: int

    @property
    def n_columns(self) -> int:
        """Residuals of a row: one of two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def times(self, gains: Gains) -> Residuals:
        """Return the residuals of rows as a function of their class codes and scores.

        Parameters
        ----------
        gains : callable
            Function from probabilities (n_rows, n_columns) to the gain of each row;
            `residual_gains`, for instance, under which no residual is clipped.
        """

        def residuals(codes: Targets, scores: Floats) -> Floats:
            p = probabilities(scores)
            targets = class_indicators(codes, self.n_classes)
            return np.asarray(gains(p)[:, None] * (targets - p))

        return residuals


def class_indicators(codes: Targets, n_classes: int) -> Floats:
    """Return an indicator column for each class, or for the second of two."""
    assert isinstance(codes, np.ndarray)
    if n_classes == 2:
        return np.asarray(codes[:, None] == 1, dtype=np.float64)
    return np.asarray(codes[:, None] == np.arange(n_classes), dtype=np.float64)


def residual_gains(p: Floats) -> Floats:
    """Compute the inverse of the largest residual length at the probabilities of each row."""
    if p.shape[1] == 1:
        return np.asarray(1 / np.maximum(p, 1 - p)[:, 0])
    return np.asarray(1 / np.sqrt((p**2).sum(axis=1) - 2 * p.min(axis=1) + 1))


@dataclass(frozen=True)
class ClippedClasses(ClippedResiduals):
    """Clipped residuals of class codes.

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

    @property
    def has_score_factor(self) -> bool:
        """True: clipping shortens the residuals of unexpected classes most."""
        return True

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
        own_squares = p * (factors * (1 - p)) ** 2
        other_squares = p**2 * ((p * factors**2).sum(axis=1, keepdims=True) - p * factors**2)
        return reference.weights @ slopes, reference.weights @ (own_squares + other_squares)

    def score_products(self, p: Floats, limits: Floats, scores: Floats) -> Floats:
        """Compute the products of clipped residuals and scores, for each true class."""
        return np.asarray(_factors(p, limits) * (scores - (p * scores).sum(axis=1, keepdims=True)))


def _factors(p: Floats, limits: Floats) -> Floats:
    """Compute the factor by which residuals are clipped, for each true class."""
    lengths = np.sqrt((p**2).sum(axis=1, keepdims=True) - 2 * p + 1)
    largest = _CLIPPING_NORM * limits
    return np.asarray(largest / np.maximum(lengths, largest))
