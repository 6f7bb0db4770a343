"""Aggregators: they count ballots and draw the noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import noise_generator
from secretballot.collaboration._motion import Motion
from secretballot.collaboration._question import Question
from secretballot.collaboration._voter import Voters

#: A source of reproducible noise; None: cryptographic noise.
Seed = int | np.random.SeedSequence | np.random.Generator | None
#: Ballots as an aggregator gathers them; only `open` of the same aggregator reads them.
Gathered = Any


class Aggregator(ABC):
    """Counting of parties' ballots and release of an outcome."""

    #: Kind of trust that parties need, for the ledger.
    trust: ClassVar[str]

    def check(self, motions: Sequence[Motion]) -> None:
        """Raise if it can't open these votes; asked before anybody pays."""
        del motions

    @abstractmethod
    def gather(self, question: Question, motions: Sequence[Motion], voters: Voters) -> Gathered:
        """Collect ballots; `Absent` if a voter has none. Nothing is opened before all are in."""

    @abstractmethod
    def open(
        self, gathered: Gathered, motions: Sequence[Motion], random_state: Seed
    ) -> list[NDArray[np.int64]]:
        """Return the outcome of each motion, from what was gathered."""


class TrustedAggregator(Aggregator):
    """Aggregator that all parties trust: it sees ballots, draws the noise, and opens the outcome.

    It is this process, or that of the `VoteServer` to which parties connect, and keeps nothing.

    Examples
    --------
    >>> from secretballot.collaboration import TrustedAggregator
    >>> TrustedAggregator()
    TrustedAggregator()
    """

    trust = "trusted"

    def check(self, motions: Sequence[Motion]) -> None:
        """Refuse votes whose unanimous counts are too large beside the noise."""
        for motion in motions:
            has_labels = motion.apart or motion.mechanism.multilabel
            row = np.eye(1, len(motion.columns), dtype=np.intp)
            ballot = row if has_labels else np.zeros(1, dtype=np.intp)
            motion.mechanism.check_counts(motion.counts(dict.fromkeys(motion.voters, ballot)))

    def gather(self, question: Question, motions: Sequence[Motion], voters: Voters) -> Gathered:
        """Collect ballots as they are."""
        del motions
        return voters.ask(lambda voter: voter.cast(question))

    def open(
        self, gathered: Gathered, motions: Sequence[Motion], random_state: Seed
    ) -> list[NDArray[np.int64]]:
        """Count the ballots of each motion, and draw its outcome."""
        ballots = {name: iter(arrays) for name, arrays in gathered.items()}
        rng, outcomes = noise_generator(random_state), []
        for motion in motions:
            counts = motion.counts({name: next(ballots[name]) for name in motion.voters})
            # The other place, beside the accountant, that draws: every voter has paid by now.
            outcome = motion.mechanism.sample(motion.mechanism.check_counts(counts), rng)
            outcomes.append(np.asarray(outcome))
        return outcomes

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
