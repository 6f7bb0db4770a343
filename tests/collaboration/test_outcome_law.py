"""What an aggregator opens has the law that all parties were charged for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, norm, skellam
from tests.collaboration._parties import agreed, budget, several

from secretballot import GNMax, SkellamMax
from secretballot.parties import Collaboration, TrustedAggregator

N_ROWS, SIGMA = 20_000, 2.0
LEVEL = 1e-8


class HalfTheNoise(TrustedAggregator):
    def open(self, ballots, motions, random_state):
        motions = [replace(each, mechanism=GNMax(sigma=SIGMA / 2)) for each in motions]
        return super().open(ballots, motions, random_state)


@pytest.mark.unseeded  # a false alarm in a hundred million runs
@pytest.mark.parametrize("aggregator", [TrustedAggregator(), HalfTheNoise()])
def test_frequencies_of_winners_follow_the_law(aggregator):
    parties = several(0, 1, 1, 1, 0)
    for party in parties:
        party.accountant = budget(epsilon=1e7)
    together = Collaboration(parties, aggregator=aggregator)
    answer = together.ask("a", np.zeros((N_ROWS, 2)), agreed(GNMax(sigma=SIGMA)))
    wins = int((answer.labels == 1).sum())  # three against one
    expected = norm.cdf(2 / (np.sqrt(2) * SIGMA))
    p_value = binomtest(wins, N_ROWS, expected).pvalue
    assert (p_value > LEVEL) == (type(aggregator) is TrustedAggregator)


def winner_law(counts, variance, *, first=True):
    """Probabilities of each winner, noise of a variance on every count, summed one by one."""
    reach = np.arange(-60, 61)
    pmf = skellam.pmf(reach, variance / 2, variance / 2)
    probabilities = np.zeros(len(counts))
    for at, own in enumerate(counts):
        # Beaten are those behind that are equal, and those before that are not.
        gaps = [own - other - ((j < at) == first) for j, other in enumerate(counts) if j != at]
        below = np.prod([np.cumsum(pmf)[np.clip(reach + gap + 60, 0, 120)] for gap in gaps], axis=0)
        probabilities[at] = pmf @ below
    assert probabilities.sum() == pytest.approx(1)
    return probabilities


@pytest.mark.unseeded
@pytest.mark.parametrize(("ballot", "n_classes"), [(0, 2), (2, 3)])
def test_winners_of_whole_counts_follow_the_law(ballot, n_classes):
    mechanism = SkellamMax(variance=1.0, n_parties=2, n_colluders=1)
    motion = agreed(mechanism).motion(tuple(range(n_classes)), ["a", "b"], None)
    ballots = {name: [np.full(N_ROWS, ballot)] for name in "ab"}
    (winners,) = TrustedAggregator().open(ballots, [motion], None)
    counts = 2 * np.eye(n_classes, dtype=int)[ballot]
    frequencies = np.bincount(winners, minlength=n_classes)

    def p_value(probabilities):
        expected = N_ROWS * probabilities
        return chi2.sf(((frequencies - expected) ** 2 / expected).sum(), n_classes - 1)

    # One of two may collude, so there is twice the noise that is charged for.
    assert p_value(winner_law(counts, 2.0)) > LEVEL
    # Noise of half the variance, and ties to the last, would have been found out.
    assert p_value(winner_law(counts, 1.0)) < LEVEL
    assert p_value(winner_law(counts, 2.0, first=False)) < LEVEL
