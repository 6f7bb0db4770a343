"""Class ratios by matching kernel means: right answers, and parameters that matter."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secretballot.quantification import (
    MMDClassRatioEstimator,
    PerBag,
    SoftmaxClassRatioEstimator,
    publish_proportions,
)
from secretballot.quantification._simplex_fit import fit_on_simplex
from secretballot.quantification.kernels._bag_gram import PartSums, unmix
from secretballot.quantification.kernels._feature_maps import (
    FourierFeatures,
    NystroemFeatures,
    feature_sums,
)
from secretballot.quantification.kernels._kernel_sums import kernel_sums, median_gamma
from secretballot.quantification.kernels._sub_bags import cut

CENTRES = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])


def draw(rng, counts):
    """A bag with these numbers of three classes."""
    y = np.repeat(np.arange(3), counts)
    return CENTRES[y] + rng.normal(size=(len(y), 3)), y


def world(seed=0, n_bags=5, size=120, n_tests=8):
    rng = np.random.default_rng(seed)
    laws = np.r_[0.7 * np.eye(3) + 0.1, rng.dirichlet(np.ones(3), size=n_bags - 3)]
    counts = [rng.multinomial(size, law) for law in laws]
    wanted = [rng.multinomial(size, law) for law in rng.dirichlet(np.full(3, 0.5), size=n_tests)]
    bags, labels = zip(*[draw(rng, c) for c in counts], strict=True)
    tests = [draw(rng, c)[0] for c in wanted]
    return list(bags), np.array(counts) / size, tests, np.array(wanted) / size, labels


def inner(sums):
    """Products of weighted parts, from the sums between parts."""
    return lambda left, right: left @ sums @ right.T


def error(found, truth):
    return np.abs(found - truth).sum(axis=1).mean()


def test_ratios_far_outside_the_hull_of_the_bags():
    rng = np.random.default_rng(0)
    bags = [draw(rng, c)[0] for c in ([120, 240, 240], [240, 120, 240], [240, 240, 120])]
    P = np.array([[0.2, 0.4, 0.4], [0.4, 0.2, 0.4], [0.4, 0.4, 0.2]])
    tests = [draw(rng, c)[0] for c in ([300, 0, 0], [0, 300, 0], [0, 0, 300])]
    found = MMDClassRatioEstimator(random_state=0).fit(bags, P).predict(tests)
    # A mixture of bags has at most .4 of a class: it would be wrong by 1.2.
    assert error(found, np.eye(3)) < 0.4


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
def test_every_way_finds_the_ratios(options):
    bags, P, tests, ratios, _ = world()
    found = MMDClassRatioEstimator(random_state=0, **options).fit(bags, P).predict(tests)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert error(found, ratios) < 0.2
    assert error(np.full(ratios.shape, 1 / 3), ratios) > 0.5  # what guessing would do


def test_gamma_and_diagonal_change_predictions():
    bags, P, tests, _, _ = world()
    settings = [{"gamma": g, "diagonal": d} for g in (0.01, 0.1, 1.0) for d in (0.0, 1.0)]
    found = [
        MMDClassRatioEstimator(random_state=0, **s).fit(bags, P).predict(tests) for s in settings
    ]
    for one, other in itertools.combinations(found, 2):
        assert np.abs(one - other).max() > 1e-3


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
    estimator = MMDClassRatioEstimator(random_state=0).fit(bags, P)
    before = estimator.predict(tests)
    after = estimator.set_params(**change).fit(bags, P).predict(tests)
    fresh = MMDClassRatioEstimator(random_state=0, **change).fit(bags, P).predict(tests)
    np.testing.assert_array_equal(after, fresh)
    assert np.abs(after - before).max() > 1e-6


def test_kernel_sums_against_the_whole_gram_matrix():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(57, 4)) + 100, rng.normal(size=(31, 4)) + 100
    sizes, others = np.array([1, 20, 30, 6]), np.array([30, 1])
    gammas = np.array([0.1, 0.2, 0.4, 0.5])
    ends = [np.r_[0, np.cumsum(s)] for s in (sizes, others)]

    def brute(A, B, a, b):
        return np.array(
            [
                [[rbf_kernel(A[i:j], B[k:m], gamma=g).sum() for k, m in itertools.pairwise(b)]
                 for i, j in itertools.pairwise(a)]
                for g in gammas
            ]
        )  # fmt: skip

    for kind in (np.asarray, sparse.csr_array):
        same = kernel_sums(kind(X), sizes, gammas, block=10)
        np.testing.assert_allclose(same, brute(X, X, ends[0], ends[0]), rtol=1e-7)
        cross = kernel_sums(kind(X), sizes, gammas, kind(Y), others, block=10)
        np.testing.assert_allclose(cross, brute(X, Y, *ends), rtol=1e-7)


def test_block_size_and_threads_change_nothing():
    bags, P, tests, _, _ = world()
    whole = MMDClassRatioEstimator(random_state=0).fit(bags, P)
    for options in ({"block_size": 7}, {"block_size": 100}, {"block_size": 10_000}):
        other = MMDClassRatioEstimator(random_state=0, **options).fit(bags, P)
        np.testing.assert_allclose(other.predict(tests), whole.predict(tests), atol=1e-8)
        assert other.gamma_ == whole.gamma_
    for features in (None, "rff", "nystroem"):
        alone, together = (
            MMDClassRatioEstimator(features=features, block_size=50, random_state=0, n_jobs=n)
            .fit(bags, P)
            .predict_interval(tests)
            for n in (1, 3)
        )
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("features", ["rff", "nystroem"])
def test_random_features_agree_with_the_exact_kernel(features):
    bags, P, tests, _, _ = world()
    options = {"gamma": 0.1, "diagonal": 0.0}
    exact = MMDClassRatioEstimator(random_state=0, **options).fit(bags, P).predict(tests)

    def gap(n_components):
        found = [
            MMDClassRatioEstimator(
                features=features, n_components=n_components, random_state=seed, **options
            )
            .fit(bags, P)
            .predict(tests)
            for seed in range(6)
        ]
        return np.sqrt(np.mean((np.array(found) - exact) ** 2))

    # Error like 1 / sqrt(n_components), here a factor of 5; landmarks converge faster, and sooner.
    coarse, fine = (gap(16), gap(400)) if features == "rff" else (gap(4), gap(100))
    assert coarse > 0.005
    assert fine < coarse / 2.5


def test_the_simplex_fit_is_the_constrained_minimum():
    rng = np.random.default_rng(0)
    for _ in range(10):
        M = rng.normal(size=(4, 6))
        G, v = M @ M.T, M @ rng.normal(size=6)
        (found,) = fit_on_simplex(G, v[:, None])
        best = minimize(
            lambda r, G=G, v=v: r @ G @ r - 2 * r @ v,
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda r: r.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(found, best.x, atol=1e-5)
    np.testing.assert_allclose(fit_on_simplex(np.zeros((3, 3)), np.ones((3, 1))), [[1 / 3] * 3])


def test_directions_without_a_positive_length_are_left_out():
    (found,) = fit_on_simplex(np.diag([1.0, 1.0, -1e-3]), np.array([[0.7], [0.3], [5.0]]))
    np.testing.assert_allclose(found, [0.7, 0.3, 0.0], atol=1e-9)


def test_self_similarity_is_taken_out():
    """The squared length of a bag's mean is unbiased without it, over many draws."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        X = rng.normal(size=(12, 2)) + [1, 0]
        parts, bags = cut([X], 4, 0)
        sums = kernel_sums(bags[0], parts.sizes, np.array([0.3]))[0]
        found.append(PartSums(inner(sums), parts.sizes.astype(float), parts).gram())
    kept = np.mean([g.kept(1.0)[0, 0] for g in found])
    out = np.mean([g.kept(0.0)[0, 0] for g in found])
    # E exp(-.3 |x - y|^2) for independent x, y: |x - y|^2 is twice a chi-squared of 2 degrees.
    truth = 1 / (1 + 4 * 0.3)
    assert abs(out - truth) < 0.01
    assert kept - truth > 0.03


@pytest.mark.parametrize("solver", ["class_mean", "bag_mixture"])
@pytest.mark.parametrize("noisy", [False, True])
def test_mixtures_of_bags_are_the_classes(solver, noisy):
    bags, P, _, _, _ = world(n_bags=7)
    parts, bags = cut(bags, 20, 0)
    sums = kernel_sums(np.concatenate(bags), parts.sizes, np.array([0.1]))[0]
    gram = PartSums(inner(sums), parts.sizes.astype(float), parts).gram()
    covariance = np.tile(0.01 * (np.eye(3) - 1 / 3), (7, 1, 1)) if noisy else None
    A = unmix(P, gram, covariance, solver)
    np.testing.assert_allclose(P.T @ A, np.eye(3), atol=1e-9)


def test_solvers_agree_with_as_many_bags_as_classes():
    bags, P, tests, _, _ = world(n_bags=3)
    one, other = (
        MMDClassRatioEstimator(gamma=0.1, solver=s, random_state=0).fit(bags, P).predict(tests)
        for s in ("class_mean", "bag_mixture")
    )
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_known_noise_is_weighted():
    """Half of the bags have next to useless proportions, and say so."""
    better = []
    for seed in range(6):
        bags, P, tests, ratios, _ = world(seed, n_bags=12, size=300)
        rng = np.random.default_rng(seed)
        bad = np.arange(12) >= 6
        noise = rng.normal(size=P.shape) * 0.3 * bad[:, None]
        given = np.abs(P + noise)
        given /= given.sum(axis=1, keepdims=True)
        covariance = bad[:, None, None] * 0.3**2 * (np.eye(3) - 1 / 3)
        make = MMDClassRatioEstimator(gamma=0.1, diagonal=0.0, random_state=0)
        blind = error(clone(make).fit(bags, given).predict(tests), ratios)
        weighted = clone(make).fit(bags, given, covariance=covariance)
        better.append(blind - error(weighted.predict(tests), ratios))
    assert np.mean(better) > 0.03


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
def test_published_proportions_bring_their_covariance():
    bags, _, tests, _, labels = world(size=300)
    named = [np.array(["a", "b", "c"])[y] for y in labels]
    published = publish_proportions(named, ["a", "b", "c"], 0.1, 1e-5, random_state=0)
    given = MMDClassRatioEstimator(random_state=0).fit(bags, published)
    by_hand = MMDClassRatioEstimator(random_state=0).fit(
        bags, published.proportions, covariance=published.covariance()
    )
    assert given.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(given.predict(tests), by_hand.predict(tests))
    blind = MMDClassRatioEstimator(random_state=0).fit(bags, published.proportions)
    width, less = (np.mean(e.predict_interval(tests)[2] - e.predict_interval(tests)[1])
                   for e in (given, blind))  # fmt: skip
    assert width > less  # intervals know of the noise
    assert given.score(bags, published) == -error(given.predict(bags), published.proportions)


@pytest.mark.parametrize("options", [{"features": "rff"}, {"kernel": "linear"}], ids=str)
def test_partial_fit_equals_fit(options):
    bags, P, tests, _, _ = world(n_bags=9)
    make = MMDClassRatioEstimator(gamma=0.1, random_state=0, **options)
    whole = clone(make).fit(bags, P)
    stream = clone(make)
    for rows in (slice(0, 3), slice(3, 4), slice(4, 9)):
        stream.partial_fit(bags[rows], P[rows])
    assert stream.diagonal_ == whole.diagonal_
    for one, other in zip(
        stream.predict_interval(tests), whole.predict_interval(tests), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)
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
    with pytest.raises(ValueError, match="2 features, but there were 3 in fit"):
        stream.partial_fit([bag[:, :2] for bag in bags], P)


@pytest.mark.parametrize("features", [None, "rff"])
def test_a_fit_that_fails_leaves_the_last_one(features):
    bags, P, tests, _, _ = world()
    estimator = MMDClassRatioEstimator(features=features, random_state=0).fit(bags, P)
    before = estimator.predict(tests)
    for given, proportions in ((bags[:2], P[:2]), (bags, 2 * P), (bags, np.tile(P[0], (5, 1)))):
        with pytest.raises(ValueError, match=r"bags|proportions"):
            estimator.fit(given, proportions)
        np.testing.assert_array_equal(estimator.predict(tests), before)


def test_classes_that_look_alike_are_warned_of():
    bags, P, _, _, labels = world(size=300)
    rng = np.random.default_rng(0)
    # The third class is drawn as the second is.
    alike = [CENTRES[[0, 1, 1]][y] + rng.normal(size=(len(y), 3)) for y in labels]
    with pytest.warns(UserWarning, match="the classes [12] and [12] can't be told") as caught:
        fitted = MMDClassRatioEstimator(random_state=0).fit(alike, P)
    assert caught[0].filename == __file__  # it points at the user's line
    assert not fitted.diagnostics_.separable
    told = MMDClassRatioEstimator(random_state=0).fit(bags, P).diagnostics_
    assert told.separable
    assert told.rank == 3
    np.testing.assert_allclose(told.condition, np.linalg.cond(P))
    assert told.error_bound(10_000) < told.error_bound(100) < fitted.diagnostics_.error_bound(100)


def test_the_error_bound_holds():
    for seed in range(5):
        bags, P, tests, ratios, _ = world(seed)
        fitted = MMDClassRatioEstimator(random_state=0).fit(bags, P)
        found = np.linalg.norm(fitted.predict(tests) - ratios, axis=1)
        assert found.mean() <= fitted.diagnostics_.error_bound(120)


def test_held_out_instances_choose_well():
    """A bandwidth far off is not chosen, and what is chosen is near the best."""
    bags, P, tests, ratios, _ = world(1, n_bags=3, size=200, n_tests=30)
    chosen = MMDClassRatioEstimator(random_state=0).fit(bags, P)
    assert chosen.validation_error_.shape == (5, 5)
    median = median_gamma(np.concatenate(bags), np.random.default_rng(0))
    errors = []
    for multiple, diagonal in itertools.product((1, 4, 16), (0.0, 1.0)):
        fixed = MMDClassRatioEstimator(
            gamma=multiple * median, diagonal=diagonal, random_state=0
        ).fit(bags, P)
        errors.append(error(fixed.predict(tests), ratios))
    assert error(chosen.predict(tests), ratios) < min(errors) + 0.02


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
    bags, P, tests, _, _ = world()
    for features in (None, "rff", "nystroem"):
        fitted = MMDClassRatioEstimator(features=features, random_state=0).fit(bags, P)
        loaded = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(loaded.predict(tests), fitted.predict(tests))


def texts(rng, n_spam, n_ham):
    spam = ["subscribe my channel " + "free money " * k for k in rng.integers(1, 4, n_spam)]
    ham = ["love this song " + "best voice " * k for k in rng.integers(1, 4, n_ham)]
    return [*spam, *ham]


@pytest.mark.parametrize(
    "estimator",
    [
        MMDClassRatioEstimator(kernel="linear", random_state=0),
        MMDClassRatioEstimator(random_state=0),
        MMDClassRatioEstimator(features="rff", random_state=0),
        MMDClassRatioEstimator(features="nystroem", random_state=0),
        SoftmaxClassRatioEstimator(features=None, random_state=0),
    ],
    ids=["linear", "exact", "rff", "nystroem", "softmax"],
)
@pytest.mark.parametrize("n_features", [300, 2**18])
def test_sparse_is_never_made_dense(estimator, n_features, monkeypatch):
    rng = np.random.default_rng(0)
    bags = [texts(rng, 20, 60), texts(rng, 60, 20)]
    words = PerBag(CountVectorizer()).fit(bags)
    width = words.transform(bags)[0].shape[1]

    def widened(some):
        # Many more columns, all empty: what texts look like.
        return [sparse.csr_array((b.data, b.indices, b.indptr), shape=(b.shape[0], n_features))
                for b in some]  # fmt: skip

    assert width < 300
    if n_features > 300 and (estimator.__class__ is SoftmaxClassRatioEstimator
                             or getattr(estimator, "features", None) == "rff"):  # fmt: skip
        pytest.skip("one weight or frequency for each column is its nature")
    for kind in (sparse.csr_array, sparse.csr_matrix):
        dense = kind.toarray

        def refuse(self, *args, dense=dense, **kwargs):
            assert self.shape[1] != n_features, "made dense"
            return dense(self, *args, **kwargs)

        monkeypatch.setattr(kind, "toarray", refuse)
    fitted = clone(estimator).fit(widened(words.transform(bags)), [[0.25, 0.75], [0.75, 0.25]])
    found = fitted.predict(widened(words.transform([texts(rng, 95, 5), texts(rng, 5, 95)])))
    np.testing.assert_allclose(found[:, 0], [0.95, 0.05], atol=0.08)


def test_feature_lengths_are_right_though_few_are_measured():
    rng = np.random.default_rng(0)
    X, sizes = rng.normal(size=(5000, 3)), np.array([3000, 7, 1993])
    gammas = np.array([0.1, 0.2, 0.4, 1.0])
    for features in (
        FourierFeatures(3, gammas, 64, 0),
        NystroemFeatures(X, gammas, 20, np.random.default_rng(0)),
    ):
        sums, lengths = feature_sums(features, X, sizes, which=range(4))
        for number in range(4):
            whole = features(X, [number])[0].astype(float)
            parts = np.split(whole, np.cumsum(sizes)[:-1])
            truth = np.array([part.sum(axis=0) for part in parts])
            np.testing.assert_allclose(sums[number], truth, atol=2e-3)
            squares = [(part**2).sum() for part in parts]
            np.testing.assert_allclose(lengths[number], squares, rtol=0.05)


def test_random_features_are_the_kernel_on_average():
    rng = np.random.default_rng(0)
    X, gammas = rng.normal(size=(30, 3)), np.array([0.1, 0.2, 0.4])
    features = FourierFeatures(3, gammas, 20_000, 0)
    for gamma, found in zip(gammas, features(X, range(3)), strict=True):
        np.testing.assert_allclose(found @ found.T, rbf_kernel(X, gamma=gamma), atol=0.04)


def test_a_search_slices_the_covariance_with_the_bags():
    bags, P, _, _, _ = world(n_bags=9, size=60)
    covariance = np.tile(1e-4 * (np.eye(3) - 1 / 3), (9, 1, 1))
    grid = {"gamma": [1e-4, 0.1]}
    search = GridSearchCV(MMDClassRatioEstimator(random_state=0), grid, cv=KFold(3))
    search.fit(bags, P, covariance=covariance)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("features", [None, "rff"])
def test_many_bags(features):
    """A thousand small bags: sums for all pairs of parts are not kept at once."""
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(12, p) for p in rng.dirichlet(np.ones(3), size=1000)])
    bags = [draw(rng, c)[0] for c in counts]
    estimator = MMDClassRatioEstimator(gamma=0.1, features=features, random_state=0)
    found = estimator.fit(bags, counts / 12).predict_interval([draw(rng, [300, 0, 0])[0]])
    assert error(found.ratios, np.array([[1, 0, 0]])) < 0.1
    assert (found.upper - found.lower).max() < 0.15
    assert len(estimator._embedding.parts.bag) <= (2000 if features is None else 12_000)
