"""A plan of who votes: which rows each teacher has, and what its ballot counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from secretballot.divergences import EVERYONE
from secretballot.ensemble._partition import PrivateRows, Shards
from secretballot.ensemble._randomness import Randomness
from secretballot.ensemble._votes import Votes
from secretballot.ensemble.individual._levels import Levels


@dataclass(frozen=True)
class Plan:
    """One ballot a teacher, one teacher a row: the plan without individual budgets.

    Attributes
    ----------
    n_teachers : int
        How many teachers are trained.
    """

    n_teachers: int

    @property
    def groups(self) -> tuple[str, ...]:
        """Privacy group of each teacher."""
        return (EVERYONE,) * self.n_teachers

    @property
    def ledger_note(self) -> dict[str, Any]:
        """What is said of it in the ledger."""
        return {}

    def assign(self, rows: PrivateRows, randomness: Randomness) -> Shards:
        """Return the rows of each teacher; looks at positions, owners and levels only."""
        return rows.split(self.n_teachers, randomness.partition())

    def individualize(self, mechanism: Any, n_columns: int, first_row: int = 0) -> Any:
        """Return the mechanism that charges each level for what its rows can move."""
        del n_columns, first_row
        return mechanism

    def add_up(self, votes: Mapping[str, Votes], mechanism: Any) -> Votes:
        """Return what is counted: each group's votes with their weight, on the rows of its turns.

        Parameters
        ----------
        votes : dict of str to ndarray of shape (n_queries, n_classes)
            Votes of the teachers of each group.
        mechanism : mechanism
            What `individualize` returned; it holds weights and turns.
        """
        total: Any = 0
        there = mechanism.participation(len(next(iter(votes.values()))))
        for group, counted in votes.items():
            part = counted * self.weight(group, mechanism)
            total = total + (part * there[group][:, None] if group in there else part)
        return np.asarray(total)

    def weight(self, group: str, mechanism: Any) -> float:
        """Return what a ballot of a group counts."""
        del group, mechanism
        return 1


class Individualization(ABC):
    """How budgets become a plan of who votes."""

    @abstractmethod
    def plan(self, levels: Levels, n_teachers: int) -> Plan:
        """Return the plan for people of some levels; with equal budgets the plain one."""
