"""Bags that differ by more than their classes: detection, and the other loss."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from sklearn.metrics import mutual_info_score

from secretballot import publish_proportions
from secretballot.quantification import Bags, LabelProportionsClassifier
from secretballot.quantification import _label_proportions_classifier as module
from secretballot.quantification._softmax_class_ratio import likely_proportions

SHARES = np.linspace(0.25, 0.75, 8)


def world(seed=0, size=150, shift=0.0):
    """Two classes along the first feature; the second moves with the bag."""
    rng = np.random.default_rng(seed)
    bag = np.repeat(np.arange(8), size)
    y = (rng.random(len(bag)) < SHARES[bag]).astype(int)
    X = rng.normal(size=(len(bag), 2))
    X[:, 0] += 3 * y
    X[:, 1] += shift * SHARES[bag]
    return X, y, bag, pd.Series(y).groupby(bag).mean()


def model(**options):
    usual = {"features": None, "alpha": 1e-3, "random_state": 0}
    return LabelProportionsClassifier(**usual | options)


def test_label_information_is_mutual_information_with_bags():
    X, y, bag, shares = world()
    information = model().fit(X, bag_ids=bag, proportions=shares).bag_information_
    assert information.label_information == pytest.approx(mutual_info_score(y, bag), rel=1e-9)
    # Bags are joined where there are many: they tell no more then.
    many = bag * 10 + np.arange(len(bag)) % 10
    rates = pd.Series(y).groupby(many).mean()
    joined = model().fit(X, bag_ids=many, proportions=rates).bag_information_
    assert joined.label_information == pytest.approx(mutual_info_score(y, np.unique(many)[
        np.searchsorted(np.unique(many), many) // 4 * 4]), rel=1e-9)  # fmt: skip


def test_bags_that_differ_by_classes_alone_keep_the_likelihood():
    for seed in range(5):
        X, _, bag, shares = world(seed)
        fitted = model(sharpness=1.0).fit(X, bag_ids=bag, proportions=shares)
        assert fitted.loss_ == "likelihood"
        information = fitted.bag_information_
        limit = information.label_information + 1.5 * information.standard_error
        assert information.feature_information < limit


def test_bags_that_differ_by_more_use_the_proportion_loss():
    X, _, bag, shares = world(shift=6.0)
    with pytest.warns(UserWarning, match="bags differ by more than their classes: features tell"):
        result = model().fit(X, bag_ids=bag, proportions=shares)
    assert result.loss_ == "proportion"
    information = result.bag_information_
    assert information.feature_information > 2 * information.label_information
    assert result.sharpness_ == 1
    X_new, y_new, *_ = world(seed=1)  # of an average group; the shift says nothing about classes
    X_new[:, 1] += 3
    by_likelihood = model(loss="likelihood").fit(X, bag_ids=bag, proportions=shares)
    assert by_likelihood.bag_information_ is None
    assert result.score(X_new, y_new) > by_likelihood.score(X_new, y_new) + 0.1
    matched = model(loss="proportion").fit(X, bag_ids=bag, proportions=shares)  # silent
    assert matched.score(X_new, y_new) == pytest.approx(result.score(X_new, y_new), abs=0.05)
    means = pd.Series(matched.predict_proba(X)[:, 1]).groupby(bag).mean()
    np.testing.assert_allclose(means, shares, atol=0.06)
    # Nothing is held out for this loss.
    usual = model(loss="proportion", alpha="held_out").fit(X, bag_ids=bag, proportions=shares)
    assert usual.alpha_ == 1e-4
    assert usual.score(X_new, y_new) > result.score(X_new, y_new) - 0.02


def test_noise_increases_label_information():
    X, _, bag, shares = world(size=60)
    noise = np.tile(0.15**2 * np.array([[1.0, -1.0], [-1.0, 1.0]]), (8, 1, 1))
    exact, noisy = (
        model(sharpness=1.0).fit(X, bag_ids=bag, proportions=shares, covariance=covariance)
        for covariance in (0 * noise, noise)
    )
    exact, noisy = exact.bag_information_, noisy.bag_information_
    assert 1.5 < noisy.label_information / exact.label_information < 6
    assert noisy.feature_information == pytest.approx(exact.feature_information, abs=0.05)


def test_likely_proportions_have_a_floor():
    likely = likely_proportions(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([8, 1000]), None)
    np.testing.assert_allclose(likely[:, 0], [0.01 / 1.01, 0.0005 / 1.0005])
    huge = np.tile(9.0 * np.eye(2), (2, 1, 1))
    likely = likely_proportions(np.array([[0.0, 1.0], [0.9, 0.1]]), np.array([8, 8]), huge)
    np.testing.assert_allclose(likely[:, 0], [0.25 / 1.25, 0.9 / 1.15])


def test_proportion_loss_gradient(monkeypatch):
    rng = np.random.default_rng(0)
    F, bag = rng.normal(size=(30, 2)), np.arange(30) % 4
    P = rng.dirichlet(np.ones(3), size=4)
    objectives = []

    def spy(objective, initial, max_iter):
        objectives.append(objective)
        raise StopIteration

    monkeypatch.setattr(module, "minimise", spy)
    with pytest.raises(StopIteration):
        module.match_proportions(F, bag, P, alpha=0.1, max_iter=1)
    (objective,) = objectives
    for _ in range(5):
        at = rng.normal(size=9)
        assert check_grad(lambda w: objective(w)[0], lambda w: objective(w)[1], at) < 1e-5
    p = np.exp(F @ at.reshape(3, 3)[:2] + at[6:])
    p /= p.sum(axis=1, keepdims=True)
    off = np.array([p[bag == b].mean(axis=0) - P[b] for b in range(4)])
    sizes = np.bincount(bag)[:, None]
    expected = 0.5 * (sizes * off**2).sum() / 30 + 0.05 * (at[:6] ** 2).sum()
    assert objective(at)[0] == pytest.approx(expected)


def test_proportions_that_are_mostly_noise_are_warned_of():
    X, y, bag, _ = world(size=40)
    for epsilon, silent in ((0.02, False), (50.0, True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a seeded release
            published = publish_proportions(
                Bags.from_groups(None, y, bag), [0, 1], epsilon, 0.0, "laplace", random_state=0
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = model().fit(X, bag_ids=bag, proportions=published)
        messages = [str(warning.message) for warning in caught]
        assert any("differ by no more than the noise" in text for text in messages) != silent
        # No other warning: labels are granted what they could tell, noise and all.
        assert len(messages) == (0 if silent else 1)
        assert silent or fitted.sharpness_ == 1
