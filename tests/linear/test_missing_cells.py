"""Missing cells: a feature of their own, its effect and its error."""

import numpy as np
import pandas as pd
import pytest

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PublicData,
)
from secretballot.inspection import TermsDisplay
from secretballot.linear._additive_bins import AdditiveBins, nullable_bins
from secretballot.linear._column_bins import CategoryBins, NumberBins, NumberKnots
from secretballot.linear._design import PriorGroup
from secretballot.linear._posterior import centred_variances

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")

HOLES = {"a": [0.5, np.nan, -3.0, np.inf, "x"], "b": ["u", None, "w", pd.NA, np.nan]}


def columns():
    edges, ranks = np.array([-1.0, 1.0]), np.array([0.2, 0.5, 0.8])
    return [
        NumberBins("bins", np.array([0.5]), edges, np.append(0.6, ranks)),
        NumberKnots("knots", np.array([0.5]), np.array([-1.0, 0.0, 1.0]), np.full(4, 0.5)),
        CategoryBins("kinds", np.array(["u", "v"])),
    ]


@pytest.mark.parametrize("column", columns(), ids=lambda column: column.name)
def test_a_missing_cell_has_one_feature_with_all_the_weight(column):
    cells = np.array(HOLES["b" if column.name == "kinds" else "a"], dtype=object)
    bins = nullable_bins(AdditiveBins([column]))
    rows = bins.transform(cells[:, None]).toarray()
    np.testing.assert_array_equal(rows.sum(axis=1), 1.0)
    old = AdditiveBins([column]).transform(cells[:, None]).toarray()
    missing = old.sum(axis=1) == 0
    assert missing.tolist() == [False, True, False, True, True]
    np.testing.assert_array_equal(rows[:, -1], missing)
    np.testing.assert_array_equal(rows[:, :-1], old)
    drawn = bins.rows_of_codes(np.arange(bins.n_features)[:, None], np.random.default_rng(0))
    assert drawn.has_canonical_format
    assert drawn.toarray()[-1].tolist() == [*[0.0] * column.n_bins, 1.0]
    assert not drawn.toarray()[:-1, -1].any()


def test_rare_missing_cells_are_no_group_in_pairs():
    column = CategoryBins("kinds", np.array(["u", "v"]), has_missing=True)
    for share, labels in ((0.001, ["u", "v", "others"]), (0.1, ["u", "v", "others", "missing"])):
        groups = column.merged_bins(np.array([0.5, 0.3, 0.2, share]), 4)
        assert column.merged_labels(groups) == labels
        assert len(column.merged_correlations(groups)) == len(labels)


def test_centred_variances_are_those_of_differences_to_the_mean_of_values():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    covariance = root @ root.T
    values, missing = slice(0, 3), slice(3, 4)
    groups = [PriorGroup(values, np.eye(3)), PriorGroup(missing, np.eye(1), centre=values)]
    centring = np.eye(5)[1:]
    centring[:, 1:4] -= 1 / 3
    expected = np.diag(centring @ covariance @ centring.T)
    np.testing.assert_allclose(centred_variances(groups, covariance)[1:], expected)


def table(n_rows, seed, shares=(0.1, 0.4)):
    """Return rows whose cells are missing more often where the class is 1, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "count": rng.integers(0, 5, n_rows).astype(float),
            "kind": rng.choice(["u", "v"], n_rows).astype(object),
        }
    )
    for name in X:
        X.loc[rng.random(n_rows) < np.take(shares, y), name] = None if name == "kind" else np.nan
    return X, y


def classifier(features="additive", **given):
    return PrivateLogisticRegression(
        features, classes=[0, 1], accountant=PrivacyAccountant(4.0, 1e-5), **given
    )


X, Y = table(6_000, 0)
TEST, ANSWERS = table(2_000, 1)
BEST = 0.722  # of the law that the rows were drawn from, on a million rows


@pytest.mark.parametrize("features", ["additive", "linear"])
def test_informative_holes_are_learned(features):
    model = classifier(features).fit(X, Y, X_public=PublicData(table(300, 2)[0]))
    assert model.score(TEST, ANSWERS) > BEST - 0.03


@pytest.mark.filterwarnings("ignore:.*do not fit")
@pytest.mark.parametrize("public", ["whole", "none"])
def test_holes_are_learned_that_no_public_row_has(public):
    given, pool = {}, PublicData(table(300, 2, (0, 0))[0])
    if public == "none":
        given = {
            "bounds": {"size": (-4, 4), "count": (0, 5)},
            "categories": {"kind": ["u", "v"]},
        }
        pool = None
    model = classifier(**given).fit(X, Y, X_public=pool)
    assert model.score(TEST, ANSWERS) > BEST - 0.03
    for term in model.terms()[:3]:
        others = np.abs(term.effect[: -1 if term.edges is not None else 2])
        assert term.missing > 0.8 > others.max()
        assert 0.02 < term.missing_error < 0.3


def test_holes_of_a_regression_are_learned():
    number = np.where(X["size"].isna(), 2.0, 0.0) + np.random.default_rng(3).normal(size=len(X))
    model = PrivateLinearRegression(
        target_bounds=(-4, 6), accountant=PrivacyAccountant(4.0, 1e-5), interactions=0
    ).fit(X, number, X_public=PublicData(table(300, 2)[0]))
    size, *others = model.terms()
    assert size.missing == pytest.approx(2.0, abs=0.3)
    assert all(abs(term.missing) < 0.3 for term in others)
    assert model.score(TEST, np.where(TEST["size"].isna(), 2.0, 0.0)) > 0.9


def costs(n_rows, seed, share):
    """Return a table in which this share of four columns' cells is missing, and skewed costs."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 10)), columns=list("abcdefghij"))
    cost = np.exp(7.3 + 0.25 * X["a"] - 0.2 * X["b"] + 0.6 * rng.normal(size=n_rows))
    X[list("abcd")] = X[list("abcd")].mask(rng.random((n_rows, 4)) < share)
    return X, cost.to_numpy()


@pytest.mark.parametrize("seed", range(2))
def test_noise_is_no_effect_of_missing_cells(seed):
    X, cost = costs(20_000, seed, 0.08)
    model = PrivateLinearRegression(
        target_bounds=(0, 60_000),
        accountant=PrivacyAccountant(0.8, 1e-5),
        interactions=0,
        random_state=seed,
    ).fit(X, cost, X_public=PublicData(costs(300, 10, 0.0)[0]))
    spread = cost.std()
    assert max(abs(term.missing) for term in model.terms()[4:]) < 4 * spread  # no cell is missing
    assert max(abs(term.missing) for term in model.terms()[:4]) < spread
    assert model.score(*costs(4_000, 11, 0.08)) > 0


def test_missing_cells_of_monotone_columns_are_free():
    pool = PublicData(table(300, 2)[0])
    model = classifier(monotonic_cst={"size": 1}).fit(X, Y, X_public=pool)
    (size, *_) = model.terms()
    assert (np.diff(size.effect[:-1]) >= -1e-9).all()
    assert size.missing > 0.8


@pytest.mark.filterwarnings("ignore:.*tell a model little")
@pytest.mark.parametrize("empty", ["size", "kind"])
def test_a_column_without_any_public_cell_tells_only_whether_a_cell_is_there(empty):
    pool = table(300, 2)[0].assign(**{empty: None if empty == "kind" else np.nan})
    model = classifier(check_public_rows=False).fit(X, Y, X_public=PublicData(pool))
    term = next(term for term in model.terms() if term.name == empty)
    assert len(term.effect) == 2
    assert term.missing > 0.8
    assert model.score(TEST, ANSWERS) > BEST - 0.03


@pytest.mark.filterwarnings("error:.*do not fit", "ignore:.*tell a model little")
def test_missing_cells_that_public_rows_have_too_are_no_misfits():
    many = (0.5, 0.7)
    model = classifier().fit(*table(3_000, 3, many), X_public=PublicData(table(300, 2, many)[0]))
    assert model.terms()[0].missing is not None


def test_clear_effects_of_missing_cells_are_drawn():
    model = classifier(interactions=0).fit(X, Y, X_public=PublicData(table(300, 2)[0]))
    for ax in TermsDisplay.from_estimator(model).axes_:
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["missing"]
