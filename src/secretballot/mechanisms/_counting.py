"""Rules by which the ballots of many voters become the counts of a mechanism."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_unmasked
from secretballot.costs._clipped_bits import Norm, clipped_weight

#: Type of the row number in the sort key of a ballot: its bytes sort as the number does.
_ROW = np.dtype(">u8")


def ballot_dtype(n_labels: int) -> np.dtype[Any]:
    """Return the type of a counted ballot: its labels as packed bits, and its count."""
    return np.dtype([("ballot", np.uint8, (-(-n_labels // 8),)), ("count", np.float64)])


def count_ballots(ballots: ArrayLike, weights: ArrayLike | None = None) -> NDArray[Any]:
    """Count the distinct sets of labels of each row, as `PowersetVoting` takes them.

    Parameters
    ----------
    ballots : array-like of shape (n_rows, n_ballots, n_labels)
        1 where a ballot calls a label present, 0 where absent.
    weights : array-like of shape (n_ballots,) or (n_rows, n_ballots), default=None
        Weight of each ballot; 1 if None. A ballot of weight 0 was not cast.

    Returns
    -------
    ndarray of shape (n_rows, m)
        Structured: ``"ballot"`` the labels as bits (`numpy.packbits`), ``"count"`` the number (or
        weight) of equal ballots. m is the largest number of distinct ballots of a row; rows with
        fewer are filled up with counts of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot.mechanisms import count_ballots
    >>> counts = count_ballots([[[1, 0, 1], [0, 0, 0], [1, 0, 1]]])
    >>> counts["count"]
    array([[1., 2.]])
    >>> np.unpackbits(counts["ballot"], axis=2, count=3)
    array([[[0, 0, 0],
            [1, 0, 1]]], dtype=uint8)
    """
    check_unmasked("ballots", ballots)
    labels = np.asarray(ballots)
    if labels.ndim != 3 or 0 in labels.shape[1:]:
        raise ValueError(
            f"ballots has shape {labels.shape}; pass (n_rows, n_ballots, n_labels), one 0 or 1 for "
            "each label of each ballot."
        )
    if labels.dtype.kind not in "biuf" or not ((labels == 0) | (labels == 1)).all():
        raise ValueError("ballots must be 0 (absent) and 1 (present); cut probabilities first.")
    n_rows, n_ballots, n_labels = labels.shape
    ballot_weights = _check_weights(weights, n_rows, n_ballots)
    return count_packed(np.packbits(labels.astype(bool), axis=2), ballot_weights, n_labels)


def count_packed(
    packed: NDArray[np.uint8], weights: NDArray[np.float64], n_labels: int
) -> NDArray[Any]:
    """Count ballots that are packed bits, shape (n_rows, n_ballots, n_bytes), by weight."""
    n_rows = len(packed)
    keys = _sort_keys(packed)[weights > 0]
    distinct, inverse = np.unique(keys, return_inverse=True)
    table = distinct.view(np.uint8).reshape(len(distinct), keys.itemsize)
    row = table[:, : _ROW.itemsize].copy().view(_ROW).ravel().astype(np.int64)
    sizes = np.bincount(row, minlength=n_rows)
    counts = np.zeros((n_rows, max(1, int(sizes.max(initial=0)))), ballot_dtype(n_labels))
    place = np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
    counts["ballot"][row, place] = table[:, _ROW.itemsize :]
    counts["count"][row, place] = np.bincount(
        inverse.ravel(), weights=weights[weights > 0], minlength=len(distinct)
    )
    return counts


def check_counted_ballots(
    counts: ArrayLike, n_labels: int, max_positives: int | None, max_votes: float
) -> NDArray[Any]:
    """Return counted ballots as `count_ballots` makes them, or raise `ValueError`."""
    check_unmasked("counts", counts)
    dtype, votes = ballot_dtype(n_labels), np.asarray(counts)
    if votes.dtype.names != dtype.names or votes.ndim != 2 or votes.shape[1] == 0:
        raise ValueError(
            f"counts has shape {votes.shape} and dtype {votes.dtype}; pass "
            "count_ballots(ballots), for ballots of shape (n_rows, n_ballots, n_labels)."
        )
    bits, ballot_counts = votes["ballot"], votes["count"]
    if bits.dtype != np.uint8 or bits.shape[2:] != dtype["ballot"].shape:
        raise ValueError(
            f"counts holds ballots of {bits.dtype} and shape {bits.shape[2:]}; n_labels="
            f"{n_labels} takes {dtype['ballot'].shape[0]} bytes of packed bits. Count ballots on "
            "as many labels, or change n_labels."
        )
    if ballot_counts.dtype.kind not in "biuf" or ballot_counts.ndim != 2:
        raise ValueError(f"counts holds numbers of ballots of {ballot_counts.dtype}; pass numbers.")
    if not np.isfinite(ballot_counts).all() or (ballot_counts < 0).any():
        raise ValueError("counts must be finite and non-negative numbers of ballots.")
    if (ballot_counts > max_votes).any():
        raise ValueError(
            f"counts holds {ballot_counts.max():.6g} equal ballots, and floats hold numbers apart "
            f"only up to {max_votes:.6g}: count in parts."
        )
    cast = ballot_counts > 0
    padding = 0xFF >> ((n_labels - 1) % 8 + 1)
    beyond = cast & ((bits[..., -1] & padding) != 0)
    if beyond.any():
        raise ValueError(
            f"counts has a ballot in row {_first_row(beyond)} with bits beyond n_labels={n_labels};"
            " pass count_ballots of ballots on as many labels."
        )
    if max_positives is not None:
        positives = np.where(cast, np.unpackbits(bits, axis=-1).sum(axis=-1, dtype=np.int64), 0)
        if (positives > max_positives).any():
            row = _first_row(positives > max_positives)
            raise ValueError(
                f"counts has a ballot with {positives[row].max()} positives in row {row}, and "
                f"max_positives={max_positives}; cut ballots by a public rule before they are "
                "counted."
            )
    keys = np.sort(_sort_keys(np.ascontiguousarray(bits))[cast])
    repeated = np.flatnonzero(keys[1:] == keys[:-1])
    if len(repeated):
        key = keys[repeated[:1]].view(np.uint8)
        raise ValueError(
            f"counts names a ballot of row {int(key[: _ROW.itemsize].view(_ROW)[0])} twice; equal "
            "ballots are counted together (count_ballots does that)."
        )
    return votes.astype(dtype)


def _first_row(mask: NDArray[np.bool_]) -> int:
    return int(mask.any(axis=1).argmax())


def _sort_keys(packed: NDArray[np.uint8]) -> NDArray[np.void]:
    """Join the row number and the bits of each ballot to one sortable value."""
    n_rows, n_ballots, n_bytes = packed.shape
    table = np.empty((n_rows, n_ballots, _ROW.itemsize + n_bytes), np.uint8)
    table[..., : _ROW.itemsize] = np.arange(n_rows, dtype=_ROW).view(np.uint8).reshape(n_rows, 1, 8)
    table[..., _ROW.itemsize :] = packed
    return table.view(f"V{table.shape[-1]}")[..., 0]


def _check_weights(weights: ArrayLike | None, n_rows: int, n_ballots: int) -> NDArray[np.float64]:
    check_unmasked("weights", weights)
    values = np.ones(n_ballots) if weights is None else np.asarray(weights)
    if values.dtype.kind not in "biuf" or values.shape not in ((n_ballots,), (n_rows, n_ballots)):
        raise ValueError(
            f"weights has shape {values.shape} and dtype {values.dtype}; pass one number for each "
            f"of the {n_ballots} ballots, or one for each in each row."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("weights must be finite and non-negative.")
    return np.broadcast_to(values.astype(np.float64), (n_rows, n_ballots))


#: Clipped ballots are rounded down to multiples of one over this. Their sums are then exact in any
#: order, for up to two million voters.
_RESOLUTION = 2.0**32


@dataclass(frozen=True)
class Counting(ABC):
    """Rule from ballots to counts: of one voter, of several, and of groups of different weight."""

    # Probability of each label from which on it is called present; None if voters predict labels.
    ballot_threshold: tuple[float, ...] | None = None
    # Most labels that a ballot may call present.
    max_positives: int | None = None

    @abstractmethod
    def begin(self, ballots: NDArray[Any], n_voters: int) -> NDArray[Any]:
        """Return one voter's ballots as votes, in an array with room for `n_voters`."""

    def add(self, votes: NDArray[Any], ballots: NDArray[Any]) -> NDArray[Any]:
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
    """Counts of a row's distinct ballots; votes are packed bits, (n_rows, n_ballots, n_bytes)."""

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
