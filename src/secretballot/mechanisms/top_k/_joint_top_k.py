"""All k items chosen at once: the joint exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.divergences import BoundedRange, Law, Step, draw_uniform
from secretballot.mechanisms.top_k._top_k import TopK, rho_of

#: Thresholds with less than e^-90 of the weight of the best one are never met, by any neighbour.
_NEVER = 90.0

#: So many entries of a table of thresholds and items are looked at together.
_BLOCK = 2**21


@dataclass(frozen=True, kw_only=True)
class JointTopK(TopK):
    """The k items with about the largest counts, chosen at once: one choice, whatever k is.

    The noise does not grow with k, the number of sequences to choose from does: for some three to
    twenty items that stand out clearly. Where they don't, `ExponentialTopK` finds more of them.

    Parameters
    ----------
    k : int
        How many items are released.
    rho : float, default=None
        Zero-concentrated privacy of ballots of weight 1, which the noise is made for. Give this or
        `epsilon`.
    epsilon : float, default=None
        Privacy of the choice.
    relation, weight, ballots, max_items
        As for `StableTopK`. The number of items that a person has makes no difference here.

    Raises
    ------
    ValueError
        If a parameter is out of range, or items come from the data (`unknown_domain`). Counts have
        to be whole numbers.

    Notes
    -----
    A sequence of k items is the less likely the further its worst item is below the one that
    belongs there: with x the largest difference between the i-th count and that of the i-th item,
    in proportion to exp(-x / scale). That is a mixture over thresholds X of uniform sequences
    without a difference above X, of which there are as many as the product over i of n_i(X) - i + 1
    says, n_i(X) being how many counts are at least the i-th less X. The order is not released.

    References
    ----------
    Gillenwater, Joseph, Munoz Medina and Ribero, "A Joint Exponential Mechanism for Differentially
    Private Top-k" (ICML 2022). They sample by the same counts, from a table of all differences.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import JointTopK
    >>> accountant = PrivacyAccountant(epsilon=4, delta=1e-6)
    >>> accountant.release(JointTopK(k=2, epsilon=1), [[3, 350, 7, 420, 1]])
    array([[0, 1, 0, 1, 0]])
    """

    rho: float | None = field(default=None)
    epsilon: float | None = field(default=None)

    #: Thresholds are whole numbers, so counts have to be.
    whole_counts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_k()
        self._check_domain()
        rho_of(self.rho, self.epsilon, 1 / 8)

    @property
    def _width(self) -> float:
        """How far apart log ratios can be, by a ballot of weight 1."""
        return float(np.sqrt(8 * rho_of(self.rho, self.epsilon, 1 / 8)))

    @property
    def _scale(self) -> float:
        # A difference of two counts changes as much one way as the other.
        return 2 * self._moves / self._width

    def _law(self, unit: float, n_columns: int | None) -> Law:
        return (Step("choice", BoundedRange(width=self._width * unit)),)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the counts as floats, or raise `ValueError`."""
        votes = super().check_counts(counts)
        if (votes != np.floor(votes)).any():
            raise ValueError("counts must be whole numbers; use ExponentialTopK for others.")
        return votes

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        outcome = np.zeros(counts.shape, dtype=np.int64)
        alike: dict[bytes, list[int]] = {}
        for row, votes in enumerate(counts):
            alike.setdefault(votes.tobytes(), []).append(row)
        for rows in alike.values():
            votes = np.asarray(counts[rows[0]], dtype=np.float64)
            order = np.argsort(-votes, kind="stable")
            ranks = _sequences(self._near(votes[order], len(rows), rng), rng)
            outcome[np.array(rows)[:, None], order[ranks]] = 1
        return outcome

    def _near(
        self, ordered: NDArray[np.float64], n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw thresholds, and return how many counts are within each of the i-th, for all i.

        Shape (n_draws, k).
        """
        last = float(ordered[0])  # from there on all counts are within it
        most = self._scale * (self._wanted * np.log(len(ordered)) + _NEVER)
        most += 2 * self._change
        n_thresholds = int(min(last, np.ceil(most))) + 1
        thresholds, step = np.arange(n_thresholds, dtype=np.float64), max(_BLOCK // self._wanted, 1)
        weight = np.concatenate(
            [
                np.log(_within(ordered, block, self._wanted) - np.arange(self._wanted)).sum(axis=1)
                for block in np.split(thresholds, range(step, n_thresholds, step))
            ]
        )
        weight -= thresholds / self._scale
        if thresholds[-1] == last:
            weight[-1] -= np.log(-np.expm1(-1 / self._scale))  # it stands for all beyond
        # Inverted sums: as good as Gumbel noise on each, and one draw for each row. The smallest
        # weights come first: there sums, and uniform numbers, keep all their digits.
        rising = np.argsort(weight, kind="stable")
        sums = np.cumsum(np.exp(weight[rising] - weight.max()))
        place = np.searchsorted(sums, draw_uniform(n_draws, rng) * sums[-1])
        chosen = thresholds[rising[np.minimum(place, n_thresholds - 1)]]
        return _within(ordered, chosen, self._wanted)


def _within(
    ordered: NDArray[np.float64], thresholds: NDArray[np.float64], k: int
) -> NDArray[np.int64]:
    """Return how many counts are no more than each threshold below the i-th, for i up to k."""
    least = ordered[:k] - thresholds[:, None]
    return np.asarray(np.searchsorted(-ordered, -least, side="right"))


def _sequences(near: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many different ranks, each uniform among the first ones that are left."""
    ranks = np.empty_like(near)
    for place in range(near.shape[1]):
        # The earlier ones are among the first too: step over them, in rising order.
        rank = rng.integers(near[:, place] - place)
        for taken in np.sort(ranks[:, :place], axis=1).T:
            rank += rank >= taken
        ranks[:, place] = rank
    return ranks
