"""Brute force over neighbours: sums that are released move by no more than is charged."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PublicData
from secretballot.linear import (
    PrivateLogisticRegression,
    _classes,
    _dense_features,
    _fit_plan,
    _private_sums,
    _reference_rows,
    _response,
    _synthetic_rows,
)
from secretballot.linear._additive_bins import AdditiveBins
from secretballot.linear._classes import class_residuals, residual_gains
from secretballot.linear._design import Design
from secretballot.linear._private_sums import RowSums
from secretballot.linear._response import Response
from secretballot.linear._synthetic_rows import ColumnMargins
from secretballot.mechanisms import VectorSum
from secretballot.tables._people import People

HUGE = [1e308, -1.7e308, 1e300, -1e154, 5e-324, -0.0]


class Asked(PrivacyAccountant):
    """Keeps what is asked of it, and answers the same whatever it was."""

    def calibrate(self, make, **_):
        """Return some noise."""
        return make(1.0)

    def reserve_plan(self, plan, *_):
        """Reserve nothing."""
        return dict.fromkeys(release.name for release in plan)

    def _settle(self, *_, **__):
        """Give nothing back."""

    def release(self, mechanism, counts, **_):
        """Keep the question."""
        self.asked.append((mechanism, counts))
        return np.random.default_rng(len(self.asked)).normal(scale=10, size=counts.shape)


ROWS, OWNERS, LEVELS = (
    Asked(epsilon=epsilon, delta=1e-5, unit=unit)
    for epsilon, unit in ((1.0, "row"), (1.0, "owner"), ({"low": 0.7, "high": 3.0}, "row"))
)


@pytest.fixture(autouse=True)
def random_posterior(monkeypatch):
    """Replace the posterior by random coefficients, from small to huge."""

    def fit_posterior(rounds, reference, groups, start, n_people):
        scale = 10.0 ** (3 * len(rounds) - 3)
        generator = np.random.default_rng(len(rounds))
        coefficients = generator.normal(scale=scale, size=start.variances.shape)
        return replace(start, coefficients=coefficients)

    monkeypatch.setattr(_classes, "fit_posterior", fit_posterior)
    for module in (_synthetic_rows, _reference_rows):
        monkeypatch.setattr(module, "N_SYNTHETIC", 50)
    monkeypatch.setattr(_dense_features, "_N_COSINES", 20)


def asked(X, y, X_public, accountant=ROWS, *, owners=None, budgets=None, **parameters):
    """Return what a fit asks: mechanisms and counts."""
    accountant.asked = []
    model = PrivateLogisticRegression(
        accountant=accountant, rounds=3, check_public_rows=False, **parameters
    )
    pool = None if X_public is None else PublicData(X_public)
    with warnings.catch_warnings():
        # The answers are made up, and seem strange.
        warnings.filterwarnings("ignore", ".*follows from what was released")
        model.fit(X, y, X_public=pool, owners=owners, budgets=budgets)
    assert accountant.asked
    return accountant.asked


def furthest(one, other, level=None):
    """Return how far two runs' questions are apart, as a part of what is charged, exactly."""
    parts = []
    for (mechanism, counts), (again, others) in zip(one, other, strict=True):
        assert mechanism == again  # the noise is public
        weight = mechanism.weight if level is None else mechanism.weight[level]
        change = Fraction(mechanism.sensitivity) * Fraction(weight)
        moved = sum(
            (Fraction(a) - Fraction(b)) ** 2
            for a, b in zip(counts.ravel().tolist(), others.ravel().tolist(), strict=True)
        )
        parts.append(moved / change**2)
    return max(parts)


def random_numbers(rng, n_rows):
    return np.where(rng.random((n_rows, 3)) < 0.9, rng.normal(size=(n_rows, 3)), 0.0)


def row_neighbours(n_classes, kind, **given):
    """Return the furthest of neighbours that differ in one row."""
    rng, worst = np.random.default_rng(0), Fraction(0)
    pool = None if kind == "declared" else random_numbers(rng, 60)
    for pair in range(8):
        X, y = random_numbers(rng, 41), rng.integers(n_classes, size=41)
        Z, z = X.copy(), y.copy()
        place = int(rng.integers(41))
        # A row as long, in the same bins, with the same class or another; or any other row.
        z[place] = (y[place] + (pair % 4 > 0)) % n_classes
        X[place] = 1e300 if pair < 4 else rng.choice(HUGE, size=3)
        Z[place] = 1e308 if pair < 4 else rng.choice([*HUGE, *rng.normal(size=3)], size=3)
        how = {"classes": range(n_classes), **KINDS[kind], **given}
        worst = max(worst, furthest(*(asked(*each, pool, **how) for each in ((X, y), (Z, z)))))
    return worst


def squares(X):
    with np.errstate(over="ignore"):
        return np.clip(np.hstack([X, X**2]), -1e308, 1e308)


KINDS = {
    "additive": {"features": "additive", "n_bins": 4},
    "linear": {"features": "linear"},
    "kernel": {"features": "kernel"},
    "frozen": {"features": FrozenEstimator(FunctionTransformer(squares).fit(np.zeros((1, 3))))},
    "declared": {"bounds": (-2, 2), "n_bins": 4},
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_neighbouring_rows_move_sums_by_their_charge(kind, n_classes):
    # Residuals of one row are nowhere opposite where there are three classes.
    assert (0.9 if n_classes == 2 else 0.7) < row_neighbours(n_classes, kind) <= 1


def owner_neighbours(kind, n_classes):
    """Return the furthest of an owner with other rows, and with more of them: others move up."""
    rng, worst = np.random.default_rng(1), Fraction(0)
    pool = None if kind == "declared" else random_numbers(rng, 60)
    others, labels = random_numbers(rng, 61), rng.integers(n_classes, size=61)
    for more in (1, 7, 50):
        runs = [
            asked(
                np.concatenate([np.full((n, 3), 1e300), others]),
                np.concatenate([np.full(n, label), labels]),
                pool,
                OWNERS,
                owners=np.concatenate([np.zeros(n, int), np.arange(61) % 7 + 1]),
                classes=range(n_classes),
                **KINDS[kind],
            )
            for label, n in enumerate((3, more))
        ]
        worst = max(worst, furthest(*runs))
    return worst


@pytest.mark.parametrize("kind", ["additive", "linear", "declared"])
def test_neighbouring_owners_move_sums_by_their_charge(kind):
    assert 0.9 < owner_neighbours(kind, 2) <= 1
    assert 0.5 < owner_neighbours(kind, 3) <= 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ranks_beside_few_public_rows_move_by_their_charge(n_classes, monkeypatch):
    """Products of ranks are released beside public rows as they are without any."""
    rng = np.random.default_rng(0)
    case = random_numbers(rng, 41), np.arange(41) % n_classes, random_numbers(rng, 60)
    how = {"classes": range(n_classes), **KINDS["additive"]}
    without = len(asked(*case, **how))
    monkeypatch.setattr(Response, "largest_rank_error", np.inf)
    assert len(asked(*case, **how)) == without + 1
    assert (0.9 if n_classes == 2 else 0.7) < row_neighbours(n_classes, "additive") <= 1
    assert 0.5 < owner_neighbours("additive", n_classes) <= 1


def equal_bins(*_, **options):
    """Place no bins: those of declared columns have equal widths."""
    return


def unranked(margins, order):
    """Keep scores of bins as they are."""
    return margins


def many_rows_neighbours(monkeypatch, n_rows=184_600):
    """Return the furthest of an owner of very many rows, and of one opposite row."""
    b = 255 / 256
    margins = [ColumnMargins(np.full(5, 0.2), np.array([1.0, -1.0, -b, b, 0.0]))] * 8
    monkeypatch.setattr(_synthetic_rows, "column_margins", lambda *_: margins)
    monkeypatch.setattr(ColumnMargins, "ranked", unranked)
    monkeypatch.setattr(_fit_plan, "plan_bins", equal_bins)
    half = np.where(np.arange(8) < 4, -2.0, 0.5)
    others = np.random.default_rng(3).normal(size=(20, 8))
    runs = [
        asked(
            np.concatenate([np.tile(row, (n, 1)), others]),
            np.concatenate([np.zeros(n, int), np.arange(20) % 2]),
            None,
            OWNERS,
            owners=np.concatenate([np.zeros(n, int), np.arange(20) + 1]),
            classes=[0, 1],
            bounds=(-2, 2),
            n_bins=4,
            interactions=0,
        )
        for n, row in ((n_rows, half), (1, np.full(8, -2.0)))
    ]
    return furthest(*runs)


def test_an_owner_of_many_rows_moves_sums_by_its_charge(monkeypatch):
    assert 0.5 < many_rows_neighbours(monkeypatch) <= 1


def level_neighbours(kind, n_classes):
    """Return the furthest of neighbours for each level."""
    rng = np.random.default_rng(2)
    pool = None if kind == "declared" else random_numbers(rng, 60)
    X, y = random_numbers(rng, 40), rng.integers(n_classes, size=40)
    X[:2] = 1e300
    levels, worst = np.array(["low", "high"])[np.arange(40) % 2], {}
    for place, level in enumerate(levels[:2]):
        z = y.copy()
        z[place] = (y[place] + 1) % n_classes
        how = {"budgets": levels, "classes": range(n_classes), **KINDS[kind]}
        worst[level] = furthest(*(asked(X, each, pool, LEVELS, **how) for each in (y, z)), level)
    return worst


@pytest.mark.parametrize("kind", ["additive", "linear", "declared"])
def test_neighbours_of_each_level_move_sums_by_their_charge(kind):
    for n_classes in (2, 3):
        worst = level_neighbours(kind, n_classes)
        assert all(0.5 < each <= 1 for each in worst.values())


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        (pd.Series([1, 2, 3] * 10), 1.5),
        (pd.Series([1, 2, 3] * 10, dtype=object), True),
        (pd.Series([True, False] * 15, dtype=object), 1),
        (pd.Series(["0.0", 0.0, -1] * 10, dtype=object), -0.0),
        (pd.Series(list("abc") * 10, dtype=object), "a" * 10_000),
        (pd.Series(list("abc") * 10, dtype=object), ["a", {}]),
        (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"] * 15)), "2020-01-01 00:00:00.01"),
    ],
    ids=["float", "bool", "int", "zero", "long", "nested", "time"],
)
def test_the_type_of_a_cell_moves_only_its_own_row(rows, row):
    # What one row holds gives a column another type, and may change the texts of all others.
    other = pd.Series([row, *rows.tolist()[1:]])
    if rows.dtype.kind == "M":
        other = pd.Series(pd.to_datetime(other.tolist(), format="ISO8601"))
    how = {"classes": [0, 1], "categories": {"a": rows.tolist()[:3]}}
    y = np.arange(30) % 2
    runs = [asked(pd.DataFrame({"a": each}), y, None, **how) for each in (rows, other)]
    assert furthest(*runs) <= 1


def test_contribution_of_a_row_is_independent_of_other_rows():
    rng = np.random.default_rng(3)
    for features in (rng.normal(size=(300, 5)), rng.choice([0.1, 1 / 3, 1e-9], size=(300, 5))):
        length = float(np.linalg.norm(features, axis=1).max())
        coefficients = rng.normal(size=(6, 3))
        codes, shares = rng.integers(3, size=300), rng.choice([1.0, 1 / 3, 1 / 7, 1.7], size=300)

        def sums(
            rows, features=features, length=length, b=coefficients, codes=codes, shares=shares
        ):
            private = RowSums(
                transform=lambda part: features[rows][part],
                targets=codes[rows],
                shares=shares[rows],
                total=300.0,
                n_numbers=5,
            )
            residuals = class_residuals(3, residual_gains)
            return private.residual_sums(b, length, residuals)

        each = [sums([row]) for row in range(300)]
        order = rng.permutation(300)
        assert (sums(order) == sums(np.arange(300))).all()
        assert (sums(order[:299]) == sums(order) - each[order[299]]).all()
        exact = sum(Fraction(one[0, 0]) for one in each)
        assert Fraction(sums(order)[0, 0]) == exact


def opposite_bins(self, columns):
    """Return features as if bins could be negative."""
    found = TRANSFORM(self, columns)
    found.data[:] = np.where(np.asarray(columns[0]) > 1e305, -1, 1).repeat(3)
    return found


TRANSFORM = AdditiveBins.transform_columns


PLANTED = {
    # An owner counts once for each row.
    "owner": [(People, "from_owners", lambda a, owners, n: People(8, "owner", np.ones(n)))],
    # Residuals are not clipped.
    "residual": [
        (_private_sums, "_clip_lengths", lambda residuals, limits: residuals),
    ],
    # Residuals of rows with short features are longer than their features are shorter.
    "limits": [(Design, "residual_limits", lambda self, norm: 1.1 * LIMITS(self, norm))],
    # The heavy level doesn't pay for its weight.
    "level": [(_response, "VectorSum", lambda weight, **how: VectorSum(weight=LIGHT, **how))],
    # Means are not free where features can be negative.
    "means": [(AdditiveBins, "transform_columns", opposite_bins)],
    # Products are scaled as if they were never further apart than one is long.
    "products": [
        (_fit_plan, "plan_bins", equal_bins),
        (RowSums, "score_products", lambda *each, **how: 2**0.5 * PRODUCTS(*each, **how)),
        (_synthetic_rows, "column_margins", lambda *_: [HALVES] * 3),
        (ColumnMargins, "ranked", unranked),
    ],
}
LIGHT = {"low": 1.0, "high": 1.0}
HALVES = ColumnMargins(np.full(5, 0.2), np.array([1.0, 1.0, -1.0, -1.0, 0.0]))
PRODUCTS = RowSums.score_products
LIMITS = Design.residual_limits


@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors_fail_the_check(error, monkeypatch):
    for where, name, planted in PLANTED[error]:
        monkeypatch.setattr(where, name, planted)
    if error == "owner":
        assert owner_neighbours("declared", 2) > 1
    elif error == "level":
        assert level_neighbours("declared", 2)["high"] > 1
    else:
        how = {"interactions": 0} if error == "products" else {}
        kind = "linear" if error == "limits" else "declared"
        assert row_neighbours(3 if error in ("residual", "limits") else 2, kind, **how) > 1
