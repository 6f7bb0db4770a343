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
        """Residuals in units of the clipping norm, as a function of targets and scores of rows.

        They are clipped where they are summed.
        """

    @property
    def has_score_factor(self) -> bool:
        """True if `read` leaves the expectation of clipped residuals in means.

        Scores are then too large, and get a factor.
        """
        return False

    @abstractmethod
    def read(
        self, mean: Floats, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, float]:
        """Return a released mean less its expectation under the model, and its largest slope.

        Parameters
        ----------
        mean : ndarray of shape (n_features, n_columns)
            Released mean of clipped residuals times features.
        reference : ReferenceRows
        limits : ndarray of shape (n_reference_rows, 1)
            Largest lengths of residuals, in units of the clipping norm.
        coefficients : ndarray of shape (1 + n_features, n_columns)
            Coefficients of the round.

        Returns
        -------
        mean : ndarray of shape (n_features, n_columns)
        slope : float
            Largest slope over the columns, in units of the slope that scales the curvature.
        """

    @abstractmethod
    def moments(
        self, reference: ReferenceRows, limits: Floats, coefficients: Floats
    ) -> tuple[Floats, Floats]:
        """Compute each column's mean slope of clipped residuals, and their mean square."""

    def score_products(self, p: Floats, limits: Floats, scores: Floats) -> Floats:
        """Compute the products of clipped residuals and scores, for each true class.

        Parameters
        ----------
        p : ndarray of shape (n_rows, n_columns)
            Probabilities from which the residuals are taken.
        limits : ndarray of shape (n_rows, 1)
            Largest lengths of residuals, in units of the clipping norm.
        scores : ndarray of shape (n_rows, n_columns)
        """
        raise NotImplementedError
