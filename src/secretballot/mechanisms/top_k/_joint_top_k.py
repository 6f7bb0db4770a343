"""All k items chosen at once: the joint exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.divergences import BoundedRange, Law, Step, draw_uniform
from secretballot.mechanisms.top_k._noisy_top_k import ExponentialTopK

#: Thresholds of less than e^-90 of the largest weight are left out: they are never drawn.
_LOG_NEGLIGIBLE = 90.0

#: Number of entries of the table of thresholds and items that are computed at once.
_BLOCK = 2**21


@dataclass(frozen=True, kw_only=True)
class JointTopK(ExponentialTopK):
    """The k items with about the largest counts, chosen at once: one choice, whatever k is.

    The noise does not grow with k, but the number of sequences to choose from does. It suits some
    three to twenty items that stand out clearly; otherwise `ExponentialTopK` finds more of them.
    Counts have to be whole numbers.

    Parameters
    ----------
    k : int
        Number of released items.
    rho : float, default=None
        zCDP for ballots of weight 1, which determines the noise. Give this or `epsilon`.
    epsilon : float, default=None
        Privacy of the choice.
    relation, weight, ballots, max_items
        As for `TopK`. The number of items that a person has makes no difference here.

    Notes
    -----
    The probability of a sequence of k items is proportional to exp(-x / scale), where x is the
    largest difference between the i-th largest count and that of the i-th item: a mixture over
    thresholds of uniform sequences without a larger difference. The order is not released.

    References
    ----------
    Gillenwater, Joseph, Munoz Medina and Ribero, "A Joint Exponential Mechanism for Differentially
    Private Top-k" (ICML 2022). They sample by the same numbers, from a table of all differences.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import JointTopK
    >>> accountant = PrivacyAccountant(epsilon=4, delta=1e-6)
    >>> accountant.release(JointTopK(k=2, epsilon=1), [[3, 350, 7, 420, 1]])
    array([[0, 1, 0, 1, 0]])
    """

    #: Thresholds are whole numbers, so counts have to be.
    whole_counts: ClassVar[bool] = True

    @property
    def _n_choices(self) -> int:
        return 1

    @property
    def _scale(self) -> float:
        # The largest difference may change by as much in either direction.
        return 2 * super()._scale

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        return (Step("choice", BoundedRange(width=self._width * contribution)),)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        votes = super().check_counts(counts)
        if (votes != np.floor(votes)).any():
            raise ValueError("counts must be whole numbers; use ExponentialTopK for others.")
        return votes

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        outcome = np.zeros(counts.shape, dtype=np.int64)
        equal_rows: dict[bytes, list[int]] = {}
        for row, votes in enumerate(counts):
            equal_rows.setdefault(votes.tobytes(), []).append(row)
        for rows in equal_rows.values():
            votes = np.asarray(counts[rows[0]], dtype=np.float64)
            order = np.argsort(-votes, kind="stable")
            n_within = self._draw_thresholds(votes[order], len(rows), rng)
            outcome[np.array(rows)[:, None], order[_draw_sequences(n_within, rng)]] = 1
        return outcome

    def _draw_thresholds(
        self, ordered: NDArray[np.float64], n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw thresholds; return the number of counts within each of the i-th, (n_draws, k)."""
        k, last = self._set_size, float(ordered[0])  # all counts are within the last threshold
        reach = self._scale * (k * np.log(len(ordered)) + _LOG_NEGLIGIBLE) + 2 * self._sensitivity
        thresholds = np.arange(int(min(last, np.ceil(reach))) + 1, dtype=np.float64)
        step = max(_BLOCK // k, 1)
        log_weight = np.concatenate(
            [
                np.log(_count_within(ordered, block, k) - np.arange(k)).sum(axis=1)
                for block in np.split(thresholds, range(step, len(thresholds), step))
            ]
        )
        log_weight -= thresholds / self._scale
        if thresholds[-1] == last:
            log_weight[-1] -= np.log(-np.expm1(-1 / self._scale))  # it stands for all beyond
        # The smallest weights come first: there sums, and uniform numbers, keep all their digits.
        rising = np.argsort(log_weight, kind="stable")
        sums = np.cumsum(np.exp(log_weight[rising] - log_weight.max()))
        place = np.searchsorted(sums, draw_uniform(n_draws, rng) * sums[-1])
        drawn = thresholds[rising[np.minimum(place, len(thresholds) - 1)]]
        return _count_within(ordered, drawn, k)


def _count_within(
    ordered: NDArray[np.float64], thresholds: NDArray[np.float64], k: int
) -> NDArray[np.int64]:
    """Count the counts that are at most each threshold below the i-th, for i up to k."""
    least = ordered[:k] - thresholds[:, None]
    return np.asarray(np.searchsorted(-ordered, -least, side="right"))


def _draw_sequences(n_within: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw k different ranks, the i-th uniform among the first n_i that are not taken."""
    ranks = np.empty_like(n_within)
    for place in range(n_within.shape[1]):
        # The taken ranks are among the first n_i too: step over them, in rising order.
        rank = rng.integers(n_within[:, place] - place)
        for taken in np.sort(ranks[:, :place], axis=1).T:
            rank += rank >= taken
        ranks[:, place] = rank
    return ranks
