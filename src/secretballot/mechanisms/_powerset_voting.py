"""A vote between all sets of labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from secretballot._numbers import check_integer
from secretballot.divergences import Bound, Law, draw_exponential, draw_uniform, largest_normal
from secretballot.mechanisms._base import MOST_VOTES, Mechanism
from secretballot.mechanisms._cast_ballots import check_cast
from secretballot.mechanisms._counting import Counting, CountSets, checked_cut, cut_of_each
from secretballot.mechanisms._noisy_max import (
    UNANSWERED,
    ConfidentGNMax,
    GNMax,
    finer_than,
    scaled_fields,
    vote_of,
)


@dataclass(frozen=True, kw_only=True)
class PowersetVoting(Mechanism):
    """Noisy plurality between all sets of labels: the set that most ballots name, after noise.

    `GNMax` with 2^`n_labels` classes, every one of them with noise, voted for or not; time and
    memory go with the ballots that were cast. A row costs about as much as a vote of three classes,
    however many labels there are, but ballots have to agree on whole sets.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each set's count.
    n_labels : int
        How many labels there are; a public number, like all of the others.
    max_positives : int, default=None
        The most labels that a ballot may call present: a rule that each ballot was cut by on its
        own. Only sets that small can win, so the noise has fewer chances. None: any number.
    threshold : float, default=None
        Noisy number of votes from which on a row is answered, of the set that most ballots name.
        Every row that is begun pays for that bit, and only answered ones for the vote. None
        answers all.
    sigma_threshold : float, default=None
        Standard deviation of the noise on the largest count; with `threshold` only.
    weight : float or dict of str to float, default=1.0
        Weight of one ballot in the counts; per privacy level where ballots differ.
    ballots : int or dict of str to int, default=1
        How many ballots one row (or owner) can move: in how many teachers it is. Per privacy level
        where that differs.
    bound : {"exact", "papernot"}, default="exact"
        What is charged, as in `GNMax`.
    ballot_threshold : float or sequence of float, default=None
        From which probability on a voter calls a label present, of all labels or of each: of use
        where voters are models, as in `PrivateTeacherEnsemble`. None: they say so themselves.

    Raises
    ------
    ValueError
        If a parameter is out of range, or only one of `threshold` and `sigma_threshold` is given.

    See Also
    --------
    count_ballots : Makes the counts from ballots.
    BinaryVoting : A vote on every label of its own.

    Notes
    -----
    Counts are the distinct ballots of each row and how many cast each, as `count_ballots` makes
    them. How many columns that takes is private; rows are reserved without `n_columns`. Outcomes
    have shape (n_rows, n_labels): 1 for present, 0 for absent; -1 for every label of a row that did
    not pass the threshold.

    Noise on the sets that nobody voted for is drawn as one number, their largest: of m standard
    normals it exceeds x with probability 1 - Phi(x)^m. Which of them it belongs to is independent
    of it, and uniform.

    References
    ----------
    Dziedzic et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023), Section 4.4,
    where the sets are enumerated. Charging by what was released holds as for `ConfidentGNMax`.

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

    sigma: float
    n_labels: int
    max_positives: int | None = field(default=None)
    threshold: float | None = field(default=None)
    sigma_threshold: float | None = field(default=None)
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    bound: Bound = field(default="exact")
    ballot_threshold: float | tuple[float, ...] | None = field(default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ballot_threshold", checked_cut(self.ballot_threshold))
        check_integer("n_labels", self.n_labels)
        if self.max_positives is not None:
            check_integer("max_positives", self.max_positives, most=self.n_labels)
        self._vote.laws()

    @property
    def multilabel(self) -> bool:
        """Each row's outcome is a set of labels."""
        return True

    @property
    def _vote(self) -> GNMax | ConfidentGNMax:
        """The same vote with all sets written out as classes."""
        return vote_of(self)

    @property
    def n_outcomes(self) -> int:
        """How many sets of labels can win."""
        return sum(self._of_size)

    @property
    def _of_size(self) -> list[int]:
        """How many sets of 0, 1, ... labels there are."""
        most = self.n_labels if self.max_positives is None else self.max_positives
        return [math.comb(self.n_labels, size) for size in range(most + 1)]

    def counting(self, n_columns: int) -> Counting:
        """Return how ballots become counts: equal ones are counted."""
        if n_columns != self.n_labels:
            raise ValueError(
                f"n_labels={self.n_labels} of {type(self).__name__}, but there are {n_columns}."
            )
        cut = cut_of_each(self.ballot_threshold, n_columns)
        return CountSets(cut, self.max_positives, n_labels=n_columns)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return one vote between all sets, perhaps behind a threshold, per privacy group."""
        del n_columns  # the ballots that occur, which are private
        return self._vote.laws(self.n_outcomes)

    def scaled(self, factor: float) -> Self:
        """Return the same mechanism for `factor` times as many votes."""
        names = ("sigma", "threshold", "sigma_threshold")
        return replace(self, **scaled_fields(self, factor, *names))

    def check_counts(self, counts: Any) -> NDArray[Any]:
        """Return counted ballots that are fine enough for the noise, or raise `ValueError`."""
        cast = check_cast(counts, self.n_labels, self.max_positives, MOST_VOTES)
        finer_than(min(self.sigma, self.sigma_threshold or self.sigma), cast["count"])
        return cast

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw each row's winning set, -1 throughout if not answered; shape (n_rows, n_labels)."""
        cast = counts["count"] > 0
        noisy = counts["count"] + rng.normal(scale=self.sigma, size=cast.shape)
        noisy[~cast] = -np.inf
        winner = counts["ballot"][np.arange(len(counts)), noisy.argmax(axis=1)]
        total = self.n_outcomes
        log_left = [_log(total - n) for n in range(cast.shape[1] + 1)]
        log_waited = np.log(draw_exponential(len(counts), rng))
        log_rate = log_waited - np.array(log_left)[cast.sum(axis=1)]
        others = self.sigma * largest_normal(log_rate) > noisy.max(axis=1)
        winner[others] = self._uncast(counts[others], rng)
        labels = np.unpackbits(winner, axis=1, count=self.n_labels).astype(np.int64)
        if self.threshold is not None and self.sigma_threshold is not None:
            # Sets that nobody voted for have no votes, like the columns that fill a row up.
            top = counts["count"].max(axis=1)
            top = top + rng.normal(scale=self.sigma_threshold, size=len(counts))
            labels[top < self.threshold] = UNANSWERED
        return labels

    def _uncast(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw one of the sets that nobody voted for, for each row."""
        drawn = np.empty((len(counts), counts.dtype["ballot"].shape[0]), np.uint8)
        rest = np.arange(len(counts))
        while len(rest):
            drawn[rest] = self._any(len(rest), rng)
            same = (drawn[rest, None] == counts["ballot"][rest]).all(axis=-1)
            rest = rest[(same & (counts["count"][rest] > 0)).any(axis=1)]
        return drawn

    def _any(self, n: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw sets uniformly, as packed bits."""
        if self.max_positives in (None, self.n_labels):
            return np.packbits(rng.integers(0, 2, (n, self.n_labels), dtype=np.uint8), axis=1)
        total = self.n_outcomes
        up_to = np.cumsum([number / total for number in self._of_size[:-1]])
        size = np.searchsorted(up_to, draw_uniform(n, rng), side="right")
        rank = rng.random((n, self.n_labels)).argsort(axis=1).argsort(axis=1)
        return np.packbits(rank < size[:, None], axis=1)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return which rows had their threshold and their vote begun."""
        return self._vote.executed(outcome[:, 0])

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the votes that were cast, most first: which sets they name costs nothing."""
        votes = -np.sort(-counts["count"], axis=1)
        return self._vote.state(votes[:, : min(votes.shape[1], self.n_outcomes)])


def _log(number: int) -> float:
    """Logarithm of a whole number, however large; of none it is minus infinity."""
    return math.log(number) if number > 0 else -math.inf
