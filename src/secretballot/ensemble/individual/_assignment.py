"""Assignment of an ensemble: the rows of each teacher, and the weights and turns of ballots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secretballot.costs._groups import EVERYONE
from secretballot.ensemble._partition import Shards, SplitRows
from secretballot.ensemble._votes import Votes
from secretballot.mechanisms._base import Mechanism
from secretballot.mechanisms._counting import CountClasses, Counting
from secretballot.tables._levels import Levels
from secretballot.tables._randomness import Randomness


@dataclass(frozen=True)
class Assignment:
    """Assignment without individual budgets: one ballot a teacher, one teacher a row."""

    n_teachers: int

    @property
    def n_equal(self) -> int:
        """Number of equal ballots for which the user's mechanism is meant, before it is adapted."""
        return self.n_teachers

    @property
    def groups(self) -> tuple[str, ...]:
        """Privacy group of each teacher; votes of a group are counted together."""
        return (EVERYONE,) * self.n_teachers

    @property
    def ledger_note(self) -> dict[str, Any]:
        return {}

    def rows_per_teacher(self, n_people: int) -> int:
        """Return the number of rows, or owners, of the teacher that has the fewest."""
        return n_people // self.n_teachers

    def assign(self, rows: SplitRows, randomness: Randomness) -> Shards:
        """Assign rows to teachers by positions, owners and levels alone, not by the data."""
        return rows.split(self.n_teachers, randomness.partition())

    def individualize(
        self, mechanism: Mechanism, n_columns: int, first_row: int = 0, division: str = ""
    ) -> Mechanism:
        """Return a mechanism that charges each level for its weight; here the mechanism itself."""
        del n_columns, first_row, division
        return mechanism

    def presence(self, mechanism: Mechanism, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return the rows on which the teachers of a group vote; others vote on all rows."""
        return mechanism.participation(n_rows)

    def weight(self, group: str, mechanism: Mechanism) -> float:
        del group, mechanism
        return 1

    def ballot_weights(
        self, groups: Iterable[str], mechanism: Mechanism, n_rows: int
    ) -> dict[str, NDArray[Any]]:
        """Return the weight of a ballot of each group in each row, 0 where it sits out."""
        presence = self.presence(mechanism, n_rows)
        return {
            group: np.asarray(self.weight(group, mechanism)) * presence.get(group, np.bool_(True))
            for group in groups
        }

    def total_weight(self, mechanism: Mechanism, n_rows: int) -> NDArray[Any]:
        """Return the weight of all ballots in each row; shape () if it is the same in all."""
        sizes = Counter(self.groups)
        weights = self.ballot_weights(sizes, mechanism, n_rows)
        return np.asarray(sum(size * weights[group] for group, size in sizes.items()))

    def add_up(
        self, votes: Mapping[str, Votes], mechanism: Mechanism, counting: Counting | None = None
    ) -> Votes:
        """Add up the weighted votes of all groups, each in the rows in which it votes."""
        n_rows = len(next(iter(votes.values())))
        weights = self.ballot_weights(votes, mechanism, n_rows)
        return (counting or CountClasses()).total(votes, weights)


class Individualization(ABC):
    """Rule that makes an assignment from the budgets of levels."""

    @abstractmethod
    def assignment(self, levels: Levels, n_teachers: int) -> Assignment:
        """Return the assignment for the levels; a plain `Assignment` if their budgets are equal."""
