"""Base class of mechanisms that release the items with the largest counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot.costs._law import Law
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import Counting, CountLabels
from secretballot.mechanisms._fields import Relation, difference_sensitivity, pair_by_group


@dataclass(frozen=True, kw_only=True)
class TopK(Mechanism):
    """Base class: counts of items, shape (n_rows, n_items), become sets of items.

    Outcomes have the same shape: 1 for items of the set, 0 for the others, -1 throughout a row
    without a release. Sets are not ordered. Ties are broken by column.

    Parameters
    ----------
    k : int, default=None
        Number of items of a set.
    relation : {"replace", "add_remove"}, default="replace"
        Neighbouring data sets: one person is replaced by another, or added or removed.
    weight : float or dict of str to float, default=1.0
        Largest contribution of one person to an item's count; per privacy level where it differs.
    ballots : int or dict of str to int, default=1
        Number of such contributions of one person: the number of teachers trained on its data.
    max_items : int, default=None
        Largest number of items that a person contributes to. None: any number.
    unknown_domain : bool, default=False
        True if the items themselves come from the data. An item of a single person must not be
        named then.
    """

    k: int | None = field(default=None)
    relation: Relation = field(default="replace")
    weight: float | Mapping[str, float] = field(default=1.0)
    ballots: int | Mapping[str, int] = field(default=1)
    max_items: int | None = field(default=None)
    unknown_domain: bool = field(default=False)

    _hides_rare_items: ClassVar[bool] = False  # items may come from the data
    _chooses_k: ClassVar[bool] = False
    multilabel: ClassVar[bool] = True
    scalable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.unknown_domain, bool):
            raise ValueError(f"unknown_domain={self.unknown_domain!r} must be True or False.")
        if self.unknown_domain and not self._hides_rare_items:
            raise ValueError(
                "unknown_domain=True: noise on all counts names items that one person brought; use "
                "StableTopK or LimitedDomainTopK."
            )
        if self.k is None and not self._chooses_k:
            raise ValueError("k=None: give the number of items; StableTopK can choose it.")

    @property
    def _set_size(self) -> int:
        """The number of items, where it must be given."""
        assert self.k is not None
        return self.k

    def _rho(self, rho_per_epsilon: float) -> float:
        """Compute rho from the field `rho` or `epsilon`: it grows with the square of epsilon."""
        rho, epsilon = getattr(self, "rho", None), getattr(self, "epsilon", None)
        if rho is not None and epsilon is None:
            return float(rho)
        if epsilon is not None and rho is None:
            return rho_per_epsilon * float(epsilon) ** 2
        raise ValueError(
            f"rho={rho!r} and epsilon={epsilon!r}: give one of them, which determines the noise."
        )

    @property
    def _contributions(self) -> dict[str, float]:
        """Largest contribution of a person to an item's count, per privacy group."""
        groups = pair_by_group(self.weight, self.ballots)
        return {group: weight * ballots for group, (weight, ballots) in groups.items()}

    @property
    def contribution(self) -> float:
        """Largest contribution to an item's count that is allowed at every level."""
        return min(self._contributions.values())

    @property
    def _unit_sensitivity(self) -> float:
        """Sensitivity of the difference of two counts to one ballot of weight 1."""
        return difference_sensitivity(self.relation)

    @property
    def _sensitivity(self) -> float:
        """Sensitivity of the difference of two counts to any person."""
        return self._unit_sensitivity * max(self._contributions.values())

    def counting(self, n_columns: int) -> Counting:
        return CountLabels()

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        contributions = self._contributions.items()
        return {group: self._law(contribution, n_columns) for group, contribution in contributions}

    @abstractmethod
    def _law(self, contribution: float, n_columns: int | None) -> Law:
        """Return the law of a row for people of a largest contribution to a count."""

    def check_n_labels(self, n_labels: int) -> None:
        """Refuse more labels than one person may contribute to."""
        super().check_n_labels(n_labels)
        if self.max_items is not None and self.max_items < n_labels:
            raise ValueError(
                f"mechanism={self!r} counts on ballots with max_items={self.max_items} labels, and "
                f"a teacher may name all {n_labels}; give it their number."
            )

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        votes = super().check_counts(counts)
        if not self.unknown_domain and self.k is not None and self.k > votes.shape[1]:
            raise ValueError(
                f"k={self.k} items are wanted and counts has {votes.shape[1]}; ask for fewer."
            )
        return votes
