"""A plan of who votes: which rows each teacher has, and what its ballot counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.divergences import EVERYONE
from secretballot.ensemble._partition import PrivateRows, Shards
from secretballot.ensemble._randomness import Randomness
from secretballot.ensemble._votes import Votes
from secretballot.ensemble.individual._levels import Levels
from secretballot.mechanisms import CountClasses, CountClipped, Counting, CountLabels


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
    def n_equal(self) -> int:
        """For how many equal ballots a mechanism is given, which `individualize` adapts."""
        return self.n_teachers

    @property
    def groups(self) -> tuple[str, ...]:
        """Group of each teacher, whose votes are counted together."""
        return (EVERYONE,) * self.n_teachers

    @property
    def ledger_note(self) -> dict[str, Any]:
        """What is said of it in the ledger."""
        return {}

    def assign(self, rows: PrivateRows, randomness: Randomness) -> Shards:
        """Return the rows of each teacher; looks at positions, owners and levels only."""
        return rows.split(self.n_teachers, randomness.partition())

    def individualize(
        self, mechanism: Any, n_columns: int, first_row: int = 0, division: str = ""
    ) -> Any:
        """Return the mechanism that charges each level for what its rows can move.

        `division` is the public name of how rows were divided among the teachers.
        """
        del n_columns, first_row, division
        return mechanism

    def presence(self, mechanism: Any, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return in which rows the teachers of each of `groups` vote; who is not named, in all."""
        there: dict[str, NDArray[np.bool_]] = mechanism.participation(n_rows)
        return there

    def add_up(
        self, votes: Mapping[str, Votes], mechanism: Any, counting: Counting | None = None
    ) -> Votes:
        """Return what is counted: each group's votes with their weight, on the rows of its turns.

        Parameters
        ----------
        votes : dict of str to ndarray of shape (n_queries, ...)
            Votes of the teachers of each group.
        mechanism : mechanism
            What `individualize` returned; it holds weights and turns.
        counting : Counting, default=None
            How they were counted; as votes for classes if None.
        """
        n_rows = len(next(iter(votes.values())))
        there = self.presence(mechanism, n_rows)
        weights = {
            group: np.asarray(self.weight(group, mechanism)) * there.get(group, np.bool_(True))
            for group in votes
        }
        counts = (counting or CountClasses()).total(votes, weights)
        n_votes = getattr(getattr(mechanism, "mechanism", None), "n_votes", None)
        if n_votes is None or not isinstance(counting, CountLabels | CountClipped):
            return counts
        # Turns differ by a ballot: one that is missing is for no label, and against none.
        cast = sum(n * weights[group] for group, n in Counter(self.groups).items())
        return np.asarray(counts + (n_votes - np.asarray(cast))[..., None] / 2)

    def weight(self, group: str, mechanism: Any) -> float:
        """Return what a ballot of a group counts."""
        del group, mechanism
        return 1


class Individualization(ABC):
    """How budgets become a plan of who votes."""

    @abstractmethod
    def plan(self, levels: Levels, n_teachers: int) -> Plan:
        """Return the plan for people of some levels; with equal budgets the plain one."""
