"""One number that a replaced ballot changes by no more than 1, with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.divergences import EVERYONE, Law, NoisyVector, Step
from secretballot.mechanisms._noisy_counts import NoisyNumbers


@dataclass(frozen=True, kw_only=True)
class NoisyMargin(NoisyNumbers):
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

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the noisy number, which is released as it is."""
        return {EVERYONE: (Step("numbers", NoisyVector(ratio=1 / self.sigma)),)}

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return margins as an array of shape (n_rows, 1), or raise `ValueError`."""
        margin = super().check_counts(counts)
        if margin.shape[1] != 1:
            raise ValueError(f"counts has shape {margin.shape}; pass one number, [[margin]].")
        return margin
