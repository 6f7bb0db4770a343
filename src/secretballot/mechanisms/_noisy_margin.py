"""One number that a replaced ballot changes by no more than 1, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_number
from secretballot.divergences import EVERYONE, Law, NoisyVector, Step
from secretballot.mechanisms._base import Mechanism

#: Released numbers are whole multiples of one over this.
_RESOLUTION = 1_024


@dataclass(frozen=True, kw_only=True)
class NoisyMargin(Mechanism):
    """How many ballots votes are away from their worst case, with Gaussian noise.

    What `secretballot.publication.publish_epsilon` releases; the number is a `Margin`.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in ballots.

    Raises
    ------
    ValueError
        If it is out of range.
    """

    sigma: float

    def __post_init__(self) -> None:
        check_number("sigma", self.sigma, above=0)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the noisy number, which is released as it is."""
        return {EVERYONE: (Step("margin", NoisyVector(ratio=1 / self.sigma)),)}

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return margins as an array of shape (n_rows, 1), or raise `ValueError`."""
        margin = super().check_counts(counts)
        if margin.shape[1] != 1:
            raise ValueError(f"counts has shape {margin.shape}; pass one number, [[margin]].")
        return margin

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noisy margins, shape (n_rows, 1), on a public grid."""
        noisy = counts + rng.normal(scale=self.sigma, size=counts.shape)
        return np.asarray(np.rint(noisy * _RESOLUTION) / _RESOLUTION)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every row is one noisy number."""
        return {"margin": np.ones(len(outcome))}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return nothing: the cost is the same whatever the margin."""
        return {}
