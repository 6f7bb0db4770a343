"""Brute force over neighbours: sums of several labels move by no more than is charged."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.linear.test_neighbours import (
    HUGE,
    KINDS,
    LEVELS,
    OWNERS,
    asked,
    furthest,
    random_numbers,
)

from secretballot.linear import _dense_features, _private_sums
from secretballot.linear._labels import LabelResponse
from secretballot.linear._private_sums import RowSums
from secretballot.tables._people import People


@pytest.fixture(autouse=True)
def few_cosines(monkeypatch):
    """Take fewer cosines, which are as long."""
    monkeypatch.setattr(_dense_features, "_N_COSINES", 20)


def labels(rng, n_rows, n_labels):
    return (rng.random((n_rows, n_labels)) < 0.3).astype(int)


def row_neighbours(n_labels, kind, **given):
    """Return the furthest of neighbours that differ in one row."""
    rng, worst = np.random.default_rng(0), Fraction(0)
    pool = None if kind == "declared" else random_numbers(rng, 60)
    for pair in range(6):
        X, Y = random_numbers(rng, 41), labels(rng, 41, n_labels)
        Z, other = X.copy(), Y.copy()
        place = int(rng.integers(41))
        # All labels or none, in the same bins; or any other row.
        Y[place], other[place] = (1, 0) if pair < 3 else labels(rng, 2, n_labels)
        X[place] = 1e300 if pair < 3 else rng.choice(HUGE, size=3)
        Z[place] = 1e308 if pair < 3 else rng.choice([*HUGE, *rng.normal(size=3)], size=3)
        runs = (asked(*each, pool, **KINDS[kind], **given) for each in ((X, Y), (Z, other)))
        worst = max(worst, furthest(*runs))
    return worst


@pytest.mark.parametrize("n_labels", [pytest.param(2, marks=pytest.mark.slow), 30])
@pytest.mark.parametrize("kind", KINDS)
def test_neighbouring_rows_move_sums_by_their_charge(kind, n_labels):
    assert 0.9 < row_neighbours(n_labels, kind, label_rate=0.5) <= 1


@pytest.mark.parametrize("rate", [None, 0.001, 0.9])
def test_a_guess_of_rates_is_charged_alike(rate):
    # Rows without rare labels have short residuals.
    assert 0.5 < row_neighbours(5, "additive", label_rate=rate) <= 1


def owner_neighbours(kind):
    """Return the furthest of an owner with other rows, and with more of them: others move up."""
    rng, worst = np.random.default_rng(1), Fraction(0)
    pool = None if kind == "declared" else random_numbers(rng, 60)
    others, Y = random_numbers(rng, 61), labels(rng, 61, 4)
    for more in (1, 7, 50):
        runs = [
            asked(
                np.concatenate([np.full((n, 3), 1e300), others]),
                np.concatenate([np.full((n, 4), label), Y]),
                pool,
                OWNERS,
                owners=np.concatenate([np.zeros(n, int), np.arange(61) % 7 + 1]),
                **KINDS[kind],
            )
            for label, n in enumerate((3, more))
        ]
        worst = max(worst, furthest(*runs))
    return worst


@pytest.mark.parametrize("kind", ["additive", "linear", "declared"])
def test_neighbouring_owners_move_sums_by_their_charge(kind):
    assert 0.9 < owner_neighbours(kind) <= 1


def test_neighbours_of_each_level_move_sums_by_their_charge():
    rng = np.random.default_rng(2)
    X, Y, pool = random_numbers(rng, 40), labels(rng, 40, 4), random_numbers(rng, 60)
    X[:2] = 1e300
    levels = np.array(["low", "high"])[np.arange(40) % 2]
    for place, level in enumerate(levels[:2]):
        runs = []
        for label in (0, 1):
            Y[place] = label
            runs.append(asked(X, Y.copy(), pool, LEVELS, budgets=levels))
        assert 0.5 < furthest(*runs, level) <= 1


def row_vectors(n_labels, features, coefficients, norm):
    """Return the vector of each row alone, the sum of all rows, and the sum but for the last."""
    rng = np.random.default_rng(3)
    n_rows = len(features)
    Y = csr_array(labels(rng, n_rows, n_labels).astype(float))
    shares = rng.choice([1.0, 1 / 3, 1 / 7], size=n_rows)

    def sums(rows):
        private = RowSums(
            transform=lambda part: features[rows][part],
            targets=Y[rows],
            shares=shares[rows],
            total=300.0,
            n_numbers=features.shape[1],
        )
        residuals = LabelResponse(np.full(n_labels, 0.2)).scaled_residuals
        return private.residual_sums(coefficients, norm, residuals)

    order = rng.permutation(n_rows)
    return np.stack([sums([row]) for row in order]), sums(order), sums(order[:-1])


@pytest.mark.parametrize("n_labels", [2, 9, 130])
def test_contribution_of_a_row_is_within_the_norm_and_independent_of_others(n_labels, monkeypatch):
    monkeypatch.setattr(_private_sums, "_MOST_RESIDUALS", 70 * n_labels)  # several parts
    rng = np.random.default_rng(4)
    features = rng.choice([0.1, 1 / 3, 1e-9, 1.3], size=(300, 5))
    norm = float(np.linalg.norm(features, axis=1).max())
    coefficients = rng.normal(size=(6, n_labels))
    each, total, but_one = row_vectors(n_labels, features, coefficients, norm)
    assert (but_one == total - each[-1]).all()
    assert (each.sum(axis=0) == total).all()
    for vector in each:
        assert sum(Fraction(x) ** 2 for x in vector.ravel().tolist()) <= Fraction(norm) ** 2


def clip_apart(residuals, limits):
    """Clip the residual of each label apart."""
    return np.clip(residuals, -limits, limits)


PLANTED = {
    "apart": (_private_sums, "_clip_lengths", clip_apart),
    "long": (_private_sums, "_clip_lengths", lambda residuals, limits: residuals),
    "owner": (People, "from_owners", lambda a, owners, n: People(8, "owner", np.ones(n))),
}


@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors_fail_the_check(error, monkeypatch):
    monkeypatch.setattr(*PLANTED[error])
    worst = owner_neighbours("linear") if error == "owner" else row_neighbours(30, "linear")
    assert worst > 1
