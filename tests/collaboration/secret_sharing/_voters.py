"""Voters with fixed ballots, and parties with large budgets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from tests.collaboration._parties import budget, several

from secretballot import SkellamMax
from secretballot.collaboration._motion import Motion
from secretballot.collaboration._question import Question
from secretballot.collaboration.secret_sharing import share_ballots


@dataclass
class FixedVoter:
    """Casts the same ballots always."""

    name: str
    motions: list[Motion]
    ballots: np.ndarray
    asked: list = field(default_factory=list)

    def cast(self, question):
        self.asked.append("cast")
        return [self.ballots for _ in self.motions]

    def deliver(self, question, recipients):
        self.asked.append("deliver")
        share_ballots(self.name, self.motions, self.cast(question), recipients)


def question(n_rows, classes=(0, 1), labels=None):
    return Question(
        id="one",
        asker=None,
        X=np.zeros((n_rows, 1)),
        classes=None if labels else classes,
        labels=labels,
        aggregator="secret sharing",
    )


def motion(n_voters, n_classes, *, variance=1.0, n_colluders=1, weight=1.0, **settings):
    mechanism = SkellamMax(
        variance=variance, n_parties=n_voters, n_colluders=n_colluders, **settings
    )
    voters = dict.fromkeys("abcdefghijklmnop"[:n_voters], 1.0)
    return Motion(tuple(range(n_classes)), mechanism, voters, weight)


def rich(*said):
    """Parties that say so on every row, and can pay for it."""
    made = several(*said)
    for party in made:
        party.accountant = budget(epsilon=1e4)
    return made
