"""Label proportions with Gaussian noise on the counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences import Floats, check_pair, sharpest
from secretballot.mechanisms._base import check_positive
from secretballot.mechanisms._proportion_moves import GaussianMove
from secretballot.mechanisms._proportions import Proportions, centred, noisy_counts, on_simplex


@dataclass(frozen=True, kw_only=True)
class GaussianProportions(Proportions):
    """Label proportions: Gaussian noise on each class's count, then the nearest proportions.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count, in labels. Of two classes one is drawn, the
        other makes up the bag.
    epsilon : float, default=None
        Charge the pair of this epsilon and the least delta at it, for budgets at order infinity.
        None: charge the Renyi curve.
    resolution : int, default=2**20
        Proportions are multiples of ``1 / resolution``.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018).

    Examples
    --------
    >>> from secretballot import GaussianProportions, PrivacyAccountant
    >>> mechanism = GaussianProportions.calibrated(epsilon=1, delta=1e-5, n_classes=3)
    >>> round(mechanism.sigma, 2)
    5.28
    >>> accountant = PrivacyAccountant(1, 1e-5, unit="label", order=float("inf"))
    >>> accountant.release(mechanism, [[500, 300, 200]]).shape
    (1, 3)
    """

    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("sigma", self.sigma)

    @classmethod
    def calibrated(
        cls,
        epsilon: float,
        delta: float,
        *,
        n_classes: int | None = None,
        resolution: int = 2**20,
    ) -> GaussianProportions:
        """Return the mechanism with the least noise that is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            The privacy of one label; delta above 0.
        n_classes : int, default=None
            Any number if None; two need less noise.
        resolution : int, default=2**20
            Proportions are multiples of ``1 / resolution``.
        """
        check_pair(epsilon, delta, pure=False)
        sharpness = sharpest(
            lambda each: GaussianMove(noise=1 / each, n_classes=n_classes).delta(epsilon), delta
        )
        return cls(sigma=1 / sharpness, epsilon=epsilon, resolution=resolution)

    def move(self, n_columns: int | None = None) -> GaussianMove:
        """Return the noisy move of one bag."""
        return GaussianMove(noise=self.sigma, n_classes=n_columns)

    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """Return proportions before they are put on the grid."""
        noise = rng.normal(scale=self.sigma, size=counts.shape)
        return on_simplex(noisy_counts(counts, noise) / counts.sum(axis=1, keepdims=True))

    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        """Return each bag's noise covariance: see the base class."""
        return centred(sizes, np.shape(proportions)[1], self.sigma**2)
