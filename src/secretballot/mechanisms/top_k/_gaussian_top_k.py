"""The k largest counts with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import Law, NoisyVector, Step
from secretballot.mechanisms.top_k._item_draws import largest, mark
from secretballot.mechanisms.top_k._top_k import TopK


@dataclass(frozen=True, kw_only=True)
class GaussianTopK(TopK):
    """The k items with the largest counts after Gaussian noise, charged as the noisy counts.

    The noise does not depend on `k`, but on the number of items of one person: for people with a
    few items each, and large sets.

    Parameters
    ----------
    k : int
        Number of released items.
    max_items : int
        Largest number of items that a person contributes to.
    sigma : float, default=None
        Standard deviation of the noise on each count. Give this or `rho`.
    rho : float, default=None
        zCDP for ballots of weight 1, which is exact.
    relation, weight, ballots
        As for `StableTopK`.

    Raises
    ------
    ValueError
        If a parameter is out of range, or items come from the data (`unknown_domain`).

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import GaussianTopK
    >>> accountant = PrivacyAccountant(epsilon=1, delta=1e-6)
    >>> accountant.release(GaussianTopK(k=2, max_items=1, sigma=8), [[3, 350, 7, 420, 1]])
    array([[0, 1, 0, 1, 0]])
    """

    sigma: float | None = field(default=None)
    rho: float | None = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is None or self.max_items is None:
            raise ValueError(
                f"k={self.k!r} and max_items={self.max_items!r}: give the number of items of a "
                "set, and the largest number of items that a person contributes to."
            )
        self._check_domain()
        if (self.sigma is None) == (self.rho is None):
            raise ValueError(
                f"sigma={self.sigma!r} and rho={self.rho!r}: give one of them, which determines "
                "the noise."
            )

    @property
    def _l2_sensitivity(self) -> float:
        """Sensitivity (l2) of all counts to a ballot of weight 1."""
        assert self.max_items is not None
        return float(np.sqrt(self._unit_sensitivity * self.max_items))

    @property
    def _sigma(self) -> float:
        if self.rho is not None:
            return self._l2_sensitivity / float(np.sqrt(2 * self.rho))
        assert self.sigma is not None
        return self.sigma

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        ratio = self._l2_sensitivity * contribution / self._sigma
        return (Step("counts", NoisyVector(ratio=ratio)),)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        noisy = counts + rng.normal(scale=self._sigma, size=counts.shape)
        _, positions = largest(noisy, self._set_size)
        return mark(counts.shape[1], positions, np.ones(positions.shape, dtype=bool))
