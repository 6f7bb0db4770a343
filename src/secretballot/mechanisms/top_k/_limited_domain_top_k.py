"""The largest counts of a list of items that nobody has: Limited Domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot._numbers import check_integer, check_number
from secretballot.divergences import BoundedRange, Law, Step
from secretballot.mechanisms._base import paired
from secretballot.mechanisms.top_k._draws import draw
from secretballot.mechanisms.top_k._largest import largest, mark
from secretballot.mechanisms.top_k._top_k import TopK, rho_of


@dataclass(frozen=True, kw_only=True)
class LimitedDomainTopK(TopK):
    """Up to k items by Gumbel noise on the largest counts, where items come from the data.

    A row ends once a floor is drawn, which lies so far above the counts below the `k_max` largest
    that items which one person moves among these are hardly ever named.

    Parameters
    ----------
    k : int
        The most items that are released.
    k_max : int
        How many of the largest counts have noise added. A public number, at least `k`.
    delta_t : float
        With what probability an item may be named that one person moved among the `k_max` largest.
        A row has a delta of k times that.
    rho : float, default=None
        Zero-concentrated privacy of k draws, of ballots of weight 1. Give this or `epsilon`.
    epsilon : float, default=None
        Privacy of each draw.
    relation, weight, ballots, max_items
        As for `StableTopK`.
    unknown_domain : bool, default=True
        Items may come from the data.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Of two neighbours, N items at most are among the `k_max` largest of one and not of the other.
    The floor outweighs all of them 1 / delta_t times, so that each draw names one of them with a
    probability below `delta_t`, and any other item or the floor as often as a draw P* or Q* from
    these alone would, or less by a factor of at least 1 / (1 + delta_t). Let V be what a position
    is worth in the game, u = Q/P: W = 1 - V is concave in u, and 0 at 0, so that p W(u q / p) grows
    with p and q, and after k draws 1 - V is at least (1 + delta_t)^-k times what it is for P* and
    Q*: a delta of k delta_t is enough. P* and Q* have log ratios of bounded range, and rows that
    end early pay for fewer.

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
    rho: float | None = field(default=None)
    epsilon: float | None = field(default=None)
    unknown_domain: bool = field(default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_k()
        check_integer("k_max", self.k_max, least=self._wanted)
        check_number("delta_t", self.delta_t, above=0, below=0.5)
        rho_of(self.rho, self.epsilon, 1.0)

    @property
    def _width(self) -> float:
        return float(np.sqrt(8 * rho_of(self.rho, self.epsilon, self._wanted / 8) / self._wanted))

    def _law(self, unit: float, n_columns: int | None) -> Law:
        move = BoundedRange(width=self._width * unit)
        return (Step("draws", move, times=self._wanted, delta=self.delta_t),)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        values, positions = largest(np.asarray(counts, float), self.k_max + 1)
        scale = self._moves / self._width * np.ones(len(counts))
        floor = floor_height(self, values[:, -1], scale, self.k_max, self.delta_t)
        there = positions[:, :-1] < counts.shape[1]
        pool = np.where(there, values[:, :-1], -np.inf)
        chosen, drawn = draw(pool, np.full(len(counts), self._wanted), scale, rng, floor)
        named = np.take_along_axis(positions, np.minimum(chosen, self.k_max), axis=1)
        return mark(counts.shape[1], named, drawn)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Rows with fewer than k items have ended by one more draw."""
        return {"draws": np.minimum(outcome.sum(axis=1) + 1, self._wanted)}


def floor_height(
    mechanism: TopK, below: NDArray[Any], scale: Any, k_max: int, delta: float
) -> NDArray[np.float64]:
    """Return the floor for items that come from the data, given the largest count left out.

    An item that is no more than `_change` above that count weighs less than delta / n of the floor,
    and n is how many items a person can bring among the `k_max` largest.
    """
    names = k_max
    if mechanism.max_items is not None:
        # Whichever item leaves the largest, and whichever comes among them: one of the two moved.
        # So all that leave were moved down, or all that come were moved up.
        most = max(ballots for _, ballots in paired(mechanism.weight, mechanism.ballots).values())
        names = min(names, most * mechanism.max_items)
    return np.asarray(below + mechanism._change + scale * np.log(names / delta))
