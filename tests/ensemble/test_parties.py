"""Parties that trained elsewhere."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.ensemble._votes import collect_votes

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning
from secretballot.ensemble import PrivateTeacherEnsemble


def party(X, y):
    return FrozenEstimator(LogisticRegression().fit(X, y))


@pytest.fixture
def parties(private):
    X, y = private
    return [party(X[start::8], y[start::8]) for start in range(8)]


@pytest.mark.filterwarnings("ignore:a copy of the model", "ignore:epsilon=90.0. this copy")
@pytest.mark.parametrize("unit", ["voter", "row"])
def test_parties_vote(parties, public, unit):
    accountant = PrivacyAccountant(100.0, 1e-5, unit=unit)
    ensemble = PrivateTeacherEnsemble(
        parties,
        student=LogisticRegression(),
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
    ensemble = clone(ensemble).set_params(epsilon=90.0).fit(None, None, X_public=public[0])
    assert ensemble.n_teachers_ == 8
    assert ensemble.n_features_in_ == 2
    assert ensemble.n_answered_ == 30
    assert ensemble.score(*public) > 0.8
    assert ensemble.to_student().privacy["split_by"] == "party"
    ensemble = pickle.loads(pickle.dumps(ensemble))
    votes = collect_votes(ensemble._teachers, public[0], ensemble.classes_, 2)["*"]
    expected = sum(np.eye(2, dtype=int)[each.predict(public[0])] for each in parties)
    assert (votes == expected).all()


def test_classes_of_the_parties(private, public, accountant):
    X, y = private
    parties = [party(X, np.array(["a", "b"])[y]), party(X, np.array(["b", "c"])[y])]
    ensemble = PrivateTeacherEnsemble(parties, accountant=accountant, check_public_rows=False).fit(
        None, None
    )
    assert ensemble.classes_.tolist() == ["a", "b", "c"]
    with pytest.warns(PrivacyLeakWarning, match="classes=None"):
        ensemble.predict_private(public[0])


def test_plain_fitted_models_are_refused(private):
    parties = [LogisticRegression().fit(*private)]
    with pytest.raises(ValueError, match=r"estimator\[0\] is a LogisticRegression.*clone would"):
        PrivateTeacherEnsemble(parties).fit(None, None)


@pytest.mark.parametrize(
    ("parties", "message"),
    [
        ([], "estimator is an empty list"),
        ([FrozenEstimator(LogisticRegression())], r"estimator\[0\] .* unfitted LogisticRegression"),
    ],
)
def test_bad_parties(parties, message):
    with pytest.raises(ValueError, match=message):
        PrivateTeacherEnsemble(parties).fit(None, None)


def test_a_party_has_one_ballot(private):
    X, y = private
    model = LogisticRegression().fit(X, y)
    steps = [make_pipeline(FunctionTransformer(), model) for _ in range(2)]
    search = GridSearchCV(LogisticRegression(), {}, cv=2).fit(X, y)
    search.best_estimator_ = model
    parts = [model, *steps, search]
    wrapped = [FrozenEstimator(FrozenEstimator(model)), *map(FrozenEstimator, parts)]
    for pair in itertools.combinations(wrapped, 2):
        with pytest.raises(ValueError, match=r"estimator\[1\] is the same fitted model .*\[0\]"):
            PrivateTeacherEnsemble(pair).fit(None, None)
    with pytest.raises(ValueError, match="Give each party once"):
        PrivateTeacherEnsemble([wrapped[0]] * 10).fit(None, None)


def test_parties_with_other_columns(parties, private):
    other = party(private[0][:, :1], private[1])
    with pytest.raises(ValueError, match="parties differ in n_features_in_"):
        PrivateTeacherEnsemble([*parties, other]).fit(None, None)


def test_parties_take_no_private_rows(parties, private):
    ensemble = PrivateTeacherEnsemble(parties, classes=[0, 1])
    with pytest.raises(ValueError, match=r"X was given.*fit\(None, None, X_public=...\)"):
        ensemble.fit(private[0], None)
    with pytest.raises(ValueError, match="owners was given"):
        ensemble.fit(None, None, owners=[1])
    assert ensemble.fit(None, None).n_teachers_ == 8
