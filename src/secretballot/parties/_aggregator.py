"""Voters, as a vote uses them, and the trusted aggregator that counts their ballots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting._protocol import RandomState, noise_generator
from secretballot.ensemble.advice import warn_noise
from secretballot.parties._question import BallotAssignment, Motion, Question, drawn_centrally

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


#: Ballots by voter, one array for each of its motions.
Ballots = Mapping[str, Sequence[NDArray[np.intp]]]


class TrustedAggregator:
    """Aggregator that all parties trust: it sees ballots, draws the noise, and opens the outcome.

    It is this process, or that of the `VoteServer` to which parties connect, and keeps nothing.

    Examples
    --------
    >>> from secretballot.parties import TrustedAggregator
    >>> TrustedAggregator()
    TrustedAggregator()
    """

    #: Kind of trust that parties need, for the ledger.
    trust: ClassVar[str] = "trusted"

    def check(self, motions: Sequence[Motion]) -> None:
        """Refuse votes whose counts are too large beside the noise, and warn of drowned ones.

        Called before anybody pays.
        """
        for motion in motions:
            has_labels = motion.apart or motion.mechanism.multilabel
            row = np.eye(1, len(motion.columns), dtype=np.intp)
            ballot = row if has_labels else np.zeros(1, dtype=np.intp)
            motion.mechanism.check_counts(motion.counts(dict.fromkeys(motion.voters, ballot)))
            warn_noise(
                drawn_centrally(motion.mechanism),
                BallotAssignment.of(motion.voters),
                motion.n_columns,
                n_rows=1,
                learns=False,
                voters="voters",
            )

    def gather(self, question: Question, voters: Voters) -> Ballots:
        """Collect ballots; `Absent` if a voter has none."""
        return voters.ask(lambda voter: voter.cast(question))

    def open(
        self, ballots: Ballots, motions: Sequence[Motion], random_state: RandomState
    ) -> list[NDArray[np.int64]]:
        """Count the ballots of each motion, and draw its outcome."""
        remaining = {name: iter(arrays) for name, arrays in ballots.items()}
        rng, outcomes = noise_generator(random_state), []
        for motion in motions:
            counts = motion.counts({name: next(remaining[name]) for name in motion.voters})
            # The other place, beside the accountant, that draws: every voter has paid by now.
            outcome = motion.mechanism.sample(motion.mechanism.check_counts(counts), rng)
            outcomes.append(np.asarray(outcome))
        return outcomes

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
