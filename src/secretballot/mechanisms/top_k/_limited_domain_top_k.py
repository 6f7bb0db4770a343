"""The largest counts of items that come from the data: Limited Domain."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from secretballot._base._numbers import check_integer
from secretballot.costs._law import Law
from secretballot.mechanisms._fields import pair_by_group
from secretballot.mechanisms.top_k._item_draws import draw_items, largest, mark
from secretballot.mechanisms.top_k._noisy_top_k import ExponentialTopK
from secretballot.mechanisms.top_k._top_k import TopK


@dataclass(frozen=True, kw_only=True)
class LimitedDomainTopK(ExponentialTopK):
    """Up to k items by Gumbel noise on the largest counts, where items come from the data.

    A row ends once a floor is drawn. The floor is so far above the counts that are not among the
    `k_max` largest that items which one person moves among these are rarely named.

    Parameters
    ----------
    k : int
        Largest number of released items.
    k_max : int
        Number of the largest counts to which noise is added. A public number, at least `k`.
    delta_t : float
        Probability that a draw names an item that one person moved among the `k_max` largest. A row
        has a delta of k times that.
    rho : float, default=None
        zCDP of k draws, for ballots of weight 1. Give this or `epsilon`.
    epsilon : float, default=None
        Privacy of each draw.
    relation, weight, ballots, max_items
        As for `TopK`.
    unknown_domain : bool, default=True
        Items may come from the data.

    Notes
    -----
    Rows that end early pay for fewer draws: see :doc:`/theory/divergences`.

    References
    ----------
    Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
    Composition" (NeurIPS 2019), Algorithm 1. The published delta has a factor e^epsilon + 1.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import LimitedDomainTopK
    >>> accountant = PrivacyAccountant(epsilon=4, delta=1e-6)
    >>> mechanism = LimitedDomainTopK(k=3, k_max=4, epsilon=0.5, delta_t=1e-9)
    >>> accountant.release(mechanism, [[3, 350, 7, 420, 1, 0]])
    array([[0, 1, 0, 1, 0, 0]])
    """

    k_max: int
    delta_t: float
    unknown_domain: bool = field(default=True)

    _hides_rare_items: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("k_max", self.k_max, least=self._set_size)

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        return tuple(
            replace(draws, delta=self.delta_t) for draws in super()._law(contribution, n_columns)
        )

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        n_rows, n_items = counts.shape
        values, positions = largest(np.asarray(counts, float), self.k_max + 1)
        scale = np.full(n_rows, self._scale)
        floor = floor_height(self, values[:, -1], scale, self.k_max, self.delta_t)
        scores = np.where(positions[:, :-1] < n_items, values[:, :-1], -np.inf)
        places, drawn = draw_items(scores, np.full(n_rows, self._set_size), scale, rng, floor)
        named = np.take_along_axis(positions, np.minimum(places, self.k_max), axis=1)
        return mark(n_items, named, drawn)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Count the draws: rows with fewer than k items have ended by one more draw."""
        return {"draws": np.minimum(outcome.sum(axis=1) + 1, self._set_size)}


def floor_height(
    mechanism: TopK, below: NDArray[Any], scale: float | NDArray[Any], k_max: int, delta: float
) -> NDArray[np.float64]:
    """Compute the floor for items that come from the data, given the largest count left out.

    Items that one person can move among the `k_max` largest weigh together less than `delta` of the
    floor: see docs/theory/divergences.md, "Items that come from the data".
    """
    n_moved = k_max
    if mechanism.max_items is not None:
        groups = pair_by_group(mechanism.weight, mechanism.ballots).values()
        n_moved = min(n_moved, max(ballots for _, ballots in groups) * mechanism.max_items)
    return np.asarray(below + mechanism._sensitivity + scale * np.log(n_moved / delta))
