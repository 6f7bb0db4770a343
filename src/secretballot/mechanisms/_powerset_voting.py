"""Noisy plurality between all sets of labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_integer
from secretballot.costs._exact_max import largest_normal
from secretballot.costs._law import Law
from secretballot.costs._noise import draw_exponential, draw_uniform
from secretballot.mechanisms._base import MAX_VOTES, ballot_thresholds, check_count_spacing
from secretballot.mechanisms._counting import Counting, CountSets, check_counted_ballots
from secretballot.mechanisms._label_voting import LabelVoting
from secretballot.mechanisms._noisy_max import UNANSWERED


@dataclass(frozen=True, kw_only=True)
class PowersetVoting(LabelVoting):
    """Noisy plurality between all sets of labels: the set that most ballots name, after noise.

    `GNMax` with 2^`n_labels` classes, all of them with noise, voted for or not. A row costs about
    as much as a vote of three classes, whatever the number of labels, but ballots have to agree on
    whole sets.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each set's count.
    n_labels : int
        Number of labels; a public number, like all of the others.
    max_positives : int, default=None
        Largest number of labels that a ballot may call present: each ballot was cut to it on its
        own. Larger sets can't win then, so there are fewer classes with noise. None: any number.
    threshold : float, default=None
        Noisy number of votes for the largest set from which on a row is answered. Every row that is
        begun pays for that bit, and only answered rows for the vote. None answers all.
    sigma_threshold : float, default=None
        Standard deviation of the noise on the largest count; with `threshold` only.
    weight, ballots
        As for `GNMax`.
    ballot_threshold
        As for `BinaryVoting`.

    See Also
    --------
    count_ballots : Makes the counts from ballots.
    BinaryVoting : A vote on every label.

    Notes
    -----
    Counts are the distinct ballots of each row with their counts, as `count_ballots` makes them.
    The number of columns is private; rows are reserved without `n_columns`. Outcomes have shape
    (n_rows, n_labels): 1 for present, 0 for absent; -1 for every label of a row that did not pass
    the threshold.

    Of the noise on the sets without votes only the largest is drawn; its set is uniform.

    References
    ----------
    Dziedzic et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023), Section 4.4,
    where the sets are enumerated. Charging by outcome holds as for `ConfidentGNMax`.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import PowersetVoting, count_ballots
    >>> ballots = [[[1, 0, 0]] * 48 + [[1, 1, 0]] * 2, [[0, 1, 1]] * 50]
    >>> accountant = PrivacyAccountant(epsilon=20, delta=1e-5)
    >>> accountant.release(PowersetVoting(sigma=4, n_labels=3), count_ballots(ballots))
    array([[1, 0, 0],
           [0, 1, 1]])
    """

    n_labels: int
    max_positives: int | None = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_positives is not None:
            check_integer("max_positives", self.max_positives, most=self.n_labels)

    @property
    def n_outcomes(self) -> int:
        """Number of sets of labels that can win."""
        return sum(self._sets_by_size)

    @property
    def _sets_by_size(self) -> list[int]:
        """Numbers of sets of 0, 1, ... labels."""
        largest = self.n_labels if self.max_positives is None else self.max_positives
        return [math.comb(self.n_labels, size) for size in range(largest + 1)]

    def counting(self, n_columns: int) -> Counting:
        """Return the rule by which ballots become counts: equal ballots are counted."""
        if n_columns != self.n_labels:
            raise ValueError(
                f"n_labels={self.n_labels} of {type(self).__name__}, but there are {n_columns}."
            )
        thresholds = ballot_thresholds(self.ballot_threshold, n_columns)
        return CountSets(thresholds, self.max_positives, n_labels=n_columns)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return one vote between all sets, perhaps behind a threshold, per privacy group."""
        del n_columns  # the number of distinct ballots, which is private
        return self._vote().laws(self.n_outcomes)

    def check_counts(self, counts: ArrayLike) -> NDArray[Any]:
        """Return counted ballots that are few enough for the noise, or raise `ValueError`."""
        cast = check_counted_ballots(counts, self.n_labels, self.max_positives, MAX_VOTES)
        check_count_spacing(min(self.sigma, self.sigma_threshold or self.sigma), cast["count"])
        return cast

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw each row's winning set, -1 throughout if not answered; shape (n_rows, n_labels)."""
        cast = counts["count"] > 0
        noisy = counts["count"] + rng.normal(scale=self.sigma, size=cast.shape)
        noisy[~cast] = -np.inf
        winner = counts["ballot"][np.arange(len(counts)), noisy.argmax(axis=1)]
        n_sets = self.n_outcomes
        log_uncast = [
            math.log(n_sets - n) if n < n_sets else -math.inf for n in range(cast.shape[1] + 1)
        ]
        log_waiting = np.log(draw_exponential(len(counts), rng))
        log_rate = log_waiting - np.array(log_uncast)[cast.sum(axis=1)]
        uncast_wins = self.sigma * largest_normal(log_rate) > noisy.max(axis=1)
        winner[uncast_wins] = self._draw_uncast(counts[uncast_wins], rng)
        labels = np.unpackbits(winner, axis=1, count=self.n_labels).astype(np.int64)
        if self.threshold is not None and self.sigma_threshold is not None:
            # Sets without votes have a count of 0, like the columns that fill a row up.
            top = counts["count"].max(axis=1)
            top = top + rng.normal(scale=self.sigma_threshold, size=len(counts))
            labels[top < self.threshold] = UNANSWERED
        return labels

    def _draw_uncast(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw one of the sets without votes for each row, by rejection."""
        drawn = np.empty((len(counts), counts.dtype["ballot"].shape[0]), np.uint8)
        rows = np.arange(len(counts))
        while len(rows):
            drawn[rows] = self._draw_sets(len(rows), rng)
            equal = (drawn[rows, None] == counts["ballot"][rows]).all(axis=-1)
            rows = rows[(equal & (counts["count"][rows] > 0)).any(axis=1)]
        return drawn

    def _draw_sets(self, n: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        if self.max_positives in (None, self.n_labels):
            return np.packbits(rng.integers(0, 2, (n, self.n_labels), dtype=np.uint8), axis=1)
        n_sets = self.n_outcomes
        cumulative = np.cumsum([number / n_sets for number in self._sets_by_size[:-1]])
        size = np.searchsorted(cumulative, draw_uniform(n, rng), side="right")
        rank = rng.random((n, self.n_labels)).argsort(axis=1).argsort(axis=1)
        return np.packbits(rank < size[:, None], axis=1)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Count the thresholds and votes that were executed in each row."""
        return self._vote().executed(outcome[:, 0])

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the counts of the sets in falling order; the cost does not depend on the sets."""
        votes = -np.sort(-counts["count"], axis=1)
        return self._vote().state(votes[:, : min(votes.shape[1], self.n_outcomes)])
