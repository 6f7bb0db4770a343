"""Test of pairs of columns: cell means of residuals beyond the effects of single columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from secretballot.linear.features import Floats

#: Expected share of false pairs among those that are chosen.
_FALSE_DISCOVERY_RATE = 0.1
#: Share of rows below which a cell tells nothing.
_LEAST_MASS = 1e-6


@dataclass(frozen=True)
class PairTest:
    """Score test of one pair's cells, after the effects of its two columns.

    Attributes
    ----------
    statistic : float
        Squared length of the score, less its mean without an interaction, per variance of the
        cells' effects: an estimate of that variance.
    p_value : float
    """

    effect_variance: float
    p_value: float

    @classmethod
    def of(cls, means: Floats, mass: Floats, errors: Floats) -> PairTest:
        """Test the cells of one pair.

        The mean of a cell is its mass times the sum of its effect and of the effects of its row
        and its column, plus an error. The effects of rows and columns are removed by generalised
        least squares. See "Pairs" in `docs/theory/logistic-regression.md`.

        Parameters
        ----------
        means : ndarray of shape (n_first, n_second)
            Released mean of residuals in each cell.
        mass : ndarray of shape (n_first, n_second)
            Slope of the means in the effect of the cell.
        errors : ndarray of shape (n_first, n_second)
            Variance of each mean: noise and sampling.
        """
        n_first, n_second = means.shape
        weights = (np.maximum(mass, _LEAST_MASS) / np.sqrt(errors)).ravel()
        indicators = np.concatenate(
            [np.repeat(np.eye(n_first), n_second, axis=0), np.tile(np.eye(n_second), (n_first, 1))],
            axis=1,
        )
        basis, sizes, _ = np.linalg.svd(weights[:, None] * indicators, full_matrices=False)
        basis = basis[:, sizes > 1e-9 * sizes[0]]
        projection = np.eye(len(weights)) - basis @ basis.T
        score = weights * (projection @ (means / np.sqrt(errors)).ravel())
        root = weights[:, None] * projection
        laws = np.linalg.eigvalsh(root @ root.T)
        first, second, third = ((laws**power).sum() for power in (1, 2, 3))
        if second <= 0:
            return cls(0.0, 1.0)
        excess = float(score @ score) - first
        return cls(excess / second, _tail(excess, second, third))


def _tail(excess: float, second: float, third: float) -> float:
    """Compute the tail of a sum of squares, less its mean, from its second and third cumulant."""
    degrees = second**3 / third**2
    return float(chi2.sf(excess * np.sqrt(degrees / second) + degrees, degrees))


def discoveries(p_values: Floats) -> NDArray[np.intp]:
    """Return the indices of tests that the Benjamini-Hochberg procedure rejects."""
    order = np.argsort(p_values)
    limits = _FALSE_DISCOVERY_RATE * np.arange(1, len(p_values) + 1) / len(p_values)
    below = np.flatnonzero(p_values[order] <= limits)
    return order[: below[-1] + 1] if len(below) else order[:0]
