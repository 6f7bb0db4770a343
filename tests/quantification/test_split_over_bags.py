"""Bags and published proportions in scikit-learn's searches, folds and splits."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from tests.quantification._worlds import world

from secretballot.accounting import PrivacyLeakWarning
from secretballot.quantification import (
    Bags,
    MMDClassRatioEstimator,
    PerBag,
    SoftmaxClassRatioEstimator,
    publish_proportions,
)

GRID = {"mmdclassratioestimator__gamma": [1e-4, 0.1]}
NAMES = tuple("abcdefghijkl")


@pytest.fixture(scope="module")
def inputs():
    """Bags as lists, frames and Bags, and proportions with noise that can be seen."""
    bags, _, _, _, labels = world(n_bags=12, size=60)
    frames = [pd.DataFrame(bag, columns=["x", "y", "z"]) for bag in bags]
    grouped = Bags.from_groups(pd.concat(frames), np.concatenate(labels), np.repeat(NAMES, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # seeded
        published = publish_proportions(grouped, [0, 1, 2], 2.0, 1e-5, random_state=1)
    return {"arrays": bags, "stack": np.array(bags), "frames": frames, "Bags": grouped}, published


@pytest.fixture
def pipeline():
    """The page's own."""
    return make_pipeline(PerBag(StandardScaler()), MMDClassRatioEstimator(random_state=0))


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        ([4, 0], [4, 0]),
        (np.array([1, 2]), [1, 2]),
        (np.arange(12) < 2, [0, 1]),
        ([True, False] * 6, [0, 2, 4, 6, 8, 10]),
        (slice(2, 5), [2, 3, 4]),
        (-1, [11]),
    ],
    ids=str,
)
def test_bags_are_indexed_like_arrays(inputs, key, rows):
    kinds, published = inputs
    part, bags = _safe_indexing(published, key), _safe_indexing(kinds["Bags"], key)
    assert part.names == bags.names == tuple(NAMES[row] for row in rows)
    assert part.shape == (len(part), 3) == (len(bags), 3) == (len(rows), 3)
    np.testing.assert_array_equal(part, published.proportions[rows])
    np.testing.assert_array_equal(part.sizes, bags.sizes)
    np.testing.assert_array_equal(part.expected_distortion, published.expected_distortion[rows])
    np.testing.assert_array_equal(part.covariance(), published.covariance()[rows])
    assert part.statement is published.statement
    for bag, labels, row in zip(bags.X, bags.y, rows, strict=True):
        pd.testing.assert_frame_equal(bag, kinds["Bags"].X[row])
        np.testing.assert_array_equal(labels, kinds["Bags"].y[row])
    assert bags.formed_by == "group"


@pytest.mark.parametrize("key", [12, [99], "a", [True, False], 1.5], ids=str)
def test_indices_out_of_range_are_refused(inputs, key):
    kinds, published = inputs
    for indexed in (published, kinds["Bags"]):
        with pytest.raises(IndexError, match="12"):
            indexed[key]


@pytest.mark.parametrize("kind", ["arrays", "stack", "frames", "Bags"])
def test_a_search_over_bags_keeps_the_noise(inputs, pipeline, kind):
    kinds, published = inputs
    bags = kinds[kind]
    n_jobs = 2 if kind == "frames" else None
    search = GridSearchCV(pipeline, GRID, cv=KFold(3), n_jobs=n_jobs).fit(bags, published)
    train, test = next(KFold(3).split(kinds["arrays"]))
    selection = [kinds["arrays"][i] for i in train], [kinds["arrays"][i] for i in test]
    by_hand = clone(pipeline).set_params(mmdclassratioestimator__gamma=0.1)
    covariance = published.covariance()[train]
    by_hand.fit(
        selection[0], published.proportions[train], mmdclassratioestimator__covariance=covariance
    )
    score = by_hand.score(selection[1], published.proportions[test])
    assert search.best_params_ == {"mmdclassratioestimator__gamma": 0.1}
    assert search.cv_results_["split0_test_score"][1] == pytest.approx(score, abs=1e-9)
    with pytest.warns(UserWarning, match="nothing was said of their noise"):
        blind = by_hand.fit(selection[0], published.proportions[train])
    assert abs(blind.score(selection[1], published.proportions[test]) - score) > 1e-5
    folds = cross_val_score(by_hand, bags, published, cv=KFold(3))
    assert folds[0] == pytest.approx(score, abs=1e-9)
    X, X_test, y, other = train_test_split(bags, published, test_size=3, random_state=0)
    assert len(X) == len(y) == 9
    assert set(y.names) | set(other.names) == set(NAMES)
    assert np.isfinite(by_hand.fit(X, y).score(X_test, other))


def test_scikit_learn_metrics_get_bare_proportions(inputs, pipeline):
    kinds, published = inputs
    ours, by_sklearn = (
        cross_val_score(pipeline, kinds["arrays"], published, cv=KFold(3), scoring=scoring)
        for scoring in (None, "neg_mean_absolute_error")
    )
    np.testing.assert_allclose(by_sklearn * 3, ours)


def test_a_covariance_beside_bare_proportions_is_sliced_with_them(inputs, pipeline):
    kinds, published = inputs
    bags, P, covariance = kinds["arrays"], published.proportions, published.covariance()
    expected = GridSearchCV(pipeline, GRID, cv=KFold(3)).fit(bags, published)
    by_name = GridSearchCV(pipeline, GRID, cv=KFold(3)).fit(
        bags, P, mmdclassratioestimator__covariance=covariance
    )
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline[-1].set_fit_request(covariance=True)
        routed = GridSearchCV(pipeline, GRID, cv=KFold(3)).fit(bags, P, covariance=covariance)
        softmax = SoftmaxClassRatioEstimator(features=None, alpha=0.1, random_state=0)
        learned = make_pipeline(
            PerBag(StandardScaler()), softmax.set_fit_request(covariance=True), pipeline[-1]
        )
        both_steps = GridSearchCV(learned, GRID, cv=KFold(3)).fit(bags, P, covariance=covariance)
    assert np.isfinite(both_steps.cv_results_["mean_test_score"]).all()
    for search in (by_name, routed):
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
        )


def test_sample_weights_of_the_score(inputs, pipeline):
    kinds, published = inputs
    bags, P = kinds["arrays"], published.proportions
    pipeline.fit(bags, published)
    half = pipeline.score(bags, P, sample_weight=np.repeat([2.0, 0.0], 6))
    assert half == pytest.approx(pipeline.score(bags[:6], P[:6]))
    equal = pipeline.score(bags, P, sample_weight=np.ones(12))
    assert equal == pytest.approx(pipeline.score(bags, P))
    for bad in (np.ones(3), np.zeros(12), -np.ones(12), np.full(12, np.nan)):
        with pytest.raises(ValueError, match="for each of 12 bags"):
            pipeline.score(bags, P, sample_weight=bad)


@pytest.mark.parametrize(
    "estimator",
    [MMDClassRatioEstimator(features="rff"), SoftmaxClassRatioEstimator(alpha=0.1)],
    ids=["mmd", "softmax"],
)
def test_a_generator_is_a_random_state(inputs, estimator):
    kinds, published = inputs
    rng = np.random.default_rng(0)
    estimator = clone(estimator).set_params(random_state=rng, n_components=10)
    twin = clone(estimator)
    once, again, other = (
        model.fit(kinds["arrays"], published).predict(kinds["arrays"])
        for model in (estimator, twin, estimator)
    )
    np.testing.assert_array_equal(once, again)  # a clone draws the same
    assert np.abs(once - other).max() > 0  # and the next fit something else
    assert estimator.random_state is rng
    with pytest.raises(ValueError, match="random_state"):
        clone(estimator).set_params(random_state="seed").fit(kinds["arrays"], published)
