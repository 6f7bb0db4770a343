"""Noisy majority on every label, of whole ballots or of ballots clipped to a norm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from numbers import Integral
from typing import Any, ClassVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._errors import warn
from secretballot._base._numbers import check_number
from secretballot.costs._clipped_bits import ClippedBits, Norm, clipped_weight
from secretballot.costs._law import Law, NoisyVector, Step
from secretballot.mechanisms._base import (
    ROUNDING,
    BallotThreshold,
    Mechanism,
    ballot_thresholds,
    check_choice,
    check_count_spacing,
    pair_by_group,
)
from secretballot.mechanisms._counting import CountClipped, Counting, CountLabels
from secretballot.mechanisms._noisy_max import UNANSWERED, ConfidentGNMax, GNMax

#: Each dependent label with its parents; parents come before their dependants.
Hierarchy = tuple[tuple[int, tuple[int, ...]], ...]

_FORMAT = "map labels to their parents, all of them column numbers: {1: 0, 2: (0, 1)}"


def as_hierarchy(hierarchy: Any) -> Hierarchy | None:
    """Convert a mapping, or its pairs, from labels to their parents, or raise `ValueError`."""
    if hierarchy is None:
        return None
    try:
        pairs = [
            (label, tuple(parents) if isinstance(parents, Iterable) else (parents,))
            for label, parents in (
                hierarchy.items() if isinstance(hierarchy, Mapping) else hierarchy
            )
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"hierarchy={hierarchy!r} must {_FORMAT}.") from error
    for label, parents in pairs:
        for number in (label, *parents):
            if not isinstance(number, Integral) or isinstance(number, bool) or number < 0:
                raise ValueError(
                    f"hierarchy={hierarchy!r} names the label {number!r}; it must {_FORMAT}."
                )
        if not parents:
            raise ValueError(
                f"hierarchy={hierarchy!r} gives label {label} no parent; leave it out."
            )
    parents_of = {int(label): tuple(sorted(set(map(int, parents)))) for label, parents in pairs}
    if len(parents_of) < len(pairs):
        raise ValueError(
            f"hierarchy={hierarchy!r} names a label twice; give all its parents at once."
        )
    sorter = TopologicalSorter(parents_of)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " -> ".join(map(str, reversed(error.args[1])))
        raise ValueError(
            f"hierarchy={hierarchy!r} goes in a circle, {circle}: each of these labels would have "
            "to be asked after its parent. Leave one of the links out."
        ) from error
    ordered: list[tuple[int, tuple[int, ...]]] = []
    while ready := sorted(sorter.get_ready()):
        ordered += [(label, parents_of[label]) for label in ready if label in parents_of]
        sorter.done(*ready)
    return tuple(ordered) or None


def check_labels(hierarchy: Hierarchy | None, n_labels: int) -> None:
    labels = (number for label, parents in hierarchy or () for number in (label, *parents))
    largest = max(labels, default=-1)
    if largest >= n_labels:
        raise ValueError(
            f"hierarchy={hierarchy!r} names the label {largest}, and there are {n_labels} labels; "
            "they are the columns of counts, numbered from 0."
        )


def apply_hierarchy(hierarchy: Hierarchy | None, outcome: NDArray[np.int64]) -> NDArray[np.int64]:
    """Overwrite dependants of absent labels by 0, and of unanswered ones by -1."""
    settled = outcome.copy()
    for label, parents in hierarchy or ():
        above = settled[:, parents]
        settled[(above == UNANSWERED).any(axis=1), label] = UNANSWERED
        settled[(above == 0).any(axis=1), label] = 0
    return settled


def voted_labels(hierarchy: Hierarchy | None, outcome: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask the labels of an outcome that were voted on: those whose parents are all present."""
    voted = np.ones(outcome.shape, dtype=bool)
    for label, parents in hierarchy or ():
        voted[:, label] = (outcome[:, parents] == 1).all(axis=1)
    return voted


@dataclass(frozen=True, kw_only=True)
class LabelVoting(Mechanism):
    """Base class: votes on sets of labels, perhaps behind a threshold."""

    sigma: float
    threshold: float | None = field(default=None)
    sigma_threshold: float | None = field(default=None)
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    ballot_threshold: BallotThreshold = field(default=None)

    multilabel: ClassVar[bool] = True
    scalable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.threshold is None) != (self.sigma_threshold is None):
            raise ValueError(
                f"threshold={self.threshold!r} and sigma_threshold={self.sigma_threshold!r} belong "
                "together: give both, or neither."
            )

    def _vote(self, n_votes: float | None = None) -> GNMax:
        vote = GNMax(sigma=self.sigma, weight=self.weight, ballots=self.ballots)
        if self.threshold is None or self.sigma_threshold is None:
            return vote
        return ConfidentGNMax(
            **vars(vote),
            threshold=self.threshold,
            sigma_threshold=self.sigma_threshold,
            n_votes=n_votes,
        )


#: Law of a row with any number of labels: it reveals everything.
_UNBOUNDED_LAW = (Step("labels", NoisyVector(ratio=math.inf)),)


@dataclass(frozen=True, kw_only=True)
class BinaryVoting(LabelVoting):
    """Noisy majority on every label: a label is present if more ballots call it present.

    A row of k labels costs as much as k votes of two classes: one ballot may change all labels.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count, of ballots for a label and of those against.
    n_votes : float
        Number of ballots, or the sum of their weights; a public number.
    threshold : float, default=None
        Noisy number of votes from which on a label is answered: of those for the label or those
        against, if they are more. Each label pays for that bit, and labels that pass for the vote.
        None answers all.
    sigma_threshold : float, default=None
        Standard deviation of the noise on the larger count; with `threshold` only.
    hierarchy : dict of int to int or tuple of int, default=None
        Labels that depend on others, by column number, with the parent or parents of each. A label
        with an absent parent is absent. A label with an unanswered parent, and no absent one, is
        unanswered. Neither its threshold nor its vote is executed then.
    weight, ballots
        As for `GNMax`; charges of labels are composed.
    ballot_threshold : float or sequence of float, default=None
        Probability from which on a voter's ballot calls a label present, for all labels or for
        each. For voters that are models, as in `PrivateTeacherEnsemble`. None: ballots are
        predicted labels.

    Notes
    -----
    Counts are the ballots that call each label present, shape (n_rows, n_labels). Outcomes have
    the same shape: 1 for present, 0 for absent, -1 for labels that did not pass the threshold.

    A budget of Renyi divergences does not charge labels that were not voted on because of the
    hierarchy. Plans are paid for before their rows are drawn, all labels included: there a
    `hierarchy` changes outcomes, and no price. It is stored as pairs, parents before dependants.

    References
    ----------
    Dziedzic et al., "Private Multi-Winner Voting for Machine Learning" (PoPETs 2023), Algorithm 1
    and Definition 6; hierarchies are its Appendix B. Noise of `sigma` is on both counts of a label
    here, and charged as such.

    Examples
    --------
    >>> from secretballot import PrivacyAccountant
    >>> from secretballot.mechanisms import BinaryVoting
    >>> positives = [[48, 1, 2], [3, 47, 50]]  # of 50 ballots
    >>> accountant = PrivacyAccountant(epsilon=20, delta=1e-5)
    >>> accountant.release(BinaryVoting(sigma=4, n_votes=50), positives)
    array([[1, 0, 0],
           [0, 1, 1]])

    Without a vehicle (label 0) there is no car (label 1):

    >>> voting = BinaryVoting(sigma=4, n_votes=50, hierarchy={1: 0})
    >>> accountant.release(voting, [[2, 50, 50]])
    array([[0, 0, 1]])
    """

    n_votes: float
    hierarchy: Mapping[int, int | tuple[int, ...]] | Hierarchy | None = field(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hierarchy", as_hierarchy(self.hierarchy))
        self._vote(self.n_votes)  # which checks n_votes

    @property
    def _hierarchy(self) -> Hierarchy | None:
        return cast("Hierarchy | None", self.hierarchy)

    @property
    def _label_vote(self) -> GNMax:
        return self._vote(self.n_votes)

    def counting(self, n_columns: int) -> Counting:
        """Return the rule by which ballots become counts: they are added up."""
        check_labels(self._hierarchy, n_columns)
        return CountLabels(ballot_thresholds(self.ballot_threshold, n_columns))

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return a vote on each label; any number of them reveals everything."""
        vote = self._label_vote.laws(2)
        if n_columns is None:
            return dict.fromkeys(vote, _UNBOUNDED_LAW)
        check_labels(self._hierarchy, n_columns)
        return {
            group: tuple(
                replace(
                    step, name=f"{step.name} {label}", after=step.after and f"{step.after} {label}"
                )
                for label in range(n_columns)
                for step in law
            )
            for group, law in vote.items()
        }

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the ballots for each label as floats, or raise `ValueError`."""
        positives = super().check_counts(counts)
        check_labels(self._hierarchy, positives.shape[1])
        beyond = positives > self.n_votes * (1 + ROUNDING)
        if beyond.any():
            row, label = np.argwhere(beyond)[0]
            raise ValueError(
                f"counts has {positives[row, label]:.6g} ballots for label {label} in row {row}, "
                f"and n_votes={self.n_votes!r}; pass the number of all ballots (the sum of "
                "weights, if there are any)."
            )
        self._label_vote.check_counts(self._label_counts(positives))
        return positives

    def _label_counts(self, positives: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ballots against and for each label, shape (n_rows * n_labels, 2)."""
        flat = positives.reshape(-1)
        return np.stack([np.maximum(self.n_votes - flat, 0.0), flat], axis=1)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the present labels, shape (n_rows, n_labels)."""
        outcome = self._label_vote.sample(self._label_counts(counts), rng)
        return apply_hierarchy(self._hierarchy, outcome.reshape(counts.shape))

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Count the executions of each label's steps."""
        voted = voted_labels(self._hierarchy, outcome).reshape(-1)
        executed = self._label_vote.executed(outcome.reshape(-1))
        by_step = {name: times * voted for name, times in executed.items()}
        return _split_by_label(by_step, outcome.shape)

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return _split_by_label(self._label_vote.state(self._label_counts(counts)), counts.shape)


def _split_by_label(
    by_step: Mapping[str, NDArray[Any]], shape: tuple[int, ...]
) -> dict[str, NDArray[Any]]:
    """Name the values of each label of each step, given those of all labels of all rows."""
    return {
        f"{name} {label}": values.reshape(*shape, *values.shape[1:])[:, label]
        for name, values in by_step.items()
        for label in range(shape[1])
    }


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
        return BinaryVoting(
            sigma=self.sigma,
            n_votes=self.n_votes,
            weight=self.weight,
            ballots=self.ballots,
        )

    def counting(self, n_columns: int) -> Counting:
        """Return the rule by which ballots become counts: they are clipped and added up."""
        thresholds = ballot_thresholds(self.ballot_threshold, n_columns)
        return CountClipped(thresholds, self.max_positives, tau=self.tau, norm=self.norm)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the noisy bits of all labels as one step, and those of thresholds as another."""
        bits = partial(ClippedBits, tau=self.tau, norm=self.norm, n_labels=n_columns)
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
    if clipped_weight(n_labels, tau, norm) == 1:
        limit = "sqrt(n_labels)" if norm == "l2" else "n_labels"
        warn(
            f"tau={tau!r} is no less than {limit} of n_labels={n_labels}, so that no ballot is "
            "clipped and nothing gained; use a smaller tau, or BinaryVoting."
        )


def _check_clipping(tau: float, norm: str) -> None:
    check_number("tau", tau, above=0)
    check_choice("norm", norm, get_args(Norm))
