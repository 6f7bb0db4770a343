"""The common checks of estimators of class ratios: ours pass, and broken ones don't."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from tests.checks._bag_estimator_checks import bag_estimator_checks, check_bag_estimator

from secretballot.quantification import MMDClassRatioEstimator, SoftmaxClassRatioEstimator

ESTIMATORS = {
    "exact kernel": MMDClassRatioEstimator(random_state=0),
    "random features": MMDClassRatioEstimator(features="rff", random_state=0),
    "landmarks": MMDClassRatioEstimator(features="nystroem", random_state=0),
    "linear kernel": MMDClassRatioEstimator(kernel="linear", random_state=0),
    "bag mixtures": MMDClassRatioEstimator(solver="bag_mixture", random_state=0),
    "softmax, counted": SoftmaxClassRatioEstimator(alpha=1e-3, random_state=0),
    "softmax, matched": make_pipeline(
        SoftmaxClassRatioEstimator(features=None, alpha=1e-3, random_state=0),
        MMDClassRatioEstimator(kernel="linear", random_state=0),
    ),
}


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=name) for name, check in bag_estimator_checks(ESTIMATORS)]
)
def test_estimator(check):
    check()


class Ours(MMDClassRatioEstimator):
    def __init__(self, random_state=0):
        super().__init__(gamma=0.1, random_state=random_state)


class NotRatios(Ours):
    def predict(self, X):
        return super().predict(X) * 1.1


class LooksAtOtherBags(Ours):
    def predict(self, X):
        found = super().predict(X)
        return (found + found.mean(axis=0)) / 2


class LooksAtTheOrder(Ours):
    def predict(self, X):
        return super().predict([bag[:30] for bag in X])


class Normalises(Ours):
    def fit(self, X, y, covariance=None):
        return super().fit(X, np.asarray(y) / np.sum(y, axis=1, keepdims=True))


class Remembers(Ours):
    def fit(self, X, y, covariance=None):
        if not hasattr(self, "first_"):
            super().fit(X, y)
            self.first_ = True
        return self


class Scales(Ours):
    def fit(self, X, y, covariance=None):
        for bag in X:
            if isinstance(bag, np.ndarray):
                bag *= 1.0 + 1e-9
        return super().fit(X, y)


class ScoresUpsideDown(Ours):
    def score(self, X, y):
        return -super().score(X, y)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (NotRatios, "ratios sum to one"),
        (LooksAtOtherBags, "don't depend on other bags"),
        (LooksAtTheOrder, "nor on the order"),
        (Normalises, "sum to one are refused"),
        (Remembers, "forgets the first"),
        (Scales, "left as they were"),
        (ScoresUpsideDown, "minus the mean L1 error"),
    ],
)
def test_broken_estimators_are_refused(broken, promise):
    # `Ours` itself is the example of `check_bag_estimator`, and passes.
    with pytest.raises(AssertionError, match=promise):
        check_bag_estimator(broken())
