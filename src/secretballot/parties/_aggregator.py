"""The trusted aggregator: it counts ballots and draws the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from secretballot.accounting._protocol import noise_generator
from secretballot.parties._motion import Motion
from secretballot.parties._question import Question
from secretballot.parties._voter import Voters

#: A source of reproducible noise; None: cryptographic noise.
Seed = int | np.random.SeedSequence | np.random.Generator | None
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
        """Refuse votes whose unanimous counts are too large beside the noise.

        Called before anybody pays.
        """
        for motion in motions:
            has_labels = motion.apart or motion.mechanism.multilabel
            row = np.eye(1, len(motion.columns), dtype=np.intp)
            ballot = row if has_labels else np.zeros(1, dtype=np.intp)
            motion.mechanism.check_counts(motion.counts(dict.fromkeys(motion.voters, ballot)))

    def gather(self, question: Question, voters: Voters) -> Ballots:
        """Collect ballots; `Absent` if a voter has none."""
        return voters.ask(lambda voter: voter.cast(question))

    def open(
        self, ballots: Ballots, motions: Sequence[Motion], random_state: Seed
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
