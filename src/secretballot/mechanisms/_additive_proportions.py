"""Label proportions with independent noise on the counts: Gaussian, Laplace, and with a prior."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from secretballot._numbers import check_integer, check_number
from secretballot._sizes import check_pair
from secretballot.divergences import Floats, draw_laplace
from secretballot.mechanisms._proportion_moves import AdditiveMove, GaussianMove, LaplaceMove
from secretballot.mechanisms._proportions import Proportions, on_simplex


@dataclass(frozen=True, kw_only=True)
class AdditiveProportions(Proportions):
    """Base class: independent noise on each class's count, then the nearest proportions.

    A subclass says which noise, and what the field with its amount is called. Of two classes one
    is drawn, the other makes up the bag, whose size is public.
    """

    _noise: ClassVar[type[AdditiveMove]]
    _amount: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self._amount, getattr(self, self._amount), above=0)

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
            The privacy of one label. All of delta is used; 0 is pure privacy, which takes Laplace
            noise.
        n_classes : int, default=None
            Any number if None; two need less noise.
        resolution : int, default=2**20
            Proportions are multiples of ``1 / resolution``.
        """
        check_pair(epsilon, delta, pure=cls._noise.pure)
        if n_classes is not None:
            check_integer("n_classes", n_classes, least=2)
        amount: dict[str, Any] = {cls._amount: cls._noise.least(epsilon, delta, n_classes)}
        return cls(**amount, epsilon=epsilon, resolution=resolution)

    def move(self, n_columns: int | None = None) -> AdditiveMove:
        """Return the noisy move of one bag."""
        return self._noise(noise=getattr(self, self._amount), n_classes=n_columns)

    @abstractmethod
    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Return noise for as many counts."""

    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """Return proportions before they are put on the grid."""
        noise = self._drawn(counts.shape, rng)
        if counts.shape[1] == 2:
            noise = np.concatenate([noise[:, :1], -noise[:, :1]], axis=1)
        return self._estimate(counts + noise, counts.sum(axis=1, keepdims=True))

    def _estimate(self, noisy: Floats, sizes: Floats) -> Floats:
        """Return proportions that are made of noisy counts."""
        return on_simplex(noisy / sizes)

    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        """Return each bag's noise covariance: see the base class."""
        # Of independent noise on each count, after the sum was put right.
        n_classes = np.shape(proportions)[1]
        within: Floats = np.eye(n_classes) - 1 / n_classes
        # Two classes share one draw, which the second has with the opposite sign.
        factor = 2.0 if n_classes == 2 else 1.0
        per_bag = factor * self.move().variance / np.asarray(sizes, dtype=np.float64) ** 2
        return np.asarray(per_bag[:, None, None] * within)


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

    Raises
    ------
    ValueError
        If a parameter is out of range.

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

    _noise = GaussianMove
    _amount = "sigma"

    sigma: float

    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return rng.normal(scale=self.sigma, size=shape)


@dataclass(frozen=True, kw_only=True)
class LaplaceProportions(AdditiveProportions):
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
        As for `GaussianProportions`.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from secretballot.mechanisms import LaplaceProportions
    >>> LaplaceProportions.calibrated(epsilon=0.5, delta=0, n_classes=3).scale
    4.0
    >>> round(LaplaceProportions.calibrated(epsilon=0.5, delta=0.05, n_classes=3).scale, 2)
    2.86
    """

    _noise = LaplaceMove
    _amount = "scale"

    scale: float

    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return self.scale * draw_laplace(shape, rng)


@dataclass(frozen=True, kw_only=True)
class LaplacePriorProportions(LaplaceProportions):
    """Label proportions: Laplace noise, then each count's posterior mean under a flat prior.

    Charged as `LaplaceProportions`: the prior (every count from 0 to the bag's size is as likely)
    looks at the noisy counts only. It pulls counts away from the ends, and helps where the noise
    is large beside the bag.

    Parameters
    ----------
    scale, epsilon, resolution
        As for `LaplaceProportions`.

    Raises
    ------
    ValueError
        If a parameter is out of range.

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
    """Mean of a Laplace law around `centre`, cut off at 0 and at `size`."""
    inside = np.clip(centre, 0.0, size)
    low, high = inside / scale, (size - inside) / scale
    left, right = -np.expm1(-low), -np.expm1(-high)
    shift = (right - high * np.exp(-high)) - (left - low * np.exp(-low))
    # Outside, what is left is an exponential law from the nearer end, whatever the distance: the
    # same as at that end.
    return np.asarray(np.clip(inside + scale * shift / (left + right), 0.0, size))
