"""What an aggregator opens has the law that all parties were charged for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from tests.collaboration._parties import agreed, budget, several

from secretballot import GNMax
from secretballot.collaboration import Collaboration, TrustedAggregator

N_ROWS, SIGMA = 20_000, 2.0
LEVEL = 1e-8


class HalfTheNoise(TrustedAggregator):
    def open(self, gathered, motions, random_state):
        motions = [replace(each, mechanism=GNMax(sigma=SIGMA / 2)) for each in motions]
        return super().open(gathered, motions, random_state)


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
