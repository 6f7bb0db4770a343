"""Weights of classes: exact reweighting of probabilities, for nothing."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, recall_score

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData

N = 12_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N + 6_500, 3))
SCORES = X @ [1.5, -1.0, 0.5] - 3.2
RARE = (RNG.random(len(X)) < expit(SCORES)).astype(int)  # one row in nine
TARGETS = {"rare": RARE, "three": np.where(X[:, 2] > 1.3, 2, RARE)}
_WEIGHTS = (None, "balanced")
POOL, NEW = PublicData(X[N : N + 500]), slice(N + 500, None)


def new_fit(target="rare", classes=(0, 1), weights=None, features="additive"):
    model = PrivateLogisticRegression(
        features,
        classes=list(classes),
        class_weight=dict(weights) if isinstance(weights, tuple) else weights,
        accountant=PrivacyAccountant(2.0, 1e-5),
        interactions=0,
        random_state=0,
    )
    return model.fit(X[:N], np.asarray(classes)[TARGETS[target][:N]], X_public=POOL)


@cache
def _fitted(*key):
    return new_fit(*key)


def fitted(target="rare", classes=(0, 1), weights=None, features="additive"):
    """Return a model that tests share, and do not change."""
    return _fitted(target, tuple(classes), weights, features)


@pytest.fixture(scope="module", autouse=True)
def _seeds_are_for_tests():
    with pytest.warns(match="reproducible"):
        new_fit()


pytestmark = pytest.mark.filterwarnings("ignore:.*reproducible")


@pytest.mark.parametrize(("target", "classes"), [("rare", ("no", "yes")), ("three", (0, 1, 2))])
@pytest.mark.parametrize("class_weight", ["balanced", "dict"])
def test_probabilities_are_multiplied_by_weights(target, classes, class_weight):
    if class_weight == "dict":
        class_weight = ((classes[1], 5.0),)
    plain, weighted = fitted(target, classes), fitted(target, classes, class_weight)
    products = plain.predict_proba(X[NEW]) * weighted.class_weight_
    expected = products / products.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weighted.predict_proba(X[NEW]), expected, rtol=1e-9)
    assert (weighted.predict(X[NEW]) == np.asarray(classes)[expected.argmax(axis=1)]).all()
    assert (plain.class_weight_ == 1).all()
    if class_weight != "balanced":
        assert weighted.class_weight_.tolist() == [1.0, 5.0, 1.0][: len(classes)]
    np.testing.assert_array_equal(plain.coef_, weighted.coef_)


@pytest.mark.parametrize("features", ["additive", "linear"])
@pytest.mark.parametrize(("target", "n_classes"), [("rare", 2), ("three", 3)])
def test_balanced_weights_are_those_of_the_rates_that_a_model_expects(target, n_classes, features):
    plain, model = (fitted(target, range(n_classes), w, features) for w in _WEIGHTS)
    rates = plain.predict_proba(POOL.X).mean(axis=0)
    np.testing.assert_allclose(model.class_weight_, 1 / (n_classes * rates), rtol=0.1)
    if n_classes == 2:
        private_rates = np.bincount(RARE[:N]) / N
        # The rates that a model of scaled columns expects are some 13 % too small here.
        rtol = 0.15 if features == "additive" else 0.2
        np.testing.assert_allclose(model.class_weight_, 1 / (2 * private_rates), rtol=rtol)


@pytest.mark.parametrize("features", ["additive", "linear"])
def test_rare_classes_of_three_are_predicted(features):
    answers = TARGETS["three"][NEW]
    recalls = [
        recall_score(answers, fitted("three", range(3), w, features).predict(X[NEW]), average=None)
        for w in _WEIGHTS
    ]
    assert recalls[0].min() < 0.3
    assert recalls[1].min() > 0.5


def test_a_right_model_is_that_of_weighted_rows():
    weighted = fitted(weights="balanced", features="linear")
    noiseless = LogisticRegression(class_weight="balanced").fit(X[:N], RARE[:N])
    difference = weighted.predict_proba(X[NEW]) - noiseless.predict_proba(X[NEW])
    assert np.abs(difference).mean() < 0.05
    ours, theirs = (
        balanced_accuracy_score(RARE[NEW], model.predict(X[NEW])) for model in (weighted, noiseless)
    )
    assert ours > theirs - 0.02
    plain = fitted(features="linear")
    assert recall_score(RARE[NEW], weighted.predict(X[NEW])) > 0.7
    assert recall_score(RARE[NEW], plain.predict(X[NEW])) < 0.4


def test_weights_are_free_and_read_releases_alone():
    plain, weighted = fitted(), fitted(weights="balanced")
    spent = [[entry.charges for entry in m.accountant.entries()] for m in (plain, weighted)]
    assert repr(spent[0]) == repr(spent[1])


def test_weights_without_public_rows():
    model = PrivateLogisticRegression(
        classes=[0, 1],
        bounds=(-4, 4),
        class_weight="balanced",
        accountant=PrivacyAccountant(2.0, 1e-5),
    ).fit(X[:N], RARE[:N])
    np.testing.assert_allclose(model.class_weight_, N / (2 * np.bincount(RARE[:N])), rtol=0.15)


def test_a_model_that_is_fitted_anew_forgets_its_weights():
    model = new_fit(weights="balanced")
    model.set_params(classes=None, class_weight=None, accountant=PrivacyAccountant(2.0, 1e-5))
    model.fit(X[:N], np.column_stack([RARE, 1 - RARE])[:N], X_public=POOL)
    assert not hasattr(model, "class_weight_")


@pytest.mark.parametrize(
    ("class_weight", "y", "message"),
    [
        ({2: 3.0}, RARE, r"class_weight names 2, which is none of \[0, 1\]"),
        ({1: 0.0}, RARE, r"class_weight\[1\]=0.0 must be a finite number above 0"),
        ({1: "5"}, RARE, r"class_weight\[1\]='5' must be a finite number"),
        ("rate", RARE, "'class_weight' parameter .* must be"),
        ("balanced", np.column_stack([RARE, RARE]), "label_threshold='rate'"),
    ],
)
def test_invalid_weights_are_refused_before_anything_is_spent(class_weight, y, message):
    model = PrivateLogisticRegression(
        classes=[0, 1] if y.ndim == 1 else None,
        class_weight=class_weight,
        accountant=PrivacyAccountant(2.0, 1e-5),
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X[:N], y[:N], X_public=POOL)
    assert model.accountant.entries() == []
