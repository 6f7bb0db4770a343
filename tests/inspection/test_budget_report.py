"""What an estimator shows of its budget: what this fit spent, and nothing private."""

import contextlib
import html
import pickle
import re
import sqlite3
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from secretballot._base._view import percent
from secretballot.accounting import EVERYONE, PrivacyAccountant, PrivacyLeakWarning, RenyiCost
from secretballot.accounting._report import remaining_for, spent_on
from secretballot.ensemble import PrivateTeacherEnsemble, PublicData
from secretballot.ledger import _guard
from secretballot.ledger._totals import Totals
from secretballot.linear import PrivateLogisticRegression
from secretballot.mechanisms import GNMax
from secretballot.parties import Party

#: In every private row, on either side, and nowhere else.
MARK = 31337.25
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=600), MARK * (-1.0) ** np.arange(600), RNG.normal(size=600)])
Y = X[:, 0] > 0
PUBLIC = PublicData(RNG.normal(size=(12, 3)))


def teachers(accountant, **parameters):
    return PrivateTeacherEnsemble(
        DecisionTreeClassifier(),
        n_teachers=60,
        student=LogisticRegression(),
        classes=[False, True],
        accountant=accountant,
        **parameters,
        check_public_rows=False,
    )


def regression(accountant, **parameters):
    parameters.pop("mechanism", None)
    return PrivateLogisticRegression(classes=[False, True], accountant=accountant, **parameters)


ESTIMATORS = pytest.mark.parametrize("make", [teachers, regression])


def shares(report):
    """The percentages of each level: elsewhere, by this fit, left."""
    percentages = [re.findall(r"(\d+\.\d)%", line) for line in str(report).splitlines()]
    return [list(map(float, each)) for each in percentages if each]


def budget_of(page):
    """The part of a page that is the budget's."""
    return html.unescape(re.sub("<[^>]*>", " ", page[page.rindex("</style>") :]))


@ESTIMATORS
def test_this_fit_is_shown_apart_from_others(make):
    accountant = PrivacyAccountant(8.0, 1e-5)
    accountant.release(GNMax(sigma=40.0), np.tile([30.0, 20.0], (7, 1)))
    before = 100 * accountant.spent().share
    model = make(accountant, epsilon=4.0).fit(X, Y, X_public=PUBLIC)
    between = 100 * accountant.spent().share
    ((elsewhere, this, remaining),) = shares(model.budget_report())
    assert elsewhere == pytest.approx(before, abs=0.06)
    assert this == pytest.approx(between - before, abs=0.11)
    assert remaining == pytest.approx(100 - between, abs=0.06)
    # What is spent later is spent elsewhere, unless it is this fit that spends it.
    accountant.release(GNMax(sigma=40.0), np.tile([30.0, 20.0], (7, 1)))
    ((later, same, _),) = shares(model.budget_report())
    assert (same, later > elsewhere) == (this, True)
    # A second fit is another one, to which the first is elsewhere.
    second = clone(model).set_params(epsilon=1.0)
    assert "this fit" not in str(second.budget_report())
    page = model._repr_html_()
    assert f"{this:.1f}%" in budget_of(page)
    assert f'aria-label="{later:.1f}% spent before or elsewhere, {this:.1f}% spent by' in page
    # scikit-learn's own diagram comes first.
    assert page.index("sk-top-container") < page.index("sb-view")


def test_rows_asked_later_are_of_the_same_fit():
    accountant = PrivacyAccountant(8.0, 1e-5, order="renyi")
    model = teachers(accountant, mechanism=GNMax(sigma=15.0)).fit(X, Y, X_public=PUBLIC)
    ((_, this, _),) = shares(model.budget_report())
    model.predict_private(X[:4])
    ((elsewhere, more, _),) = shares(model.budget_report())
    assert more == pytest.approx(this * 16 / 12, abs=0.2)
    assert elsewhere == 0
    assert "12 of 12 public rows labelled" in str(model.budget_report())


def test_each_level_has_a_bar():
    accountant = PrivacyAccountant({"strict\n<b>": 6.0, "generous": 12.0}, 1e-5)
    budgets = ["generous", "strict\n<b>"] * 300
    model = teachers(accountant).fit(X, Y, X_public=PUBLIC, budgets=budgets)
    report = model.budget_report()
    spent = [100 * each.share for each in accountant.spent().values()]
    assert [this for _, this, _ in shares(report)] == pytest.approx(spent, abs=0.06)
    page = model._repr_html_()
    assert page.count('class="sb-bar"') == 2
    assert r"strict\n&lt;b&gt;" in page
    assert "<b>" not in page[page.rindex("</style>") :]


@ESTIMATORS
def test_without_a_fit_or_a_budget(make):
    assert "accountant=None" in str(make(None).budget_report())
    assert "accountant=None" in make(None)._repr_html_()
    unfitted = make(PrivacyAccountant(1.0, 1e-5))
    assert str(unfitted.budget_report()) == str(unfitted.accountant.report())
    assert shares(unfitted.budget_report()) == [[0.0, 100.0]]
    # Teachers that were trained without a budget have spent nothing of the one they are given.
    trained = teachers(None).fit(X, Y).set_params(accountant=PrivacyAccountant(1.0, 1e-5))
    assert shares(trained.budget_report()) == [[0.0, 100.0]]


@ESTIMATORS
def test_a_budget_of_another_ledger_is_not_this_fits(make):
    model = make(PrivacyAccountant(8.0, 1e-5)).fit(X, Y, X_public=PUBLIC)
    model.set_params(accountant=PrivacyAccountant(8.0, 1e-5))
    assert shares(model.budget_report()) == [[0.0, 100.0]]


@ESTIMATORS
def test_nothing_private_is_shown(make):
    model = make(PrivacyAccountant(8.0, 1e-5)).fit(X, Y, X_public=PUBLIC)
    bundle = model._repr_mimebundle_()
    for form in (str(model.budget_report()), *bundle.values()):
        assert "31337" not in form
        assert "_labelling" not in form
    if make is teachers:
        assert "31337" not in str(model.pool_labels_) + model.pool_labels_._repr_html_()


@ESTIMATORS
def test_a_data_dependent_spend_is_withheld(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant = PrivacyAccountant(8.0, 1e-5, accounting="data_dependent", order="renyi")
        mechanism = GNMax(sigma=15.0) if make is teachers else None
        model = make(accountant, mechanism=mechanism).fit(X, Y, X_public=PUBLIC)
    share, remaining = percent(accountant.spent().share), percent(accountant.remaining().share)
    shown = [str(model.budget_report()), budget_of(model._repr_html_()), str(accountant.report())]
    for form in (*shown, repr(accountant), str(accountant), budget_of(accountant._repr_html_())):
        assert "withheld" in form
        assert "sensitive" in form
        for figure in (share, remaining, "public rows labelled", " rounds"):
            assert figure not in form
    # Asked for it is told, with a word of caution.
    for asked in (accountant.spent(), accountant.remaining()):
        assert "not to be published" in str(asked)
    assert share in str(accountant.spent())


@ESTIMATORS
@pytest.mark.parametrize("order", ["gaussian", "renyi"])
def test_without_its_ledger_it_is_shown(make, order, tmp_path):
    accountant = PrivacyAccountant(8.0, 1e-5, order=order, ledger=tmp_path / "x.ledger")
    model = make(accountant).fit(X, Y, X_public=PUBLIC)
    again = pickle.loads(pickle.dumps(model))
    assert shares(again.budget_report()) == shares(model.budget_report())
    for file in tmp_path.iterdir():
        file.unlink()
    for each in (model, again, clone(model), pickle.loads(pickle.dumps(model))):
        page = each._repr_html_()
        assert "its ledger can't be read" in html.unescape(page)
        assert "?" in str(each.budget_report())


@ESTIMATORS
def test_within_others(make):
    model = make(PrivacyAccountant(8.0, 1e-5))
    name = type(model).__name__
    for whole in (make_pipeline(model), GridSearchCV(model, {"epsilon": [1.0, 2.0]})):
        assert name in whole._repr_html_()
        assert name in repr(whole)


def test_it_follows_the_configuration_of_scikit_learn():
    from sklearn import config_context

    with config_context(display="text"):
        model = teachers(None)
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_a_reservation_of_others_is_shown():
    accountant = PrivacyAccountant(8.0, 1e-5)
    reservation = accountant.reserve(GNMax(sigma=15.0), 12, n_columns=2)
    model = teachers(accountant, reservation=reservation).fit(X, Y, X_public=PUBLIC)
    ((elsewhere, this, _),) = shares(model.budget_report())
    assert this == 0
    assert elsewhere == pytest.approx(100 * accountant.spent().share, abs=0.06)
    assert "paid for before" in str(model.budget_report())


@ESTIMATORS
def test_an_invalid_accountant_is_shown_as_no_budget(make):
    """It is refused when it is needed; until then, a notebook shows the estimator."""
    for wrong in ("a file", [PrivacyAccountant(1.0, 1e-5)], PrivacyAccountant):
        assert "accountant is a" in str(make(wrong).budget_report())
        assert "accountant is a" in make(wrong)._repr_html_()
    assert "a file" not in str(make("a file").budget_report())


@pytest.mark.filterwarnings("ignore::secretballot.accounting.PrivacyLeakWarning")
@ESTIMATORS
def test_results_of_another_budget_are_not_shown(make):
    """What was withheld stays so when a budget that withholds nothing takes the other's place."""
    accountant = PrivacyAccountant(8.0, 1e-5, accounting="data_dependent", order="renyi")
    model = make(accountant).fit(X, Y, X_public=PUBLIC)
    model.set_params(accountant=PrivacyAccountant(8.0, 1e-5))
    assert str(model.budget_report()) == str(model.accountant.report())


def test_displays_wait_briefly_for_locks(tmp_path, monkeypatch):
    """A process that was stopped at the wrong moment must not stop notebooks and debuggers."""
    path = tmp_path / "x.ledger"
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=path)
    party = Party(DummyClassifier(), name="north", accountant=accountant, classes=[0, 1])
    monkeypatch.setattr(_guard, "SHOWN_TIMEOUT", 0.02)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        begun = time.monotonic()
        for shown in (repr(accountant), str(accountant.report()), accountant._repr_html_()):
            assert "ledger can" in shown
        assert repr(party) == "<Party 'north'>"
        assert time.monotonic() - begun < _guard.BUSY_TIMEOUT / 4
        other.execute("ROLLBACK")
    assert "0.0% spent" in repr(accountant)
    assert "0.0% of epsilon" in repr(party)
    path.unlink()
    assert repr(party) == "<Party 'north'>"


def test_the_scarcer_of_amount_and_delta_counts():
    (level,) = PrivacyAccountant(1.0, 1e-5, order=float("inf")).levels
    pair = RenyiCost.from_epsilon_delta(0.1, 8e-6)
    totals = Totals(digest="", charges={EVERYONE: pair})
    assert spent_on(level, totals).share == pytest.approx(0.8)
    assert remaining_for(level, totals).share == pytest.approx(0.2)
    assert "80.0%" in str(spent_on(level, totals))
    assert "20.0%" in str(remaining_for(level, totals))
