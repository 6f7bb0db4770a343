"""The k largest counts with Gumbel or Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import BoundedRange, Law, NoisyVector, Step
from secretballot.mechanisms.top_k._item_draws import draw_items, largest, mark
from secretballot.mechanisms.top_k._top_k import TopK


@dataclass(frozen=True, kw_only=True)
class ExponentialTopK(TopK):
    """The k items with the largest counts after Gumbel noise: the exponential mechanism, k times.

    Parameters
    ----------
    k : int
        Number of released items.
    rho : float, default=None
        zCDP of all draws together, for ballots of weight 1, which determines the noise. The charge
        is exact, and a little less. Give this or `epsilon`.
    epsilon : float, default=None
        Privacy of each draw.
    relation, weight, ballots, max_items
        As for `TopK`. The number of items that a person has makes no difference here.

    References
    ----------
    Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
    Composition" (NeurIPS 2019), Section 4; Cesar and Rogers (ALT 2021), Lemma 17.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import ExponentialTopK
    >>> accountant = PrivacyAccountant(epsilon=4, delta=1e-6)
    >>> accountant.release(ExponentialTopK(k=2, epsilon=1), [[3, 350, 7, 420, 1]])
    array([[0, 1, 0, 1, 0]])
    """

    rho: float | None = field(default=None)
    epsilon: float | None = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rho(1.0)  # which checks that one of both is given

    @property
    def _n_choices(self) -> int:
        """Number of choices by the exponential mechanism, each with as much noise."""
        return self._set_size

    @property
    def _width(self) -> float:
        """Range of the log ratios of one choice, by a ballot of weight 1."""
        n = self._n_choices
        return float(np.sqrt(8 * self._rho(n / 8) / n))

    @property
    def _scale(self) -> float:
        """Scale of the noise of one choice."""
        return self._unit_sensitivity / self._width

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        draw = BoundedRange(width=self._width * contribution)
        return (Step("draws", draw, times=self._set_size),)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        number, scale = (np.full(len(counts), value) for value in (self._set_size, self._scale))
        positions, drawn = draw_items(np.asarray(counts, float), number, scale, rng)
        return mark(counts.shape[1], positions, drawn)


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
        As for `TopK`.

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
        if self.max_items is None:
            raise ValueError(
                "max_items=None: give the largest number of items that a person contributes to."
            )
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
