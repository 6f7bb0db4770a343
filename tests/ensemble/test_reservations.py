"""Labels that are drawn from rows paid for beforehand: by one fit, and by all fits of a search."""

import pickle
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from secretballot import (
    BudgetExceededError,
    ConfidentGNMax,
    GNMax,
    PrivacyAccountant,
    PublicData,
    Vanishing,
    Weighting,
)
from secretballot.accounting._report import replay


def budget(epsilon=100.0, order="gaussian"):
    return PrivacyAccountant(epsilon, 1e-5, order=order)


@pytest.mark.parametrize("order", ["renyi", "gaussian"])
def test_rows_of_predict_private_are_paid_for_by_the_fit(ensemble, private, public, order):
    accountant = budget(order=order)
    ensemble.set_params(accountant=accountant, reservation=10)
    with pytest.raises(AttributeError, match="has no reservation_"):
        _ = ensemble.reservation_
    ensemble.fit(*private, X_public=public[0][:6])
    paid = accountant.spent()
    # Calibrated: sixteen rows take all of it.
    assert paid.share > 0.97
    assert (paid.n_rows, accountant.reserved(ensemble.reservation_).rows_left) == (6, 10)
    copied = pickle.loads(pickle.dumps(ensemble))
    for one, n_rows in ((ensemble, 3), (copied, 4)):
        assert one.predict_private(public[0][:n_rows]).answered.all()
    assert accountant.spent().amount == paid.amount
    with pytest.warns(UserWarning, match="the reservation ended after 3 of 5 rows"):
        answered = ensemble.predict_private(public[0][:5]).answered
    assert answered.tolist() == [True] * 3 + [False] * 2
    with pytest.raises(BudgetExceededError, match="The reservation has no rows left"):
        ensemble.predict_private(public[0][:1])
    replay(accountant._ledger)


def test_one_plan_needs_less_noise_than_two(ensemble, private, public):
    """The pool and what is asked later, of one epsilon."""
    one, two = budget(1.0), budget(1.0)
    ensemble.set_params(n_teachers=60, mechanism=GNMax(sigma=40), accountant=one, reservation=58)
    ensemble.fit(*private, X_public=public[0])
    ensemble.predict_private(np.concatenate([public[0], public[0][:28]]))
    ensemble.set_params(accountant=two, reservation=None)
    ensemble.fit(*private, X_public=public[0])
    with pytest.warns(UserWarning, match="the budget ended"):
        answered = ensemble.predict_private(np.concatenate([public[0], public[0][:28]])).answered
    assert not answered.all()
    # What is not asked comes back.
    third = budget(1.0)
    ensemble.set_params(accountant=third, reservation=40).fit(*private, X_public=public[0])
    paid = third.spent().amount
    third.settle(ensemble.reservation_)
    assert third.spent().amount < 0.55 * paid


def test_without_a_pool_the_first_call_pays(ensemble, private, public):
    accountant = budget()
    ensemble.set_params(accountant=accountant, reservation=12, student=None).fit(*private)
    assert not accountant.entries()
    ensemble.predict_private(public[0][:5])
    assert accountant.reserved(ensemble.reservation_).rows_left == 7


@pytest.mark.filterwarnings("ignore:a copy of the model")
def test_a_search_draws_on_one_reservation(ensemble, private, public):
    accountant = budget(2.0)
    mechanism = GNMax(sigma=60)
    reservation = accountant.reserve(mechanism, 6 * 30, n_columns=2)
    paid = accountant.spent().amount
    ensemble.set_params(accountant=accountant, reservation=reservation)
    ensemble.set_params(n_teachers=60, mechanism=mechanism)
    search = GridSearchCV(
        ensemble,
        {"student": [LogisticRegression(C=1.0), LogisticRegression(C=0.1)]},
        cv=3,
        refit=False,
        n_jobs=2,
        error_score="raise",
    )
    search.fit(*private, X_public=PublicData(public[0]))
    assert accountant.reserved(reservation).rows_left == 0
    assert accountant.spent().amount == paid
    assert accountant.spent().n_rows == 180
    with pytest.raises(BudgetExceededError, match="no rows left"):
        ensemble.fit(*private, X_public=public[0])


def test_less_noise_than_reserved_is_refused(ensemble, private, public):
    accountant = budget()
    reservation = accountant.reserve(GNMax(sigma=4), 100, n_columns=2)
    ensemble.set_params(accountant=accountant, reservation=reservation)
    ensemble.set_params(mechanism=GNMax(sigma=3.9))
    with pytest.raises(ValueError, match="can't be drawn on the reservation"):
        ensemble.fit(*private, X_public=public[0])
    ensemble.set_params(mechanism=GNMax(sigma=5)).fit(*private, X_public=public[0])
    ensemble.set_params(mechanism=None).fit(*private, X_public=public[0])
    assert ensemble.mechanism_ == GNMax(sigma=4)
    assert accountant.reserved(reservation).rows_left == 40


@pytest.mark.parametrize("individualization", [Weighting(), Vanishing()])
def test_levels(ensemble, private, public, individualization):
    accountant = budget({"a": 20.0, "b": 80.0})
    ensemble.set_params(
        accountant=accountant,
        reservation=10,
        individualization=individualization,
        mechanism=GNMax(sigma=4),
    )
    budgets = np.where(np.arange(200) % 2, "a", "b")
    ensemble.fit(*private, X_public=public[0][:11], budgets=budgets)
    paid = {level: spent.amount for level, spent in accountant.spent().items()}
    ensemble.predict_private(public[0][:3])
    ensemble.predict_private(public[0][:7])
    assert {level: spent.amount for level, spent in accountant.spent().items()} == paid
    replay(accountant._ledger)


def test_two_classes_with_a_threshold_use_the_number_of_votes(ensemble, private, public):
    accountant = budget(order="renyi")
    mechanism = ConfidentGNMax(sigma=4, sigma_threshold=4, threshold=5)
    ensemble.set_params(accountant=accountant, mechanism=mechanism)
    ensemble.fit(*private, X_public=public[0])
    assert ensemble.mechanism_.n_votes == 10
    assert ensemble.mechanism == mechanism
    (level,) = accountant.levels
    row = ensemble.mechanism_.max_cost(2)["*"].at(level.order)
    assert accountant.spent().amount == pytest.approx(30 * row)
    assert row < mechanism.max_cost(2)["*"].at(level.order)


def test_a_reservation_that_would_drown_the_labels_is_refused_unpaid(ensemble, private, public):
    """Noise for many later rows would leave the pool's labels to chance."""
    accountant = budget(4.0)
    ensemble.set_params(n_teachers=20, accountant=accountant, reservation=3_000)
    X, y = private
    with pytest.raises(BudgetExceededError, match="at which 3030 rows") as refused:
        ensemble.fit(X, y, X_public=public[0])
    priced = ensemble.price_fit(len(X), public[0])
    assert priced.problem == str(refused.value)
    assert accountant.entries() == []
    # The remedy is the number of all rows, of the pool and reserved.
    n_rows = int(re.search(r"about (\d+) rows in all", priced.problem).group(1))
    ensemble.set_params(reservation=n_rows - 30).fit(X, y, X_public=public[0])
    assert ensemble.predict_private(public[0]).answered.all()


def test_a_mechanism_that_drowns_later_rows_warns_before_it_is_paid(ensemble, private, public):
    accountant = budget(4.0)
    pool = np.repeat(public[0], 4, axis=0)  # from so many labels a student learns
    ensemble.set_params(n_teachers=20, accountant=accountant, mechanism=GNMax(sigma=25))
    ensemble.set_params(reservation=5)
    with pytest.raises(UserWarning, match="probability 0.71 only"):  # warnings are errors here
        ensemble.fit(*private, X_public=pool)
    assert accountant.entries() == []
    ensemble.set_params(reservation=None).fit(*private, X_public=pool)
