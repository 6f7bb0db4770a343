"""Accepted and refused bags and proportions, for every estimator."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from secretballot.quantification import (
    Bags,
    MMDClassRatioEstimator,
    PerBag,
    QuapyQuantifier,
    SoftmaxClassRatioEstimator,
)

P = np.array([[0.2, 0.8], [0.8, 0.2]])
ESTIMATORS = [
    MMDClassRatioEstimator(random_state=0),
    MMDClassRatioEstimator(features="rff", random_state=0),
    SoftmaxClassRatioEstimator(features=None, random_state=0),
]


def two_bags(width=3):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(40, width)) + 3 * (rng.random((40, 1)) < p) for p in P[:, 1]]


def frame(bag, columns="abc"):
    return pd.DataFrame(bag, columns=list(columns))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["exact", "rff", "softmax"])
@pytest.mark.parametrize(
    ("bags", "proportions", "message"),
    [
        ([np.ones((0, 3)), np.ones((5, 3))], P, "bag 0 is empty"),
        ([[], np.ones((5, 3))], P, "bag 0 is empty"),
        ([np.ones((5, 3)), np.ones((1, 3))], P, "bag 1 has one instance"),
        ([np.ones((5, 3)), np.ones((5, 2))], P, "bag 1 has 2 features, but there were 3 in bag 0"),
        (
            [frame(np.ones((5, 3))), frame(np.ones((5, 3)), "bac")],
            P,
            r"bag 1 has the columns \['b'",
        ),
        ([frame(np.ones((5, 3))), np.ones((5, 3))], P, "bag 1 has the columns None"),
        ([sparse.csr_array(np.ones((5, 3))), np.ones((5, 3))], P, "some bags are sparse"),
        ([np.full((5, 3), np.nan), np.ones((5, 3))], P, "bag 0: Input .*contains NaN"),
        (np.ones((5, 3)), P, "a bag is a sample"),
        (sparse.csr_array(np.ones((5, 3))), P, "a bag is a sample"),
        (frame(np.ones((5, 3))), P, "a bag is a sample"),
        ([], P, "no bag"),
        ("bags", P, "must be a sequence of bags"),
        (two_bags(), P[:1], "2 bags and 1 rows of proportions"),
        (two_bags(), [[0.5, 0.5], [8, 2]], "bag 1 are .8.0, 2.0., with sum 10: .* must sum to 1"),
        (two_bags(), [[0.5, 0.4], [0.8, 0.2]], "bag 0 .* with sum 0.9"),
        (two_bags(), [[0.5, 0.5], [1.2, -0.2]], "bag 1 .* must not be negative"),
        (two_bags(), [[1.0], [1.0]], "one for each of two or more classes"),
        (Bags.from_groups(None, [0, 1], [0, 1]), P, "hold labels only"),
        ({"a": np.ones((5, 3))}, P, "must be a sequence of bags, got dict"),
        ([["buy now"], ["nice song"]], P, "bag 0 holds texts.*PerBag.TfidfVectorizer"),
        ([np.ones((5, 3)), np.ma.ones((5, 3))], P, "bag 1 is a masked array"),
        ([np.full((5, 3), 1e300), np.ones((5, 3))], P, "value of size 1e.300, and its square"),
        (two_bags(), None, "y must be a table of proportions"),
        (two_bags(), [[0.2, 0.8], [1]], "y must be a table of proportions"),
        (two_bags(), [[0.2, np.nan], [0.5, 0.5]], "y must be a table of .*contains NaN"),
        (two_bags(), np.ma.array(P), "y is a masked array"),
    ],
)
def test_bad_input_is_refused(estimator, bags, proportions, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(bags, proportions)


def test_proportions_are_never_normalised():
    rounded = [[0.333, 0.667], [0.6666, 0.333]]
    bags = Bags.from_groups(None, [0, 1], ["a", "b"])
    _, aligned = bags.align(dict(zip("ab", rounded, strict=True)))
    np.testing.assert_array_equal(aligned, rounded)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["exact", "rff", "softmax"])
def test_fewer_bags_than_classes_or_dependent_proportions_are_refused(estimator):
    for bags, proportions, message in (
        (two_bags(), [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]], "2 bags can't tell 3 classes apart"),
        (two_bags()[:1], [[0.2, 0.8]], "1 bag can't tell 2 classes apart"),
        (two_bags(), [[0.2, 0.8], [0.2, 0.8]], "linearly dependent"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(bags, proportions)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (np.ones((2, 2)), "one matrix for each bag"),
        (np.ones((2, 2, 3)), "one matrix for each bag"),
        (np.ones((3, 2, 2)), "one matrix for each bag"),
        ([[1], [1, 2]], "covariance must be an array of numbers"),
        (np.full((2, 2, 2), np.nan), "none of a noise"),
        (-np.tile(np.eye(2), (2, 1, 1)), "none of a noise"),
        (np.tile([[1.0, 2.0], [0.0, 1.0]], (2, 1, 1)), "none of a noise"),
    ],
)
def test_a_malformed_covariance_is_refused(covariance, message):
    with pytest.raises(ValueError, match=message):
        MMDClassRatioEstimator(random_state=0).fit(two_bags(), P, covariance=covariance)


def test_bags_to_predict_may_have_one_instance_but_need_the_same_columns():
    fitted = MMDClassRatioEstimator(random_state=0).fit([frame(b) for b in two_bags()], P)
    assert fitted.predict([frame(np.ones((1, 3)))]).shape == (1, 2)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict([frame(np.ones((4, 3)), "cba")])
    with pytest.raises(ValueError, match="2 features, but .* is expecting 3"):
        MMDClassRatioEstimator(random_state=0).fit(two_bags(), P).predict([np.ones((4, 2))])


def test_columns_in_another_order_are_refused_wherever_bags_are_given():
    bags = [frame(bag) for bag in two_bags()]
    turned = [bag[["c", "b", "a"]] for bag in bags]
    softmax = SoftmaxClassRatioEstimator(features=None, alpha=0.1).fit(bags, P)
    stream = MMDClassRatioEstimator(features="rff", random_state=0).partial_fit(bags, P)
    for take in (softmax.transform, softmax.predict, lambda X: stream.partial_fit(X, P)):
        with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
            take(turned)
        take(bags)


@pytest.mark.parametrize(
    "model",
    [
        *ESTIMATORS,
        # A transformer that checks no names itself, and one that does.
        make_pipeline(PerBag(FunctionTransformer()), ESTIMATORS[1]),
        make_pipeline(PerBag(StandardScaler()), ESTIMATORS[2], ESTIMATORS[1]),
        make_pipeline(ESTIMATORS[2], MMDClassRatioEstimator(kernel="linear", random_state=0)),
    ],
    ids=["exact", "rff", "softmax", "lifted", "scaled", "matched"],
)
def test_columns_of_predict_must_have_the_names_of_fit(model):
    bags = two_bags()
    frames = [frame(bag) for bag in bags]
    named, bare = clone(model).fit(frames, P), clone(model).fit(bags, P)
    expected = named.predict(frames)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(bare, "feature_names_in_")
    for other, message in (
        ([bag[["c", "b", "a"]] for bag in frames], "must be in the same order as they were in fit"),
        (
            [frame(bag, "abd") for bag in bags],
            r"unseen at fit time:\n- d\n.* now missing:\n- c",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            named.predict(other)
    # As for tables in scikit-learn: nothing says what the order is, and that is said, once.
    unnamed = [pd.DataFrame(bag) for bag in bags]
    for fitted, groups, message in (
        (named, bags, "was fitted with feature names"),
        (named, unnamed, "was fitted with feature names"),
        (bare, frames, "was fitted without feature names"),
    ):
        with pytest.warns(UserWarning, match=message) as caught:
            np.testing.assert_array_equal(fitted.predict(groups), expected)
        # What only passes frames on leaves it to the next one to say it too.
        assert len(caught) == (2 if "functiontransformer" in str(model).lower() else 1)
    np.testing.assert_array_equal(bare.predict(unnamed), expected)
    named.fit(bags, P)
    assert not hasattr(named, "feature_names_in_")


def test_bags_may_come_from_a_generator():
    for estimator in (ESTIMATORS[0], ESTIMATORS[2]):
        fitted = clone(estimator).fit((bag for bag in two_bags()), P)
        from_list = clone(estimator).fit(two_bags(), P)
        np.testing.assert_array_equal(
            fitted.predict(bag for bag in two_bags()), from_list.predict(two_bags())
        )


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (MMDClassRatioEstimator, "gamma"),
        (MMDClassRatioEstimator, "diagonal"),
        (SoftmaxClassRatioEstimator, "gamma"),
        (SoftmaxClassRatioEstimator, "alpha"),
    ],
)
def test_held_out_parameters_are_called_held_out(estimator, name):
    assert estimator().get_params()[name] == "held_out"
    with pytest.raises(ValueError, match=f"'{name}' parameter .*'held_out'.* Got 'cv'"):
        estimator(**{name: "cv"}).fit(two_bags(), P)


def test_bags_of_stacked_instances_without_labels():
    X, ids = np.arange(12.0).reshape(6, 2), np.array(["s", "n", "s", "n", "n", "s"])
    for kind in (np.asarray, sparse.csr_array, pd.DataFrame):
        bags = Bags.from_groups(kind(X), None, ids)
        assert bags.names == ("n", "s")
        assert bags.y is None
        assert bags.sizes.tolist() == [3, 3]
        assert bags[1:].names == ("s",)
        for bag, rows in zip(bags.X, ([1, 3, 4], [0, 2, 5]), strict=True):
            dense = bag.toarray() if sparse.issparse(bag) else np.asarray(bag)
            np.testing.assert_array_equal(dense, X[rows])
            assert sparse.issparse(bag) == (kind is sparse.csr_array)
    for bad, message in (
        (ids[:3], "give each one id"),
        (np.array([1, "s"] * 3, dtype=object), "groups has values that can't be put in order"),
        ([1, "s"] * 3, "groups has values that can't be put in order"),
        (np.ma.array(range(6)), "groups is a masked array"),
    ):
        with pytest.raises(ValueError, match=message):
            Bags.from_groups(X, None, bad)


@pytest.mark.parametrize(
    "ids",
    [
        [1.0, np.nan, 2.0, 1.0, np.nan, 2.0],
        ["s", np.nan, "n", "s", np.nan, "n"],  # numpy would call them "nan"
        ["s", None, "n", "s", None, "n"],
        pd.Series(["s", pd.NA, "n", "s", pd.NA, "n"]),
        pd.Series([1, pd.NA, 2, 1, pd.NA, 2], dtype="Int64"),
        pd.Series(["s", None, "n", "s", None, "n"], dtype="category"),
        pd.to_datetime(["2026-01-01", None, "2026-02-01"] * 2)[[0, 1, 2, 3, 4, 5]],
        np.array(["2026-01", "NaT", "2026-02"] * 2, dtype="datetime64[M]"),
    ],
    ids=["floats", "strings", "None", "NA", "Int64", "category", "dates", "datetime64"],
)
def test_missing_groups_are_refused_with_their_rows(ids, monkeypatch):
    X = np.arange(12.0).reshape(6, 2)

    def refused():
        for y in (None, range(6)):
            with pytest.raises(ValueError, match="groups is missing .* 2 of 6 .*rows 1, 4; leave"):
                Bags.from_groups(X, y, ids)

    refused()
    if not isinstance(ids, pd.Series | pd.Index):
        monkeypatch.delitem(sys.modules, "pandas")  # of which we don't need it
        refused()


def test_bags_of_groups_are_listed_unchanged():
    X, y = np.concatenate(two_bags()), np.arange(80) % 2
    bags = Bags.from_groups(X, y, np.repeat(["a", "b"], 40))
    for listed, bag in zip(bags.X, two_bags(), strict=True):
        np.testing.assert_array_equal(listed, bag)


def test_classes_are_named_by_columns():
    names = ["ham", "spam"]
    fitted = MMDClassRatioEstimator(random_state=0).fit(two_bags(), pd.DataFrame(P, columns=names))
    assert fitted.classes_.tolist() == names


def test_per_bag_is_fitted_on_all_instances_together():
    bags = two_bags()
    expected = StandardScaler().fit(np.concatenate(bags))
    for kind in (list, np.array):
        lifted = PerBag(StandardScaler()).fit(kind(bags))
        for transformed, bag in zip(lifted.transform(bags), bags, strict=True):
            np.testing.assert_allclose(transformed, expected.transform(bag))
    framed = PerBag(StandardScaler().set_output(transform="pandas"))
    for transformed, bag in zip(framed.fit_transform([frame(b) for b in bags]), bags, strict=True):
        assert list(transformed.columns) == ["a", "b", "c"]
        np.testing.assert_allclose(transformed, expected.transform(bag))


@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ([np.ones((2, 3)), np.ones((0, 3))], "bag 1 is empty"),
        ([frame(np.ones((2, 3))), frame(np.ones((2, 3)), "abd")], "bag 1 has the columns"),
        ([np.ones((2, 3)), np.ones((2, 2))], "different widths"),
    ],
)
def test_per_bag_refuses_bad_bags(bags, message):
    with pytest.raises(ValueError, match=message):
        PerBag(StandardScaler()).fit(bags)


def test_quapy_runs_on_our_estimator(tmp_path):
    quapy = pytest.importorskip("quapy", reason="QuaPy is an extra")
    from quapy.data import LabelledCollection
    from quapy.protocol import UPP

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 3)) + 3 * y[:, None]
    rows = [np.r_[0:150, 350:400], np.r_[150:200, 200:350]]
    shares = [np.bincount(y[bag]) / 200 for bag in rows]
    model = QuapyQuantifier(MMDClassRatioEstimator(random_state=0))
    model.fit([X[bag] for bag in rows], shares)
    protocol = UPP(LabelledCollection(X, y), sample_size=100, repeats=20, random_state=0)
    truth, estimates = quapy.evaluation.prediction(model, protocol)
    assert truth.shape == estimates.shape == (20, 2)
    assert quapy.evaluation.evaluate(model, protocol, error_metric="mae") < 0.05
    np.testing.assert_array_equal(model.quantify(X[rows[0]]), model.predict(X[rows[0]]))
    picture = tmp_path / "diagonal.png"
    quapy.plot.binary_diagonal(["ours"], [truth], [estimates], savepath=str(picture))
    assert picture.stat().st_size > 1000
