"""What is released, when it ends, and what stays unspent."""

import math
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from tests._programs import run_python

from secretballot.accounting import (
    BudgetExceededError,
    LedgerError,
    PrivacyAccountant,
    PrivacyLeakWarning,
)
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.ensemble._labelling import Labelling
from secretballot.mechanisms import ConfidentGNMax, GNMax

#: Fixtures are fitted again, without public rows.
pytestmark = pytest.mark.filterwarnings("ignore:X_public=None. this fit")


def test_the_default_mechanism_labels_the_whole_pool(ensemble, private, public):
    ensemble.fit(*private, X_public=public[0])
    assert ensemble.n_answered_ == 30
    assert isinstance(ensemble.mechanism_, GNMax)
    spent = ensemble.accountant.spent()
    assert 0.99 < spent.share <= 1
    assert (spent.n_releases, spent.n_rows) == (1, 30)
    assert (ensemble.pool_labels_.labels == public[1]).mean() > 0.8
    assert ensemble.score(*public) > 0.8
    with pytest.raises(BudgetExceededError):
        ensemble.predict_private(public[0])
    assert ensemble.accountant.spent().n_releases == 1


@pytest.mark.parametrize("mechanism", [None, GNMax(sigma=3.0)])
def test_a_budget_of_pairs_has_no_price_for_votes(ensemble, private, public, mechanism):
    accountant = PrivacyAccountant(epsilon=4.0, delta=1e-5, order=math.inf)
    ensemble.set_params(accountant=accountant, mechanism=mechanism)
    with pytest.raises(BudgetExceededError, match="leave order as it is when the budget is opened"):
        ensemble.fit(*private, X_public=public[0])
    assert not accountant.entries()


@pytest.mark.filterwarnings("ignore:predict_private takes")
def test_predict_private(ensemble, private, public):
    ensemble.set_params(student=None).fit(*private)
    assert ensemble.accountant.spent().n_rows == 0
    released = ensemble.predict_private(public[0])
    assert released.labels.dtype == np.int64
    assert released.answered.all()
    assert (released.labels == public[1]).mean() > 0.8
    assert ensemble.accountant.spent().n_rows == 30


@pytest.mark.filterwarnings("ignore:threshold=.* is out of reach")
def test_refused_rows_are_marked(ensemble, private, public):
    mechanism = ConfidentGNMax(sigma=5, sigma_threshold=5, threshold=1e6)
    ensemble.set_params(mechanism=mechanism, student=None).fit(*private)
    with pytest.warns(UserWarning, match="probability 0 only, even if all 10 .*threshold"):
        labels, answered = ensemble.predict_private(public[0])
    assert not answered.any()
    assert (labels == -1).all()
    # The threshold bits are paid for.
    assert ensemble.accountant.spent().share > 0


def test_a_budget_that_ends_early_warns(private, public):
    accountant = PrivacyAccountant(epsilon=4.0, delta=1e-5)
    mechanism = accountant.calibrate(GNMax, n_rows=12, n_columns=2)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        mechanism=mechanism,
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    ).fit(*private)
    with pytest.warns(UserWarning, match="the budget ended after 12 of 30 rows"):
        released = ensemble.predict_private(public[0])
    assert released.answered.tolist() == [True] * 12 + [False] * 18
    assert (released.labels[12:] == -1).all()
    with pytest.raises(BudgetExceededError):
        ensemble.predict_private(public[0])
    assert accountant.spent().n_rows == 12


def test_epsilon_caps_one_fit(ensemble, private, public):
    ensemble.set_params(epsilon=5.0)
    for count in (1, 2, 3):
        ensemble.fit(*private, X_public=public[0])
        assert ensemble.accountant.spent().n_rows == 30 * count
        # The cap holds for what follows the fit, too.
        with pytest.raises(BudgetExceededError):
            ensemble.predict_private(public[0])
    assert ensemble.accountant.spent().epsilon < 12


def test_a_fit_without_budget_costs_no_training(ensemble, private, public):
    ensemble.fit(*private, X_public=public[0])

    class Untrainable(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("trained")

    ensemble.set_params(estimator=Untrainable())
    with pytest.raises(BudgetExceededError):
        ensemble.fit(*private, X_public=public[0])
    assert ensemble.accountant.spent().n_releases == 1


def test_too_little_noise_is_refused_before_training(ensemble, private, public):
    ensemble.set_params(mechanism=GNMax(sigma=1e-3))
    with pytest.raises(BudgetExceededError, match="use more noise"):
        ensemble.fit(*private, X_public=public[0])
    assert ensemble.accountant.entries() == []
    assert not hasattr(ensemble, "_teachers")


@pytest.mark.filterwarnings("ignore:predict_private takes")
def test_teachers_survive_a_refused_release(ensemble, private, public, monkeypatch):
    # As if another process had spent the budget during the training.
    monkeypatch.setattr(Labelling, "check_affordable", lambda *_: None)
    ensemble.set_params(mechanism=GNMax(sigma=1e-3))
    with pytest.raises(BudgetExceededError):
        ensemble.fit(*private, X_public=public[0])
    assert ensemble.accountant.spent().n_releases == 0
    ensemble.set_params(mechanism=None)
    assert ensemble.predict_private(public[0]).answered.all()


def test_an_accountant_may_come_later(private, public, accountant):
    ensemble = PrivateTeacherEnsemble(LogisticRegression(), 10, classes=[0, 1], epsilon=5.0)
    ensemble.fit(*private)
    with pytest.raises(ValueError, match=r"accountant=None.*PrivacyAccountant\(epsilon, delta\)"):
        ensemble.predict_private(public[0])
    ensemble.set_params(accountant=accountant)
    assert ensemble.predict_private(public[0]).answered.all()
    assert accountant.spent().epsilon < 6


def test_a_new_fit_deletes_released_labels(ensemble, private, public):
    ensemble.set_params(epsilon=5.0).fit(*private, X_public=public[0])
    ensemble.fit(*private)
    for name in ("student_", "pool_labels_", "mechanism_", "n_answered_"):
        assert not hasattr(ensemble, name)
    with pytest.raises(NotFittedError, match="X_public"):
        ensemble.predict(public[0])


def test_learned_classes_warn_once(ensemble, private, public):
    ensemble.set_params(classes=None, epsilon=5.0)
    with pytest.warns(PrivacyLeakWarning, match="classes=None") as warned:
        ensemble.fit(*private, X_public=PublicData(public[0]))
    assert len(warned) == 1
    assert ensemble.to_student().privacy["classes_learned"] is True
    # Nothing is released by training alone; then it is the first release that tells.
    ensemble.fit(*private)
    with pytest.warns(PrivacyLeakWarning, match="classes=None"):
        ensemble.predict_private(public[0])


def test_declared_classes_without_a_private_row(ensemble, private, public):
    ensemble.set_params(classes=[0, 1, 2]).fit(*private, X_public=public[0])
    assert ensemble.classes_.tolist() == [0, 1, 2]
    assert ensemble.predict_proba(public[0]).shape == (30, 3)


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore:mechanism=.* would answer, and rightly")
def test_seeded_noise_is_new_in_each_release(private, public):
    def labels(seed):
        ensemble = PrivateTeacherEnsemble(
            LogisticRegression(),
            10,
            mechanism=GNMax(sigma=1e3),
            classes=[0, 1],
            accountant=PrivacyAccountant(epsilon=50.0, delta=1e-5),
            random_state=seed,
            check_public_rows=False,
        ).fit(*private)
        return [ensemble.predict_private(public[0]).labels.tolist() for _ in range(2)]

    first, second = labels(0)
    assert first != second
    assert labels(0) == [first, second]
    assert labels(1)[0] != first
    # Without a seed there is nothing that two runs share.
    assert labels(None) != labels(None)


@pytest.mark.parametrize("accounting", ["worst_case", "data_dependent", "sanitized"])
@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
def test_data_dependent_spending_is_not_published(private, public, accounting):
    accountant = PrivacyAccountant(epsilon=10.0, delta=1e-5, accounting=accounting)
    ensemble = PrivateTeacherEnsemble(
        LogisticRegression(),
        10,
        student=LogisticRegression(),
        mechanism=ConfidentGNMax(sigma=10, sigma_threshold=10, threshold=-1000),
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    ).fit(*private, X_public=public[0])
    assert ensemble.n_answered_ == 30
    # Where the worst case is charged, it is that of so many votes.
    (entry,) = accountant.entries()
    assert ('"n_votes": 10.0' in entry.mechanism) == (accounting != "data_dependent")
    privacy = ensemble.to_student().privacy
    assert privacy["accounting"] == accounting
    assert ("share_spent" in privacy) == (accounting != "data_dependent")


def test_a_budget_for_a_threshold_bit_alone_is_not_begun(ensemble, private, public):
    mechanism = ConfidentGNMax(sigma=0.05, sigma_threshold=5, threshold=1)
    ensemble.set_params(mechanism=mechanism).fit(*private)
    with pytest.raises(BudgetExceededError):
        ensemble.predict_private(public[0])
    assert ensemble.accountant.spent().n_rows == 0


_ELSEWHERE = """
import pickle, sys
from sklearn.linear_model import LogisticRegression
from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PrivateTeacherEnsemble
X, y = [[row / 2] for row in range(80)], [0] * 40 + [1] * 40
ensemble = PrivateTeacherEnsemble(
    LogisticRegression(),
    5,
    student=LogisticRegression(),
    epsilon=60.0,
    classes=[0, 1],
    accountant=PrivacyAccountant(100.0, 1e-5),
)
pickle.dump(ensemble.fit(X, y, X_public=[[2.0], [36.0]] * 4), sys.stdout.buffer)
"""


def test_without_its_temporary_ledger_an_ensemble_still_predicts():
    # The other process has keys of its own. Five teachers against noise of .5 are wrong of both
    # classes' rows by chance, or by an odd partition, in less than one of 1e8 runs.
    done = run_python("-c", _ELSEWHERE, text=False)
    assert done.returncode == 0, done.stderr
    ensemble = pickle.loads(done.stdout)
    assert ensemble.predict([[2.0], [36.0]]).tolist() == [0, 1]
    assert ensemble.to_student().privacy["epsilon"] == 100.0
    assert "PrivateTeacherEnsemble" in repr(ensemble)
    assert "PrivateTeacherEnsemble" in ensemble._repr_html_()
    for use in (ensemble.predict_private, lambda X: ensemble.fit(X * 40, [0, 1] * 40, X_public=X)):
        with pytest.raises(LedgerError, match="ledger="):
            use([[2.0], [36.0]])


def test_a_second_budget_for_the_same_teachers_is_refused(ensemble, private, public):
    ensemble.fit(*private)
    second = PrivacyAccountant(epsilon=100.0, delta=1e-5)
    ensemble.set_params(accountant=second)
    with pytest.raises(ValueError, match="Two budgets for one data set add up"):
        ensemble.predict_private(public[0])
    assert second.spent().n_releases == 0


def test_the_statement_of_an_ensemble(ensemble, accountant, private, public):
    ensemble.fit(*private, X_public=public[0])
    statement = ensemble.to_student().statement()
    assert statement == ensemble.statement() == accountant.statement()
    assert statement.released[0]["note"]["n_teachers"] == 10
    assert {group["note"]["n_counted"] for group in statement.released} == {len(private[0])}
    assert f"names is {len(private[0]):,}: one over delta is" in " ".join(str(statement).split())
    with pytest.raises(ValueError, match="accountant=None.*nothing is guaranteed"):
        ensemble.set_params(accountant=None).statement()
