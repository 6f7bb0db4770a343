"""Voting in turns: ballots sit out rows by a rule that does not depend on data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secretballot._base._numbers import check_integer
from secretballot._base._objects import public_name
from secretballot.costs._groups import EVERYONE, part_name
from secretballot.costs._law import Law
from secretballot.mechanisms._base import HOME, Mechanism
from secretballot.mechanisms._counting import Counting

#: Hexadecimal digits of a division's name.
_DIGITS = 32


@dataclass(frozen=True, kw_only=True)
class RoundRobin(Mechanism):
    """A mechanism whose ballots take turns, so that each pays for the rows it voted on.

    The ballots of a level are divided into `n_parts` parts; in every row `n_present` of them vote,
    in a circle. A level has spent what its most expensive part has, added up over divisions.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that turns the present ballots into an answer.
    turns : dict of str to tuple of (int, int)
        For each level ``(n_present, n_parts)``: numbers of parts that vote in a row, and of all
        parts.
    first_row : int, default=0
        Number of the first row of a batch that continues an earlier one.
    division : str, default=""
        Public name of the division (fit, partition, teachers). Parts are the same people in all
        releases of a scope that have the same name and the same number of parts.

    See Also
    --------
    secretballot.ensemble.Vanishing : Turns chosen by budget.

    Notes
    -----
    The counts passed to the accountant hold only the ballots whose turn it is, by `participation`.

    A level that takes turns must have ``ballots=1``: with several ballots a person may be in
    several parts, and the most expensive part does not always cover that on known votes.

    References
    ----------
    Boenisch, Muehl, Rinberg, Ihrig and Dziedzic, "Individualized PATE" (PoPETs 2023), Appendix B.

    Examples
    --------
    >>> from secretballot.mechanisms import GNMax, RoundRobin
    >>> halves = RoundRobin(mechanism=GNMax(sigma=5), turns={"strict": (1, 2), "generous": (1, 1)})
    >>> halves.participation(4)[halves.part("strict", 0)]
    array([ True, False,  True, False])
    """

    mechanism: Mechanism
    turns: Mapping[str, tuple[int, int]]
    first_row: int = 0
    division: str = ""

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
        ballots = getattr(self.mechanism, "ballots", 1)
        for level, turn in self.turns.items():
            if len(turn) != 2 or not 1 <= turn[0] <= turn[1]:
                raise ValueError(
                    f"turns={turn!r} for level {level!r} must be (n_present, n_parts) "
                    "with 1 <= n_present <= n_parts."
                )
            n_ballots = ballots
            if isinstance(ballots, Mapping):
                n_ballots = ballots.get(level, ballots.get(EVERYONE, 1))
            if turn[0] < turn[1] and n_ballots != 1:
                raise ValueError(
                    f"mechanism={self.mechanism!r} charges level {level!r} for ballots={n_ballots}"
                    f", and turns={tuple(turn)} has it take turns: a person with several ballots "
                    "may sit in several parts. Use ballots=1, or no turns for that level."
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
        if not isinstance(self.division, str):
            raise ValueError(f"division={self.division!r} must be a string.")

    @property
    def multilabel(self) -> bool:  # type: ignore[override]
        return self.mechanism.multilabel

    def part(self, level: str, number: int) -> str:
        """Return the privacy group of one part, numbered from 0: it names level and division."""
        n_parts = self.turns[level][1]
        if n_parts == 1:
            return level
        division = json.dumps([self.division, level, n_parts])
        return part_name(level, sha256(division.encode()).hexdigest()[:_DIGITS], number)

    def laws(self, n_columns: int | None = None) -> dict[str, Law]:
        """Return the mechanism's law for each part of each level."""
        laws = self.mechanism.laws(n_columns)
        return {
            self.part(level, number): laws[level if level in laws else EVERYONE]
            for level, (_, n_parts) in self.turns.items()
            for number in range(n_parts)
        }

    def participation(self, n_rows: int) -> dict[str, NDArray[np.bool_]]:
        """Return the rows, of `n_rows`, in which each part votes."""
        row = self.first_row + np.arange(n_rows)
        return {
            self.part(level, number): (number - row * n_present) % n_parts < n_present
            for level, (n_present, n_parts) in self.turns.items()
            for number in range(n_parts)
            if n_present < n_parts
        }

    # Everything else is the mechanism's.

    def counting(self, n_columns: int) -> Counting:
        return self.mechanism.counting(n_columns)

    @property
    def expected_votes(self) -> float | None:
        return self.mechanism.expected_votes

    def check_n_labels(self, n_labels: int) -> None:
        self.mechanism.check_n_labels(n_labels)

    def check_counts(self, counts: ArrayLike) -> NDArray[np.float64]:
        return self.mechanism.check_counts(counts)

    def sample(self, counts: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        return self.mechanism.sample(counts, rng)

    def executed(self, outcome: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return self.mechanism.executed(outcome)

    def state(self, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return self.mechanism.state(counts)

    def describe(self) -> dict[str, Any]:
        """Return the public parameters, with those of the mechanism as ``"inner"``."""
        return {
            "mechanism": public_name(type(self), HOME),
            "inner": self.mechanism.describe(),
            "turns": {level: list(turn) for level, turn in self.turns.items()},
            "first_row": self.first_row,
            "division": self.division,
        }
