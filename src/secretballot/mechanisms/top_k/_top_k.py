"""What all mechanisms share that release the items with the largest counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_integer, check_number
from secretballot.divergences import Law
from secretballot.mechanisms._base import (
    MOST_BALLOTS,
    Mechanism,
    Relation,
    apart,
    check_relation,
    paired,
)
from secretballot.mechanisms._counting import Counting, CountLabels


@dataclass(frozen=True, kw_only=True)
class TopK(Mechanism):
    """Base class: counts of items, shape (n_rows, n_items), become sets of items.

    Outcomes have the same shape: 1 for items of the set, 0 for the others, -1 throughout a row of
    which nothing is released. Sets are not ordered. Equal counts go by their column.

    Parameters
    ----------
    k : int, default=None
        How many items are wanted.
    relation : {"replace", "add_remove"}, default="replace"
        Whether one person is another in a neighbouring data set, or is not there.
    weight : float or dict of str to float, default=1.0
        The most that one person adds to an item's count; per privacy level where that differs.
    ballots : int or dict of str to int, default=1
        How many such contributions a person can have: in how many teachers it is.
    max_items : int, default=None
        How many items a person contributes to at most. None: any number.
    unknown_domain : bool, default=False
        Whether the items themselves come from the data: one that only one person has must not be
        named then.
    """

    k: int | None = field(default=None)
    relation: Relation = field(default="replace")
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    max_items: int | None = field(default=None)
    unknown_domain: bool = field(default=False)

    def __post_init__(self) -> None:
        if self.k is not None:
            check_integer("k", self.k)
        check_relation(self.relation)
        levels = paired(self.weight, self.ballots)
        if not levels:
            raise ValueError(
                f"weight={self.weight!r} and ballots={self.ballots!r} have no level; give one "
                "number, or one per level."
            )
        for weight, ballots in levels.values():
            check_number("weight", weight, above=0)
            check_integer("ballots", ballots, most=MOST_BALLOTS)
        if self.max_items is not None:
            check_integer("max_items", self.max_items)
        if not isinstance(self.unknown_domain, bool):
            raise ValueError(f"unknown_domain={self.unknown_domain!r} must be True or False.")

    @property
    def relations(self) -> frozenset[str]:  # type: ignore[override]
        """The one neighbouring relation that the noise was made for."""
        return frozenset({self.relation})

    @property
    def multilabel(self) -> bool:
        """Each row's outcome is a set."""
        return True

    @property
    def _wanted(self) -> int:
        """How many items are wanted, where that is said."""
        assert self.k is not None
        return self.k

    def _check_k(self) -> None:
        if self.k is None:
            raise ValueError("k=None: say how many items are wanted; StableTopK chooses itself.")

    def _check_domain(self) -> None:
        if self.unknown_domain:
            raise ValueError(
                "unknown_domain=True: noise on all counts names items that one person brought; use "
                "StableTopK or LimitedDomainTopK."
            )

    @property
    def _units(self) -> dict[str, float]:
        """What a person adds to an item's count at most, per privacy group."""
        return {group: w * n for group, (w, n) in paired(self.weight, self.ballots).items()}

    @property
    def contribution(self) -> float:
        """The most that a person may add to an item's count, whatever its level."""
        return min(self._units.values())

    @property
    def _moves(self) -> float:
        """By how much one ballot of weight 1 changes the difference of two counts."""
        return apart(self.relation)

    @property
    def _change(self) -> float:
        """By how much anybody changes the difference of two counts: the paper's sensitivity."""
        return self._moves * max(self._units.values())

    def counting(self, n_columns: int) -> Counting:
        """Return how ballots become counts: they are added up."""
        return CountLabels()

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the law of one row, which is the same for any number of items."""
        return {group: self._law(unit, n_columns) for group, unit in self._units.items()}

    @abstractmethod
    def _law(self, unit: float, n_columns: int | None) -> Law:
        """Return the law of a row for people who add so much to a count."""

    def check_n_labels(self, n_labels: int) -> None:
        """Refuse more labels than a person may name."""
        super().check_n_labels(n_labels)
        if self.max_items is not None and self.max_items < n_labels:
            raise ValueError(
                f"mechanism={self!r} counts on ballots with max_items={self.max_items} labels, and "
                f"a teacher may name all {n_labels}; give it their number."
            )

    def scaled(self, factor: float) -> Self:
        """Return the same mechanism for `factor` times as many votes: with so much more noise."""
        noise: dict[str, Any] = {}
        for name, power in (("rho", -2), ("epsilon", -1), ("sigma", 1), ("n_votes", 1)):
            if (value := getattr(self, name, None)) is not None:
                noise[name] = float(value * factor**power)
        return replace(self, **noise)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the counts as floats, or raise `ValueError`."""
        votes = super().check_counts(counts)
        if not self.unknown_domain and self.k is not None and self.k > votes.shape[1]:
            raise ValueError(
                f"k={self.k} items are wanted and counts has {votes.shape[1]}; ask for fewer."
            )
        return votes

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Every step of a row is charged: which draws were made can't be seen."""
        return {step.name: np.full(len(outcome), step.times) for step in self._law(1.0, None)}

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return nothing: costs are the same on all data."""
        return {}


def rho_of(rho: float | None, epsilon: float | None, per_epsilon: float) -> float:
    """Return rho, given as such or as an epsilon of which it is `per_epsilon` times the square."""
    if (rho is None) == (epsilon is None):
        raise ValueError(
            f"rho={rho!r} and epsilon={epsilon!r}: give one of them, which says how much noise "
            "there is."
        )
    if rho is not None:
        check_number("rho", rho, above=0)
        return float(rho)
    check_number("epsilon", epsilon, above=0)
    assert epsilon is not None
    return per_epsilon * float(epsilon) ** 2
