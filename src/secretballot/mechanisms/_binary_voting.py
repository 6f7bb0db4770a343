"""A vote on every label of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_number
from secretballot.divergences import Bound, Law, NoisyBit, Step
from secretballot.mechanisms._base import Mechanism, paired
from secretballot.mechanisms._counting import Counting, CountLabels, checked_cut, cut_of_each
from secretballot.mechanisms._hierarchy import (
    Hierarchy,
    as_hierarchy,
    asked,
    check_labels,
    inherited,
)
from secretballot.mechanisms._noisy_max import ConfidentGNMax, GNMax, scaled_fields, vote_of

#: What a row of any number of labels tells at most.
_EVERYTHING = (Step("labels", NoisyBit(scale=1.0, shift=math.inf, bound="papernot")),)

#: Up to this relative error sums of weighted ballots may exceed `n_votes`.
_ROUNDED = 1e-9


@dataclass(frozen=True, kw_only=True)
class BinaryVoting(Mechanism):
    """Noisy majority on every label: which labels more ballots call present than absent.

    A row of k labels is k votes of two classes, and costs as much: a teacher may change its mind
    about all of them.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on each count, of ballots for a label and of those against.
    n_votes : float
        How many ballots there are, or what they weigh together; a public number.
    threshold : float, default=None
        Noisy number of votes from which on a label is answered, whichever of the two has more;
        each label pays for that bit, and those that pass for the vote. None answers all.
    sigma_threshold : float, default=None
        Standard deviation of the noise on the larger count; with `threshold` only.
    hierarchy : dict of int to int or tuple of int, default=None
        Labels that depend on others, by column number, with the parent or parents of each. Where a
        parent is released absent its dependants are absent; where none is, but one of them is
        unanswered, they are unanswered. Neither their thresholds nor their votes are begun then.
    weight : float or dict of str to float, default=1.0
        Weight of one ballot in the counts; per privacy level where ballots differ.
    ballots : int or dict of str to int, default=1
        How many ballots one row (or owner) can move: in how many teachers it is. Per privacy level
        where that differs.
    bound : {"exact", "papernot"}, default="exact"
        What is charged, as in `GNMax`: per label, composed.
    ballot_threshold : float or sequence of float, default=None
        From which probability on a voter calls a label present, of all labels or of each: of use
        where voters are models, as in `PrivateTeacherEnsemble`. None: they say so themselves.

    Raises
    ------
    ValueError
        If a parameter is out of range, only one of `threshold` and `sigma_threshold` is given, or
        `hierarchy` goes in a circle.

    Notes
    -----
    Counts are the ballots that call each label present, shape (n_rows, n_labels). Outcomes have
    the same shape: 1 for present, 0 for absent, -1 for labels that did not pass the threshold.

    Costs of labels add up, each at its own worst case: the exact cost for ballots that may be
    replaced by any, since whether one label's gap moves says nothing about another's.

    Where a budget counts Renyi divergences, dependants that were not begun cost nothing. Plans are
    paid for before anything is known of their rows, with parents and dependants alike: there a
    `hierarchy` changes outcomes, and no price. It is kept as pairs, parents before dependants.

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

    Whoever has no vehicle (label 0) has no car (label 1):

    >>> voting = BinaryVoting(sigma=4, n_votes=50, hierarchy={1: 0})
    >>> accountant.release(voting, [[2, 50, 50]])
    array([[0, 0, 1]])
    """

    sigma: float
    n_votes: float
    threshold: float | None = field(default=None)
    sigma_threshold: float | None = field(default=None)
    hierarchy: Mapping[int, int | tuple[int, ...]] | Hierarchy | None = field(default=None)
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    bound: Bound = field(default="exact")
    ballot_threshold: float | tuple[float, ...] | None = field(default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ballot_threshold", checked_cut(self.ballot_threshold))
        object.__setattr__(self, "hierarchy", as_hierarchy(self.hierarchy))
        groups = paired(self.weight, self.ballots)
        GNMax(sigma=self.sigma, weight=self.weight, ballots=self.ballots, bound=self.bound)
        check_number("n_votes", self.n_votes, least=max(weight for weight, _ in groups.values()))
        self._one_label.laws(2)  # a threshold's parameters are checked where it is made

    @property
    def multilabel(self) -> bool:
        """Each row's outcome is a set of labels."""
        return True

    @property
    def _above(self) -> Hierarchy | None:
        """Who depends on whom; that is how it was stored."""
        return cast("Hierarchy | None", self.hierarchy)

    @property
    def _one_label(self) -> GNMax | ConfidentGNMax:
        """The vote on one label, between absent and present."""
        return vote_of(self, self.n_votes)

    def counting(self, n_columns: int) -> Counting:
        """Return how ballots become counts: they are added up."""
        check_labels(self._above, n_columns)
        return CountLabels(cut_of_each(self.ballot_threshold, n_columns))

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return a vote on each label; any number of them tells everything."""
        one = self._one_label.laws(2)
        if n_columns is None:
            return dict.fromkeys(one, _EVERYTHING)
        check_labels(self._above, n_columns)
        return {
            group: tuple(
                replace(
                    step,
                    name=_of(step.name, label),
                    after=None if step.after is None else _of(step.after, label),
                )
                for label in range(n_columns)
                for step in law
            )
            for group, law in one.items()
        }

    @property
    def expected_votes(self) -> float:
        """Number of ballots that the counts of each label are out of."""
        return self.n_votes

    def noise_share(self, n_votes: float) -> float:
        """Return the noise on the votes of a label as a share of all ballots."""
        del n_votes
        return float(self.sigma / self.n_votes)

    def scaled(self, factor: float) -> Self:
        """Return the same mechanism for `factor` times as many votes."""
        names = ("sigma", "n_votes", "threshold", "sigma_threshold")
        return replace(self, **scaled_fields(self, factor, *names))

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the ballots for each label as floats, or raise `ValueError`."""
        positives = super().check_counts(counts)
        check_labels(self._above, positives.shape[1])
        most = self.n_votes * (1 + _ROUNDED)
        if (positives > most).any():
            row, label = np.argwhere(positives > most)[0]
            raise ValueError(
                f"counts has {positives[row, label]:.6g} ballots for label {label} in row {row}, "
                f"and n_votes={self.n_votes!r}; pass the number of all ballots (the sum of "
                "weights, if there are any)."
            )
        self._one_label.check_counts(self._both(positives))
        return positives

    def _both(self, positives: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ballots against and for, one row per label of each row."""
        flat = positives.reshape(-1)
        return np.stack([np.maximum(self.n_votes - flat, 0.0), flat], axis=1)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw which labels are present, shape (n_rows, n_labels)."""
        each = self._one_label.sample(self._both(counts), rng).reshape(counts.shape)
        return inherited(self._above, each)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return of each label which steps were begun."""
        begun = asked(self._above, outcome).reshape(-1)
        flat = self._one_label.executed(outcome.reshape(-1))
        return _by_label({name: times * begun for name, times in flat.items()}, outcome.shape)

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return of each label what its votes' costs depend on."""
        return _by_label(self._one_label.state(self._both(counts)), counts.shape)


def _of(step: str, label: int) -> str:
    return f"{step} {label}"


def _by_label(flat: Mapping[str, NDArray[Any]], shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
    """Name the columns of what was worked out for all labels of all rows at once."""
    return {
        _of(name, label): values.reshape(*shape, *values.shape[1:])[:, label]
        for name, values in flat.items()
        for label in range(shape[1])
    }
