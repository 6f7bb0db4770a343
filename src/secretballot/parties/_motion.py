"""Votes that answer a question: on all classes, or on the labels that the same parties know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from secretballot.ensemble._target import Target
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import Counting
from secretballot.parties._mechanism_adaptation import for_party
from secretballot.parties._question import LABEL_VALUES, Question, target_of


@dataclass(frozen=True)
class Motion:
    """One vote of a question: on all classes, or on the labels that the same parties know.

    Attributes
    ----------
    columns : tuple of int
        Positions of the classes or labels that are voted on.
    mechanism : Mechanism
        Release of the outcome; sent to a party, as it charges that one.
    voters : dict of str to float
        Voters, and the weight of the ballot of each.
    weight : float
        Weight of the ballot of the party that it was sent to.
    apart : bool
        Each label of a row is a row of its own, with votes against it and for it, so that a
        mechanism of classes votes on labels.
    """

    columns: tuple[int, ...]
    mechanism: Mechanism
    voters: Mapping[str, float]
    weight: float = 1.0
    apart: bool = False

    @property
    def n_columns(self) -> int:
        """Columns of the counts."""
        return len(LABEL_VALUES) if self.apart else len(self.columns)

    @property
    def ballot_type(self) -> np.dtype[np.unsignedinteger]:
        """Type of the integers that encode a ballot."""
        return np.min_scalar_type(max(1, self.n_columns - 1)).newbyteorder("<")

    def ballot_shape(self, question: Question) -> tuple[int, ...]:
        """Shape of a ballot: one class a row, or 0 and 1 for each label of the vote."""
        return (question.n_rows, *(() if question.labels is None else (len(self.columns),)))

    def n_rows(self, question: Question) -> int:
        """Rows of the counts."""
        return question.n_rows * (len(self.columns) if self.apart else 1)

    @property
    def counting(self) -> Counting:
        """Rule by which ballots become counts."""
        return self.mechanism.counting(self.n_columns)

    def target(self, question: Question) -> Target:
        """Return the target of this vote."""
        return target_of(question.classes, self.columns)

    def sent_to(self, name: str) -> Motion:
        """Return the vote as it charges one of the voters."""
        weight = self.voters[name]
        return replace(self, mechanism=for_party(self.mechanism, weight), weight=weight)

    def counts(self, ballots: Mapping[str, NDArray[np.intp]]) -> NDArray[np.float64]:
        """Count voters' ballots."""
        counting = self.counting
        if self.apart:
            ballots = {name: cast.ravel() for name, cast in ballots.items()}
        votes = {name: counting.begin(cast, 1) for name, cast in ballots.items()}
        return counting.total(votes, {name: np.asarray(self.voters[name]) for name in votes})


def group_columns(columns: Mapping[str, tuple[int, ...]]) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Group columns by the parties that vote on them."""
    groups: dict[tuple[str, ...], tuple[int, ...]] = {}
    for column in sorted({column for group in columns.values() for column in group}):
        names = tuple(name for name, group in columns.items() if column in group)
        groups[names] = (*groups.get(names, ()), column)
    return groups
