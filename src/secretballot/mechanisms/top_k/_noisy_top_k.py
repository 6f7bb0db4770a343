"""The k largest counts with Gumbel noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._law import Law, Step
from secretballot.costs._selection import BoundedRange
from secretballot.mechanisms.top_k._item_draws import draw_items, mark
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
    def _width(self) -> float:
        """Range of the log ratios of one draw, by a ballot of weight 1."""
        n = self._set_size
        return float(np.sqrt(8 * self._rho(n / 8) / n))

    @property
    def _scale(self) -> float:
        """Scale of the noise of one draw."""
        return self._unit_sensitivity / self._width

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        draw = BoundedRange(width=self._width * contribution)
        return (Step("draws", draw, times=self._set_size),)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        number, scale = (np.full(len(counts), value) for value in (self._set_size, self._scale))
        positions, drawn = draw_items(np.asarray(counts, float), number, scale, rng)
        return mark(counts.shape[1], positions, drawn)
