"""Brute force over neighbours: what a regression asks moves by no more than is charged."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.linear.test_neighbours import HUGE, LEVELS, OWNERS, ROWS, furthest, random_numbers

from secretballot.ensemble import PublicData
from secretballot.linear import PrivateLinearRegression, _numbers, _residual_histogram, _response
from secretballot.linear._additive_bins import AdditiveBins, PairedBins
from secretballot.linear._residual_histogram import (
    FIRST_VOTE_LENGTH,
    N_BINS,
    TOP,
    VOTE_LENGTH,
    ResidualHistogram,
    residual_bins,
)

KINDS = {
    "additive": {"features": "additive", "n_bins": 4},
    "linear": {"features": "linear"},
    "kernel": {"features": "kernel"},
    "declared": {"bounds": (-2, 2), "n_bins": 4},
}


@pytest.fixture(autouse=True)
def random_posterior(monkeypatch):
    """Replace the posterior by small random coefficients, and clip at the end of the range."""

    def fit_posterior(rounds, reference, groups, start, n_people, link):
        generator = np.random.default_rng(len(rounds))
        shape = start.variances.shape
        coefficients = generator.normal(scale=1e-4, size=shape)
        return replace(start, coefficients=coefficients, covariance=np.eye(len(coefficients)))

    monkeypatch.setattr(_numbers, "fit_posterior", fit_posterior)
    monkeypatch.setattr(ResidualHistogram, "efficient_scale", lambda *_: 1.0)
    monkeypatch.setattr(_numbers, "last_scale", lambda *_: 1.0)


def asked(X, y, X_public, accountant=ROWS, *, owners=None, budgets=None, **parameters):
    """Return what a fit asks: mechanisms and counts."""
    accountant.asked = []
    model = PrivateLinearRegression(
        target_bounds=(-1, 1),
        accountant=accountant,
        rounds=3,
        interactions=3,
        check_public_rows=False,
        **parameters,
    )
    pool = None if X_public is None else PublicData(X_public)
    with warnings.catch_warnings():
        # The answers are made up, and seem strange.
        warnings.filterwarnings("ignore", ".*follows from what was released")
        model.fit(X, y, X_public=pool, owners=owners, budgets=budgets)
    return accountant.asked


def row_neighbours(kind):
    """Return the furthest of neighbours that differ in one row."""
    rng, worst = np.random.default_rng(0), Fraction(0)
    pool = None if kind == "declared" else random_numbers(rng, 60)
    for pair in range(12):
        X, y = random_numbers(rng, 41), rng.uniform(-1, 1, size=41)
        Z, z = X.copy(), y.copy()
        place = int(rng.integers(41))
        # The same features with targets at both ends, of one bin or not; or any other row.
        y[place], z[place] = 1.0, (-1.0, -TOP + 1e-2, 1.0, TOP - 1e-2)[pair % 4]
        X[place], Z[place] = 1e300, 1e300 if pair < 4 else -1e300
        if pair >= 8:
            X[place], Z[place] = rng.choice([*HUGE, *rng.normal(size=3)], size=(2, 3))
        runs = (asked(*each, pool, **KINDS[kind]) for each in ((X, y), (Z, z)))
        worst = max(worst, furthest(*runs))
    return worst


def test_noise_grows_with_the_cells_of_pairs():
    rng = np.random.default_rng(0)
    X, y = random_numbers(rng, 200), rng.uniform(-1, 1, size=200)
    questions = asked(X, y, X[:60] + 0.1, n_bins=4)
    assert len(questions) == 6
    assert questions[-1][1].size > questions[-3][1].size  # the made-up answers let pairs join
    # Vectors are scaled so that no two are 2 apart, whatever their length was.
    assert {mechanism.diameter for mechanism, _ in questions} == {2.0}
    assert len({mechanism.sigma for mechanism, _ in questions}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_neighbouring_rows_move_sums_by_their_charge(kind):
    assert 0.7 < row_neighbours(kind) <= 1


def owner_neighbours(kind, budget, level=None):
    """Return the furthest of neighbours that differ in one owner's rows."""
    rng, worst = np.random.default_rng(1), Fraction(0)
    pool = None if kind == "declared" else random_numbers(rng, 60)
    owners = np.arange(40) // 4
    given = {"owners": owners} if budget is OWNERS else {"budgets": ["low"] * 8 + ["high"] * 32}
    moved = slice(8, 12) if budget is OWNERS else slice(8, 9)
    for pair in range(4):
        X, y = random_numbers(rng, 40), rng.uniform(-1, 1, size=40)
        Z, z = X.copy(), y.copy()
        y[moved], z[moved] = 1.0, (-1.0, -TOP + 1e-2)[pair % 2]
        X[moved] = Z[moved] = 1e300
        if pair >= 2:
            Z[moved] = random_numbers(rng, moved.stop - moved.start)
        runs = (asked(*each, pool, budget, **given, **KINDS[kind]) for each in ((X, y), (Z, z)))
        worst = max(worst, furthest(*runs, level=level))
    return worst


@pytest.mark.parametrize("kind", ["additive", "declared"])
def test_neighbouring_owners_move_sums_by_their_charge(kind):
    assert 0.7 < owner_neighbours(kind, OWNERS) <= 1


def test_neighbours_of_a_level_move_sums_by_its_charge():
    assert 0.7 < owner_neighbours("additive", LEVELS, "high") <= 1


def squared_distances(with_features):
    """Return the largest squared distance of two rows' vectors, by the product of their features.

    Features have a length of 1; residuals are from a fine grid, both ends of each bin among it.
    """
    edges = _residual_histogram._EDGES
    ends = np.concatenate([edges, [TOP], -edges, [-TOP]])
    rho = np.unique(np.concatenate([np.linspace(-1, 1, 201), ends, ends - 1e-12, ends + 1e-12]))
    same = residual_bins(rho)[:, None] == residual_bins(rho)
    vote = FIRST_VOTE_LENGTH if with_features else VOTE_LENGTH
    found = {}
    for product in (0.0, 0.3, 1.0) if with_features else (-1.0, 0.0, 0.3, 1.0):
        moved = rho[:, None] ** 2 + rho**2 - 2 * product * np.outer(rho, rho)
        moved = moved + with_features * (2 - 2 * product) + 2 * vote**2 * ~same
        found[product] = float(moved.max())
    return found


@pytest.mark.parametrize("with_features", [False, True])
def test_the_histogram_is_free(with_features):
    # The diameter of the residuals times features alone is 2.
    assert max(squared_distances(with_features).values()) == pytest.approx(4, abs=1e-9)
    assert N_BINS == len(np.unique(residual_bins(np.linspace(-1, 1, 100_001))))


def signed_top(clipped):
    """Return bins as if large residuals of either sign had bins of their own."""
    bins = residual_bins(clipped)
    return np.where(clipped >= TOP, 0, bins)


PLANTED = {
    "long vote": [(_numbers, "VOTE_LENGTH", 0.8)],
    "long first vote": [(_numbers, "FIRST_VOTE_LENGTH", 0.8)],
    "signed top": [(_numbers, "residual_bins", signed_top)],
    "short norm": [(_response, "_DIAMETER", 1.9)],
    # The cells of pairs make a row longer, and are not paid for.
    "pairs": [(PairedBins, "norm", AdditiveBins.norm)],
}


@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors_fail_the_check(error, monkeypatch):
    for where, name, planted in PLANTED[error]:
        monkeypatch.setattr(where, name, planted)
    assert row_neighbours("additive") > 1
