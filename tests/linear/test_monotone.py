"""Monotone effects: predictions along columns, what is released and spent, what is refused."""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.golden._plain import ledger_entries

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)
from secretballot.linear import _classes, _numbers

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
CLASSES, NUMBERS = PrivateLogisticRegression, PrivateLinearRegression
COLUMNS = {"gain": 1, "age": -1}


@cache
def table(n_rows=2_500, seed=0):
    """Return rows, and a number that rises with the gain and bends with the age.

    Half of the gains are 0, the least; 40 is frequent among ages and lengths, no number of heights.
    """
    rng = np.random.default_rng(seed)

    def mixed(value, share, others):
        return np.where(rng.random(n_rows) < share, value, others)

    X = pd.DataFrame(
        {
            "gain": mixed(0.0, 0.5, rng.exponential(10, n_rows)),
            "age": mixed(40.0, 0.3, rng.integers(18, 90, n_rows)),
            "length": mixed(40.0, 0.2, rng.uniform(0, 100, n_rows)),
            "height": rng.normal(50, 20, n_rows),
            "work": rng.choice(["state", "own", "none"], n_rows),
        }
    )
    number = X["gain"] / 10 + np.abs(X["age"] - 50) / 20 + np.sin(X["length"] / 20)
    number += (X["work"] == "own") * (1 + X["gain"] / 10)
    return X, (number + rng.normal(size=n_rows)).to_numpy()


def fitted(kind, cst, budget=1.0, *, labels=False, levels=False, owners=False, **given):
    """Return a model of the table; of classes, numbers or labels."""
    (X, number), public = table(), PublicData(table(300, 1)[0])
    y = number if kind is NUMBERS else (number > 1.5).astype(int)
    if labels:
        y = np.stack([y, number > 2.5, number < 1], axis=1).astype(int)
    settings = {"target_bounds": (-5, 15)} if kind is NUMBERS else {"classes": [0, 1]}
    if labels:
        settings["classes"] = None
    if "bounds" in given:
        given["categories"] = {"work": ["state", "own", "none"]}
        public = None
    limit = {"strict": budget, "generous": 2 * budget} if levels else budget
    accountant = PrivacyAccountant(
        limit, 1e-5, unit="owner" if owners else "row", allow_seeded=True
    )
    data = {"owners": np.arange(len(X)) // 2} if owners else {}
    if levels:
        data["budgets"] = np.where(np.arange(len(X)) % 2, "strict", "generous")
    settings |= {"interactions": 0, "check_public_rows": False, "random_state": 0}
    model = kind(monotonic_cst=cst, **settings | {"accountant": accountant} | given)
    return model.fit(X, y, X_public=public, **data)


@cache
def unconstrained(kind):
    return fitted(kind, None)


@cache
def constrained(kind):
    return fitted(kind, COLUMNS)


def scores(model, X):
    """Return the numbers that must be monotone: (n_rows, n_columns)."""
    predicted = model.predict(X) if isinstance(model, NUMBERS) else model.decision_function(X)
    return predicted.reshape(len(X), -1)


def moves(model, name):
    """Return the moves of predictions along a dense grid of one column: of 12 rows."""
    public = table(300, 1)[0]
    points = np.concatenate([public[name], np.linspace(-10, 110, 301)])
    points = np.concatenate([points, np.nextafter(points, -np.inf), np.nextafter(points, np.inf)])
    points = np.unique(points)
    rows = public[:12].copy()
    others = [column for column in rows if column != name]
    rows.loc[rows.index[:3], others[0]] = np.nan
    rows.loc[rows.index[2:4], others[1]] = np.nan
    many = rows.loc[rows.index.repeat(len(points))].reset_index(drop=True)
    many[name] = np.tile(points, len(rows))
    predicted = scores(model, many)
    return np.diff(predicted.reshape(len(rows), len(points), -1), axis=1)


def worst_moves(model, cst):
    """Return the largest move against each direction."""
    return np.array(
        [(sign * moves(model, name)).min() for name, sign in cst.items() if sign]
    ) + np.zeros(1)


BOUNDS = {"gain": (0, 100), "age": (18, 90), "length": (0, 100), "height": (0, 100)}
CASES = {
    "classes": (CLASSES, {}),
    "classes, two bins": (CLASSES, {"n_bins": 2}),
    "classes, declared": (CLASSES, {"bounds": BOUNDS}),
    "numbers": (NUMBERS, {}),
    "numbers, many knots": (NUMBERS, {"n_bins": 30}),
    "numbers, declared": (NUMBERS, {"bounds": BOUNDS}),
    "labels": (CLASSES, {"labels": True, "rounds": 9}),
    "owners": (CLASSES, {"owners": True}),
    "levels": (NUMBERS, {"levels": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_predictions_are_monotone(case):
    kind, given = CASES[case]
    if case == "labels":  # one of them falls with the gain
        with pytest.warns(UserWarning, match="the effect of 'gain' clearly goes the other way"):
            model = fitted(kind, COLUMNS, **given)
    else:
        model = fitted(kind, COLUMNS, **given) if given else constrained(kind)
    # Exactly, also between rows that differ by one unit in the last place, and at single values.
    assert (worst_moves(model, COLUMNS) >= 0).all()
    # The function still moves, in columns without a direction both ways.
    assert (moves(model, "gain") > 0).any()
    assert (moves(model, "length") < 0).any()
    assert (moves(model, "length") > 0).any()


@pytest.mark.parametrize("kind", [CLASSES, NUMBERS])
def test_without_constraints_predictions_move_both_ways(kind):
    free = unconstrained(kind)
    assert (worst_moves(free, COLUMNS) < 0).all()


@cache
def products(n_rows=6_000, seed=0):
    """Return rows, and a number that pairs of columns make, some against any direction."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(n_rows, 4)), columns=list("abcd"))
    X["a"] = np.where(rng.random(n_rows) < 0.3, 0.25, X["a"])
    number = 3 * X["a"] * X["b"] + 2 * X["a"] * X["c"].abs() + X["a"]
    return X, (number + 0.5 * rng.normal(size=n_rows)).to_numpy()


@pytest.mark.parametrize("kind", [CLASSES, NUMBERS])
def test_predictions_with_pairs_of_columns_are_monotone(kind):
    cst = {"a": 1, "b": -1}
    (X, number), (public, _) = products(), products(400, 1)
    y = number if kind is NUMBERS else (number > 0).astype(int)
    settings = {"target_bounds": (-6, 6)} if kind is NUMBERS else {"classes": [0, 1]}
    model = kind(
        monotonic_cst=cst,
        interactions=6,
        rounds=3,
        accountant=PrivacyAccountant(6.0, 1e-5),
        check_public_rows=False,
        random_state=0,
        **settings,
    ).fit(X, y, X_public=PublicData(public))
    assert {("a", "b"), ("a", "c")} <= set(model.interactions_)
    points = np.unique(np.concatenate([public["a"], np.linspace(-1.5, 1.5, 301)]))
    for name, sign in cst.items():
        rows = public[:40].copy()
        rows.loc[rows.index[:3], "c"] = np.nan
        rows.loc[rows.index[2:5], "b" if name == "a" else "a"] = np.nan
        many = rows.loc[rows.index.repeat(len(points))].reset_index(drop=True)
        many[name] = np.tile(points, len(rows))
        predicted = scores(model, many).reshape(len(rows), len(points))
        steps = sign * np.diff(predicted, axis=1)
        assert steps.min() >= 0
        # The effect depends on the other column of a pair: cells are not all equal.
        rises = steps.sum(axis=1)
        assert rises.max() > rises.min() + 0.2


@pytest.mark.parametrize(("kind", "cst"), [(CLASSES, {"gain": 0}), (NUMBERS, [0, 0, 0, 0, 0])])
def test_no_direction_changes_nothing(kind, cst):
    free, ordered = unconstrained(kind), fitted(kind, cst)
    np.testing.assert_array_equal(ordered.coef_, free.coef_)
    np.testing.assert_array_equal(ordered.intercept_, free.intercept_)


def released(monkeypatch, kind, cst):
    """Return a model, and the released sums that its coefficients were computed from."""
    module, name = _numbers if kind is NUMBERS else _classes, "fit_posterior"
    inner, seen = getattr(module, name), []

    def spy(rounds, *args):
        seen.append([round_.mean.copy() for round_ in rounds])
        return inner(rounds, *args)

    monkeypatch.setattr(module, name, spy)
    model = fitted(kind, cst)
    monkeypatch.setattr(module, name, inner)
    return model, seen[-1]


@pytest.mark.parametrize("kind", [CLASSES, NUMBERS])
def test_constraints_change_neither_releases_nor_charges(monkeypatch, kind):
    # No height is frequent, so that the features are the same.
    cst = {"height": 1}
    (free, sums), (ordered, same_sums) = (
        released(monkeypatch, kind, given) for given in (None, cst)
    )
    np.testing.assert_array_equal(np.array(sums), np.array(same_sums))
    np.testing.assert_array_equal(ordered.coef_error_, free.coef_error_)
    assert np.abs(ordered.coef_ - free.coef_).max() > 0.01
    assert ledger_entries(ordered.accountant) == ledger_entries(free.accountant)


def test_charges_are_the_same_where_features_differ():
    # The single values of both columns become intervals.
    free, ordered = unconstrained(CLASSES), constrained(CLASSES)
    assert free.coef_.shape != ordered.coef_.shape
    assert ledger_entries(ordered.accountant) == ledger_entries(free.accountant)


@pytest.mark.parametrize("kind", [CLASSES, NUMBERS])
def test_the_mean_prediction_hardly_moves(kind):
    X, number = table(4_000, 2)
    free, ordered = unconstrained(kind), constrained(kind)
    if kind is CLASSES:
        shares = [model.predict_proba(X)[:, 1].mean() for model in (free, ordered)]
        assert shares[1] == pytest.approx(shares[0], abs=0.03)
    else:
        means = [model.predict(X).mean() for model in (free, ordered)]
        assert means[1] == pytest.approx(means[0], abs=0.05 * number.std())


def test_a_true_constraint_takes_noise_away():
    def rows(n_rows, seed):
        X = np.random.default_rng(seed).uniform(-1, 1, size=(n_rows, 4))
        return X, X[:, 0] - X[:, 1]

    (X, number), (pool, _), (test, answers) = rows(2_500, 0), rows(300, 1), rows(2_000, 2)
    y = number + np.random.default_rng(3).normal(size=len(X))
    errors = []
    for cst, seed in itertools.product((None, [1, -1, 0, 0]), range(6)):
        model = NUMBERS(
            target_bounds=(-6, 6),
            n_bins=16,
            rounds=1,
            monotonic_cst=cst,
            accountant=PrivacyAccountant(0.5, 1e-5),
            check_public_rows=False,
            random_state=seed,
        )
        model.fit(X, y, X_public=PublicData(pool))
        errors.append(np.mean((model.predict(test) - answers) ** 2))
    # No number is frequent, so that noise and features are the same.
    assert (np.array(errors[6:]) < errors[:6]).all()
    assert np.mean(np.divide(errors[6:], errors[:6])) < 0.9


@pytest.mark.parametrize(
    ("cst", "message"),
    [
        ([1, 0, 0, 0], r"monotonic_cst has shape \(4,\) but the input data X has 5 features"),
        ([2, 0, 0, 0, 0], r"must be an array-like of -1, 0 or 1. Observed values: \[2\]"),
        ([[1], [0], [0], [0], [0]], "must have one number for each column"),
        ({"gian": 1}, r"1 unexpected feature names: \['gian'\]"),
        ({"gain": "up"}, r"monotonic_cst\['gain'\] must be either -1, 0 or 1. Got 'up'"),
        ({"work": 1}, "'work' has categories, which have no order"),
        ([0, 0, 0, 0, -1], "'work' has categories, which have no order"),
        ("gain", "'monotonic_cst' parameter of .* must be an array-like"),
    ],
)
@pytest.mark.parametrize("given", [{}, {"bounds": BOUNDS}])
def test_invalid_constraints_are_refused_before_spending(cst, message, given):
    budget = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match=message):
        fitted(CLASSES, cst, accountant=budget, **given)
    assert budget.spent().share == 0
    assert not budget.entries()


def fitted_on_texts(cst, classes):
    """Return a model of two classes of texts, of which "up to" is the last in sorted order."""
    (X, number), budget = table(), PrivacyAccountant(1.0, 1e-5)
    model = CLASSES(
        classes=classes,
        monotonic_cst=cst,
        interactions=0,
        check_public_rows=False,
        accountant=budget,
        random_state=0,
    )
    y = np.where(number > 1.5, "more", "up to")
    return model, lambda: model.fit(X, y, X_public=PublicData(table(300, 1)[0]))


@pytest.mark.parametrize(
    ("classes", "cst", "sign"),
    [
        (["up to", "more"], {"gain": "more"}, 1),
        (["up to", "more"], {"gain": "up to"}, -1),
        (["more", "up to"], {"gain": "up to"}, -1),
        (["more", "up to"], ["more", 0, 0, 0, 0], 1),
        (None, {"gain": "more"}, 1),
    ],
)
def test_the_class_that_rises_is_named(classes, cst, sign):
    model, fit = fitted_on_texts(cst, classes)
    if sign < 0:
        with pytest.warns(UserWarning, match="'gain' clearly goes the other way"):
            fit()
    else:
        fit()
    assert model.classes_.tolist() == ["more", "up to"]
    rises = -moves(model, "gain")  # decision_function is that of "up to"
    assert (sign * rises >= 0).all()
    assert (np.abs(rises) > 0).any() == (sign > 0)


@pytest.mark.parametrize("cst", [{"gain": 1}, [-1, 0, 0, 0, 0]])
def test_a_number_does_not_name_a_class_that_is_sorted_elsewhere(cst):
    message = "does not say which class rises: classes are sorted.*: 'up to' or 'more'"
    model, fit = fitted_on_texts(cst, ["up to", "more"])
    with pytest.raises(ValueError, match=message):
        fit()
    # Learned classes are not quoted.
    learned, fit_learned = fitted_on_texts(cst, None)
    with pytest.raises(ValueError, match="does not say which class rises") as refused:
        fit_learned()
    assert "'more'" not in str(refused.value)
    assert not model.accountant.entries()
    assert not learned.accountant.entries()
    # Classes that were named in sorted order are counted as scikit-learn counts them.
    ordered, fit_ordered = fitted_on_texts({"gain": -1}, ["more", "up to"])
    fit_ordered()
    assert (moves(ordered, "gain") <= 0).all()


def test_another_text_is_no_class():
    model, fit = fitted_on_texts({"gain": "much"}, ["more", "up to"])
    with pytest.raises(ValueError, match="'much' is none of the classes.*'up to' or 'more'"):
        fit()
    assert not model.accountant.entries()


@pytest.mark.parametrize(("value", "sign"), [(True, 1), (False, -1), (np.False_, -1), (-1, -1)])
def test_booleans_name_the_class_that_rises(value, sign):
    X, number = table()
    model = CLASSES(
        classes=[False, True],
        monotonic_cst={"gain": value},
        interactions=0,
        check_public_rows=False,
        accountant=PrivacyAccountant(1.0, 1e-5),
    ).fit(X, (number > 1.5) == (sign > 0), X_public=PublicData(table(300, 1)[0]))
    assert (sign * moves(model, "gain") >= 0).all()
    assert np.abs(moves(model, "gain")).max() > 0


@pytest.mark.parametrize(
    ("kind", "direction", "labels"),
    [(CLASSES, -1, False), (NUMBERS, -1, False), (CLASSES, -1, True), (CLASSES, 1, True)],
)
def test_a_direction_against_a_clear_effect_is_warned_of(kind, direction, labels):
    # One of the labels falls, and two rise.
    with pytest.warns(UserWarning, match="the effect of 'gain' clearly goes the other way"):
        fitted(kind, {"gain": direction, "height": direction}, labels=labels)


@pytest.mark.parametrize("features", ["linear", "kernel"])
def test_features_without_effects_of_columns_are_refused(features):
    with pytest.raises(ValueError, match="needs features='additive'"):
        fitted(NUMBERS, COLUMNS, features=features)
    fitted(CLASSES, {"gain": 0}, features="linear")


def test_three_classes_are_refused():
    (X, number), budget = table(), PrivacyAccountant(1.0, 1e-5)
    model = CLASSES(classes=[0, 1, 2], monotonic_cst={"gain": 1}, accountant=budget)
    with pytest.raises(ValueError, match="not supported for multiclass classification"):
        model.fit(X, np.digitize(number, [1, 2]), X_public=PublicData(table(300, 1)[0]))
    assert not budget.entries()


def test_an_array_without_names_takes_no_names():
    X = np.random.default_rng(0).normal(size=(1_200, 2))
    model = CLASSES(
        classes=[0, 1],
        monotonic_cst={"x": 1},
        accountant=PrivacyAccountant(2.0, 1e-5),
        random_state=0,
        check_public_rows=False,
    )
    with pytest.raises(ValueError, match="Pass monotonic_cst as an integer array instead"):
        model.fit(X[200:], X[200:, 0] > 0, X_public=PublicData(X[:200]))
    # The positive class is the second one.
    with pytest.warns(UserWarning, match="the effect of 0 clearly goes the other way"):
        model.set_params(monotonic_cst=[-1, 0]).fit(
            X[200:], X[200:, 0] > 0, X_public=PublicData(X[:200])
        )
    grid = np.column_stack([np.linspace(-3, 3, 100), np.zeros(100)])
    assert (np.diff(model.predict_proba(grid)[:, 1]) <= 0).all()
    # All that was rising is flat.
    assert np.ptp(model.decision_function(grid)) < 0.5


def test_constraints_are_cloned_and_searched():
    X, number = table()
    model = CLASSES(
        classes=[0, 1],
        interactions=0,
        rounds=0,
        check_public_rows=False,
        epsilon=0.3,
        accountant=PrivacyAccountant(2.0, 1e-5),
    )
    candidates = [None, {"gain": 1}, {"gain": -1}]
    search = GridSearchCV(model, {"monotonic_cst": candidates}, cv=2, refit=False)
    search.fit(X, number > 1.5, X_public=PublicData(table(300, 1)[0]))
    best, rising, falling = search.cv_results_["mean_test_score"]
    assert falling < min(best, rising)
    alike = clone(model.set_params(monotonic_cst=candidates[1]))
    assert alike.get_params()["monotonic_cst"] == {"gain": 1}
