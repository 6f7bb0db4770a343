"""The softmax trained on bags: its likelihood, its choices, and matching of its output."""

from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from secretballot.quantification import (
    MMDClassRatioEstimator,
    SoftmaxClassRatioEstimator,
    _softmax_class_ratio,
)
from secretballot.quantification._softmax_class_ratio import class_lifts, fit_softmax

CENTRES = np.array([[1.5, 0.0], [0.0, 1.5], [-1.5, -1.5]])
TRAINING = np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7], [0.4, 0.5, 0.1]])


def draw(rng, shares, size):
    y = rng.choice(3, size, p=shares)
    return CENTRES[y] + rng.normal(size=(size, 2)), y


def world(seed=0, size=300):
    rng = np.random.default_rng(seed)
    bags, labels = zip(*[draw(rng, p, size) for p in TRAINING], strict=True)
    P = np.array([np.bincount(y, minlength=3) / size for y in labels])
    groups, truth = zip(*[draw(rng, rng.dirichlet(np.full(3, 0.3)), size) for _ in range(10)],
                        strict=True)  # fmt: skip
    ratios = np.array([np.bincount(y, minlength=3) / size for y in truth])
    return list(bags), P, np.concatenate(labels), list(groups), ratios


def error(result, truth):
    return np.abs(result - truth).sum(axis=1).mean()


def test_likelihood_gradient(monkeypatch):
    rng = np.random.default_rng(0)
    F, bag = rng.normal(size=(30, 2)), np.repeat(np.arange(3), 10)
    lifts, _ = class_lifts(TRAINING[:3], np.full(3, 10), None)
    objectives = []

    def spy(objective, begin, **kwargs):
        objectives.append(objective)
        raise StopIteration

    monkeypatch.setattr(_softmax_class_ratio, "minimize", spy)
    with pytest.raises(StopIteration):
        fit_softmax(F, bag, lifts, 0.1)
    (objective,) = objectives
    for _ in range(5):
        at = rng.normal(size=9)
        assert check_grad(lambda w: objective(w)[0], lambda w: objective(w)[1], at) < 1e-5


def test_bags_of_one_class_equal_labels():
    """Bags of one class each: the same as logistic regression on labels."""
    rng = np.random.default_rng(0)
    X, y = draw(rng, [0.3, 0.3, 0.4], 600)
    order = np.argsort(y, kind="stable")
    sizes = np.bincount(y)
    lifts = np.eye(3) + 1e-12
    result = fit_softmax(X[order], y[order], lifts, 0.01, max_iter=1000)
    reference = LogisticRegression(C=1 / (0.01 * 600), tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(result.coef.T, reference.coef_, atol=2e-2)
    assert sizes.min() > 100


def test_it_classifies_nearly_as_well_as_with_labels():
    bags, P, y, _, _ = world(size=500)
    X = np.concatenate(bags)
    fitted = SoftmaxClassRatioEstimator(features=None, random_state=0).fit(bags, P)
    classes = np.concatenate(fitted.transform(bags)).argmax(axis=1)
    assert np.mean(classes == y) > LogisticRegression().fit(X, y).score(X, y) - 0.02


@pytest.mark.parametrize("features", [None, "nystroem", "rff"])
def test_matching_learned_features_beats_counting(features):
    gains = []
    for seed in range(3):
        bags, P, _, groups, ratios = world(seed)
        softmax = SoftmaxClassRatioEstimator(features, n_components=100, random_state=0)
        model = make_pipeline(softmax, MMDClassRatioEstimator(kernel="linear", random_state=0))
        matched_error = error(model.fit(bags, P).predict(groups), ratios)
        assert matched_error < 0.14
        gains.append(error(softmax.predict(groups), ratios) - matched_error)
        assert softmax.score(groups, ratios) == -error(softmax.predict(groups), ratios)
    assert np.mean(gains) > 0.03


def test_training_output_is_not_overfitted():
    rng = np.random.default_rng(0)
    noise = [rng.normal(size=(60, 40)) for _ in TRAINING]  # nothing to be learned
    softmax = SoftmaxClassRatioEstimator(features=None, alpha=1e-4, random_state=0)
    out = softmax.fit_transform(noise, TRAINING)
    by_heart = softmax.transform(noise)
    means, memories = (np.array([bag.mean(axis=0) for bag in bags]) for bags in (out, by_heart))
    assert error(memories, TRAINING) < 0.5  # looks as if it knew
    assert means.std(axis=0).max() < 0.5 * memories.std(axis=0).max()
    for bag in out:
        np.testing.assert_allclose(bag.sum(axis=1), 1)


@cache
def small_model():
    """Return a fitted softmax, which tests copy."""
    bags, P, *_ = world(size=80)
    return SoftmaxClassRatioEstimator(alpha=1e-3, gamma=0.1, random_state=0).fit(bags, P)


@pytest.mark.parametrize(
    "change",
    [{"alpha": 1.0}, {"gamma": 5.0}, {"features": None}, {"n_components": 5}, {"sharpness": 1.0}],
    ids=str,
)
def test_parameters_take_effect(change):
    bags, P, _, groups, _ = world(size=80)
    softmax = deepcopy(small_model())
    before = softmax.transform(groups)
    after = softmax.set_params(**change).fit(bags, P).transform(groups)
    assert np.abs(before[0] - after[0]).max() > 1e-3


def test_the_penalty_is_chosen_without_labels():
    bags, P, _, _, _ = world()
    fitted = SoftmaxClassRatioEstimator(features=None, random_state=0).fit(bags, P)
    assert fitted.alpha_ in (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
    rng = np.random.default_rng(0)
    useless = [np.c_[bag, rng.normal(size=(len(bag), 300))] for bag in bags]
    wide = SoftmaxClassRatioEstimator(features=None, random_state=0).fit(useless, P)
    assert wide.alpha_ >= fitted.alpha_


def test_a_published_zero_excludes_no_class():
    sizes, P = np.array([50, 50]), np.array([[0.0, 1.0], [0.6, 0.4]])
    exact, _ = class_lifts(P, sizes, None)
    assert exact.min() > 0
    noise = np.tile(0.1**2 * np.eye(2), (2, 1, 1))
    assert class_lifts(P, sizes, noise)[0][0, 0] > 2 * exact[0, 0]


def test_sparse_and_dense_agree():
    bags, P, _, groups, _ = world(size=80)
    softmax = SoftmaxClassRatioEstimator(features=None, alpha=1e-3, random_state=0)
    dense = softmax.fit(bags, P).predict(groups)
    thin = softmax.fit([sparse.csr_array(b) for b in bags], P)
    np.testing.assert_allclose(thin.predict([sparse.csr_array(g) for g in groups]), dense)


def test_instances_of_weight_zero_have_no_effect(monkeypatch):
    rng = np.random.default_rng(0)
    F, bag = rng.normal(size=(300, 4)), np.repeat(np.arange(4), 75)
    F[:, 0] += bag
    lifts, selected = class_lifts(TRAINING, np.full(4, 75), None)[0], rng.random(300) < 0.7
    partial = fit_softmax(F[selected], bag[selected], lifts, 0.01)
    weighed = fit_softmax(F, bag, lifts, 0.01, weight=selected)
    monkeypatch.setattr(
        _softmax_class_ratio, "_BLOCK_ROWS", 7
    )  # blocks are no more than a matter of speed
    blocked = fit_softmax(F, bag, lifts, 0.01, weight=selected)
    single = fit_softmax(F.astype("f4"), bag, lifts, 0.01, weight=selected)
    everyone = fit_softmax(F, bag, lifts, 0.01)
    for weights in (weighed, blocked, single):
        np.testing.assert_allclose(weights.coef, partial.coef, atol=5e-3)
    assert np.abs(everyone.coef - partial.coef).max() > 5e-2


def matched(seed):
    softmax = SoftmaxClassRatioEstimator(n_components=100, random_state=seed)
    return make_pipeline(softmax, MMDClassRatioEstimator(kernel="linear", random_state=0))


def test_outputs_of_few_instances_vary_little_with_the_seed(monkeypatch):
    """240 in all; looking at fewer of them, as of many, makes answers move about."""
    bags, P, *_ = world(0, size=60)

    def spread():
        means = []
        for seed in range(5):
            softmax = SoftmaxClassRatioEstimator(n_components=60, random_state=seed)
            means.append([bag.mean(axis=0) for bag in softmax.fit_transform(bags, P)])
        return np.std(means, axis=0).mean()

    steady = spread()
    monkeypatch.setattr(_softmax_class_ratio, "_ENOUGH", 1)
    assert spread() > 1.5 * steady


def test_choices_use_a_sample_of_many_instances(monkeypatch):
    bags, P, _, groups, ratios = world()
    n_rows, original = [], _softmax_class_ratio.fit_softmax

    def spy(F, *args, **kwargs):
        n_rows.append(len(F))
        return original(F, *args, **kwargs)

    monkeypatch.setattr(_softmax_class_ratio, "fit_softmax", spy)
    monkeypatch.setattr(_softmax_class_ratio, "_MOST_CHOOSING", 500)
    model = matched(0).fit(bags, P)
    assert set(n_rows) == {500, 1200}
    assert n_rows.count(1200) == 1 + 5 * 2  # the whole, and each fold of two draws
    assert error(model.predict(groups), ratios) < 0.14


def test_learned_features_accept_further_bags():
    bags, P, _, groups, ratios = world(size=150)
    softmax, means = matched(0)
    means.partial_fit(softmax.fit_transform(bags, P), P)
    more_bags, more_proportions, *_ = world(1, size=150)
    means.partial_fit(softmax.transform(more_bags), more_proportions)
    assert error(means.predict(softmax.transform(groups)), ratios) < 0.2
