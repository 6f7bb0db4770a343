"""How the ballots of many voters become the counts that a mechanism takes, a voter at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import Norm, clipped_weight
from secretballot.mechanisms._cast_ballots import count_packed

#: Parts of a vote that clipped ballots are rounded down to: their sums are exact then, in whatever
#: order they are added up, for up to two million voters.
_PARTS = 2.0**32


@dataclass(frozen=True)
class Counting(ABC):
    """From ballots to counts: of one voter, of several, and of groups of different weight.

    Attributes
    ----------
    ballot_threshold : tuple of float or None
        From which probability on a voter calls a label present; None where it says so itself.
    max_positives : int or None
        How many labels a ballot may call present.
    """

    ballot_threshold: tuple[float, ...] | None = None
    max_positives: int | None = None

    @abstractmethod
    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        """Return one voter's ballots as votes, which as many more may be added to."""

    def add(self, votes: NDArray[Any], ballots: NDArray[Any]) -> NDArray[Any]:
        """Return votes with those of one more voter."""
        votes += self.begin(ballots, 1)
        return votes

    def join(self, votes: NDArray[Any] | None, others: NDArray[Any]) -> NDArray[Any]:
        """Return the votes of two sets of voters together."""
        if votes is None:
            return others.astype(np.int64 if others.dtype.kind in "ui" else others.dtype)
        votes += others
        return votes

    def total(
        self, votes: Mapping[str, NDArray[Any]], weights: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        """Return the counts of all groups' votes.

        Parameters
        ----------
        votes : dict of str to ndarray
            Votes of the voters of each group.
        weights : dict of str to ndarray of shape () or (n_rows,)
            What a ballot of each group counts, in each row if that differs.
        """
        return np.asarray(sum(part * weights[name][..., None] for name, part in votes.items()))


@dataclass(frozen=True)
class CountClasses(Counting):
    """Votes for each of some classes; ballots are positions among them, shape (n_rows,)."""

    n_classes: int = 0

    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        """Return votes of shape (n_rows, n_classes)."""
        votes = np.zeros((len(ballots), self.n_classes), np.min_scalar_type(n_voters))
        votes[np.arange(len(ballots)), ballots] = 1
        return votes

    def add(self, votes: NDArray[Any], ballots: NDArray[Any]) -> NDArray[Any]:
        """Return votes with those of one more voter."""
        votes[np.arange(len(ballots)), ballots] += 1  # one ballot a row: no row is met twice
        return votes


@dataclass(frozen=True)
class CountLabels(Counting):
    """Ballots for each label; ballots are 0 and 1, shape (n_rows, n_labels)."""

    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        """Return votes of shape (n_rows, n_labels)."""
        return ballots.astype(np.min_scalar_type(n_voters))


@dataclass(frozen=True)
class CountClipped(Counting):
    """Sums of ballots that are clipped to a norm, each by its own size."""

    tau: float = np.inf
    norm: Norm = "l2"

    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        """Return votes of shape (n_rows, n_labels)."""
        del n_voters
        size = ballots.sum(axis=1, keepdims=True, dtype=np.int64)
        parts = np.floor(clipped_weight(size, self.tau, self.norm) * _PARTS) / _PARTS
        return np.asarray(ballots * parts)


@dataclass(frozen=True)
class CountSets(Counting):
    """The distinct ballots of each row; votes are all ballots, as packed bits."""

    n_labels: int = 0

    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        """Return votes of shape (n_rows, n_ballots, n_bytes)."""
        del n_voters
        return np.packbits(ballots.astype(bool), axis=1)[:, None]

    def add(self, votes: NDArray[Any], ballots: NDArray[Any]) -> NDArray[Any]:
        """Return votes with those of one more voter."""
        return self.join(votes, self.begin(ballots, 1))

    def join(self, votes: NDArray[Any] | None, others: NDArray[Any]) -> NDArray[Any]:
        """Return the votes of two sets of voters together."""
        return others if votes is None else np.concatenate([votes, others], axis=1)

    def total(
        self, votes: Mapping[str, NDArray[Any]], weights: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        """Return the counted sets. Those of one group weigh alike, so their order is nothing."""
        names = sorted(votes)
        each = [
            np.broadcast_to(np.atleast_1d(weights[name])[:, None], votes[name].shape[:2])
            for name in names
        ]
        together = np.concatenate([votes[name] for name in names], axis=1)
        return count_packed(together, np.concatenate(each, axis=1), self.n_labels)


def checked_cut(value: Any) -> float | tuple[float, ...] | None:
    """Return the parameter `ballot_threshold`, per label as a tuple, or raise `ValueError`."""
    if value is None:
        return None
    given = np.asarray(value)
    if given.dtype.kind not in "iuf" or given.ndim > 1 or not given.size:
        raise ValueError(
            f"ballot_threshold={value!r} must be a number, or a list of one for each label."
        )
    if not ((given > 0) & (given <= 1)).all():
        raise ValueError(
            f"ballot_threshold={value!r} must be above 0 and at most 1: the probability from "
            "which on a voter calls a label present."
        )
    return float(given) if given.ndim == 0 else tuple(map(float, given))


def cut_of_each(value: float | tuple[float, ...] | None, n_labels: int) -> tuple[float, ...] | None:
    """Return from which probability on each label is called present, or raise `ValueError`."""
    if value is None:
        return None
    each = value if isinstance(value, tuple) else (value,) * n_labels
    if len(each) != n_labels:
        raise ValueError(
            f"ballot_threshold has {len(each)} entries for {n_labels} labels; give one for each, "
            "or one number."
        )
    return each
