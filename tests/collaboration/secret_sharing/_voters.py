"""Voters with fixed ballots, and parties with models."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.dummy import DummyClassifier

from secretballot import PrivacyAccountant, SkellamMax
from secretballot.collaboration import Party
from secretballot.collaboration._question import Motion, Question
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
    return Motion(tuple(range(n_classes)), mechanism, weight)


def parties(n_parties, classes=(0, 1), **settings):
    """Parties that all vote for class 1, each with a model and rows of its own."""
    made = []
    for i in range(n_parties):
        party = Party(
            DummyClassifier(strategy="constant", constant=1),
            name=f"site {i}",
            accountant=PrivacyAccountant(epsilon=500, delta=1e-5, **settings),
            classes=classes,
        )
        X = np.random.default_rng(i).normal(size=(6, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(party.fit(X, np.arange(6) % 2))
    return made
