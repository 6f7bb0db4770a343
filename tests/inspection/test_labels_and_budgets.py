"""Pictures of what labels cost, and of what was spent."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from secretballot.accounting import (
    EVERYONE,
    PrivacyAccountant,
    PrivacyLeakWarning,
    plan_rows,
    price_plan,
)
from secretballot.ensemble import PrivateTeacherEnsemble
from secretballot.inspection import BudgetDisplay, LabelsDisplay
from secretballot.linear import PrivateLogisticRegression
from secretballot.mechanisms import BinaryVoting, ConfidentGNMax, GNMax

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(700, 2))
    return PrivateTeacherEnsemble(
        LogisticRegression(),
        n_teachers=60,
        classes=[False, True],
        mechanism=GNMax(sigma=12.0),
        accountant=PrivacyAccountant(4.0, 1e-5),
        check_public_rows=False,
    ).fit(X[:650], X[:650, 0] > 0, X_public=X[650:670])


def test_labels_are_priced_as_plans_and_by_renyi():
    mechanism = GNMax(sigma=40.0)
    display = LabelsDisplay.from_mechanism(mechanism, n_rows=50)
    assert list(display.curves) == ["GNMax(sigma=40), plan", "GNMax(sigma=40), renyi"]
    (plan, rows), (renyi, _) = display.curves.values()
    assert rows.tolist() == [1, 2, 4, 8, 16, 32, 50]
    assert plan[-1] == price_plan(mechanism, 50, n_columns=2).epsilon(1e-5)
    assert plan_rows(mechanism, 60, plan[-1] * 1.0001, 1e-5, n_columns=2) == 50
    one = mechanism.max_cost(2)[EVERYONE]
    assert renyi[-1] == pytest.approx(float((one * 50).epsilon(1e-5)))
    assert (renyi >= plan * (1 - 1e-9)).all()
    for line, (epsilon, n_rows) in zip(display.lines_, display.curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_data(), [epsilon, n_rows])
    assert display.ax_.get_xscale() == "log"
    assert display.figure_ is display.ax_.figure


def test_several_mechanisms_and_kinds():
    several = {
        "$a$": GNMax(sigma=30.0),
        "b": ConfidentGNMax(sigma=30, sigma_threshold=90, threshold=9),
    }
    display = LabelsDisplay.from_mechanism(several, n_rows=4, accounting="plan", delta=1e-4)
    assert list(display.curves) == ["$a$, plan", "b, plan"]
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert shown == [r"\$a\$, plan", "b, plan"]
    labels = BinaryVoting(sigma=20.0, n_votes=50)
    ((epsilon, _),) = LabelsDisplay.from_mechanism(
        labels, n_columns=3, n_rows=2, accounting="plan"
    ).curves.values()
    assert epsilon[-1] == price_plan(labels, 2, n_columns=3).epsilon(1e-5)


def test_more_classes_are_not_shown_cheaper_than_they_are():
    mechanism = GNMax(sigma=20.0)
    display = LabelsDisplay.from_mechanism(mechanism, n_columns=5, n_rows=2)
    (plan, _), (renyi, rows) = display.curves.values()
    assert rows.tolist() == [1, 2]
    one = mechanism.max_cost(None)[EVERYONE]
    for shown, exact in ((plan[0], price_plan(mechanism, 1)), (plan[1], price_plan(mechanism, 2))):
        assert exact.epsilon(1e-5) <= shown <= 1.025 * exact.epsilon(1e-5)
    for n, shown in zip(rows, renyi, strict=True):
        assert (one * int(n)).epsilon(1e-5) <= shown <= 1.025 * (one * int(n)).epsilon(1e-5)


@pytest.mark.parametrize("accounting", ["game", [], ["plan", "x"]])
def test_unknown_accountings(accounting):
    with pytest.raises(ValueError, match="accounting=.*must be some of"):
        LabelsDisplay.from_mechanism(GNMax(sigma=20.0), accounting=accounting)


def test_numbers_of_rows():
    with pytest.raises(ValueError, match="n_rows=0 must be"):
        LabelsDisplay.from_mechanism(GNMax(sigma=20.0), n_rows=0)


def test_labels_of_an_ensemble(fitted):
    before = fitted.accountant.spent().n_releases
    display = LabelsDisplay.from_estimator(fitted, n_rows=32)
    assert display.budgets == {"budget": 4.0}
    epsilon, n_pool = display.pool
    assert n_pool == 20
    exact = price_plan(fitted.mechanism_, 20, n_columns=2).epsilon(1e-5)
    assert epsilon == pytest.approx(exact, rel=0.02)
    assert fitted.accountant.spent().n_releases == before
    # A pool that is longer than what was looked at has no point.
    assert LabelsDisplay.from_estimator(fitted, n_rows=8).pool is None


def test_budgets_of_levels_are_marked():
    display = LabelsDisplay({"x": ([0.1, 1.0], [1, 20])}, delta=1e-5, budgets={"$a$": 0.3, "b": 2})
    display.plot()
    assert {text.get_text() for text in display.ax_.texts} == {r"\$a\$", "b"}


def test_unfitted_ensembles_and_levels(fitted):
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError

    for unfitted in (clone(fitted), PrivateLogisticRegression()):
        with pytest.raises(NotFittedError):
            LabelsDisplay.from_estimator(unfitted)
    other = clone(fitted)
    vars(other).update(vars(fitted))
    other.mechanism_ = GNMax(sigma=12.0, ballots={"a": 1, "b": 2})
    # Levels have curves of their own, and the pool no one price.
    display = LabelsDisplay.from_estimator(other, n_rows=20)
    assert {name.split(", ")[1] for name in display.curves} == {"a", "b"}
    assert display.pool is None


def test_spend_over_time(tmp_path):
    accountant = PrivacyAccountant({"a": 2.0, "b": 4.0}, 1e-5, ledger=tmp_path / "x.ledger")
    votes = np.tile([30.0, 20.0], (5, 1))
    accountant.release(GNMax(sigma=100.0), votes)
    reservation = accountant.reserve(GNMax(sigma=100.0), 20, n_columns=2)
    accountant.release(GNMax(sigma=100.0), votes, reservation=reservation)
    accountant.settle(reservation)
    display = BudgetDisplay.from_accountant(accountant, against="time")
    entries = accountant.entries()
    assert [time.isoformat()[:23] for time in display.times[1:]] == [
        entry.time[:23] for entry in entries
    ]
    assert list(display.times) == sorted(display.times)
    for line, (level, spent) in zip(display.lines_, accountant.spent().items(), strict=True):
        assert line.get_label() == level
        shares = line.get_ydata()
        assert shares[0] == 0
        assert shares[-1] == pytest.approx(spent.share)
        # What was paid beforehand counts from then on; what was not drawn came back.
        assert shares[2] == shares[3] > shares[4] > shares[1]
        assert line.get_drawstyle() == "steps-post"
    assert "time" in display.ax_.get_xlabel()
    display.figure_.canvas.draw()


def test_time_or_rows():
    accountant = PrivacyAccountant(1.0, 1e-5)
    with pytest.raises(ValueError, match="against='days' must be"):
        BudgetDisplay.from_accountant(accountant, against="days")
    with pytest.raises(ValueError, match="leave it out"):
        BudgetDisplay.from_accountant(accountant, against="time", accuracy={"a": (None, 0.5)})


def test_a_data_dependent_spend_is_drawn_with_a_caution():
    with pytest.warns(PrivacyLeakWarning):
        accountant = PrivacyAccountant(1.0, 1e-5, accounting="data_dependent")
    display = BudgetDisplay.from_accountant(accountant)
    assert "sensitive" in display.ax_.get_title()


def test_lines_are_seen_on_a_dark_ground(fitted):
    with plt.style.context("dark_background"):
        displays = [
            BudgetDisplay.from_accountant(fitted.accountant),
            LabelsDisplay.from_estimator(fitted, n_rows=2),
        ]
        for display in displays:
            assert {"k", "black"}.isdisjoint(line.get_color() for line in display.ax_.lines)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="install the extra `plot`"):
        LabelsDisplay({}, delta=1e-5).plot()


def test_displays_are_pickled_with_their_figures(fitted):
    display = LabelsDisplay.from_estimator(fitted, n_rows=4)
    again = pickle.loads(pickle.dumps(display))
    assert again.ax_.get_title() == display.ax_.get_title()
    assert again.ax_.xaxis.get_major_formatter()(1000.0) == "1,000"
