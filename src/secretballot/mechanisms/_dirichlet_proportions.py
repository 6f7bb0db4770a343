"""Label proportions drawn from a Dirichlet distribution around the true ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from secretballot._base._numbers import check_integer, check_number, check_pair
from secretballot.costs._noise import draw_uniform
from secretballot.costs._orders import Floats
from secretballot.costs._threshold_search import find_sharpness
from secretballot.mechanisms._proportion_moves import DirichletProportionsMove
from secretballot.mechanisms._proportions import Proportions, public_cases


@dataclass(frozen=True, kw_only=True)
class DirichletProportions(Proportions):
    """Label proportions: a draw from Dir(concentration * counts + pseudo_count).

    The draw reveals rare classes, unless there is a public floor under every parameter:
    pseudo-counts, which bias towards even proportions, or a promised minimum of labels of every
    class in every bag. The guarantee then covers neighbours that both keep the promise. A bag that
    breaks it is refused, and that refusal is itself outside the guarantee.

    Parameters
    ----------
    concentration : float
        Increase of a parameter by one label: the larger, the less noise.
    pseudo_count : float, default=0.0
        Constant part of every parameter.
    min_count : int, default=0
        Promised minimum of labels of each class in every bag.
    epsilon : float, default=None
        Charge the pair of this epsilon and the least delta at it, for budgets at order infinity.
        None: charge the Renyi curve, which is infinite from order
        ``1 + min_count + pseudo_count / concentration`` on.
    resolution : int, default=2**20
        Proportions are multiples of ``1 / resolution``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or there is neither a pseudo-count nor a promise.

    References
    ----------
    Iyer, Nath and Sarawagi, "Privacy-preserving Class Ratio Estimation" (KDD 2016), Section 3.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import DirichletProportions
    >>> mechanism = DirichletProportions.calibrated(epsilon=1, delta=1e-5, min_count=50)
    >>> round(mechanism.concentration, 2)
    1.78
    >>> accountant = PrivacyAccountant(1, 1e-5, unit="label", order=float("inf"))
    >>> accountant.release(mechanism, [[500, 300, 200], [60, 70, 80]]).shape
    (2, 3)
    """

    concentration: float
    pseudo_count: float = field(default=0.0)
    min_count: int = field(default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("pseudo_count", self.pseudo_count, least=0)
        check_integer("min_count", self.min_count, least=0)
        if not self.pseudo_count and not self.min_count:
            raise ValueError(
                "pseudo_count=0 and min_count=0: a class without labels would be revealed. Use "
                "a positive pseudo_count, or promise a min_count."
            )

    @classmethod
    def calibrated(
        cls,
        epsilon: float,
        delta: float,
        *,
        pseudo_count: float = 0.0,
        min_count: int = 0,
        resolution: int = 2**20,
    ) -> DirichletProportions:
        """Return the mechanism with the least noise that is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            The privacy of one label; delta above 0.
        pseudo_count, min_count, resolution
            As for the class.
        """
        check_pair(epsilon, delta, pure=False)
        mechanism = cls(
            concentration=1.0,
            pseudo_count=pseudo_count,
            min_count=min_count,
            epsilon=epsilon,
            resolution=resolution,
        )

        def delta_of(concentration: float) -> float:
            return replace(mechanism, concentration=concentration).move().delta(epsilon)

        return replace(mechanism, concentration=find_sharpness(delta_of, delta))

    def move(self, n_columns: int | None = None) -> DirichletProportionsMove:
        return DirichletProportionsMove(
            concentration=self.concentration,
            pseudo_count=self.pseudo_count,
            min_count=self.min_count,
        )

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return label counts that keep the promise, or raise `ValueError`."""
        checked = super().check_counts(counts)
        broken = np.flatnonzero((checked < self.min_count).any(axis=1))
        if broken.size:
            raise ValueError(
                f"min_count={self.min_count} is promised, but bag {broken[0]} has a class with "
                "fewer labels. Promise less, use pseudo_count instead, or merge bags. That this "
                "was refused is itself outside the guarantee: nobody but the publisher may learn "
                "it."
            )
        return checked

    def _draw(self, counts: Floats, rng: np.random.Generator) -> Floats:
        parameters = self.concentration * counts + self.pseudo_count
        # G(a) = G(a + 1) U^(1/a): logarithms, because gammas of small parameters underflow.
        logs = np.log(rng.standard_gamma(parameters + 1))
        logs += np.log(draw_uniform(parameters.shape, rng)) / parameters
        draws = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(draws / draws.sum(axis=1, keepdims=True))

    def expected_distortion(self, size: int, n_classes: int, *, min_count: int = 0) -> float:
        worst = 0.0
        for case in public_cases(size, n_classes, min_count):
            a = self.concentration * case + self.pseudo_count
            b = a.sum() - a
            truth, mean = case / size, a / a.sum()
            # Mean absolute distance of a Beta variable from a point.
            below, weighted = betainc(a, b, truth), betainc(a + 1, b, truth)
            worst = max(worst, float((truth * (2 * below - 1) + mean * (1 - 2 * weighted)).sum()))
        return worst

    def covariance(self, proportions: ArrayLike, sizes: ArrayLike) -> Floats:
        q = np.asarray(proportions, dtype=np.float64)
        total = self.concentration * np.asarray(sizes, float) + q.shape[1] * self.pseudo_count
        spread = q[:, :, None] * (np.eye(q.shape[1]) - q[:, None, :])
        return np.asarray(spread / (total + 1)[:, None, None])
