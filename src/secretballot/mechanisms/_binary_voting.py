"""Noisy majority on every label."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.costs._law import Law, NoisyBit, Step
from secretballot.mechanisms._counting import Counting, CountLabels
from secretballot.mechanisms._fields import ROUNDING, ballot_thresholds
from secretballot.mechanisms._hierarchy import (
    Hierarchy,
    apply_hierarchy,
    as_hierarchy,
    check_labels,
    voted_labels,
)
from secretballot.mechanisms._noisy_max import GNMax, LabelVoting

#: Law of a row with any number of labels: it reveals everything.
_UNBOUNDED_LAW = (Step("labels", NoisyBit(scale=1.0, shift=math.inf, bound="papernot")),)


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
    weight, ballots, bound
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
        """The hierarchy as it is stored."""
        return cast("Hierarchy | None", self.hierarchy)

    @property
    def _label_vote(self) -> GNMax:
        """The vote on one label, between absent and present."""
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
