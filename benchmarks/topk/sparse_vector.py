"""Top Stable: the sparse vector technique on the gaps between counts, charged for what it releases.

A method to compare with: it needs wider gaps than the library's own (docs/topics/topk.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

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
from secretballot.mechanisms import UNANSWERED, TopK
from secretballot.mechanisms.top_k import Draws, largest, mark

#: Part of the search's epsilon for its threshold. The rest is for the gaps, which have twice the
#: sensitivity.
_THRESHOLD_SHARE = 1 / (1 + 2 ** (2 / 3))


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
        Probability that a set is released that one person changes.
    draw_share : float, default=0.25
        Part of `epsilon` that is for draws from larger sets (as zero-concentrated privacy
        epsilon^2 / 8 of it); where `k_max` is `k` there are none.
    relation, weight, ballots, max_items
        As for `StableTopK`.
    unknown_domain : bool, default=True
        Items may come from the data.

    References
    ----------
    Carvalho, Wang, Gondara and Miao, "Differentially Private Top-k Selection via Stability on
    Unknown Domain" (UAI 2020). The threshold here is the least with the wanted delta.
    """

    k_max: int
    epsilon: float
    delta_t: float
    draw_share: float = field(default=0.25)
    unknown_domain: bool = field(default=True)

    _hides_rare_items: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("k_max", self.k_max, least=self._set_size)
        check_number("epsilon", self.epsilon, above=0)
        check_number("delta_t", self.delta_t, above=0, below=0.5)
        check_number("draw_share", self.draw_share, above=0, below=1)

    @property
    def _search_epsilon(self) -> float:
        return self.epsilon * (1 - self.draw_share if self._max_draws else 1)

    @property
    def _max_draws(self) -> int:
        """Largest number of draws from a larger set: of items that stay, or of items that go."""
        return min(self._set_size, self.k_max - self._set_size)

    @property
    def _width(self) -> float:
        """Range of the log ratio of a single draw."""
        return self.epsilon * self.draw_share

    @property
    def _scales(self) -> tuple[float, float]:
        """Scales of the noise on the threshold and on each gap."""
        return (
            self._unit_sensitivity / (_THRESHOLD_SHARE * self._search_epsilon),
            2 * self._unit_sensitivity / ((1 - _THRESHOLD_SHARE) * self._search_epsilon),
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
        search = PureRelease(epsilon=self._search_epsilon * unit)
        law: Law = (Step("search", search, delta=self.delta_t),)
        if self._max_draws:
            draws = FewDraws(width=self._width * unit, most=self._max_draws)
            law = (*law, Step("draws", draws))
        return law

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        n_rows, n_items = counts.shape
        values, positions = largest(np.asarray(counts, float), self.k_max + 1)
        sizes = np.array(
            [*range(self._set_size, self.k_max + 1), *range(self._set_size - 1, 0, -1)]
        )
        gaps = np.maximum(values[:, sizes - 1] - values[:, sizes] - self._sensitivity, 0.0)
        first, second = self._scales
        threshold = self._threshold + first * draw_laplace((n_rows, 1), rng)
        passed = gaps + second * draw_laplace(gaps.shape, rng) > threshold
        size = np.where(passed.any(axis=1), sizes[passed.argmax(axis=1)], 0)
        chosen = np.arange(self.k_max + 1) < size[:, None]
        if self._max_draws:
            draws = Draws(self._unit_sensitivity / self._width, self._max_draws)
            chosen = draws.shrink(values, chosen, self._set_size, rng)
        outcome = mark(n_items, positions, chosen)
        outcome[size == 0] = UNANSWERED
        return outcome


def laplace_difference_tail(height: float, first: float, second: float) -> float:
    """Compute P(Y > height + X), X and Y Laplace of the different scales `first` and `second`."""
    # Of X + Y beyond h: (1/2) (b^2 e^(-h/b) - a^2 e^(-h/a)) / (b^2 - a^2).
    a2, b2 = first**2, second**2
    with np.errstate(under="ignore"):
        tail = (b2 * np.exp(-height / second) - a2 * np.exp(-height / first)) / (b2 - a2)
    return float(tail / 2)
