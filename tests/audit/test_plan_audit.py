"""A run of tied queries that was priced as one plan: the audit nearly finds all of the claim."""

import numpy as np
import pytest

from secretballot.accounting import price_plan
from secretballot.audit import Neighbours, audit_epsilon
from secretballot.mechanisms import GNMax

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
    found = audit(mechanism, claim, n_draws)
    assert found.holds
    assert found.share > 0.85
    assert claim < 0.9 * renyi


@pytest.mark.parametrize(
    ("drawn", "n_priced"), [(GNMax(sigma=3.0), N_ROWS), (GNMax(sigma=6.0), 12)]
)
def test_half_the_noise_or_forgotten_rows_are_found(drawn, n_priced):
    claim = price_plan(GNMax(sigma=6.0), n_priced, n_columns=2).epsilon(DELTA)
    assert not audit(drawn, claim, 300_000).holds
