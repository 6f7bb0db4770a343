"""Expected recall and specificity of released labels, under a model of ballots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from secretballot.divergences import level_quadrature
from secretballot.ensemble.advice._ballot_model import BallotModel
from secretballot.mechanisms import BinaryVoting, PowersetVoting, TauVoting

Vote = BinaryVoting | TauVoting | PowersetVoting


class ExpectedVote(NamedTuple):
    """A vote on labels, and the expected scores of what it releases.

    Attributes
    ----------
    mechanism : BinaryVoting, TauVoting or PowersetVoting
        The vote, with noise for all rows.
    recall : float
        Probability that a present label is released as present.
    specificity : float
        Probability that an absent label is released as absent.
    """

    mechanism: Vote
    recall: float
    specificity: float

    @property
    def balanced_accuracy(self) -> float:
        """Mean of recall and specificity; .5 is chance."""
        return (self.recall + self.specificity) / 2


def expected_votes(
    mechanisms: Sequence[Vote], model: BallotModel
) -> tuple[list[ExpectedVote], float]:
    """Compute expected scores of votes, and the balanced accuracy of a majority without noise."""
    plain = BinaryVoting(sigma=1.0, n_votes=model.n_teachers)
    countings = [mechanism.counting(model.n_labels) for mechanism in (plain, *mechanisms)]
    ballots, *all_counts = model.counts(countings)
    noiseless = _scores((2 * ballots.astype(float) > model.n_teachers).astype(float), model)
    expected = [
        ExpectedVote(mechanism, *_scores(_presence(mechanism, counts, model), model))
        for mechanism, counts in zip(mechanisms, all_counts, strict=True)
    ]
    return expected, sum(noiseless) / 2


def _scores(presence: NDArray[np.float64], model: BallotModel) -> tuple[float, float]:
    """Compute recall and specificity of probabilities that labels are released as present."""
    present, absent = np.split(presence, [model.n_positives], axis=1)
    return float(present.mean()), float(1 - absent.mean())


@singledispatch
def _presence(mechanism: Vote, counts: NDArray[Any], model: BallotModel) -> NDArray[np.float64]:
    """Compute the probabilities that labels are released as present."""
    gap = 2 * counts.astype(float) - model.n_teachers
    return np.asarray(ndtr(gap / (math.sqrt(2) * mechanism.sigma)))


@_presence.register
def _(mechanism: PowersetVoting, counts: NDArray[Any], model: BallotModel) -> NDArray[np.float64]:
    return np.array([_presence_in_sets(mechanism, row) for row in counts])


def _presence_in_sets(mechanism: PowersetVoting, sets: NDArray[Any]) -> NDArray[np.float64]:
    """Compute the same for one row of a vote between sets; sets without votes win at random."""
    sets = sets[sets["count"] > 0]
    votes = sets["count"].astype(float)
    named = np.unpackbits(sets["ballot"], axis=1, count=mechanism.n_labels).astype(float)
    log_wins = level_quadrature(
        votes, mechanism.n_outcomes, mechanism.sigma, 0.0
    ).log_probabilities()
    # Levels are the distinct counts from the lowest on: 0, unless all sets have votes.
    levels = np.unique(np.append(votes, 0.0))[-len(log_wins) :]
    wins = np.exp(log_wins)[np.searchsorted(levels, votes)]
    n_others = mechanism.n_outcomes - len(votes)
    if n_others == 0:
        return np.asarray(wins @ named)
    # Each label is in half of all sets, which gives its share of the sets without votes.
    of_others = 0.5 + (len(votes) / 2 - named.sum(axis=0)) * (1 / n_others)
    return np.asarray(wins @ named + max(1 - wins.sum(), 0.0) * of_others)
