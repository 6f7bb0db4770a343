"""Common checks of estimators of class ratios (scikit-learn has none for bags): ours pass."""

from __future__ import annotations

import contextlib
import pickle
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from tests._quietly import quietly
from tests.checks._promises import expect_refusal, name_checks

from secretballot.quantification import Bags, MMDClassRatioEstimator, SoftmaxClassRatioEstimator

_CENTRES = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
_PROPORTIONS = np.array(
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2], [0.2, 0.4, 0.4]]
)
_SIZE = 60


def some_bags():
    """Draw bags of 60 instances with three classes, and their proportions."""
    rng = np.random.default_rng(0)
    labels = [np.repeat(np.arange(3), np.rint(p * _SIZE).astype(int)) for p in _PROPORTIONS]
    return [_CENTRES[y] + rng.normal(size=(_SIZE, 3)) for y in labels], _PROPORTIONS.copy()


def check_ratios_are_ratios_and_right(estimator):
    bags, P = some_bags()
    ratios = _fitted_once(estimator).predict(bags)
    assert ratios.shape == P.shape, "one row of ratios for each bag"
    assert (ratios >= 0).all(), "ratios are not negative"
    assert np.allclose(ratios.sum(axis=1), 1), "ratios sum to one"
    error = np.abs(ratios - P).sum(axis=1).mean()
    guess = np.abs(P - P.mean(axis=0)).sum(axis=1).mean()
    assert error < guess, "ratios are nearer to the truth than the mean of all"


def check_kinds_of_bags_agree(estimator):
    bags, P = some_bags()
    first = _fitted_once(estimator).predict(bags)
    stacked = np.concatenate(bags)
    kinds = {
        "a 3-d array": np.array(bags),
        "a tuple": tuple(bags),
        "CSR": [sparse.csr_array(bag) for bag in bags],
        "grouped instances": list(Bags.from_groups(stacked, None, np.arange(5).repeat(_SIZE)).X),
    }
    with contextlib.suppress(ImportError):  # an extra
        from pandas import DataFrame

        kinds["data frames"] = [DataFrame(bag) for bag in bags]
    for kind, others in kinds.items():
        ratios = _fitted(estimator, others, P).predict(others)
        assert np.allclose(ratios, first, atol=1e-6), f"{kind} of bags give the same ratios"


def check_bags_are_predicted_one_by_one(estimator):
    bags, _ = some_bags()
    fitted = _fitted_once(estimator)
    together = fitted.predict(bags[::-1])
    alone = np.concatenate([fitted.predict([bag]) for bag in bags[::-1]])
    assert np.allclose(together, alone, atol=1e-7), "a bag's ratios don't depend on other bags"
    shuffled = [np.random.default_rng(1).permutation(bag) for bag in bags[::-1]]
    ratios = fitted.predict(shuffled)
    assert np.allclose(ratios, together, atol=1e-7), "nor on the order of its instances"


def check_input_is_not_changed(estimator):
    bags, P = some_bags()
    before = pickle.dumps((bags, P))
    model = clone(estimator)
    parameters = str(model.get_params())
    quietly(model.fit, bags, P).predict(bags)
    assert pickle.dumps((bags, P)) == before, "bags and proportions are left as they were"
    assert str(model.get_params()) == parameters, "fit changes no parameter"


def check_fit_begins_anew(estimator):
    bags, P = some_bags()
    model = _fitted(estimator, bags, P)
    quietly(model.fit, bags[:3], P[:3])
    fresh = _fitted(estimator, bags[:3], P[:3])
    same = np.array_equal(model.predict(bags), fresh.predict(bags))
    assert same, "a second fit forgets the first, and the same seed gives the same ratios"


def check_pickled_and_cloned(estimator):
    bags, _ = some_bags()
    fitted = _fitted_once(estimator)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(loaded.predict(bags), fitted.predict(bags)), "a pickle predicts the same"
    expect_refusal(NotFittedError, "a clone is unfitted", clone(fitted).predict, bags)


def check_scores_and_cross_validation(estimator):
    bags, P = some_bags()
    fitted = _fitted_once(estimator)
    error = np.abs(fitted.predict(bags) - P).sum(axis=1).mean()
    assert np.isclose(fitted.score(bags, P), -error), "the score is minus the mean L1 error"
    scores = quietly(cross_val_score, clone(estimator), bags * 2, np.r_[P, P], cv=KFold(2))
    assert np.isfinite(scores).all(), "cross-validation splits over bags"


def check_bad_input_is_refused(estimator):
    bags, P = some_bags()
    fewer_columns = [*bags[:4], bags[4][:, :2]]
    for promise, (X, y) in {
        "an empty bag is refused": ([*bags[:4], bags[4][:0]], P),
        "a bag of one instance is refused": ([*bags[:4], bags[4][:1]], P),
        "a bag with other columns is refused": (fewer_columns, P),
        "proportions that don't sum to one are refused": (bags, 0.9 * P),
        "counts for proportions are refused": (bags, np.rint(_SIZE * P)),
        "fewer proportions than bags are refused": (bags, P[:4]),
        "instances that are not in bags are refused": (bags[0], P),
        "missing values are refused": ([*bags[:4], np.full((4, 3), np.nan)], P),
    }.items():
        expect_refusal(ValueError, promise, clone(estimator).fit, X, y)
    fitted = _fitted_once(estimator)
    promise = "bags to predict need the columns of fit"
    expect_refusal(ValueError, promise, fitted.predict, [bags[0][:, :2]])


@cache
def _fitted_once(estimator):
    """Return an estimator of some bags that checks share, and do not change."""
    return _fitted(estimator, *some_bags())


def _fitted(estimator, bags, P):
    return quietly(clone(estimator).fit, bags, P)


CHECKS = (
    check_ratios_are_ratios_and_right,
    check_kinds_of_bags_agree,
    check_bags_are_predicted_one_by_one,
    check_input_is_not_changed,
    check_fit_begins_anew,
    check_pickled_and_cloned,
    check_scores_and_cross_validation,
    check_bad_input_is_refused,
)


ESTIMATORS = {
    "exact kernel": MMDClassRatioEstimator(random_state=0),
    "fixed gamma": MMDClassRatioEstimator(gamma=0.1, random_state=0),
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
    "check", [pytest.param(check, id=name) for name, check in name_checks(CHECKS, ESTIMATORS)]
)
def test_estimator(check):
    check()


# Each breaks the check that it stands beside; "fixed gamma" above is whole.
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
    ("broken", "check", "promise"),
    [
        (NotRatios, check_ratios_are_ratios_and_right, "ratios sum to one"),
        (LooksAtOtherBags, check_bags_are_predicted_one_by_one, "don't depend on other bags"),
        (LooksAtTheOrder, check_bags_are_predicted_one_by_one, "nor on the order"),
        (Normalises, check_bad_input_is_refused, "sum to one are refused"),
        (Remembers, check_fit_begins_anew, "forgets the first"),
        (Scales, check_input_is_not_changed, "left as they were"),
        (ScoresUpsideDown, check_scores_and_cross_validation, "minus the mean L1 error"),
    ],
)
def test_broken_estimators_are_refused(broken, check, promise):
    with pytest.raises(AssertionError, match=promise):
        check(broken())
