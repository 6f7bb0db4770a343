"""Bins at private quantiles: without public rows, and beside them where that is cheap."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
)
from secretballot.linear import _fit_plan
from secretballot.linear._fit_features import placed_bins
from secretballot.measures._rank_grid import RankGrid


def bins_of(x, bounds, n_bins, sigma=1e-6):
    """Bins of one column, almost without noise."""
    grid = RankGrid.between(["x"], {"x": bounds}, 1024)
    sums = grid.sums([np.asarray(x, dtype=float)], np.ones(len(x)), len(x))
    return placed_bins(("x",), grid.ranks(sums, sigma, len(x)), n_bins)["x"]


def test_bins_are_quantiles():
    x = np.random.default_rng(0).lognormal(size=20_000)
    bins = bins_of(x, (0, 1_000), 10)
    assert bins.n_bins == 10
    exact = np.quantile(x, np.linspace(0, 1, 11)[1:-1])
    np.testing.assert_allclose(bins.edges, exact, rtol=0.04)
    shares = np.bincount(bins.codes(x)) / len(x)
    np.testing.assert_allclose(shares, 0.1, atol=0.02)
    np.testing.assert_allclose(bins.ranks, np.arange(10) / 10 + 0.05, atol=0.02)


@pytest.mark.parametrize("spike", [0.0, 37.0, 100.0])
def test_a_frequent_value_has_a_bin_of_its_own(spike):
    rng = np.random.default_rng(0)
    x = np.concatenate([np.full(9_000, spike), rng.uniform(0, 100, size=1_000)])
    bins = bins_of(x, (0, 100), 5)
    own = bins.codes([spike])[0]
    assert 0.9 <= np.mean(bins.codes(x) == own) < 0.91
    others = np.bincount(np.delete(bins.codes(x), np.arange(9_000)), minlength=bins.n_bins)
    assert (np.delete(others, own) > 50).all()


def test_whole_numbers_on_the_grid_stay_together():
    # The ends of the grid's even bins are whole numbers here.
    x = np.repeat(np.arange(1, 17), 100)
    bins = bins_of(x, (1, 17), 64)
    codes = bins.codes(x)
    assert len(np.unique(codes)) == 16
    assert (np.diff(codes) >= 0).all()


def test_labels_name_integers_where_released_numbers_are_integers():
    rng = np.random.default_rng(0)
    bins = bins_of(rng.integers(0, 7, size=20_000), (0, 10), 10, sigma=5)
    assert bins.is_integer
    # Bins without any integer are said to be.
    assert [text for text in bins.labels() if not text.startswith("no integer (")] == [
        "up to 0",
        *map(str, range(1, 7)),
        "7 and more",
    ]
    tail = np.where(rng.random(20_000) < 0.9, 37.0, rng.uniform(0, 100, size=20_000))
    for x in (rng.normal(5, 2, size=20_000), rng.integers(0, 20, size=20_000) / 2, tail):
        for n_bins in (5, 50):
            assert not bins_of(x, (0, 100), n_bins, sigma=5).is_integer


def test_a_column_without_rows_is_one_bin():
    bins = bins_of(np.full(500, np.nan), (0, 1), 8)
    assert bins.n_bins == 1
    assert np.isfinite(bins.precision()).all()


def skewed_rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.lognormal(size=(n_rows, 3))
    y = (np.log(X) @ [1.0, -1.0, 0.5] + rng.logistic(size=n_rows) > 0).astype(int)
    return X, y


def fitted(X, y, *, bounds, epsilon=2.0, **kwargs):
    accountant = PrivacyAccountant(epsilon, 1e-5, **kwargs.pop("budget", {}))
    model = PrivateLogisticRegression(bounds=bounds, classes=[0, 1], accountant=accountant)
    return model.fit(X, y, **kwargs)


def test_bounds_far_too_wide_cost_little(monkeypatch):
    X, y = skewed_rows(20_000, 0)
    X_test, y_test = skewed_rows(5_000, 1)

    def area(high):
        model = fitted(X, y, bounds=(0, high))
        return roc_auc_score(y_test, model.decision_function(X_test))

    placed = area(200)
    assert placed > area(20) - 0.01
    monkeypatch.setattr(_fit_plan, "plan_bins", lambda *arguments, **options: None)
    assert area(200) < placed - 0.05


def test_the_release_is_charged_beside_the_rounds():
    X, y = skewed_rows(5_000, 0)
    model = fitted(X, y, bounds=(0, 50))
    notes = [entry.note for entry in model.accountant.entries() if entry.is_release]
    assert sum('"quantiles"' in note for note in notes) == 1
    assert model.accountant.spent().epsilon == pytest.approx(2.0, rel=1e-3)


def test_noise_that_would_misplace_bins_is_not_paid_for():
    X, y = skewed_rows(600, 0)
    model = fitted(X, y, bounds=(0, 50), epsilon=0.6)
    assert not any('"quantiles"' in entry.note for entry in model.accountant.entries())
    edges = model._public_features.columns[0].edges
    np.testing.assert_allclose(np.diff(edges), edges[1] - edges[0] if len(edges) > 1 else [])


def test_categories_alone_have_no_quantiles():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"kind": rng.choice(["a", "b"], size=2_000)})
    y = (table["kind"] == "a").astype(int).to_numpy()
    model = PrivateLogisticRegression(
        categories={"kind": ["a", "b"]}, classes=[0, 1], accountant=PrivacyAccountant(2.0, 1e-5)
    ).fit(table, y)
    assert not any('"quantiles"' in entry.note for entry in model.accountant.entries())
    assert model.score(table, y) > 0.95


def test_owners_and_levels_are_weighed():
    X, y = skewed_rows(6_000, 0)
    owners = np.arange(6_000) // 2
    model = fitted(X, y, bounds=(0, 50), owners=owners, budget={"unit": "owner"})
    assert any('"quantiles"' in entry.note for entry in model.accountant.entries())
    accountant = PrivacyAccountant({"low": 1.0, "high": 2.0}, 1e-5)
    levels = np.where(np.arange(6_000) % 3, "low", "high")
    model = PrivateLogisticRegression(bounds=(0, 50), classes=[0, 1], accountant=accountant)
    model.fit(X, y, budgets=levels)
    spent = accountant.spent()
    assert spent["low"].epsilon == pytest.approx(1.0, rel=1e-2)
    assert spent["high"].epsilon == pytest.approx(2.0, rel=1e-2)
    assert math.isfinite(model.coef_.sum())


class Asked(Exception):
    """The sums of quantiles that a fit asks for, with their mechanism; nothing is drawn."""


def asked_quantiles(monkeypatch, X, y, **how):
    release = PrivacyAccountant.release

    def stopped(self, mechanism, counts, **given):
        if given["note"].get("release") == "quantiles":
            raise Asked(mechanism, np.asarray(counts))
        return release(self, mechanism, counts, **given)

    monkeypatch.setattr(PrivacyAccountant, "release", stopped)
    with pytest.raises(Asked) as asked:
        fitted(X, y, bounds=(0, 50), **how)
    return asked.value.args


@pytest.mark.parametrize("unit", ["row", "owner"])
def test_one_person_moves_quantiles_by_what_is_charged(unit, monkeypatch):
    X, y = skewed_rows(6_000, 0)
    owners = np.arange(6_000) // 2
    how = {"owners": owners, "budget": {"unit": "owner"}} if unit == "owner" else {}
    whose = owners == 0 if unit == "owner" else np.arange(6_000) == 0
    parts = []
    for low, high in ((0.0, 0.1), (0.0, 50.0), (np.nan, 50.0)):
        (mechanism, one), (_, other) = (
            asked_quantiles(monkeypatch, np.where(whose[:, None], x, X), y, **how)
            for x in (low, high)
        )
        parts.append(np.linalg.norm(one - other) / mechanism.sensitivity)
    assert 0.6 < max(parts) <= 1


def test_few_public_rows_leave_the_bins_to_private_quantiles():
    X, y = skewed_rows(5_000, 0)
    pool = skewed_rows(40, 1)[0]
    model = fitted(X, y, bounds=(0, 50), X_public=pool)
    assert any('"quantiles"' in entry.note for entry in model.accountant.entries())
    assert model.accountant.spent().epsilon == pytest.approx(2.0, rel=1e-2)
    columns = model._public_features.columns
    inner = [column.edges[len(column.edges) // 2] for column in columns]
    np.testing.assert_allclose(inner, 1.0, atol=0.5)  # the median, where equal widths have 25
    many = fitted(X, y, bounds=(0, 50), X_public=skewed_rows(400, 1)[0])
    assert not any('"quantiles"' in entry.note for entry in many.accountant.entries())


def quantile_entries(model):
    entries = model.accountant.entries()
    return [entry for entry in entries if entry.charges and '"quantiles"' in entry.note]


def test_private_quantiles_beside_public_rows_are_taken_where_they_are_cheap():
    X, y = skewed_rows(20_000, 0)
    pool = skewed_rows(200, 1)[0]
    for epsilon, is_placed in ((0.5, False), (8.0, True)):
        model = fitted(X, y, bounds=None, epsilon=epsilon, X_public=pool)
        assert len(quantile_entries(model)) == is_placed
        assert model.accountant.spent().epsilon == pytest.approx(epsilon, rel=1e-2)
    # Bins hold as many private rows each but for noise, which those of 200 public rows do not.
    edges = model._public_features.columns[0].edges
    shares = np.arange(1, model.n_bins_) / model.n_bins_
    placed, public = (
        np.bincount(np.searchsorted(ends, X[:, 0])) * model.n_bins_ / len(X)
        for ends in (edges, np.quantile(pool[:, 0], shares))
    )
    assert placed.std() < 0.2 < 0.3 < public.std()


def test_a_release_costs_no_more_than_its_exactness_needs():
    X, y = skewed_rows(20_000, 0)
    model = fitted(X, y, bounds=(0, 50), epsilon=8.0)
    (entry,) = quantile_entries(model)
    charges = [
        float(cost.mu2) for each in model.accountant.entries() for cost in each.charges.values()
    ]
    assert 0.002 <= float(entry.charges["everyone"].mu2) / sum(charges) < 0.05


def test_values_seen_again_and_again_keep_a_bin_each():
    X, y = skewed_rows(20_000, 0)
    X = np.column_stack([X, np.random.default_rng(2).integers(0, 4, size=len(X))])
    model = fitted(X[200:], y[200:], bounds=None, epsilon=8.0, X_public=X[:200])
    assert len(quantile_entries(model)) == 1
    np.testing.assert_array_equal(model._public_features.columns[3].edges, [0.5, 1.5, 2.5])


def test_piecewise_linear_effects_keep_public_quantiles():
    X, y = skewed_rows(20_000, 0)
    model = PrivateLinearRegression(
        target_bounds=(0, 1), accountant=PrivacyAccountant(16.0, 1e-5)
    ).fit(X, y, X_public=skewed_rows(200, 1)[0])
    assert not quantile_entries(model)
