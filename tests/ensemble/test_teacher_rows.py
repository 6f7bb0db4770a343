"""Rows of a teacher: enough for the classes, or its labels are not released."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.validation import check_is_fitted

from secretballot import (
    BudgetExceededError,
    GNMax,
    PrivacyAccountant,
    PrivateTeacherEnsemble,
    PublicData,
    Upsampling,
    Vanishing,
    Weighting,
    recommend_teachers,
)

LEVELS = {"strict": 2_000.0, "generous": 6_000.0}


class Counting(ClassifierMixin, BaseEstimator):
    """Classifier whose copies note their numbers of rows."""

    n_rows: ClassVar[list[int]] = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_rows.append(len(X))
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def rows(n_rows, n_classes=2):
    return np.random.default_rng(0).normal(size=(n_rows, 2)), np.arange(n_rows) % n_classes


POOL = np.random.default_rng(1).normal(size=(12, 2))


def make(n_teachers=None, *, n_classes=2, epsilon=1e4, unit="row", **parameters):
    accountant = PrivacyAccountant(epsilon, 1e-5, unit=unit, order="renyi")
    parameters = {"estimator": DummyClassifier(), "classes": range(n_classes)} | parameters
    return PrivateTeacherEnsemble(
        n_teachers=n_teachers, accountant=accountant, check_public_rows=False, **parameters
    )


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "sigma"),
    [(8_000, 50, 2.0), (1_999, 2, 13.0), (200, 7, 1.2), (79, 2, 0.5)],
)
def test_the_chosen_number_leaves_each_teacher_enough_rows(n_rows, n_classes, sigma):
    Counting.n_rows.clear()
    # With so much noise more teachers would be better, but for their rows.
    ensemble = make(n_classes=n_classes, estimator=Counting(), mechanism=GNMax(sigma=sigma))
    ensemble.fit(*rows(n_rows, n_classes), X_public=POOL)
    fewest = max(20, 3 * n_classes)
    assert len(Counting.n_rows) == ensemble.n_teachers_ == n_rows // fewest
    assert min(Counting.n_rows) >= fewest


@pytest.mark.parametrize("individualization", [Upsampling(), Weighting(), Vanishing()], ids=repr)
@pytest.mark.parametrize("n_strict", [31, 255, 990])
def test_the_chosen_number_is_for_the_smallest_level(individualization, n_strict):
    Counting.n_rows.clear()
    ensemble = make(estimator=Counting(), epsilon=LEVELS, mechanism=GNMax(sigma=8.0))
    ensemble.set_params(individualization=individualization)
    budgets = np.repeat(["strict", "generous"], [n_strict, 1_021 - n_strict])
    ensemble.fit(*rows(1_021), X_public=POOL, budgets=budgets)
    assert len(Counting.n_rows) == ensemble.n_teachers_ > 20
    # The last round of copies is not dealt to all.
    assert min(Counting.n_rows) >= 20 - isinstance(individualization, Upsampling)


def test_several_labels_count_as_two_classes_and_owners_as_rows():
    X, labels = rows(2_000)[0], np.arange(2_000 * 30).reshape(-1, 30) % 2
    several = make(epsilon=4.0, estimator=MultiOutputClassifier(DummyClassifier()), classes=None)
    assert several.price_fit(2_000, POOL, n_labels=30).sizes["n_rows_per_teacher"] == 20
    several = make(200, estimator=MultiOutputClassifier(DummyClassifier()), classes=None)
    several.fit(X, labels, X_public=POOL)
    several.set_params(n_teachers=201)
    with pytest.raises(ValueError, match=r"some teachers 9 .* fewer than 10 .* 2 classes"):
        several.fit(X, labels, X_public=POOL)
    owned = make(20, unit="owner")
    owned.fit(*rows(2_000), X_public=POOL, owners=np.arange(2_000) % 200)
    with pytest.raises(ValueError, match=r"199 rows \(or owners\) leaves some teachers 9"):
        owned.fit(*rows(2_000), X_public=POOL, owners=np.arange(2_000) % 199)


@pytest.mark.parametrize(("n_classes", "fewest"), [(2, 10), (10, 10), (13, 13)])
def test_labels_of_smaller_teachers_are_refused_before_they_are_paid_for(n_classes, fewest):
    ensemble = make(5, n_classes=n_classes)
    X, y = rows(5 * fewest, n_classes)
    with pytest.raises(ValueError, match=f"some teachers {fewest - 1} .* fewer than {fewest} are"):
        ensemble.fit(X[1:], y[1:], X_public=POOL)
    assert ensemble.accountant.entries() == []
    with pytest.raises(NotFittedError):
        check_is_fitted(ensemble)
    price = ensemble.price_fit(5 * fewest - 1, POOL)
    assert not price.all_fits_succeed
    assert "n_teachers of at most 4" in price.problem
    # Unless the user insists, releases nothing, or has as many rows as that.
    ensemble.fit(X[1:], y[1:])
    ensemble.set_params(mechanism=GNMax(sigma=0.5)).fit(X[1:], y[1:], X_public=POOL)
    assert ensemble.price_fit(5 * fewest - 1, POOL).all_fits_succeed
    ensemble.set_params(mechanism=None).fit(X, y, X_public=POOL)
    assert ensemble.accountant.spent().n_releases == 2


def test_parties_of_few_rows_are_asked():
    parties = [FrozenEstimator(DummyClassifier().fit(*rows(4))) for _ in range(6)]
    ensemble = make(estimator=parties).fit(None, None, X_public=POOL)
    assert ensemble.n_answered_ == len(POOL)


@pytest.mark.parametrize("individualization", [Weighting(), Vanishing()], ids=repr)
def test_the_smallest_level_decides_on_a_refusal(individualization):
    ensemble = make(60, epsilon=LEVELS, individualization=individualization)
    # 11 rows a teacher: 57 and 3 of them, and the 3 have 28 rows together.
    budgets = np.repeat(["strict", "generous"], [632, 28])
    with pytest.raises(ValueError, match="leaves some teachers 9"):
        ensemble.fit(*rows(660), X_public=POOL, budgets=budgets)
    assert ensemble.accountant.entries() == []


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_a_search_leaves_out_what_is_refused():
    def search(*numbers):
        ensemble = make(student=DummyClassifier(), epsilon=1e4)
        ensemble.set_params(epsilon=ensemble.accountant.epsilon_per_fit(4))
        return GridSearchCV(ensemble, {"n_teachers": numbers}, cv=2, refit=False)

    partly = search(5, 60)
    failed = pytest.warns(FitFailedWarning, match="n_teachers=60 for 100 rows")
    with failed, pytest.warns(UserWarning, match="non-finite"):
        partly.fit(*rows(200), X_public=PublicData(POOL))
    assert np.isnan(partly.cv_results_["mean_test_score"]).tolist() == [False, True]
    refused = search(50, 60)
    with pytest.raises(ValueError, match=r"All the 4 fits failed(.|\n)*labels of teachers with"):
        refused.fit(*rows(200), X_public=PublicData(POOL))
    assert refused.estimator.accountant.entries() == []


def test_survival_is_printed_with_the_rows_of_a_teacher():
    price = make(50).price_fit(1_500, POOL)
    assert "If all 50 teachers (of 30 rows) agree, a label survives" in price.expected
    advice = recommend_teachers(n_private=8_000, n_public=2_000, epsilon=1, delta=1e-5)
    assert f"A teacher has {8_000 / advice.n_teachers:,.0f} rows. If all teachers" in advice.reason
    assert "rows each" in str(advice)
    assert "if all teachers agree" in str(advice)


def test_advice_follows_the_same_rule():
    budget = {"n_public": 200, "epsilon": 1, "delta": 1e-5}
    advice = recommend_teachers(n_private=8_000, n_classes=50, **budget)
    assert min(row.rows_per_teacher for row in advice.rows) >= 150
    refused = recommend_teachers(n_private=30, n_classes=50, n_teachers=[], **budget)
    assert "A fit would be refused: n_teachers=1 for 30 rows" in refused.reason
    # A remedy of more teachers is named only if there are rows for them.
    with pytest.raises(BudgetExceededError, match=r"agree, .* Use about [\d.]+ times the epsilon"):
        make(10, epsilon=0.1).fit(*rows(200), X_public=np.tile(POOL, (9, 1)))
