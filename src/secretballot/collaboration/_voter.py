"""What a vote asks of a party, wherever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from secretballot.collaboration._question import Motion, Question
from secretballot.computing import Recipients


class Tally(NamedTuple):
    """What all voters learn of one vote's outcome: how many rows were begun, and answered."""

    n_rows: int
    n_answers: int | None


class Absent(Exception):
    """A party can't be reached, or failed; it has no ballot from here on.

    Attributes
    ----------
    name : str
        Who.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r}: {reason}")
        self.name = name
        self.reason = reason


class VoteRefusedError(RuntimeError):
    """A question has too few voters, or its vote failed; the message says what was charged."""


class Voter(Protocol):
    """A party as a vote sees it.

    The calls come in this order: `invite`, `reserve`, `cast` or `deliver`, and `close` or `void`.
    Each may raise `Absent`.
    """

    @property
    def name(self) -> str:
        """By which others know it."""

    def invite(self, question: Question) -> tuple[int, ...]:
        """Return the columns that it votes on; ValueError if the rows are not of its kind."""

    def reserve(self, question: Question, motions: Sequence[Motion]) -> None:
        """Pay for what it may cost, durably; BudgetExceededError if that is not left."""

    def cast(self, question: Question) -> list[NDArray[Any]]:
        """Return its ballots, one array for each motion."""

    def deliver(self, question: Question, recipients: Recipients) -> None:
        """Instead of `cast`: share ballots, with its noise in them, among computing parties."""

    def close(self, question: Question, tallies: Sequence[Tally]) -> None:
        """Record that the votes were opened, and take back what was not needed."""

    def void(self, question: Question) -> None:
        """Take everything back: nothing was opened, and nothing will be."""
