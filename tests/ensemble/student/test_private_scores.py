"""How good the student is on private rows: released, charged, and there if a student is."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from tests.ensemble.conftest import make_blobs

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.mechanisms import BinaryVoting, GNMax

METHODS = ("score_private", "confusion_private", "price_score")


def test_a_score_is_released_and_charged(ensemble, private, public):
    ensemble.set_params(epsilon=50.0).fit(*private, X_public=public[0])
    before = ensemble.accountant.spent().share
    price = ensemble.price_score(200, sigma=8.0)
    assert ensemble.accountant.spent().share == before
    score = ensemble.score_private(*private, sigma=8.0)
    assert ensemble.accountant.spent().share - before == pytest.approx(price.share)
    # Eight standard deviations: never.
    assert abs(score.accuracy - ensemble.score(*private)) <= 8 * 8 / 200
    assert ensemble.accountant.entries()[-1].n_rows == 1
    price = ensemble.price_score(200, confusion=True)
    before = ensemble.accountant.spent().share
    confusion = ensemble.confusion_private(*private, sigma=price.sigma)
    assert ensemble.accountant.spent().share - before == pytest.approx(price.share)
    assert confusion.classes.tolist() == [0, 1]


def test_score_methods_need_a_student(ensemble):
    for method in METHODS:
        assert hasattr(ensemble, method)
        assert not hasattr(clone(ensemble).set_params(student=None), method)


def test_labels_that_are_no_class_are_wrong_answers(ensemble, private, public):
    ensemble.set_params(epsilon=50.0).fit(*private, X_public=public[0])
    y = np.where(np.arange(200) < 100, 7, private[1])
    with pytest.warns(
        UserWarning, match="100 of 200 labels in y are none of .*NOT FOR PUBLICATION"
    ):
        score = ensemble.score_private(private[0], y, sigma=0.5)
    assert score.accuracy < 0.6


def test_owners_are_averaged(private, public):
    budget = PrivacyAccountant(100.0, 1e-5, unit="owner")
    model = LogisticRegression()
    ensemble = PrivateTeacherEnsemble(
        model,
        n_teachers=10,
        student=model,
        classes=[0, 1],
        epsilon=50.0,
        accountant=budget,
        check_public_rows=False,
    )
    owners = np.arange(200) // 2
    ensemble.fit(*private, X_public=public[0], owners=owners)
    entries = len(budget.entries())
    with pytest.raises(ValueError, match="Pass owners="):
        ensemble.score_private(*private, share=0.05)
    assert len(budget.entries()) == entries
    assert ensemble.score_private(*private, owners=owners, share=0.05).n == 100


def test_seeded_noise_is_drawn_anew_each_time(private, public):
    budget = PrivacyAccountant(100.0, 1e-5)
    model = LogisticRegression()
    ensemble = PrivateTeacherEnsemble(
        model,
        n_teachers=10,
        student=model,
        classes=[0, 1],
        epsilon=50.0,
        accountant=budget,
        random_state=0,
        check_public_rows=False,
    )
    with pytest.warns(UserWarning, match="reproducible"):
        ensemble.fit(*private, X_public=public[0])
    one, two = (ensemble.score_private(*private, sigma=20.0) for _ in range(2))
    assert one.rows_interval != two.rows_interval


def test_labels_and_parties(public):
    X, y = make_blobs(200)
    both = np.stack([y, 1 - y], axis=1)
    model = MultiOutputClassifier(LogisticRegression())
    ensemble = PrivateTeacherEnsemble(
        model,
        n_teachers=10,
        student=model,
        mechanism=BinaryVoting(sigma=1.0, n_votes=10),
        epsilon=1500.0,
        accountant=PrivacyAccountant(2000.0, 1e-5, order="renyi"),
        check_public_rows=False,
    ).fit(X, both, X_public=public[0])
    assert ensemble.score_private(X, both, sigma=2.0).accuracy > 0.8
    with pytest.raises(ValueError, match="one class a row"):
        ensemble.confusion_private(X, both, share=0.05)
    parties = [
        FrozenEstimator(LogisticRegression().fit(*make_blobs(50, seed=at))) for at in range(9)
    ]
    ensemble = PrivateTeacherEnsemble(
        parties,
        student=LogisticRegression(),
        classes=[0, 1],
        mechanism=GNMax(sigma=1.0),
        accountant=PrivacyAccountant(1000.0, 1e-5, unit="voter", order="renyi"),
        check_public_rows=False,
    ).fit(None, None, X_public=public[0])
    with pytest.raises(ValueError, match="unit='voter', but each row counts on its own"):
        ensemble.score_private(X, y, share=0.05)


def test_scores_without_a_budget_or_a_fit(private):
    ensemble = PrivateTeacherEnsemble(LogisticRegression(), student=LogisticRegression())
    with pytest.raises(ValueError, match="accountant=None"):
        ensemble.score_private(*private, share=0.05)
