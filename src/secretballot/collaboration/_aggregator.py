"""Who adds up ballots and draws the noise: here, one whom all parties trust."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting import noise_generator
from secretballot.collaboration._question import Motion, Question
from secretballot.collaboration._voter import Voter

#: Of each voter, what it cast on each motion that it votes on.
Gathered = Any


class Aggregator(ABC):
    """How the ballots of parties become one outcome.

    Attributes
    ----------
    trust : str
        What parties rely on, in a word for the ledger.
    """

    trust: ClassVar[str]

    def check(self, motions: Sequence[Motion]) -> None:
        """Raise if it can't open these votes; asked before anybody pays."""
        del motions

    @abstractmethod
    def gather(
        self, question: Question, motions: Sequence[Motion], voters: Mapping[str, Voter]
    ) -> Gathered:
        """Collect ballots; `Absent` if a voter has none. Nothing is opened before all are in."""

    @abstractmethod
    def open(
        self, gathered: Gathered, motions: Sequence[Motion], random_state: Any
    ) -> list[NDArray[Any]]:
        """Return the outcome of each motion.

        Parameters
        ----------
        gathered : object
            From `gather`.
        motions : sequence of Motion
        random_state : int, SeedSequence, Generator or None
            None: cryptographic noise.
        """


class TrustedAggregator(Aggregator):
    """One whom all parties trust: it sees their ballots, draws the noise, and opens the outcome.

    It keeps nothing. With the parties in one process that is this process; with parties elsewhere
    (`VoteServer`) it is the process that they connect to.

    Examples
    --------
    >>> from secretballot.collaboration import TrustedAggregator
    >>> TrustedAggregator()
    TrustedAggregator()
    """

    trust = "trusted"

    def check(self, motions: Sequence[Motion]) -> None:
        """Refuse counts that the noise is too small beside, as they are where all agree."""
        for motion in motions:
            labels = motion.apart or getattr(motion.mechanism, "multilabel", False)
            ballot = np.eye(1, len(motion.columns), dtype=np.intp)
            alike = ballot if labels else np.zeros(1, dtype=np.intp)
            motion.mechanism.check_counts(motion.counted(dict.fromkeys(motion.voters, alike)))

    def gather(
        self, question: Question, motions: Sequence[Motion], voters: Mapping[str, Voter]
    ) -> Gathered:
        """Collect ballots as they are."""
        del motions
        return {name: voter.cast(question) for name, voter in voters.items()}

    def open(
        self, gathered: Gathered, motions: Sequence[Motion], random_state: Any
    ) -> list[NDArray[Any]]:
        """Count the ballots of each motion, and draw its outcome."""
        cast = {name: iter(each) for name, each in gathered.items()}
        rng, outcomes = noise_generator(random_state), []
        for motion in motions:
            counts = motion.counted({name: next(cast[name]) for name in motion.voters})
            # The other place, beside the accountant, that draws: every voter has paid by now.
            outcome = motion.mechanism.sample(motion.mechanism.check_counts(counts), rng)
            outcomes.append(np.asarray(outcome))
        return outcomes

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
