"""A run of tied queries that was priced as one plan: the audit nearly finds all of the claim."""

import numpy as np
import pytest

from secretballot.accounting import price_plan
from secretballot.mechanisms import GNMax
from secretballot.testing import Neighbours, audit_epsilon

DELTA, N_ROWS = 1e-2, 20
PAIR = Neighbours(*(np.tile(np.array([votes], float), (N_ROWS, 1)) for votes in ([5, 5], [6, 4])))


def wins(outcomes):
    """How often each class won: of tied queries nothing else tells."""
    first = outcomes.sum(axis=1)
    return np.column_stack([first, -first])


def audit(mechanism, claim, n_draws):
    return audit_epsilon(
        mechanism, [PAIR], DELTA, claim=claim, n_draws=n_draws, events=wins, random_state=0
    )


@pytest.mark.parametrize(
    ("sigma", "n_draws"),
    [(6.0, 400_000), pytest.param(3.0, 1_000_000, marks=pytest.mark.slow)],
)
def test_the_lower_bound_comes_within_15_per_cent_of_the_claim(sigma, n_draws):
    mechanism = GNMax(sigma=sigma)
    claim = price_plan(mechanism, N_ROWS, n_columns=2).epsilon(DELTA)
    renyi = float((N_ROWS * mechanism.max_cost(2)["*"]).epsilon(DELTA))
    report = audit(mechanism, claim, n_draws)
    assert report.holds
    assert report.share > 0.85
    assert claim < 0.9 * renyi
    # The same rows in batches of five, each a plan of its own in a Gaussian budget.
    batch = price_plan(mechanism, 5, n_columns=2).gaussian_cost(1e-4)
    lower_bound = report.share * claim
    assert 0.75 * (4 * batch).epsilon(DELTA) < lower_bound < (4 * batch).epsilon(DELTA)
    # Planted: a batch that nobody paid for, and the price of the noise of twice the sigma.
    cheaper = price_plan(GNMax(sigma=2 * sigma), 5, n_columns=2).gaussian_cost(1e-4)
    assert (2 * batch).epsilon(DELTA) < lower_bound
    assert (4 * cheaper).epsilon(DELTA) < lower_bound


@pytest.mark.parametrize(
    ("drawn", "n_priced"), [(GNMax(sigma=3.0), N_ROWS), (GNMax(sigma=6.0), 12)]
)
def test_half_the_noise_or_forgotten_rows_are_found(drawn, n_priced):
    claim = price_plan(GNMax(sigma=6.0), n_priced, n_columns=2).epsilon(DELTA)
    assert not audit(drawn, claim, 300_000).holds
