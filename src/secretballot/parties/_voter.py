"""Protocol between a vote and a party, in this process or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot.parties._motion import Motion
from secretballot.parties._question import Question

T = TypeVar("T")


class VoteTally(NamedTuple):
    """Numbers of rows that one vote began and answered, which all voters learn."""

    n_rows: int
    n_answers: int | None


class Absent(Exception):
    """A party can't be reached, or failed, for a public reason; it has no ballot from here on."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r}: {reason}")
        self.name = name
        self.reason = reason


class VoteRefusedError(RuntimeError):
    """A question has too few voters, or its vote failed; the message says what was charged."""


class Voter(Protocol):
    """A party as a vote uses it.

    The calls come in this order: `invite`, `reserve`, `cast`, and `close` or `void`. Each may raise
    `Absent`.
    """

    @property
    def name(self) -> str:
        """Its public name."""

    def invite(self, question: Question) -> tuple[int, ...]:
        """Return the columns that it votes on; ValueError if the rows are not of its kind."""

    def reserve(self, question: Question, motions: Sequence[Motion]) -> None:
        """Pay the most that votes can cost, durably; BudgetExceededError if that is not left."""

    def cast(self, question: Question) -> list[NDArray[np.intp]]:
        """Return its ballots, one array for each motion."""

    def close(self, question: Question, tallies: Sequence[VoteTally]) -> None:
        """Record that the votes were opened, and take back what was not needed."""

    def void(self, question: Question) -> None:
        """Take everything back: nothing was opened, and nothing will be."""


class Voters(dict[str, Voter]):
    """Voters of a question, by name, who are asked one after another."""

    def ask(self, request: Callable[[Voter], T]) -> dict[str, T]:
        """Return all replies, or raise the error of a voter."""
        return {name: request(voter) for name, voter in self.items()}
