"""Winners follow the law that is charged for, whoever draws them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, skellam
from tests.collaboration.secret_sharing._voters import FixedVoter, motion, question

from secretballot.collaboration import TrustedAggregator
from secretballot.collaboration._voter import Voters

# Noise is keyed by the test's name; of all keys one in a million would alarm, in all tests here.
ALARM = 1e-6 / 4
N_ROWS = 1_200


def law(counts, variance, *, first=True):
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


def p_value(winners, probabilities):
    expected = len(winners) * probabilities
    frequencies = np.bincount(winners, minlength=len(expected))
    return chi2.sf(((frequencies - expected) ** 2 / expected).sum(), len(expected) - 1)


def winners(aggregator, votes, n_classes, voter=FixedVoter):
    """Many rows of the same ballots."""
    asked, of = question(N_ROWS, tuple(range(n_classes))), dict.fromkeys("abc"[: len(votes)], 1.0)
    one = motion(len(votes), n_classes)
    voters = [
        voter(name, [one], np.full(N_ROWS, vote)) for name, vote in zip(of, votes, strict=True)
    ]
    aggregator.check([one])
    gathered = aggregator.gather(asked, [one], Voters({each.name: each for each in voters}))
    (won,) = aggregator.open(gathered, [one], None)
    return won


@pytest.fixture(params=["trusted", "shares"])
def aggregator(request):
    return TrustedAggregator() if request.param == "trusted" else request.getfixturevalue("sharing")


@pytest.mark.parametrize(("votes", "n_classes"), [((0, 0), 2), ((2, 2), 3)])
def test_winners_follow_the_law(aggregator, votes, n_classes):
    # One of two may collude, so there is twice the noise that is charged for.
    won, counts = winners(aggregator, votes, n_classes), np.bincount(votes, minlength=n_classes)
    assert won.shape == (N_ROWS,)
    assert p_value(won, law(counts, 2.0)) > ALARM
    # Noise of half the variance, and ties to the last, would have been found out.
    assert p_value(won, law(counts, 1.0)) < ALARM
    assert p_value(won, law(counts, 2.0, first=False)) < ALARM


class Noiseless(FixedVoter):
    """Shares its ballots, and leaves out its noise."""

    def deliver(self, question, recipients):
        one = self.motions[0]
        if self.name == "a":
            object.__setattr__(one.mechanism, "share", lambda shape, rng: np.zeros(shape, int))
        super().deliver(question, recipients)
        one.mechanism.__dict__.pop("share", None)


def test_missing_noise_is_detected(sharing):
    won = winners(sharing, (0, 0), 2, Noiseless)
    assert p_value(won, law([2, 0], 2.0)) < ALARM
    assert p_value(won, law([2, 0], 1.0)) > ALARM
