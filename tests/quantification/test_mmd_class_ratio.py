"""Class ratios by matching kernel means: right answers, and parameters that matter."""

import itertools
import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.quantification._worlds import draw, error, fitted, world

from secretballot.quantification import MMDClassRatioEstimator, PerBag, publish_proportions


def test_ratios_far_outside_the_hull_of_the_bags():
    rng = np.random.default_rng(0)
    bags = [draw(rng, c)[0] for c in ([120, 240, 240], [240, 120, 240], [240, 240, 120])]
    P = np.array([[0.2, 0.4, 0.4], [0.4, 0.2, 0.4], [0.4, 0.4, 0.2]])
    tests = [draw(rng, c)[0] for c in ([300, 0, 0], [0, 300, 0], [0, 0, 300])]
    estimates = MMDClassRatioEstimator(random_state=0).fit(bags, P).predict(tests)
    # A mixture of bags has at most .4 of a class: it would be wrong by 1.2.
    assert error(estimates, np.eye(3)) < 0.4


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"features": "rff"},
        {"features": "nystroem"},
        {"kernel": "linear"},
        {"solver": "bag_mixture"},
        {"gamma": "median", "diagonal": 0.5},
    ],
    ids=str,
)
def test_all_options_estimate_the_ratios(options):
    _, _, tests, ratios, _ = world()
    estimates = fitted(**options).predict(tests)
    assert (estimates >= 0).all()
    np.testing.assert_allclose(estimates.sum(axis=1), 1)
    assert error(estimates, ratios) < 0.2
    assert error(np.full(ratios.shape, 1 / 3), ratios) > 0.5  # what guessing would do


def test_gamma_and_diagonal_change_predictions():
    tests = world()[2]
    settings = [{"gamma": g, "diagonal": d} for g in (0.01, 0.1, 1.0) for d in (0.0, 1.0)]
    estimates = [fitted(**setting).predict(tests) for setting in settings]
    for first, other in itertools.combinations(estimates, 2):
        assert np.abs(first - other).max() > 1e-3


@pytest.mark.parametrize(
    "change",
    [
        {"gamma": 0.5},
        {"features": "rff"},
        {"kernel": "linear"},
        {"diagonal": 1.0},
        {"solver": "bag_mixture"},
    ],
    ids=str,
)
def test_set_params_takes_effect(change):
    bags, P, tests, _, _ = world()
    estimator = deepcopy(fitted())
    before = estimator.predict(tests)
    after = estimator.set_params(**change).fit(bags, P).predict(tests)
    fresh = fitted(**change).predict(tests)
    np.testing.assert_array_equal(after, fresh)
    assert np.abs(after - before).max() > 1e-6


def test_solvers_agree_with_as_many_bags_as_classes():
    bags, P, tests, _, _ = world(n_bags=3)
    first, other = (
        MMDClassRatioEstimator(gamma=0.1, solver=s, random_state=0).fit(bags, P).predict(tests)
        for s in ("class_mean", "bag_mixture")
    )
    np.testing.assert_allclose(first, other, atol=1e-8)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the noise that one of them isn't told
def test_known_noise_is_weighted():
    """Half of the bags have next to useless proportions, and say so."""
    better = []
    for seed in range(4):
        bags, P, tests, ratios, _ = world(seed, n_bags=12, size=300)
        rng = np.random.default_rng(seed)
        bad = np.arange(12) >= 6
        noise = rng.normal(size=P.shape) * 0.3 * bad[:, None]
        released = np.abs(P + noise)
        released /= released.sum(axis=1, keepdims=True)
        covariance = bad[:, None, None] * 0.3**2 * (np.eye(3) - 1 / 3)
        make = MMDClassRatioEstimator(gamma=0.1, diagonal=0.0, random_state=0)
        blind = error(clone(make).fit(bags, released).predict(tests), ratios)
        weighted = clone(make).fit(bags, released, covariance=covariance)
        better.append(blind - error(weighted.predict(tests), ratios))
    assert np.mean(better) > 0.03


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::secretballot.quantification.MisfitWarning")
def test_published_proportions_bring_their_covariance():
    bags, _, tests, _, labels = world(size=300)
    named = [np.array(["a", "b", "c"])[y] for y in labels]
    published = publish_proportions(named, ["a", "b", "c"], 0.1, 1e-5, random_state=0)
    model = MMDClassRatioEstimator(random_state=0).fit(bags, published)
    by_hand = MMDClassRatioEstimator(random_state=0).fit(
        bags, published.proportions, covariance=published.covariance()
    )
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(tests), by_hand.predict(tests))
    with pytest.warns(UserWarning, match="nothing was said of their noise"):
        blind = MMDClassRatioEstimator(random_state=0, group_effects=False).fit(
            bags, published.proportions
        )
    width, less = (np.mean(e.predict_interval(tests)[2] - e.predict_interval(tests)[1])
                   for e in (model, blind))  # fmt: skip
    assert width > less  # intervals know of the noise
    assert model.score(bags, published) == -error(model.predict(bags), published.proportions)


@pytest.mark.parametrize("options", [{"features": "rff"}, {"kernel": "linear"}], ids=str)
def test_partial_fit_equals_fit(options):
    bags, P, tests, _, _ = world(n_bags=9)
    make = MMDClassRatioEstimator(gamma=0.1, random_state=0, **options)
    batch = clone(make).fit(bags, P)
    stream = clone(make)
    for rows in (slice(0, 3), slice(3, 4), slice(4, 9)):
        stream.partial_fit(bags[rows], P[rows])
    assert stream.diagonal_ == batch.diagonal_
    for first, other in zip(
        stream.predict_interval(tests), batch.predict_interval(tests), strict=True
    ):
        np.testing.assert_allclose(first, other, atol=1e-8)
    stream.fit(bags[:4], P[:4])  # begins anew
    again = clone(make).fit(bags[:4], P[:4])
    np.testing.assert_array_equal(stream.predict(tests), again.predict(tests))


def test_partial_fit_needs_explicit_features_and_the_same_classes():
    bags, P, _, _, _ = world()
    with pytest.raises(ValueError, match="use features='rff'"):
        MMDClassRatioEstimator().partial_fit(bags, P)
    stream = MMDClassRatioEstimator(features="rff", random_state=0).partial_fit(bags, P)
    with pytest.raises(ValueError, match="earlier ones had"):
        stream.partial_fit(bags[:2], [[0.5, 0.5], [0.1, 0.9]])
    with pytest.raises(ValueError, match="2 features, but .* is expecting 3"):
        stream.partial_fit([bag[:, :2] for bag in bags], P)
    exact = MMDClassRatioEstimator(random_state=0).fit(bags, P).set_params(features="rff")
    with pytest.raises(ValueError, match=r"exact kernel sums.*features='rff'.*call fit first"):
        exact.partial_fit(bags, P)


@pytest.mark.parametrize("features", [None, "rff"])
def test_a_failed_fit_keeps_the_last_one(features):
    bags, P, tests, _, _ = world()
    estimator = deepcopy(fitted(features=features))
    before = estimator.predict(tests)
    for some_bags, proportions in ((bags[:2], P[:2]), (bags, 2 * P), (bags, np.tile(P[0], (5, 1)))):
        with pytest.raises(ValueError, match=r"bags|proportions"):
            estimator.fit(some_bags, proportions)
        np.testing.assert_array_equal(estimator.predict(tests), before)


def test_grid_search_over_bags_in_a_pipeline():
    bags, P, tests, ratios, _ = world(n_bags=12, size=60)
    pipeline = make_pipeline(PerBag(StandardScaler()), MMDClassRatioEstimator(random_state=0))
    grid = {"mmdclassratioestimator__gamma": [1e-4, 0.1]}
    for kind in (list, np.array):
        search = GridSearchCV(pipeline, grid, cv=KFold(3)).fit(kind(bags), P)
        assert search.best_params_ == {"mmdclassratioestimator__gamma": 0.1}
        assert search.best_score_ > -0.3
        assert error(search.predict(tests), ratios) < 0.2


def test_a_pickle_predicts_the_same():
    tests = world()[2]
    for features in (None, "rff", "nystroem"):
        estimator = fitted(features=features)
        loaded = pickle.loads(pickle.dumps(estimator))
        np.testing.assert_array_equal(loaded.predict(tests), estimator.predict(tests))


def test_a_search_slices_the_covariance_with_the_bags():
    bags, P, _, _, _ = world(n_bags=9, size=60)
    covariance = np.tile(1e-4 * (np.eye(3) - 1 / 3), (9, 1, 1))
    grid = {"gamma": [1e-4, 0.1]}
    search = GridSearchCV(MMDClassRatioEstimator(random_state=0), grid, cv=KFold(3))
    search.fit(bags, P, covariance=covariance)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
