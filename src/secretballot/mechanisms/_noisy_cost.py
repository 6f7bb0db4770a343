"""A cost and its smooth sensitivity, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_number
from secretballot.divergences import EVERYONE, Law, SmoothRelease, Step
from secretballot.mechanisms._base import Mechanism

#: What no sensitivity is taken to be less than, so that it has a logarithm.
_LEAST = 1e-12
#: Released numbers are whole multiples of one over this.
_RESOLUTION = 2**20


@dataclass(frozen=True, kw_only=True)
class NoisyCost(Mechanism):
    """What votes did cost, with noise by its smooth sensitivity, and the logarithm of that.

    What ``publish_epsilon(method="smooth")`` releases. In budgets that count Renyi divergences at
    an order that is not too large for `beta`; elsewhere its cost is infinite.

    Parameters
    ----------
    beta : float
        The logarithm of the sensitivity changes by no more between neighbours.
    sigma : float
        Standard deviation of the noise on the cost, in sensitivities.
    sigma_log : float
        Standard deviation of the noise on the logarithm of the sensitivity.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson, "Scalable Private Learning with
    PATE" (ICLR 2018), Appendix B. The cost of the release is not theirs, which is too low.
    """

    beta: float
    sigma: float
    sigma_log: float

    def __post_init__(self) -> None:
        for name in ("beta", "sigma", "sigma_log"):
            check_number(name, getattr(self, name), above=0)

    @property
    def noise(self) -> SmoothRelease:
        """The two numbers' noise."""
        return SmoothRelease(beta=self.beta, sigma=self.sigma, sigma_log=self.sigma_log)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the two noisy numbers, which are released as they are."""
        return {EVERYONE: (Step("cost", self.noise),)}

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return costs and sensitivities, shape (n_rows, 2), or raise `ValueError`."""
        both = super().check_counts(counts)
        if both.shape[1] != 2:
            raise ValueError(f"counts has shape {both.shape}; pass [[cost, smooth sensitivity]].")
        return both

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy costs and noisy logarithms, shape (n_rows, 2), on a public grid."""
        sensitivity = np.maximum(counts[:, 1], _LEAST)
        noise = rng.normal(size=counts.shape)
        cost = counts[:, 0] + self.sigma * sensitivity * noise[:, 0]
        log = np.log(sensitivity) + self.sigma_log * noise[:, 1]
        return np.asarray(np.rint(np.stack([cost, log], axis=1) * _RESOLUTION) / _RESOLUTION)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every row is two noisy numbers."""
        return {"cost": np.ones(len(outcome))}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return nothing: the cost is the same whatever the numbers."""
        return {}
