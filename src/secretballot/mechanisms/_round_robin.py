"""Voting in turns: some ballots sit out some rows, by a rule that looks at no data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._numbers import check_integer
from secretballot._public import public_name
from secretballot.divergences import EVERYONE, MEMBER_SEPARATOR, Law
from secretballot.mechanisms._base import HOME, Mechanism
from secretballot.mechanisms._counting import Counting


@dataclass(frozen=True, kw_only=True)
class RoundRobin(Mechanism):
    """A mechanism whose ballots take turns, so that each pays for the rows it voted on.

    The ballots of a level are divided into `of` parts; in every row `present` of them vote, one
    after the other in a circle. A level has spent what its dearest part has.

    Parameters
    ----------
    mechanism : Mechanism
        How the ballots that are there become an answer.
    turns : dict of str to tuple of (int, int)
        For each level `present` and `of`: how many of how many parts vote in a row.
    first_row : int, default=0
        Number of the first row of a batch, where it goes on from an earlier one.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    secretballot.ensemble.Vanishing : Chooses turns by budget.

    Notes
    -----
    The counts passed to the accountant hold the ballots of a row's turn only: `participation` says
    whose they are.

    References
    ----------
    Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE" (PoPETs 2023), Appendix B.

    Examples
    --------
    >>> from secretballot.mechanisms import GNMax, RoundRobin
    >>> halves = RoundRobin(mechanism=GNMax(sigma=5), turns={"strict": (1, 2), "generous": (1, 1)})
    >>> halves.participation(4)["strict/0"]
    array([ True, False,  True, False])
    """

    mechanism: Mechanism
    turns: Mapping[str, tuple[int, int]]
    first_row: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism) or self.mechanism.rows != "sequential":
            raise ValueError(f"mechanism={self.mechanism!r} must answer queries, such as GNMax.")
        if not self.relations <= self.mechanism.relations:
            raise ValueError(
                f"mechanism={self.mechanism!r} is not proven for ballots that are replaced, and "
                "those that take turns are; make it with relation='replace'."
            )
        if not isinstance(self.turns, Mapping) or not self.turns:
            raise ValueError(f"turns={self.turns!r} must be a dict of levels.")
        for level, turn in self.turns.items():
            if len(turn) != 2 or not 1 <= turn[0] <= turn[1]:
                raise ValueError(
                    f"turns={turn!r} for level {level!r} must be (present, of) with "
                    "1 <= present <= of."
                )
        charged = self.mechanism.laws()
        for level in self.turns:
            if level not in charged and EVERYONE not in charged:
                raise ValueError(
                    f"turns={dict(self.turns)!r} names level {level!r}, but mechanism="
                    f"{self.mechanism!r} charges {', '.join(map(repr, charged))} only; give its "
                    "ballots the levels of turns, and none of them turns of its own."
                )
        check_integer("first_row", self.first_row, least=0)

    @property
    def multilabel(self) -> bool:
        """What the mechanism's outcomes are."""
        return self.mechanism.multilabel

    def counting(self, n_columns: int) -> Counting:
        """Return how the mechanism counts ballots."""
        return self.mechanism.counting(n_columns)

    @staticmethod
    def part(level: str, number: int, of: int) -> str:
        """Return the privacy group of one part of a level."""
        return level if of == 1 else f"{level}{MEMBER_SEPARATOR}{number}"

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the mechanism's law for each part of each level."""
        laws = self.mechanism.laws(n_columns)
        return {
            self.part(level, number, of): laws[level if level in laws else EVERYONE]
            for level, (_, of) in self.turns.items()
            for number in range(of)
        }

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return in which of `n_rows` rows each part votes."""
        row = self.first_row + np.arange(n_rows)
        return {
            self.part(level, number, of): (number - row * present) % of < present
            for level, (present, of) in self.turns.items()
            for number in range(of)
            if present < of
        }

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return what the mechanism takes for votes."""
        return self.mechanism.check_counts(counts)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw what the mechanism draws from the ballots that are there."""
        return self.mechanism.sample(counts, rng)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return what the mechanism tells from its outcome."""
        return self.mechanism.executed(outcome)

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return what the mechanism's costs depend on."""
        return self.mechanism.state(counts)

    def describe(self) -> dict[str, Any]:
        """Return the public parameters, the mechanism's own among them."""
        return {
            "mechanism": public_name(type(self), HOME),
            "inner": {
                **self.mechanism.describe(),
                "mechanism": public_name(type(self.mechanism), HOME),
            },
            "turns": {level: list(turn) for level, turn in self.turns.items()},
            "first_row": self.first_row,
        }
