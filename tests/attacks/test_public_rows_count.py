"""The check of public rows, which is a release itself: how often it is wrong, what it tells.

Mistakes that it finds are in `tests/mistakes`.
"""

import warnings

import numpy as np
import pytest
from scipy.stats import norm

from secretballot import (
    PrivacyAccountant,
    PrivateLogisticRegression,
)
from secretballot.mechanisms import NoisyCounts
from secretballot.tables._people import People
from secretballot.tables._public_rows_check import PublicRowsCheck, cells_outside, people_outside


def linear(accountant, **settings):
    return PrivateLogisticRegression(
        **{"classes": [0, 1], "epsilon": 1.0, "accountant": accountant, **settings}
    )


def checked(private, public, seed, n=None):
    """Return the check of many budgets at once: whether it refuses."""
    accountant = PrivacyAccountant(1.0, 1e-5)
    people = People.from_owners(accountant, None, len(private))
    check = PublicRowsCheck.of(accountant, len(private), public, accountant.scope(), is_wanted=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check.release_count(
                accountant,
                lambda: people_outside(people, cells_outside(private, public)),
                scope=accountant.scope(),
                random_state=np.random.SeedSequence(seed, spawn_key=(1,)),
                note={},
            )
    except ValueError:
        return True
    return False


@pytest.mark.parametrize(("n_rows", "n_public"), [(600, 25), (2000, 25), (2000, 400)])
def test_rows_of_the_same_kind_are_not_refused(n_rows, n_public, counts):
    refused, repeats = 0, 300
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        refused += checked(rng.normal(size=(n_rows, 8)), rng.normal(size=(n_public, 8)), seed)
    counts(f"honest pools of {n_public} refused among {repeats} ({n_rows} rows)", refused)
    # Of one in a thousand at most, 3 in 300 come less than once in three hundred times.
    assert refused <= 3


@pytest.mark.parametrize("n_rows", [600, 2000])
def test_most_rows_elsewhere_are_found(n_rows, counts):
    missed, repeats = 0, 300
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        private = rng.normal(size=(n_rows, 8))
        private[: int(0.9 * n_rows), rng.integers(8)] += 1e3
        missed += not checked(private, rng.normal(size=(40, 8)), seed)
    counts(f"pools missed with nine rows in ten elsewhere, of {repeats} ({n_rows} rows)", missed)
    assert missed == 0


def test_the_count_moves_by_one_person(counts):
    """Brute force: one row moves the largest count of all columns by 1 at most."""
    rng = np.random.default_rng(0)
    tried, furthest = 0, 0.0
    for _ in range(300):
        private, public = rng.normal(size=(50, 6)), rng.normal(size=(30, 6))
        before = largest(private, public)
        for row in (np.full(6, 1e9), np.full(6, np.nan), public[0], rng.normal(size=6) * 5):
            neighbour = private.copy()
            neighbour[rng.integers(50)] = row
            furthest = max(furthest, abs(largest(neighbour, public) - before))
            tried += 1
    counts("neighbours whose counts were compared", tried)
    assert furthest == 1


def largest(private, public):
    return max(outside.sum() for _, outside in cells_outside(private, public))


def test_the_audited_epsilon_is_below_what_was_charged(counts):
    """Neighbours one count apart, and a planted error: half the noise is found."""
    sigma, repeats = 2.0, 200_000
    rng = np.random.default_rng(0)
    audited = {}
    for label, noise in (("as charged", sigma), ("planted: half the noise", sigma / 2)):
        mechanism = NoisyCounts(sigma=noise)
        mine = mechanism.sample(np.full((repeats, 1), 100.0), rng)[:, 0]
        other = mechanism.sample(np.full((repeats, 1), 101.0), rng)[:, 0]
        audited[label] = audited_mu(mine, other)
        counts(f"audited mu, {label} (charged {1 / sigma})", round(audited[label], 3))
    assert 0.9 / sigma < audited["as charged"] <= 1 / sigma
    assert audited["planted: half the noise"] > 1.5 / sigma


def audited_mu(mine, other):
    """Return a mu that is refuted at 1e-6, from the best of some thresholds."""
    best = 0.0
    for line in np.linspace(97, 104, 15):
        n = len(mine)
        slack = np.sqrt(np.log(2 * 15 / 1e-6) / (2 * n))
        low = np.clip((other > line).mean() - slack, 1e-9, 1)
        high = np.clip((mine > line).mean() + slack, 1e-9, 1 - 1e-9)
        best = max(best, norm.ppf(low) - norm.ppf(high))
    return best
