"""Errors whose remedy suits whoever called: arrays of texts, spent budgets, estimators around."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from tests.mistakes._mistake import (
    LABELS,
    N_PUBLIC,
    PUBLIC_TABLE,
    TABLE,
    N,
    X,
    logistic,
    numbers,
    teachers,
)

from secretballot import PrivacyAccountant, PublicData
from secretballot.accounting import BudgetExceededError
from secretballot.measures import score_private
from secretballot.quantification import publish_proportions


def with_texts(n):
    table = np.empty((n, 2), dtype=object)
    table[:, 0], table[:, 1] = np.arange(n) % 50 / 50, np.where(np.arange(n) % 2, "F", "M")
    return table


@pytest.mark.parametrize("kind", ["objects", "texts", "list"])
@pytest.mark.parametrize("make", [logistic, numbers])
def test_an_array_of_texts_is_told_to_be_a_data_frame(make, kind):
    accountant = PrivacyAccountant(2.0, 1e-5)
    rows, pool = with_texts(N), with_texts(N_PUBLIC)
    if kind == "texts":
        rows, pool = rows.astype(str), pool.astype(str)
    elif kind == "list":
        rows, pool = rows.tolist(), pool.tolist()
    with pytest.raises(ValueError, match="holds texts.*Pass a data frame") as error:
        make(accountant).fit(rows, LABELS, X_public=PublicData(pool))
    assert "'F'" not in str(error.value)
    assert accountant.entries() == []


def test_teachers_of_texts_are_told_of_the_table_pipeline():
    ensemble = teachers(PrivacyAccountant(9.0, 1e-5), learner=GaussianNB(), student=None)
    with pytest.raises(ValueError, match="could be trained.*make_table_pipeline"):
        ensemble.fit(with_texts(N), LABELS, X_public=PublicData(with_texts(N_PUBLIC)))


def test_a_spent_budget_of_proportions_names_no_fit_alone():
    accountant = PrivacyAccountant(1.0, 1e-5, unit="label")
    labels = np.arange(900) % 2
    publish_proportions([labels], [0, 1], accountant=accountant, share="rest")
    with pytest.raises(BudgetExceededError) as error:
        publish_proportions([labels], [0, 1], 1.0, 9e-6, "gaussian", accountant=accountant)
    assert "A fit without epsilon=" not in str(error.value.__cause__ or error.value)


def test_a_share_that_is_too_large_is_told_of_the_rest():
    accountant = PrivacyAccountant(1.0, 1e-5)
    score_private(accountant, LABELS, LABELS, share=0.5)
    with pytest.raises(BudgetExceededError, match="Pass share='rest' for what is left"):
        score_private(accountant, LABELS, LABELS, share=0.6)
    score_private(accountant, LABELS, LABELS, share="rest")


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_an_ensemble_in_a_vote_is_told_how_public_rows_get_there():
    ensemble = teachers(PrivacyAccountant(2.0, 1e-5), learner=GaussianNB(), epsilon=0.5)
    vote = VotingClassifier([("private", ensemble)]).fit(X, LABELS)
    with pytest.raises(NotFittedError, match="Within another estimator.*set_fit_request"):
        vote.predict(X)


@pytest.mark.parametrize("settings", [{}, {"epsilon": 0.3}], ids=["all", "an amount"])
@pytest.mark.parametrize("make", [logistic, numbers, teachers])
def test_a_budget_of_which_nothing_is_left_is_called_used_up(make, settings):
    accountant = PrivacyAccountant(1.0, 1e-5)
    score_private(accountant, LABELS, LABELS, share="rest")
    n_entries = len(accountant.entries())
    with pytest.raises(BudgetExceededError, match="used up") as error:
        make(accountant, **settings).fit(X, LABELS, X_public=PublicData(X[:50] + 0.01))
    assert "epsilon_per_fit" not in str(error.value)
    with pytest.raises(BudgetExceededError, match="used up") as error:
        score_private(accountant, LABELS, LABELS, share=0.5)
    assert "'rest'" not in str(error.value)
    assert len(accountant.entries()) == n_entries


@pytest.mark.parametrize("make", [logistic, numbers, teachers])
def test_a_copy_for_which_nothing_is_left_is_told_so(make):
    accountant = PrivacyAccountant(1.0, 1e-5)
    score_private(accountant, LABELS, LABELS, share="rest")
    with pytest.raises(BudgetExceededError, match="used up"):
        clone(make(accountant)).fit(X, LABELS, X_public=PublicData(X[:50] + 0.01))


@pytest.mark.parametrize("n_teachers", [None, 20])
@pytest.mark.parametrize("owners", [None, []])
def test_an_empty_table_has_no_rows(n_teachers, owners):
    unit = "row" if owners is None else "owner"
    ensemble = teachers(PrivacyAccountant(1.0, 1e-5, unit=unit), n_teachers=n_teachers)
    with pytest.raises(ValueError, match="X has no rows") as error:
        ensemble.fit(X[:0], LABELS[:0], owners=owners, X_public=PublicData(X[:50]))
    assert "n_teachers" not in str(error.value)


@pytest.mark.parametrize("make", [logistic, numbers])
@pytest.mark.parametrize("directions", [{"pay": 1}, {"age": 1, "pay": -1}, [0, 1, 0, 0]])
def test_a_direction_of_a_column_that_is_left_out_is_refused(make, directions):
    accountant = PrivacyAccountant(9.0, 1e-5)
    model = make(accountant, columns=["age", "hours"], monotonic_cst=directions)
    with pytest.raises(ValueError, match=r"'pay' a direction.*columns= leaves.*Name it in columns"):
        model.fit(TABLE, LABELS, X_public=PublicData(PUBLIC_TABLE))
    assert accountant.entries() == []
    model.set_params(columns=["age", "pay"]).fit(TABLE, LABELS, X_public=PublicData(PUBLIC_TABLE))
