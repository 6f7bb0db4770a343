"""Expected recall and specificity of released labels, under a model of ballots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from secretballot.divergences import level_quadrature
from secretballot.mechanisms import BinaryVoting, Counting, PowersetVoting, TauVoting

#: Limits on the number of simulated rows, and on the labels of all ballots together.
_MAX_ROWS, _MIN_ROWS, _MAX_CELLS = 256, 16, 20_000_000
_SEED = 0

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


@dataclass(frozen=True, kw_only=True)
class BallotModel:
    """Probit model of ballots, in which teachers share the difficulty of a label in a row.

    Teacher t calls label j of row i correctly if m_j + sqrt(s) H_ij + sqrt(1 - s) E_itj > 0, with
    standard normals H (of the row) and E (of the teacher), s the `shared_errors`, and m_j such that
    the probability is `recall` of present labels and `specificity` of absent ones. The normals of
    two labels of a row have the correlation `correlation`. The first `n_positives` labels of each
    row are present.
    """

    n_teachers: int
    n_labels: int
    n_positives: int
    recall: float
    specificity: float
    shared_errors: float
    correlation: float

    def counts(self, countings: Sequence[Counting]) -> list[NDArray[Any]]:
        """Simulate ballots with a fixed seed, and count them in several ways."""
        rng = np.random.default_rng(_SEED)
        cells = self.n_teachers * self.n_labels
        n_rows = min(max(_MAX_CELLS // cells, _MIN_ROWS), _MAX_ROWS)
        present = np.arange(self.n_labels) < self.n_positives
        shared = ndtri(np.where(present, self.recall, self.specificity))
        shared = shared + math.sqrt(self.shared_errors) * self._correlated(
            _stratified(n_rows, 1, rng), _stratified(n_rows, self.n_labels, rng)
        )
        teacher_scale = math.sqrt(1 - self.shared_errors)
        shape = (n_rows, self.n_labels)
        votes: dict[Counting, NDArray[Any]] = {}
        for _ in range(self.n_teachers):
            errors = self._correlated(rng.standard_normal((n_rows, 1)), rng.standard_normal(shape))
            ballots = ((shared + teacher_scale * errors > 0) == present).astype(np.uint8)
            for counting in set(countings):
                if counting in votes:
                    votes[counting] = counting.add(votes[counting], ballots)
                else:
                    votes[counting] = counting.begin(ballots, self.n_teachers)
        weights = {"": np.ones(())}
        return [counting.total({"": votes[counting]}, weights) for counting in countings]

    def _correlated(self, of_row: NDArray[Any], of_label: NDArray[Any]) -> NDArray[Any]:
        """Mix normals of the row with normals of its labels, to correlated normals."""
        return math.sqrt(self.correlation) * of_row + math.sqrt(1 - self.correlation) * of_label


def _stratified(n_rows: int, n_columns: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw columns of normals with one value in every quantile, for a small variance of means."""
    quantiles = ndtri((np.arange(n_rows) + 0.5) / n_rows)
    return rng.permuted(np.tile(quantiles[:, None], n_columns), axis=0)


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
