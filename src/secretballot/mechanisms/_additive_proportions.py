"""Label proportions with independent noise on the counts: Gaussian, Laplace, and with a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from secretballot._base._numbers import check_integer, check_pair
from secretballot.costs._orders import Floats
from secretballot.mechanisms._proportion_moves import (
    AdditiveProportionsMove,
    GaussianProportionsMove,
    LaplaceProportionsMove,
)
from secretballot.mechanisms._proportions import Proportions, on_simplex


@dataclass(frozen=True, kw_only=True)
class AdditiveProportions(Proportions):
    """Base class: independent noise on each class's count, then the nearest proportions.

    Of two classes one is drawn, the other makes up the bag, whose size is public.
    """

    _move: ClassVar[type[AdditiveProportionsMove]]
    _noise_field: ClassVar[str]  # the field with the amount of noise

    @classmethod
    def calibrated(
        cls, epsilon: float, delta: float, *, n_classes: int | None = None, resolution: int = 2**20
    ) -> Self:
        """Return the mechanism with the least noise that is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            The privacy of one label. All of delta is used; 0 is pure privacy, which takes Laplace
            noise.
        n_classes : int, default=None
            Any number if None; two need less noise.
        resolution : int, default=2**20
            Proportions are multiples of ``1 / resolution``.
        """
        check_pair(epsilon, delta, pure=cls._move.pure)
        if n_classes is not None:
            check_integer("n_classes", n_classes, least=2)
        noise: dict[str, Any] = {cls._noise_field: cls._move.least_noise(epsilon, delta, n_classes)}
        return cls(**noise, epsilon=epsilon, resolution=resolution)

    def move(self, n_columns: int | None = None) -> AdditiveProportionsMove:
        return self._move(noise=getattr(self, self._noise_field), n_classes=n_columns)

    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        noise = self.move().draw_noise(counts.shape, rng)
        if counts.shape[1] == 2:
            noise = np.concatenate([noise[:, :1], -noise[:, :1]], axis=1)
        return self._estimate(counts + noise, counts.sum(axis=1, keepdims=True))

    def _estimate(self, noisy: Floats, sizes: Floats) -> Floats:
        """Estimate proportions from noisy counts."""
        return on_simplex(noisy / sizes)

    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        # Independent noise on each count, less its mean over the classes.
        n_classes = np.shape(proportions)[1]
        centring: Floats = np.eye(n_classes) - 1 / n_classes
        # Two classes share one draw, which the second has with the opposite sign.
        factor = 2.0 if n_classes == 2 else 1.0
        per_bag = factor * self.move().variance / np.asarray(sizes, dtype=np.float64) ** 2
        return np.asarray(per_bag[:, None, None] * centring)


@dataclass(frozen=True, kw_only=True)
class GaussianProportions(AdditiveProportions):
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

    References
    ----------
    Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018).

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import GaussianProportions
    >>> mechanism = GaussianProportions.calibrated(epsilon=1, delta=1e-5, n_classes=3)
    >>> round(mechanism.sigma, 2)
    5.28
    >>> accountant = PrivacyAccountant(1, 1e-5, unit="label", order=float("inf"))
    >>> accountant.release(mechanism, [[500, 300, 200]]).shape
    (1, 3)
    """

    _move = GaussianProportionsMove
    _noise_field = "sigma"

    sigma: float


@dataclass(frozen=True, kw_only=True)
class LaplaceProportions(AdditiveProportions):
    """Label proportions: Laplace noise on each class's count, then the nearest proportions.

    Parameters
    ----------
    scale : float
        Scale of the noise on each count, in labels. Of two classes one is drawn.
    epsilon, resolution
        As for `GaussianProportions`; at an epsilon of ``2 / scale`` and above delta is 0.

    Examples
    --------
    >>> from secretballot.mechanisms import LaplaceProportions
    >>> LaplaceProportions.calibrated(epsilon=0.5, delta=0, n_classes=3).scale
    4.0
    >>> round(LaplaceProportions.calibrated(epsilon=0.5, delta=0.05, n_classes=3).scale, 2)
    2.86
    """

    _move = LaplaceProportionsMove
    _noise_field = "scale"

    scale: float


@dataclass(frozen=True, kw_only=True)
class LaplacePriorProportions(LaplaceProportions):
    """Label proportions: Laplace noise, then each count's posterior mean under a flat prior.

    Charged as `LaplaceProportions`: posterior means are post-processing of the noisy counts. The
    prior is uniform from 0 to the bag's size. It pulls counts away from both ends, and helps where
    the noise is large beside the bag.

    Parameters
    ----------
    scale, epsilon, resolution
        As for `LaplaceProportions`.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import LaplacePriorProportions
    >>> accountant = PrivacyAccountant(2, 0, unit="label", order=float("inf"))
    >>> accountant.release(LaplacePriorProportions(scale=1, epsilon=2), [[5, 0, 3]]).sum()
    np.float64(1.0)
    """

    def _estimate(self, noisy: Floats, sizes: Floats) -> Floats:
        return on_simplex(_truncated_mean(noisy, self.scale, sizes) / sizes)


def _truncated_mean(centre: Floats, scale: float, size: Floats) -> Floats:
    """Compute the mean of a Laplace law around `centre`, truncated at 0 and at `size`."""
    # Beyond an end the truncated law is exponential, whatever the distance: as at that end.
    inside = np.clip(centre, 0.0, size)
    low, high = inside / scale, (size - inside) / scale
    mass_below, mass_above = -np.expm1(-low), -np.expm1(-high)
    shift = (mass_above - high * np.exp(-high)) - (mass_below - low * np.exp(-low))
    return np.asarray(np.clip(inside + scale * shift / (mass_below + mass_above), 0.0, size))
