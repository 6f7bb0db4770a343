"""Brute force over neighbours with missing cells: sums move by no more than is charged."""

from fractions import Fraction

import numpy as np
import pytest
from tests.linear import test_neighbours, test_number_neighbours

from secretballot.linear._column_bins import ColumnFeatures

pytestmark = pytest.mark.filterwarnings("ignore:.*do not fit")
random_posterior = test_neighbours.random_posterior
random_number_posterior = test_number_neighbours.random_posterior
NUMBERS = test_number_neighbours.asked


def classes(*given, **settings):
    """Return what a fit of two classes asks."""
    return test_neighbours.asked(*given, classes=[0, 1], **settings)


def furthest(asked, kind):
    """Return the furthest of neighbours that differ in one row with missing cells."""
    kinds = test_neighbours.KINDS if asked is classes else test_number_neighbours.KINDS
    rng, worst = np.random.default_rng(0), Fraction(0)
    pool = None if kind == "declared" else test_neighbours.random_numbers(rng, 60)
    if pool is not None:
        pool[rng.random(pool.shape) < 0.2] = np.nan
    for pair in range(8):
        X = test_neighbours.random_numbers(rng, 41)
        X[rng.random(X.shape) < 0.2] = np.nan
        y = rng.integers(2, size=41) if asked is classes else rng.uniform(-1, 1, size=41)
        Z, z = X.copy(), y.copy()
        y[0], z[0] = 1, 0 if asked is classes else -1
        # All cells of both rows are missing, or of one alone, or some.
        X[0] = np.nan if pair < 4 else np.where(rng.random(3) < 0.5, np.nan, rng.normal(size=3))
        Z[0] = (np.nan, 1e300, 0.0, -1e300)[pair] if pair < 4 else X[0]
        runs = (asked(*each, pool, **kinds[kind]) for each in ((X, y), (Z, z)))
        worst = max(worst, test_neighbours.furthest(*runs))
    return worst


@pytest.mark.parametrize("kind", ["additive", "linear", "kernel", "declared"])
@pytest.mark.parametrize("asked", [classes, NUMBERS], ids=["classes", "numbers"])
def test_rows_with_missing_cells_move_sums_by_their_charge(asked, kind):
    assert 0.5 < furthest(asked, kind) <= 1


@pytest.mark.parametrize("asked", [classes, NUMBERS], ids=["classes", "numbers"])
def test_more_than_a_weight_of_1_is_found(asked, monkeypatch):
    right = ColumnFeatures._with_missing

    def heavier(self, codes, weights):
        missing = weights.sum(axis=1) == 0
        codes, weights = right(self, codes, weights)
        weights[missing, -1] = 1.5
        return codes, weights

    monkeypatch.setattr(ColumnFeatures, "_with_missing", heavier)
    assert furthest(asked, "declared") > 1
