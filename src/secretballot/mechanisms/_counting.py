"""Rules by which the ballots of many voters become the counts of a mechanism, voter by voter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._clipped_bits import Norm, clipped_weight
from secretballot.mechanisms._cast_ballots import count_packed

#: Clipped ballots are rounded down to multiples of one over this. Their sums are then exact in any
#: order, for up to two million voters.
_RESOLUTION = 2.0**32


@dataclass(frozen=True)
class Counting(ABC):
    """Rule from ballots to counts: of one voter, of several, and of groups of different weight.

    Attributes
    ----------
    ballot_threshold : tuple of float or None
        Probability of each label from which on a voter calls it present; None if voters predict
        labels.
    max_positives : int or None
        Largest number of labels that a ballot may call present.
    """

    ballot_threshold: tuple[float, ...] | None = None
    max_positives: int | None = None

    @abstractmethod
    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        """Return one voter's ballots as votes, in an array with room for `n_voters`."""

    def add(self, votes: NDArray[Any], ballots: NDArray[Any]) -> NDArray[Any]:
        """Add the ballots of one more voter."""
        votes += self.begin(ballots, 1)
        return votes

    def join(self, votes: NDArray[Any] | None, more_votes: NDArray[Any]) -> NDArray[Any]:
        """Add the votes of further voters; None are no votes yet."""
        if votes is None:
            is_integer = more_votes.dtype.kind in "ui"
            return more_votes.astype(np.int64 if is_integer else more_votes.dtype)
        votes += more_votes
        return votes

    def total(
        self, votes: Mapping[str, NDArray[Any]], weights: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        """Compute the counts of all groups' votes, given a weight for each group, or also row."""
        return np.asarray(sum(part * weights[name][..., None] for name, part in votes.items()))


@dataclass(frozen=True)
class CountClasses(Counting):
    """Votes for each class; ballots are class positions, shape (n_rows,)."""

    n_classes: int = 0

    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        votes = np.zeros((len(ballots), self.n_classes), np.min_scalar_type(n_voters))
        return self.add(votes, ballots)

    def add(self, votes: NDArray[Any], ballots: NDArray[Any]) -> NDArray[Any]:
        votes[np.arange(len(ballots)), ballots] += 1
        return votes


@dataclass(frozen=True)
class CountLabels(Counting):
    """Votes for each label; ballots are 0 and 1, shape (n_rows, n_labels)."""

    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        return ballots.astype(np.min_scalar_type(n_voters))


@dataclass(frozen=True)
class CountClipped(Counting):
    """Sums of ballots that are clipped to a norm, each by its own size."""

    tau: float = np.inf
    norm: Norm = "l2"

    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        size = ballots.sum(axis=1, keepdims=True, dtype=np.int64)
        weight = clipped_weight(size, self.tau, self.norm)
        return np.asarray(ballots * (np.floor(weight * _RESOLUTION) / _RESOLUTION))


@dataclass(frozen=True)
class CountSets(Counting):
    """Counts of the distinct ballots of each row.

    Votes are all ballots as packed bits, shape (n_rows, n_ballots, n_bytes).
    """

    n_labels: int = 0

    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        return np.packbits(ballots.astype(bool), axis=1)[:, None]

    def add(self, votes: NDArray[Any], ballots: NDArray[Any]) -> NDArray[Any]:
        return self.join(votes, self.begin(ballots, 1))

    def join(self, votes: NDArray[Any] | None, more_votes: NDArray[Any]) -> NDArray[Any]:
        return more_votes if votes is None else np.concatenate([votes, more_votes], axis=1)

    def total(
        self, votes: Mapping[str, NDArray[Any]], weights: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        ballot_weights = [
            np.broadcast_to(np.atleast_1d(weights[name])[:, None], votes[name].shape[:2])
            for name in sorted(votes)
        ]
        ballots = np.concatenate([votes[name] for name in sorted(votes)], axis=1)
        return count_packed(ballots, np.concatenate(ballot_weights, axis=1), self.n_labels)
