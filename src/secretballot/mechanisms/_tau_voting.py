"""Noisy majority on every label, with ballots clipped to a norm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import warn
from secretballot._base._numbers import check_number
from secretballot.costs._clipped_bits import ClippedBits, Norm, clipped_weight
from secretballot.costs._law import Law, Step
from secretballot.mechanisms._binary_voting import BinaryVoting
from secretballot.mechanisms._counting import CountClipped, Counting
from secretballot.mechanisms._fields import (
    ROUNDING,
    ballot_thresholds,
    check_choice,
    check_count_spacing,
    pair_by_group,
)
from secretballot.mechanisms._noisy_max import UNANSWERED, LabelVoting


@dataclass(frozen=True, kw_only=True)
class TauVoting(LabelVoting):
    """Noisy majority on every label, with ballots clipped to a norm, which bounds the sensitivity.

    A ballot that calls many labels present counts for each of them in part. So a row costs no more
    than a few labels would, whatever their number.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count, of ballots for a label and of those against.
    n_votes : float
        Number of ballots, or the sum of their weights; a public number.
    tau : float
        Clipping norm: the largest norm of a ballot after `clip_ballots`.
    norm : {"l2", "l1"}, default="l2"
        Norm that is clipped: the parts of a ballot sum to `tau` at most ("l1"), or their squares to
        `tau` squared ("l2").
    threshold : float, default=None
        Noisy number of votes from which on a label is answered: of the clipped ballots for it, or
        of the rest of `n_votes` if that is more. All labels' thresholds are paid for, and the votes
        of labels that pass. None answers all.
    sigma_threshold : float, default=None
        Standard deviation of the noise on the larger number; with `threshold` only.
    weight, ballots
        As for `GNMax`.
    bound : {"exact", "papernot"}, default="exact"
        Charge: for the bits that are released ("exact"), or for the noisy sums behind them and, on
        known votes, the published bound per label ("papernot").
    ballot_threshold
        As for `BinaryVoting`.
    max_positives : int, default=None
        Largest number of labels that a voter's ballot calls present: the most probable ones, where
        voters predict probabilities. None: any number.

    See Also
    --------
    clip_ballots : Clips the ballots whose sums the counts are.
    BinaryVoting : The same vote on ballots that count in full.

    Notes
    -----
    Counts are the sums of the clipped ballots (times their weights), shape (n_rows, n_labels).
    Outcomes are as for `BinaryVoting`. A label is present if its noisy sum exceeds `n_votes` less
    that sum, with noise of its own.

    With ``norm="l2"`` the squared l2 sensitivity of the sums is at most 2 tau^2, and less where
    labels are few. A budget of Renyi divergences charges only the votes of labels that have passed;
    plans are paid before that is known, and pay for all votes.

    References
    ----------
    Dziedzic et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023), Definition 7.
    Noise of `sigma` is on both counts of a label here, so that a row costs up to
    2 a tau^2 / sigma^2 at order a: twice the published cost of one noisy count.

    Examples
    --------
    >>> import numpy as np
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import TauVoting, clip_ballots
    >>> ballots = np.zeros((50, 1, 9))  # of fifty teachers, on one row of nine labels
    >>> ballots[:, 0, 3] = ballots[:45, 0, 4] = 1
    >>> positives = clip_ballots(ballots, tau=1.4).sum(axis=0)
    >>> accountant = PrivacyAccountant(epsilon=20, delta=1e-5)
    >>> accountant.release(TauVoting(sigma=4, n_votes=50, tau=1.4), positives)
    array([[0, 0, 0, 1, 1, 0, 0, 0, 0]])
    """

    n_votes: float
    tau: float
    norm: Norm = field(default="l2")
    max_positives: int | None = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_clipping(self.tau, self.norm)

    @property
    def _unclipped(self) -> BinaryVoting:
        """The vote on sums of any ballots."""
        return BinaryVoting(
            sigma=self.sigma,
            n_votes=self.n_votes,
            weight=self.weight,
            ballots=self.ballots,
            bound=self.bound,
        )

    def counting(self, n_columns: int) -> Counting:
        """Return the rule by which ballots become counts: they are clipped and added up."""
        thresholds = ballot_thresholds(self.ballot_threshold, n_columns)
        return CountClipped(thresholds, self.max_positives, tau=self.tau, norm=self.norm)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the noisy bits of all labels as one step, and those of thresholds as another."""
        bits = partial(
            ClippedBits, tau=self.tau, norm=self.norm, n_labels=n_columns, bound=self.bound
        )
        laws: dict[str, Law] = {}
        for group, (weight, ballots) in pair_by_group(self.weight, self.ballots).items():
            vote = Step("labels", bits(sigma=self.sigma, weight=weight, ballots=ballots))
            laws[group] = (vote,)
            if self.sigma_threshold is not None:
                # A vote's gap moves by twice what a ballot does, and has the noise of two counts.
                sigma = float(np.sqrt(2)) * self.sigma_threshold
                test = Step("threshold", bits(sigma=sigma, weight=weight, ballots=ballots))
                laws[group] = (test, vote)
        return laws

    def check_n_labels(self, n_labels: int) -> None:
        """Refuse a number of labels that it was not made for, and warn if none is clipped."""
        super().check_n_labels(n_labels)
        warn_unclipped(n_labels, self.tau, self.norm)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the sums of clipped ballots as floats, or raise `ValueError`."""
        positives = self._unclipped.check_counts(counts)
        check_count_spacing(self.sigma_threshold or self.sigma, positives)
        # By the triangle inequality a sum of n_votes ballots is no longer than n_votes * max_norm.
        norms = np.linalg.norm(positives, ord=2 if self.norm == "l2" else 1, axis=1)
        max_norm = self.tau
        if isinstance(self.weight, Mapping):
            # Where ballots take turns, an absent one counts half for each label.
            n_labels = positives.shape[1]
            max_norm = max(max_norm, (n_labels**0.5 if self.norm == "l2" else n_labels) / 2)
        beyond = norms > self.n_votes * max_norm * (1 + ROUNDING)
        if beyond.any():
            row = int(beyond.argmax())
            raise ValueError(
                f"counts has a row, {row}, of norm {norms[row]:.6g}, and n_votes="
                f"{self.n_votes!r} ballots of norm tau={self.tau!r} sum to less; clip them before "
                "they are added up: clip_ballots(ballots, tau, norm)."
            )
        return positives

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the present labels, shape (n_rows, n_labels)."""
        labels = self._unclipped.sample(counts, rng)
        if self.threshold is not None and self.sigma_threshold is not None:
            noise = rng.normal(scale=self.sigma_threshold, size=counts.shape)
            labels[self._majority(counts) + noise < self.threshold] = UNANSWERED
        return labels

    def _majority(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the ballots for each label, or those against if they are more."""
        return np.asarray(np.maximum(counts, self.n_votes - counts))

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Mask the labels whose votes were executed; thresholds are executed for all."""
        once = np.ones(len(outcome))
        if self.threshold is None:
            return {"labels": once}
        return {"threshold": once, "labels": outcome != UNANSWERED}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return each label's gap, and twice its distance from the threshold."""
        gaps = {"labels": 2 * counts - self.n_votes}
        if self.threshold is None:
            return gaps
        return {"threshold": 2 * (self._majority(counts) - self.threshold), **gaps}


def clip_ballots(ballots: ArrayLike, tau: float, norm: Norm = "l2") -> NDArray[np.float64]:
    """Clip ballots on labels to a norm, as `TauVoting` counts them.

    Parameters
    ----------
    ballots : array-like of shape (..., n_labels)
        1 for labels that a ballot calls present, 0 for the others.
    tau : float
        Largest norm of a ballot.
    norm : {"l2", "l1"}, default="l2"
        Root of the sum of squares, or the sum.

    Returns
    -------
    ndarray of shape (..., n_labels)
        Ballots of a larger norm are scaled down to it.

    Warns
    -----
    UserWarning
        If no ballot on `n_labels` labels has a larger norm: `BinaryVoting` does the same then.

    Examples
    --------
    >>> from secretballot.mechanisms import clip_ballots
    >>> clip_ballots([[1, 1, 1, 1], [0, 1, 0, 0]], tau=1)
    array([[0.5, 0.5, 0.5, 0.5],
           [0. , 1. , 0. , 0. ]])
    """
    _check_clipping(tau, norm)
    votes = np.asarray(ballots)
    if votes.ndim == 0 or votes.shape[-1] == 0 or votes.dtype.kind not in "biuf":
        raise ValueError(
            f"ballots of shape {votes.shape} and dtype {votes.dtype} are none: pass an array of "
            "0 and 1, labels on its last axis."
        )
    if not np.isin(votes, (0, 1)).all():
        raise ValueError("ballots must be 0 (absent) and 1 (present).")
    n_labels = votes.shape[-1]
    warn_unclipped(n_labels, tau, norm)
    size = votes.sum(axis=-1, keepdims=True)
    return np.asarray(votes * clipped_weight(size, tau, norm))


def warn_unclipped(n_labels: int, tau: float, norm: Norm) -> None:
    """Warn of a norm that no ballot on `n_labels` labels exceeds."""
    if clipped_weight(n_labels, tau, norm) == 1:
        limit = "sqrt(n_labels)" if norm == "l2" else "n_labels"
        warn(
            f"tau={tau!r} is no less than {limit} of n_labels={n_labels}, so that no ballot is "
            "clipped and nothing gained; use a smaller tau, or BinaryVoting."
        )


def _check_clipping(tau: float, norm: str) -> None:
    check_number("tau", tau, above=0)
    check_choice("norm", norm, get_args(Norm))
