"""Stable sets found one after the other: Top Stable."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._numbers import check_integer, check_number
from secretballot.divergences import (
    FewDraws,
    Law,
    PureRelease,
    Step,
    bracket_threshold,
    draw_laplace,
)
from secretballot.mechanisms._noisy_max import UNANSWERED
from secretballot.mechanisms.top_k._draws import Draws
from secretballot.mechanisms.top_k._largest import largest, mark
from secretballot.mechanisms.top_k._top_k import TopK

#: How the privacy of the search is divided between its threshold and the gaps, which have twice
#: the sensitivity in it.
_THRESHOLD = 1 / (1 + 2 ** (2 / 3))


@dataclass(frozen=True, kw_only=True)
class SparseVectorTopK(TopK):
    """Up to k items: the first set whose gap is large, in a fixed order of sizes.

    Sizes k, k + 1, ..., k_max and then k - 1, ..., 1 are tried, by the sparse vector technique: a
    gap less what one person can change, with Laplace noise, against a threshold with Laplace noise.
    A larger set than wanted is drawn from; a smaller one is released as it is.

    Parameters
    ----------
    k : int
    k_max : int
        The largest set that is tried, at least `k`. A public number.
    epsilon : float
        Privacy of the search, and in `draw_share` of it of the draws; of ballots of weight 1.
    delta_t : float
        With what probability a set may be released that one person changes.
    draw_share : float, default=0.25
        Part of `epsilon` that is for draws from larger sets (as zero-concentrated privacy
        epsilon^2 / 8 of it); where `k_max` is `k` there are none.
    relation, weight, ballots, max_items
        As for `StableTopK`.
    unknown_domain : bool, default=True
        Items may come from the data.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    Carvalho, Wang, Gondara and Miao, "Differentially Private Top-k Selection via Stability on
    Unknown Domain" (UAI 2020). The threshold here is the least with the wanted delta.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import SparseVectorTopK
    >>> accountant = PrivacyAccountant(epsilon=4, delta=1e-6)
    >>> mechanism = SparseVectorTopK(k=2, k_max=2, epsilon=0.5, delta_t=4e-9)
    >>> accountant.release(mechanism, [[3, 750, 7, 820, 1]])
    array([[0, 1, 0, 1, 0]])
    """

    k_max: int
    epsilon: float
    delta_t: float
    draw_share: float = field(default=0.25)
    unknown_domain: bool = field(default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_k()
        check_integer("k_max", self.k_max, least=self._wanted)
        check_number("epsilon", self.epsilon, above=0)
        check_number("delta_t", self.delta_t, above=0, below=0.5)
        check_number("draw_share", self.draw_share, above=0, below=1)

    @property
    def _search(self) -> float:
        return self.epsilon * (1 - self.draw_share if self._most else 1)

    @property
    def _most(self) -> int:
        """The most draws from a larger set: of those that stay, or of those that go."""
        return min(self._wanted, self.k_max - self._wanted)

    @property
    def _width(self) -> float:
        """How far apart log ratios of one draw can be, were it the only one."""
        return self.epsilon * self.draw_share

    @property
    def _scales(self) -> tuple[float, float]:
        """Noise on the threshold and on each gap."""
        return (
            self._moves / (_THRESHOLD * self._search),
            2 * self._moves / ((1 - _THRESHOLD) * self._search),
        )

    @cached_property
    def _threshold(self) -> float:
        """The least height over which no more than `delta_t` of all empty gaps pass."""
        first, second = self._scales

        def passing(height: float) -> float:
            return self.k_max * laplace_difference_tail(height, first, second)

        return bracket_threshold(lambda height: passing(height) <= self.delta_t)[1]

    def _law(self, unit: float, n_columns: int | None) -> Law:
        # Whoever adds less moves the gaps less, and changes sets no less often.
        search = Step("search", PureRelease(epsilon=self._search * unit), delta=self.delta_t)
        if not self._most:
            return (search,)
        draws = FewDraws(width=self._width * unit, most=self._most)
        return (search, Step("draws", draws))

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        n_rows, n_items = counts.shape
        values, positions = largest(np.asarray(counts, float), self.k_max + 1)
        sizes = np.array([*range(self._wanted, self.k_max + 1), *range(self._wanted - 1, 0, -1)])
        gaps = np.maximum(values[:, sizes - 1] - values[:, sizes] - self._change, 0.0)
        first, second = self._scales
        threshold = self._threshold + first * draw_laplace((n_rows, 1), rng)
        passed = gaps + second * draw_laplace(gaps.shape, rng) > threshold
        size = np.where(passed.any(axis=1), sizes[passed.argmax(axis=1)], 0)
        chosen = np.arange(self.k_max + 1) < size[:, None]
        if self._most:
            draws = Draws(self._moves / self._width, self._most)
            chosen = draws.shrink(values, chosen, self._wanted, rng)
        outcome = mark(n_items, positions, chosen)
        outcome[size == 0] = UNANSWERED
        return outcome


def laplace_difference_tail(height: float, first: float, second: float) -> float:
    """Return how likely Laplace noise of scale `second` is above `height` plus that of `first`."""
    # Of X + Y beyond h: (1/2) (b^2 e^(-h/b) - a^2 e^(-h/a)) / (b^2 - a^2), for different scales.
    one, two = first**2, second**2
    with np.errstate(under="ignore"):
        tail = (two * np.exp(-height / second) - one * np.exp(-height / first)) / (two - one)
    return float(tail / 2)
