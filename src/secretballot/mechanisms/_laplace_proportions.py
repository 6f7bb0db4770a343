"""Label proportions with Laplace noise on the counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from secretballot.divergences import Floats, check_pair, sharpest
from secretballot.mechanisms._base import check_positive
from secretballot.mechanisms._proportion_moves import LaplaceMove
from secretballot.mechanisms._proportions import Proportions, centred, noisy_counts, on_simplex


@dataclass(frozen=True, kw_only=True)
class LaplaceProportions(Proportions):
    """Label proportions: Laplace noise on each class's count, then the nearest proportions.

    Parameters
    ----------
    scale : float
        Scale of the noise on each count, in labels. Of two classes one is drawn, the other makes
        up the bag.
    epsilon : float, default=None
        Charge the pair of this epsilon and the least delta at it (none at ``2 / scale`` and
        above), for budgets at order infinity. None: charge the Renyi curve.
    resolution : int, default=2**20
        Proportions are multiples of ``1 / resolution``.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from secretballot import LaplaceProportions
    >>> LaplaceProportions.calibrated(epsilon=0.5, delta=0, n_classes=3).scale
    4.0
    >>> round(LaplaceProportions.calibrated(epsilon=0.5, delta=0.05, n_classes=3).scale, 2)
    2.86
    """

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("scale", self.scale)

    @classmethod
    def calibrated(
        cls,
        epsilon: float,
        delta: float,
        *,
        n_classes: int | None = None,
        resolution: int = 2**20,
    ) -> Self:
        """Return the mechanism with the least noise that is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            The privacy of one label. All of delta is used; 0 is pure privacy.
        n_classes : int, default=None
            Any number if None; two need less noise.
        resolution : int, default=2**20
            Proportions are multiples of ``1 / resolution``.
        """
        check_pair(epsilon, delta)
        pure = (1 if n_classes == 2 else 2) / epsilon
        scale = pure
        if delta > 0:
            # In units of the pure noise, so that the search begins near its end.
            scale = pure / sharpest(
                lambda each: LaplaceMove(noise=pure / each, n_classes=n_classes).delta(epsilon),
                delta,
            )
        return cls(scale=scale, epsilon=epsilon, resolution=resolution)

    def move(self, n_columns: int | None = None) -> LaplaceMove:
        """Return the noisy move of one bag."""
        return LaplaceMove(noise=self.scale, n_classes=n_columns)

    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """Return proportions before they are put on the grid."""
        noise = rng.laplace(scale=self.scale, size=counts.shape)
        return self._estimate(noisy_counts(counts, noise), counts.sum(axis=1, keepdims=True))

    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        """Return each bag's noise covariance: see the base class."""
        return centred(sizes, np.shape(proportions)[1], 2 * self.scale**2)

    def _estimate(self, noisy: Floats, sizes: Floats) -> Floats:
        return on_simplex(noisy / sizes)
