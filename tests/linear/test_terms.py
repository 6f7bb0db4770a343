"""Terms of columns: centred coefficients, with their standard errors."""

import numpy as np
import pandas as pd
import pytest

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PublicData
from secretballot.linear import PrivateLogisticRegression
from secretballot.linear._column_bins import NumberBins


def table(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n_rows).round(2),
            "gain": np.where(rng.random(n_rows) < 0.8, 0.0, rng.uniform(1, 100, n_rows)),
            "work": rng.choice(["state", "own", "none"], n_rows),
        }
    )
    score = (X["age"] - 50) / 15 + 3 * (X["gain"] > 0) + (X["work"] == "own")
    return X, rng.logistic(size=n_rows) + score.to_numpy()


def fitted(features="additive", classes=2, **parameters):
    X, score = table(2_300, seed=0)
    y = np.digitize(score, [0.0, 1.5][: classes - 1])
    budget = PrivacyAccountant(epsilon=8.0, delta=1e-5)
    # Of single columns: noise is not seeded, and now and then a pair seems to stand out of it.
    model = PrivateLogisticRegression(
        features, interactions=0, classes=range(classes), accountant=budget, **parameters
    )
    return model.fit(X[300:], y[300:], X_public=PublicData(X[:300]))


@pytest.fixture(scope="module")
def model():
    return fitted(n_bins=5)


def test_terms_are_the_coefficients_column_by_column(model):
    terms = model.terms()
    assert [term.name for term in terms] == ["age", "gain", "work"]
    sizes = [len(term.effect) for term in terms]
    for term, raw, error in zip(
        terms,
        np.split(model.coef_[0], np.cumsum(sizes)[:-1]),
        np.split(model.coef_error_[0], np.cumsum(sizes)[:-1]),
        strict=True,
    ):
        assert len(term.labels) == len(term.effect) == len(raw)
        # By the number; the last of a column: missing cells.
        order = [1, 0, *range(2, len(raw))] if term.name == "gain" else range(len(raw))
        np.testing.assert_allclose(term.effect, (raw - raw[:-1].mean())[order])
        assert (term.labels[-1], term.missing) == ("missing", term.effect[-1])
        assert term.missing_error == term.error[-1]
        error = error[order]
        # What bins share is left out, and that is the most of it.
        assert (term.error < error)[:-1].all()
        assert term.error[:-1].mean() < 0.7 * error[:-1].mean()
    age, gain, work = terms
    assert (len(age.values), len(age.edges)) == (0, 4)
    assert gain.values.tolist() == [0.0]
    assert len(gain.effect) == 1 + len(gain.edges) + 1 + 1
    assert gain.labels[1] == "0"
    assert gain.is_value.tolist() == [label == "0" for label in gain.labels]
    assert (work.values, work.edges) == (None, None)
    assert work.labels == ("none", "own", "state", "others", "missing")
    # What was planted is found, far outside the band.
    assert age.effect[-2] - age.effect[0] > 2
    assert gain.effect[:2].max() < gain.effect[2:-1].min() - 1  # 0, and what is next to it
    assert work.labels[work.effect.argmax()] == "own"


def test_scores_are_sums_of_terms(model):
    X, _ = table(50, seed=1)
    scores = model.decision_function(X)
    added = np.zeros(len(X))
    for term in model.terms():
        column = X[term.name].to_numpy()
        if term.edges is None:
            at = np.array([term.labels.index(each) for each in column])
        else:
            at = np.flatnonzero(~term.is_value)[np.searchsorted(term.edges, column)]
            for place, value in zip(np.flatnonzero(term.is_value), term.values, strict=True):
                at[column == value] = place
        added += term.effect[at]
    # Up to what all rows have in common.
    np.testing.assert_allclose(scores - added, (scores - added)[0])


def test_terms_of_both_classes(model):
    for first, second in zip(model.terms(0), model.terms(1), strict=True):
        np.testing.assert_array_equal(first.effect, -second.effect)
        np.testing.assert_array_equal(first.error, second.error)
    with pytest.raises(ValueError, match=r"target=2 is none of the classes: \[0, 1\]"):
        model.terms(2)


def test_terms_are_copies(model):
    before = model.coef_.copy()
    for term in model.terms():
        for values in (term.effect, term.error, term.edges, term.values):
            if values is not None:
                values += 1
    np.testing.assert_array_equal(model.coef_, before)
    assert model.terms()[1].values.tolist() == [0.0]


def test_terms_of_several_classes_need_a_target():
    model = fitted(classes=3, n_bins=3, rounds=0)
    with pytest.raises(ValueError, match="target=None, and there are more than two classes"):
        model.terms()
    raw = model.coef_[2, :3]
    np.testing.assert_allclose(model.terms(2)[0].effect[:-1], raw - raw.mean())


def test_other_features_have_no_terms():
    with pytest.raises(ValueError, match="features='linear' has no terms"):
        fitted("linear", rounds=0).terms()


@pytest.mark.parametrize(
    ("values", "edges", "labels"),
    [
        ([], [1.5, 2.5, 7.2], ["up to 1", "2", "3 to 7", "8 and more"]),
        # An interval has its upper end.
        ([0], [3, 6.7], ["up to 3", "0", "4 to 6", "7 and more"]),
        ([], [2.2, 2.9, 5], ["up to 2", "no integer (2.2 to 2.9)", "3 to 5", "6 and more"]),
        ([4], [], ["4", "others"]),
        ([], [], ["all"]),
    ],
)
def test_labels_of_integers_name_those_of_a_bin(values, edges, labels):
    values, edges = np.array(values, dtype=float), np.array(edges, dtype=float)
    ranks = np.arange(len(values) + len(edges) + 1) / 10
    bins = NumberBins("x", values, edges, ranks, is_integer=True)
    assert bins.labels() == labels


@pytest.mark.parametrize(
    ("values", "edges", "labels"),
    [
        ([0.3, 0.9], [0.5, 0.7], ["up to 0.5", "0.3", "0.5 to 0.7", "above 0.7", "0.9"]),
        ([0.5], [0.5, 0.7], ["up to 0.5", "0.5", "0.5 to 0.7", "above 0.7"]),
        ([-0.0], [-1, 2], ["up to -1", "-1 to 2", "0", "above 2"]),
        ([], [-3, -0.0], ["up to -3", "-3 to 0", "above 0"]),
    ],
)
@pytest.mark.parametrize("is_integer", [False, True])
def test_labels_rise_and_have_no_negative_zero(values, edges, labels, is_integer):
    values, edges = np.array(values, dtype=float), np.array(edges, dtype=float)
    ranks = np.arange(len(values) + len(edges) + 1) / 10
    shown = NumberBins("x", values, edges, ranks, is_integer).labels()
    if is_integer:
        assert "-0" not in " ".join(shown).split()
    else:
        assert shown == labels


def test_merged_integers_are_named():
    edges = np.array([1.5, 2.2, 2.9, 5.5])
    bins = NumberBins("x", np.array([3.0]), edges, np.arange(6) / 6, is_integer=True)
    assert bins.merged_labels(np.array([2, 0, 0, 1, 2, 3])) == [
        "up to 2",
        "no integer (2.2 to 2.9)",
        "3 to 5",
        "6 and more",
    ]


def test_columns_of_integers_are_labelled_by_them():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kids": rng.integers(0, 5, 2_300), "pay": rng.normal(size=2_300)})
    X["visits"] = np.where(rng.random(2_300) < 0.1, np.nan, rng.integers(0, 60, 2_300))
    model = PrivateLogisticRegression(
        classes=[0, 1], accountant=PrivacyAccountant(4.0, 1e-5), interactions=0, n_bins=8
    ).fit(X[300:], (X["kids"][300:] > 2).rename("many"), X_public=PublicData(X[:300]))
    kids, pay, visits = model.terms()
    assert kids.labels == ("up to 0", "1", "2", "3", "4 and more", "missing")
    assert all("." not in text for text in visits.labels)
    assert "." in pay.labels[1]
    assert [term.labels[:-1] for term in model.terms()] == [each.labels for each in model.columns_]
