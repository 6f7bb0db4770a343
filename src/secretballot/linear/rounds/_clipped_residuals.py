"""Interface of clipped residuals, which averaged rounds sum."""

from __future__ import annotations

from abc import ABC, abstractmethod

from secretballot.linear.features import Floats
from secretballot.linear.rounds._private_sums import Residuals
from secretballot.linear.rounds._reference_rows import ReferenceRows


class ClippedResiduals(ABC):
    """Residuals of private rows that are clipped to a public length."""

    @property
    @abstractmethod
    def start(self) -> Floats:
        """Scores of the first round: (n_columns,)."""

    @property
    @abstractmethod
    def clipping_norm(self) -> float:
        """Length to which residuals of a row with features of the largest length are clipped."""

    @property
    @abstractmethod
    def inverse_slope(self) -> float:
        """Inverse of the mean slope of probabilities by which the curvature is scaled."""

    @property
    @abstractmethod
    def scaled(self) -> Residuals:
        """Residuals in units of the clipping norm; they are clipped where they are summed."""

    @property
    def has_score_factor(self) -> bool:
        """True if `read` leaves the expectation of residuals in means: scores become too large."""
        return False

    @abstractmethod
    def read(
        self, mean: Floats, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, float]:
        """Return a released mean less its expectation under the model, and its largest slope.

        `limits` (n_reference_rows, 1) are the largest lengths of residuals, in units of the
        clipping norm. The slope is the largest over the columns, in units of the slope that scales
        the curvature.
        """

    @abstractmethod
    def moments(
        self, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, Floats]:
        """Compute each column's mean slope of clipped residuals, and their mean square."""

    def score_products(self, p: Floats, limits: Floats, scores: Floats) -> Floats:
        """Compute the products of clipped residuals and scores, for each true class."""
        raise NotImplementedError
