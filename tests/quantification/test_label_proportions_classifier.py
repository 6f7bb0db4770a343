"""The classifier of instances that sees label proportions and no label."""

import warnings
from copy import deepcopy
from functools import cache

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from secretballot import publish_proportions
from secretballot.quantification import Bags, LabelProportionsClassifier

CENTRES = np.array([[1.5, 0.0], [0.0, 1.5], [-1.5, -1.5]])
CLASSES = np.array(["ham", "spam", "eggs"])
LAWS = {"b": [0.7, 0.2, 0.1], "d": [0.1, 0.7, 0.2], "a": [0.2, 0.1, 0.7], "c": [0.4, 0.5, 0.1]}


def draw(rng, law, size):
    y = rng.choice(3, size, p=law)
    return CENTRES[y] + rng.normal(size=(size, 2)), CLASSES[y]


def world(seed=0, size=300):
    """Instances, labels, ids, and a table whose rows and columns are in no order of theirs."""
    rng = np.random.default_rng(seed)
    parts = [draw(rng, law, size) for law in LAWS.values()]
    X, y = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    ids = np.repeat(list(LAWS), size)
    mixed = rng.permutation(len(ids))
    X, y, ids = X[mixed], y[mixed], ids[mixed]
    table = pd.crosstab(ids, y, normalize="index")[["spam", "ham", "eggs"]]
    return X, y, ids, table.iloc[[2, 0, 3, 1]]


def quick(**options):
    return LabelProportionsClassifier(
        **{"features": None, "alpha": 1e-3, "sharpness": 1.0, "random_state": 0} | options
    )


def published_as(columns):
    return pd.DataFrame(np.eye(4), index=list("abcd"), columns=columns)


class FromLabels(LabelProportionsClassifier):
    """Hides labels from the classifier in bags, so that the common checks apply to it.

    Every fourth row of a class goes to the next one's bag.
    """

    def fit(self, X, y):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        check_consistent_length(X, y)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels)
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) == 1:
            raise ValueError("there is 1 class")
        order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
        rank = np.empty(len(codes), dtype=int)
        rank[order] = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        bag = np.where(rank % 4 == 3, (codes + 1) % len(classes), codes)
        table = pd.crosstab(bag, codes, normalize="index").set_axis(classes, axis=1)
        return super().fit(X, bag_ids=bag, proportions=table)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def test_the_common_checks_of_scikit_learn():
    """All of them, with no expected failure."""
    quickly = {"gamma": "median", "n_components": 10, "alpha": 1e-3, "sharpness": 1.0}
    estimator = FromLabels(**quickly, random_state=0)
    checks = check_estimator(estimator, on_skip=None)
    status = pd.Series([check["status"] for check in checks]).value_counts()
    assert status["passed"] >= 50
    assert set(status.index) <= {"passed", "skipped"}


@pytest.mark.parametrize("features", [None, "nystroem", "rff"])
def test_it_classifies_nearly_as_well_as_with_labels(features):
    X, y, ids, table = world()
    rng = np.random.default_rng(1)
    X_new, y_new = draw(rng, np.full(3, 1 / 3), 2000)
    model = LabelProportionsClassifier(features, n_components=60, random_state=0)
    model.fit(X, bag_ids=ids, proportions=table)
    assert model.classes_.tolist() == ["eggs", "ham", "spam"]
    assert model.score(X_new, y_new) > LogisticRegression().fit(X, y).score(X_new, y_new) - 0.03
    share = pd.Series(y).value_counts(normalize=True)[model.classes_]
    np.testing.assert_allclose(model.class_prior_, share, atol=1e-12)


def test_results_do_not_depend_on_the_order_of_rows_or_table():
    X, y, ids, table = world(size=60)
    first = quick().fit(X, bag_ids=ids, proportions=table)
    rows, larger = {name: table.loc[name].to_dict() for name in table.index}, table.copy()
    larger.loc["z"] = [1, 0, 0]
    assert list(rows) != sorted(rows)
    for other in (larger, table.sort_index(axis=1), table.iloc[::-1]):
        again = quick().fit(X, y, bag_ids=ids, proportions=other)
        np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))
    order = np.argsort(ids, kind="stable")
    bags = Bags.from_groups(X, y, ids)
    for X_bags, bag_proportions in (
        (bags, table),  # both have names
        (list(bags.X), table.sort_index()),
        (bags, table.sort_index().to_numpy()[:, [2, 1, 0]]),
    ):
        again = quick().fit(X_bags, proportions=bag_proportions)
        np.testing.assert_allclose(again.predict_proba(X[order]), first.predict_proba(X[order]))


def test_a_search_without_labels_in_folds_that_lack_a_bag():
    X, y, ids, table = world(size=120)
    order = np.argsort(ids, kind="stable")
    X, ids = X[order], ids[order]
    useless = np.random.default_rng(0).normal(size=(len(X), 60))
    wide = np.c_[X, useless]
    # Threads, as processes take seconds to start; that it can be pickled is a common check.
    with config_context(enable_metadata_routing=True), parallel_config("threading"):
        model = (
            quick()
            .set_fit_request(bag_ids=True, proportions=True)
            .set_score_request(bag_ids=True, proportions=True)
        )
        pipeline = make_pipeline(StandardScaler(), model)
        grid = {"labelproportionsclassifier__alpha": [1e-6, 3e-2, 30.0]}
        # Unshuffled: every fold is one bag, and none of it is trained on.
        search = GridSearchCV(pipeline, grid, cv=KFold(4), n_jobs=2)
        search.fit(wide, bag_ids=ids, proportions=table)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_ == {"labelproportionsclassifier__alpha": 3e-2}
    assert scores[0] < scores[1] - 0.1  # learned by heart
    assert abs(scores[2]) < 0.01  # knows nothing
    assert scores[1] > 0.02
    with config_context(enable_metadata_routing=False):
        plain = GridSearchCV(quick(), {"alpha": [1e-3]}, cv=3)
        plain.fit(X, y[order], bag_ids=ids, proportions=table)
        assert plain.best_score_ > 0.7  # with labels to score with: accuracy
        with pytest.raises(ValueError, match="score takes labels, y, or else bag_ids and prop"):
            model.fit(X, bag_ids=ids, proportions=table).score(X)


def test_the_score_without_labels_is_information_about_bags():
    X, y, ids, table = world()
    model = quick().fit(X, bag_ids=ids, proportions=table)
    score = model.score(X, bag_ids=ids, proportions=table)
    P = model.predict_proba(X)
    columns = table[model.classes_]
    lifts = columns.to_numpy() / model.class_prior_
    gains = np.log((P * lifts[columns.index.get_indexer(ids)]).sum(axis=1))
    assert score == pytest.approx(gains.mean(), rel=1e-12)
    rows = columns.index.get_indexer(ids), np.searchsorted(model.classes_, y)
    of_labels = np.log(lifts[rows]).mean()
    assert 0.1 < score < of_labels  # labels would tell more
    weights = np.r_[1.0, np.zeros(len(X) - 1)]
    weighed = model.score(X, None, weights, bag_ids=ids, proportions=table)
    assert weighed == pytest.approx(gains[0])
    assert model.score(X, y, bag_ids=ids, proportions=table) == np.mean(model.predict(X) == y)


def test_probabilities_are_calibrated_for_the_ratios_that_are_given():
    X, _, ids, table = world(size=1500)
    model = quick().fit(X, bag_ids=ids, proportions=table)
    rng = np.random.default_rng(2)
    laws = {"x": [0.9, 0.05, 0.05], "y": [0.02, 0.08, 0.9]}
    (X_x, y_x), (X_y, y_y) = (draw(rng, law, 3000) for law in laws.values())
    order = [2, 0, 1]  # of the sorted classes
    ratios_x = np.array(laws["x"])[order]
    plain, shifted = model.predict_proba(X_x), model.predict_proba(X_x, ratios=ratios_x)
    assert log_loss(y_x, shifted) < log_loss(y_x, plain) - 0.1
    share = pd.Series(y_x).value_counts(normalize=True)[model.classes_]
    np.testing.assert_allclose(shifted.mean(axis=0), share, atol=0.02)
    assert np.abs(plain.mean(axis=0) - share).max() > 0.1
    # Shifted by the rule, not only in its direction.
    odds = plain * ratios_x / model.class_prior_
    np.testing.assert_allclose(shifted, odds / odds.sum(axis=1, keepdims=True), atol=1e-12)
    stacked, names = np.r_[X_x, X_y], np.repeat(["x", "y"], 3000)
    by_id = pd.DataFrame.from_dict(laws, orient="index", columns=CLASSES)
    by_instance = model.predict_proba(stacked, ratios=by_id, bag_ids=names)
    np.testing.assert_allclose(by_instance[:3000], shifted)
    per_instance = by_id[model.classes_].loc[names].to_numpy()
    np.testing.assert_allclose(model.predict_proba(stacked, ratios=per_instance), by_instance)
    classes = model.predict(stacked, ratios=by_id, bag_ids=names)
    assert np.mean(classes == np.r_[y_x, y_y]) > model.score(stacked, np.r_[y_x, y_y]) + 0.02
    assert (model.predict(X_x, ratios=[0, 1, 0]) == "ham").all()
    named = pd.Series(laws["x"], index=CLASSES)
    for ratios in (named, named.to_dict(), pd.DataFrame([named] * 3000)):
        np.testing.assert_array_equal(model.predict_proba(X_x, ratios=ratios), shifted)
    np.testing.assert_array_equal(model.predict_proba(X_x, ratios=pd.Series(ratios_x)), shifted)
    np.testing.assert_allclose(model.predict_proba(X_x, ratios=model.class_prior_), plain)


def test_held_out_sharpness_corrects_underconfidence():
    rng = np.random.default_rng(0)
    X, _, ids, table = world(size=150)
    X_new, y_new = draw(rng, np.full(3, 1 / 3), 2000)
    loss = {}
    for sharpness in (1.0, "held_out"):
        model = quick(alpha=0.3, sharpness=sharpness).fit(X, bag_ids=ids, proportions=table)
        loss[sharpness] = log_loss(y_new, model.predict_proba(X_new))
    assert loss["held_out"] < loss[1.0] - 0.2
    assert model.sharpness_ > 2
    # The odds relative to the prior are what is sharpened.
    power = np.log(quick(alpha=0.3, sharpness=2.0).fit(X, bag_ids=ids, proportions=table)
                   .predict_proba(X) / model.class_prior_)  # fmt: skip
    plain = np.log(quick(alpha=0.3).fit(X, bag_ids=ids, proportions=table)
                   .predict_proba(X) / model.class_prior_)  # fmt: skip
    np.testing.assert_allclose(np.diff(power), 2 * np.diff(plain), atol=1e-9)
    noise = rng.normal(size=X.shape)  # nothing to be sharp about
    timid = quick(alpha=1e-3, sharpness="held_out").fit(noise, bag_ids=ids, proportions=table)
    assert timid.sharpness_ <= 1


@pytest.mark.parametrize(
    ("ratios", "bag_ids", "message"),
    [
        ([0.5, 0.5], None, r"ratios has shape \(2,\); give 3 of them"),
        ([0.5, 0.6, 0.1], None, "ratios has the row .* must sum to 1"),
        ([0.5, 0.6, -0.1], None, "must not be negative"),
        ([0.5, np.nan, 0.5], None, "ratios has the row"),
        ({"a": [1, 0, 0]}, None, "ratios, without bag_ids, has the classes"),
        (pd.Series([1, 0, 0], index=["ham", "spam", "jam"]), None, "classes .*'jam'.*should have"),
        (None, ["a"] * 12, "give ratios too"),
        ({"a": [1, 0, 0]}, ["b"] * 12, "no row for the bag 'b'"),
    ],
)
def test_malformed_ratios_are_refused(ratios, bag_ids, message):
    X, _, ids, table = world(size=30)
    model = quick().fit(X, bag_ids=ids, proportions=table)
    with pytest.raises(ValueError, match=message):
        model.predict(X[:12], ratios=ratios, bag_ids=bag_ids)


def test_published_proportions_keep_their_noise():
    X, y, ids, table = world()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seeded release
        published = publish_proportions(
            Bags.from_groups(X, y, ids), CLASSES, 0.05, 1e-5, random_state=1
        )
    noisy = quick().fit(X, bag_ids=ids, proportions=published)
    exact = quick().fit(X, bag_ids=ids, proportions=table)
    # Noise of a fifth: no proportion is taken to be far below it.
    sd = np.sqrt(np.einsum("ijj->ij", published.covariance()))
    assert sd.min() > 0.1
    silent = pd.DataFrame(published.proportions, index=published.names, columns=published.classes)
    with pytest.warns(UserWarning, match="as publish_proportions rounds them"):
        bare = quick().fit(X, bag_ids=ids, proportions=silent)
    by_hand = quick().fit(X, bag_ids=ids, proportions=silent, covariance=published.covariance())
    np.testing.assert_array_equal(by_hand.coef_, noisy.coef_)
    assert np.abs(bare.coef_ - noisy.coef_).max() > 1e-3
    assert noisy.score(X, y) > 0.5
    assert exact.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bag_ids": None}, "bag_ids is missing: give the id of each instance's bag"),
        ({"proportions": None}, "fit needs the proportions of the bags"),
        ({"proportions": np.eye(3)}, "must say which bag each row is of"),
        ({"bag_ids": ["a"] * 120}, "1 bag can't tell 3 classes apart"),
        ({"bag_ids": ["a", "b"] * 60}, "2 bags can't tell 3 classes apart"),
        ({"bag_ids": ["a", "b", "e"] * 40}, "no row for the bag 'e'"),
        ({"proportions": {name: [0.5, 0.3, 0.2] for name in "abcd"}}, "linearly dependent"),
        ({"proportions": published_as([1, "1", 2, 3])}, "of one kind"),
        ({"proportions": published_as([1, 1, 2, 3])}, "unique column names"),
        ({"X": np.full((120, 2), np.nan)}, "Input X contains NaN"),
        ({"X": np.full((120, 2), 1e200)}, "value of size 1e.200, and its square"),
        ({"X": [np.ones((30, 2))] * 4, "bag_ids": None, "proportions": np.eye(3)}, "4 bags and 3"),
    ],
)
def test_unlearnable_input_is_refused(change, message):
    X, _, ids, table = world(size=30)
    arguments = {"X": X, "bag_ids": ids, "proportions": table} | change
    with pytest.raises(ValueError, match=message):
        quick().fit(**arguments)


def test_sparse_and_dense_agree_and_frames_keep_their_columns():
    X, _, ids, table = world(size=60)
    dense = quick().fit(X, bag_ids=ids, proportions=table)
    thin = quick().fit(sparse.csr_array(X), bag_ids=ids, proportions=table)
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X))
    frame = pd.DataFrame(X, columns=["one", "two"])
    bags = [frame[ids == name] for name in table.index]
    for model in (
        quick().fit(frame, bag_ids=pd.Series(ids), proportions=table),
        quick().fit(bags, proportions=table),
    ):
        assert model.feature_names_in_.tolist() == ["one", "two"]
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame[["two", "one"]])


def test_many_small_bags():
    """Bags of four, whose proportions differ by chance alone; two classes by their shares."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2400)
    X = rng.normal(size=(2400, 2)) + 2 * y[:, None]
    ids = np.repeat(np.arange(600), 4)
    shares = pd.Series(y).groupby(ids).mean()
    model = LabelProportionsClassifier(features=None, random_state=0)
    model.fit(X, bag_ids=ids, proportions=shares)
    assert model.classes_.tolist() == [0, 1]
    assert model.decision_function(X).shape == (2400,)
    assert model.score(X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.02


@cache
def small_model():
    """Return a model with random features, which tests copy."""
    X, _, ids, table = world(size=60)
    model = quick(features="nystroem", gamma=0.1, n_components=20)
    return model.fit(X, bag_ids=ids, proportions=table)


@pytest.mark.parametrize(
    "change",
    [{"alpha": 1.0}, {"gamma": 5.0}, {"n_components": 5}, {"max_iter": 1}, {"sharpness": 2.0}],
    ids=str,
)
def test_parameters_take_effect(change):
    X, _, ids, table = world(size=60)
    model = deepcopy(small_model())
    before = model.predict_proba(X)
    after = model.set_params(**change).fit(X, bag_ids=ids, proportions=table).predict_proba(X)
    assert np.abs(before - after).max() > 1e-3
