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
    """Residuals of class codes."""

    n_classes: int

    @property
    def n_columns(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def times(self, gains: Gains) -> Residuals:
        """Return residuals as a function of codes and scores; gains are one of probabilities."""

        def residuals(codes: Targets, scores: Floats) -> Floats:
            p = probabilities(scores)
            targets = class_indicators(codes, self.n_classes)
            return np.asarray(gains(p)[:, None] * (targets - p))

        return residuals


def class_indicators(codes: Targets, n_classes: int) -> Floats:
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
    """Clipped residuals of class codes."""

    residuals: ClassResiduals

    @property
    def start(self) -> Floats:
        return np.zeros(self.residuals.n_classes)

    @property
    def clipping_norm(self) -> float:
        return _CLIPPING_NORM

    @property
    def inverse_slope(self) -> float:
        return float(self.residuals.n_classes)

    @property
    def scaled(self) -> Residuals:
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
        p = reference.probabilities(coefficients)
        factors = _factors(p, limits)
        slopes = p * (1 - p) * (p * factors).sum(axis=1, keepdims=True)
        own_squares = p * (factors * (1 - p)) ** 2
        other_squares = p**2 * ((p * factors**2).sum(axis=1, keepdims=True) - p * factors**2)
        return reference.weights @ slopes, reference.weights @ (own_squares + other_squares)

    def score_products(self, p: Floats, limits: Floats, scores: Floats) -> Floats:
        return np.asarray(_factors(p, limits) * (scores - (p * scores).sum(axis=1, keepdims=True)))


def _factors(p: Floats, limits: Floats) -> Floats:
    lengths = np.sqrt((p**2).sum(axis=1, keepdims=True) - 2 * p + 1)
    largest = _CLIPPING_NORM * limits
    return np.asarray(largest / np.maximum(lengths, largest))
