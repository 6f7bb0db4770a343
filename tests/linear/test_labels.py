"""Several labels: learning, predictions, scores, and refusals."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.special import expit
from sklearn.model_selection import cross_validate

from secretballot import PrivacyAccountant, PrivateLogisticRegression, PublicData
from secretballot.inspection import label_scores

pytestmark = pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")


def table(n_rows, n_labels=5, seed=0, offset=-1.0):
    """Return numbers, and labels that follow from them."""
    effects = np.random.default_rng(7).normal(size=(4, n_labels))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    return X, (rng.random((n_rows, n_labels)) < expit(X @ effects + offset)).astype(int)


X, Y = table(3_000)
PUBLIC = table(300, seed=1)[0]
POOL = PublicData(PUBLIC)
TEST, ANSWERS = table(2_000, seed=2)


def model(epsilon=2.0, **given):
    budget = PrivacyAccountant(epsilon, 1e-5)
    return PrivateLogisticRegression(**{"random_state": 0, "accountant": budget, **given})


def balanced(found, test=TEST, answers=ANSWERS):
    return label_scores(answers, found.predict(test)).balanced_accuracy


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, Y, X_public=POOL)


@pytest.mark.parametrize("given", [{}, {"features": "linear"}, {"bounds": (-4, 4)}])
def test_labels_are_learned(given):
    pool = None if "bounds" in given else POOL
    found = model(label_threshold="rate", **given).fit(X, Y, X_public=pool)
    assert balanced(found) > 0.7  # that of the law itself is .75
    p = found.predict_proba(TEST)
    np.testing.assert_allclose(p.mean(axis=0), ANSWERS.mean(axis=0), atol=0.06)


def test_one_reservation_pays_for_all_labels(fitted):
    events = [entry.reservation.event for entry in fitted.accountant.entries()]
    assert events == [*["reserve"] * 2, *["draw"] * (1 + fitted.n_rounds_ + 1), *["settle"] * 2]
    assert fitted.mechanism_.diameter == 2.0


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, np.ndarray.tolist, lambda Y: Y == 1])
def test_sparse_and_dense_labels_give_the_same_model(fitted, kind):
    other = model().fit(X, kind(Y), X_public=POOL)
    assert (other.coef_ == fitted.coef_).all()


def test_outputs_have_a_column_for_each_label(fitted):
    decision, p, predicted = (
        getattr(fitted, name)(TEST) for name in ("decision_function", "predict_proba", "predict")
    )
    assert decision.shape == p.shape == predicted.shape == ANSWERS.shape
    assert predicted.dtype.kind == "i"
    assert (predicted == (p > 0.5)).all()
    assert (predicted == (decision > 0)).all()
    assert [values.tolist() for values in fitted.classes_] == [[0, 1]] * 5
    assert fitted.coef_.shape == fitted.coef_error_.shape == (5, fitted._public_features.n_features)
    assert (fitted.coef_error_ > 0).all()
    assert fitted.__sklearn_tags__().classifier_tags.multi_label
    assert (pickle.loads(pickle.dumps(fitted)).predict(TEST) == predicted).all()


def test_thresholds_move_predictions_alone(fitted):
    thresholds = [0.1, 0.3, 0.5, 0.7, 0.9]
    other = model(label_threshold=thresholds).fit(X, Y, X_public=POOL)
    p = fitted.predict_proba(TEST)
    assert (other.predict_proba(TEST) == p).all()
    assert (other.predict(TEST) == (p > thresholds)).all()
    assert (other.predict(TEST) == (other.decision_function(TEST) > 0)).all()


def test_rare_labels_need_a_threshold_at_their_rate():
    X, Y = table(8_000, offset=-3.5)
    test, answers = table(4_000, seed=2, offset=-3.5)
    rate, half = (
        balanced(model(label_threshold=each).fit(X, Y, X_public=POOL), test, answers)
        for each in ("rate", 0.5)
    )
    assert rate > half + 0.1


@pytest.mark.parametrize("rate", [0.02, 0.5, [0.1, 0.2, 0.3, 0.4, 0.5]])
def test_the_guess_of_rates_hardly_matters(fitted, rate):
    other = model(label_rate=rate).fit(X, Y, X_public=POOL)
    assert np.abs(other.predict_proba(TEST) - fitted.predict_proba(TEST)).mean() < 0.08


def test_three_hundred_labels_are_learned():
    X, Y = table(2_000, 300)
    found = model(epsilon=20.0, features="linear", label_threshold="rate", rounds=4)
    found.fit(X, csr_array(Y), X_public=POOL)
    test, answers = table(500, 300, seed=2)
    assert balanced(found, test, answers) > 0.6


def test_scorers_of_several_labels():
    least = {"roc_auc": 0.75, "average_precision": 0.5, "f1_macro": 0.3}
    scores = cross_validate(
        model(epsilon=8.0).set_params(epsilon=3.0),
        X,
        Y[:, :2],  # two labels are no two classes
        scoring=list(least),
        cv=2,
        params={"X_public": POOL},
        error_score="raise",
    )
    for name, bound in least.items():
        assert scores[f"test_{name}"].mean() > bound, name


def test_terms_of_a_label(fitted):
    terms = fitted.terms(3)
    assert len(terms) == 4
    assert not (terms[0].effect == fitted.terms(target=2)[0].effect).all()
    for target in (5, -1, None, "beach"):
        with pytest.raises(ValueError, match="from 0 to 4"):
            fitted.terms(target)


def test_private_scores_of_labels():
    found = model(epsilon=4.0, classes=[[0, 1]] * 5)
    found.set_params(epsilon=2.0).fit(X, Y, X_public=POOL)
    score = found.score_private(TEST, ANSWERS, epsilon=1.0)
    assert abs(score.accuracy - found.score(TEST, ANSWERS)) < 0.02
    with pytest.raises(ValueError, match="several labels"):
        found.confusion_private(TEST, ANSWERS, share=0.05)


@pytest.mark.parametrize(
    ("given", "targets", "message"),
    [
        ({}, np.zeros((3_000, 1_001), dtype=int), "at most 1000"),
        ({}, Y + 1, "other values"),
        ({}, csr_array(Y[:, :1]), "one label only"),
        ({"classes": [0, 1]}, Y, "5 labels"),
        ({"label_rate": [0.1, 0.2]}, Y, "label_rate.*5 of them"),
        ({"label_rate": [0.1, 0.2, 0.3, 0.4, 1.0]}, Y, "label_rate"),
        ({"label_threshold": [0.1, 0.2]}, Y, "label_threshold"),
        ({"label_threshold": 0.0}, Y, "label_threshold"),
        ({"label_threshold": "half"}, Y, "label_threshold"),
    ],
)
def test_invalid_labels_cost_nothing(given, targets, message):
    found = model(**given)
    with pytest.raises(ValueError, match=message):
        found.fit(X, targets, X_public=POOL)
    assert not found.accountant.entries()


@pytest.mark.filterwarnings("error")
def test_no_leak_is_declared():
    found = model().set_params(random_state=None).fit(X, Y, X_public=POOL)
    assert '"classes_learned": false' in found.accountant.entries()[0].note
