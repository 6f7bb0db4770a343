"""Joint and Gaussian top k: methods to compare with, and the laws of their sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from secretballot.costs import BoundedRange, NoisyVector, Step, draw_uniform
from secretballot.costs._law import Law
from secretballot.mechanisms import ExponentialTopK, TopK
from secretballot.mechanisms._top_k import largest, mark

#: Thresholds of less than e^-90 of the largest weight are left out: they are never drawn.
_LOG_NEGLIGIBLE = 90.0
#: Number of entries of the table of thresholds and items that are computed at once.
_BLOCK = 2**21
#: Nodes and reach of the sum over Gaussian noise, in its standard deviations.
_STEP, _REACH = 0.1, 12.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class JointTopK(ExponentialTopK):
    """The k items with about the largest counts, chosen at once: one choice, whatever k is.

    The probability of a sequence of k items is proportional to exp(-x / scale), where x is the
    largest difference between the i-th largest count and that of the i-th item: a mixture over
    thresholds of uniform sequences without a larger difference. The order is not released.
    Thresholds are whole numbers, so counts have to be.

    Gillenwater, Joseph, Munoz Medina and Ribero, "A Joint Exponential Mechanism for Differentially
    Private Top-k" (ICML 2022). They sample by the same numbers, from a table of all differences.
    """

    @property
    def _width(self) -> float:
        return math.sqrt(8 * self._rho(1 / 8))

    @property
    def _scale(self) -> float:
        # The largest difference may change by as much in either direction.
        return 2 * super()._scale

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        return (Step("choice", BoundedRange(width=self._width * contribution)),)

    def outcome_law(self, counts: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
        """Compute the log probability of each set in each row."""
        votes = self.check_counts(counts)
        sets = _sets_of(votes.shape[1], self._set_size)
        ordered = -np.sort(-votes, axis=1)[:, : self._set_size]
        weights = np.zeros((len(votes), len(sets)))
        for place, items in enumerate(sets):
            for sequence in permutations(np.flatnonzero(items)):
                behind = (ordered - votes[:, sequence]).max(axis=1)
                weights[:, place] += np.exp(-behind / self._scale)
        with np.errstate(divide="ignore"):
            return sets, np.log(weights / weights.sum(axis=1, keepdims=True))

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


@dataclass(frozen=True, kw_only=True)
class GaussianTopK(TopK):
    """The k items with the largest counts after Gaussian noise, charged as the noisy counts.

    The noise does not depend on `k`, but on the number of items of one person: for people with a
    few items each, and large sets. `sigma` is the noise on each count, `rho` zCDP for ballots of
    weight 1, which is exact.
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

    @property
    def hidden_count(self) -> float:
        return self._sigma

    def _law(self, contribution: float, n_columns: int | None) -> Law:
        ratio = self._l2_sensitivity * contribution / self._sigma
        return (Step("counts", NoisyVector(ratio=ratio)),)

    def outcome_law(self, counts: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
        """Compute the log probability of each set in each row."""
        votes = self.check_counts(counts)
        sets = _sets_of(votes.shape[1], self._set_size)
        scaled = votes / self._sigma
        low, high = scaled.min() - _REACH, scaled.max() + _REACH
        nodes = np.linspace(low, high, math.ceil((high - low) / _STEP) + 1)
        at = nodes - scaled[..., None]  # (n_rows, n_items, n_nodes)
        above, below = log_ndtr(-at), log_ndtr(at)
        density = -(at**2) / 2 - math.log(2 * math.pi) / 2
        law = np.zeros((len(votes), len(sets)))
        for place, items in enumerate(sets == 1):
            log_other_items = above[:, items].sum(axis=1) + below[:, ~items].sum(axis=1)
            for least in np.flatnonzero(items):
                log_density = log_other_items - above[:, least] + density[:, least]
                law[:, place] += np.exp(log_density).sum(axis=-1) * (nodes[1] - nodes[0])
        with np.errstate(divide="ignore"):
            return sets, np.log(law)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the sets, shape (n_rows, n_items)."""
        noisy = counts + rng.normal(scale=self._sigma, size=counts.shape)
        _, positions = largest(noisy, self._set_size)
        return mark(counts.shape[1], positions, np.ones(positions.shape, dtype=bool))


def _sets_of(n_items: int, k: int) -> NDArray[np.int64]:
    """Return all sets of k items, shape (n_sets, n_items)."""
    sets = np.zeros((math.comb(n_items, k), n_items), dtype=np.int64)
    for row, items in zip(sets, combinations(range(n_items), k), strict=True):
        row[list(items)] = 1
    return sets


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
