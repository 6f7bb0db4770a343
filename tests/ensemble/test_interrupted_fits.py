"""Ctrl-C in a fit of several releases: one sentence, everything settled, and labels kept."""

import re
import signal
import sqlite3

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted
from tests._programs import interrupts_arrive

from secretballot import (
    PrivacyAccountant,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTeacherEnsemble,
    PublicData,
)
from secretballot.accounting import CompletedInterrupt
from secretballot.ensemble import PrivateChoice

X, y = make_blobs(1_260, centers=[[-3.0, 0.0], [3.0, 0.0]], random_state=0)
X, POOL, y = X[:1_200], X[1_200:], y[:1_200]
CHOICE = PrivateChoice([LogisticRegression(), LogisticRegression(C=0.1)])


def ensemble(accountant, **given):
    given = {"student": LogisticRegression(), **given}
    return PrivateTeacherEnsemble(
        LogisticRegression(), 10, classes=[0, 1], accountant=accountant, **given
    )


MAKERS = {
    "logistic": lambda budget: PrivateLogisticRegression(
        classes=[0, 1], rounds=2, accountant=budget
    ),
    "numbers": lambda budget: PrivateLinearRegression(
        target_bounds=(0, 1), rounds=2, accountant=budget
    ),
    "ensemble": ensemble,
    "choice": lambda budget: ensemble(budget, student=CHOICE),
    "reservation": lambda budget: ensemble(budget, reservation=3),
}


@pytest.fixture(autouse=True)
def _interrupts_arrive():
    with interrupts_arrive():
        yield


@pytest.fixture
def press_at(monkeypatch):
    """Press Ctrl-C while the entry of this number is committed."""
    connect, state = sqlite3.connect, {"left": -1}

    class Pressing(sqlite3.Connection):
        def execute(self, *arguments):
            result = super().execute(*arguments)
            if arguments[0].startswith("INSERT INTO entry"):
                self.has_entry = True
            if arguments[0] == "COMMIT" and vars(self).pop("has_entry", False):
                state["left"] -= 1
                if state["left"] == 0:
                    signal.raise_signal(signal.SIGINT)
            return result

    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **options: connect(*given, **options, factory=Pressing)
    )
    return lambda number: state.update(left=number)


def check_settled(accountant):
    """Check that every reservation of a ledger is settled, or has nothing left."""
    last = {entry.reservation.id: entry.reservation for entry in reserved_entries(accountant)}
    assert all(state.is_settled or not state.rows_left for state in last.values())


def reserved_entries(accountant):
    return [entry for entry in accountant.entries() if entry.reservation is not None]


@pytest.mark.parametrize("name", MAKERS)
def test_ctrl_c_at_each_entry(name, press_at, tmp_path):
    n_entries, is_complete = 0, False
    while not is_complete:
        accountant = PrivacyAccountant(8.0, 1e-5, ledger=tmp_path / f"{n_entries}.ledger")
        model = MAKERS[name](accountant)
        press_at(n_entries + 1)
        try:
            model.fit(X, y, X_public=PublicData(POOL))
        except KeyboardInterrupt as error:
            interrupt = error
        else:
            is_complete = True
        if not is_complete:
            n_entries += 1
            assert not isinstance(interrupt, CompletedInterrupt)
            share = accountant.spent().share
            charge = "<0.1%" if share < 5e-4 else ">99.9%" if share > 0.9995 else f"{share:.1%}"
            assert str(interrupt).startswith("the fit was interrupted: ")
            assert f"{charge} of the budget was charged" in str(interrupt)
            if "reservation_ has the rows" in str(interrupt):
                assert len(model.predict_private(POOL[:3]).labels) == 3
            check_settled(accountant)
            if "kept in pool_labels_" in str(interrupt):
                assert len(model.pool_labels_.labels) == len(POOL)
                model.fit_student(LogisticRegression())
                assert np.mean(model.predict(X) == y) > 0.9
                assert model.to_student().statement().to_dict()
            elif "trained teachers are kept" in str(interrupt):
                assert not hasattr(model, "pool_labels_")
            else:
                assert "gave no model" in str(interrupt)
                with pytest.raises(NotFittedError):
                    check_is_fitted(model)
    # The releases of a plan are paid, and settled, in one transaction, which is interrupted once.
    reserved = reserved_entries(accountant)
    planned = {entry.reservation.id for entry in reserved if '"release"' in entry.note}
    events = [entry.reservation.event for entry in reserved if entry.reservation.id in planned]
    n_together = sum(max(events.count(event) - 1, 0) for event in ("reserve", "settle"))
    assert n_entries == len(accountant.entries()) - n_together > 1


@pytest.mark.filterwarnings("ignore:accounting='data_dependent'")
def test_a_charge_that_depends_on_the_votes_is_not_told(press_at, tmp_path):
    path = tmp_path / "budget.ledger"
    accountant = PrivacyAccountant(8.0, 1e-5, accounting="data_dependent", ledger=path)
    press_at(2)
    with pytest.raises(KeyboardInterrupt, match="kept in pool_labels_.*depends on the") as error:
        ensemble(accountant).fit(X, y, X_public=PublicData(POOL))
    assert accountant.entries()[-1].charges
    assert not re.search(r"%|\d", str(error.value))


def test_an_answer_to_the_user_is_that_of_the_call(press_at, tmp_path):
    accountant = PrivacyAccountant(8.0, 1e-5, ledger=tmp_path / "budget.ledger")
    model = ensemble(accountant).fit(X, y)
    press_at(1)
    with pytest.raises(CompletedInterrupt) as interrupt:
        model.predict_private(POOL[:4])
    assert len(interrupt.value.answer.labels) == 4
    assert interrupt.value.answer.answered.all()


def test_an_earlier_model_stays(press_at, tmp_path):
    accountant = PrivacyAccountant(8.0, 1e-5, ledger=tmp_path / "budget.ledger")
    model = PrivateLogisticRegression(classes=[0, 1], epsilon=2.0, accountant=accountant)
    before = model.fit(X, y, X_public=PublicData(POOL)).predict(X)
    spent = accountant.spent().share
    press_at(1)
    with pytest.raises(KeyboardInterrupt, match="the estimator is as it was") as interrupt:
        model.fit(X, y, X_public=PublicData(POOL))
    assert accountant.spent().share - spent < 0.01
    assert f"{spent:.1%}" not in str(interrupt.value)
    assert np.array_equal(model.predict(X), before)
