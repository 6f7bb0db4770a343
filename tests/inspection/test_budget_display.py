import sys

import numpy as np
import pytest

from secretballot.accounting import PrivacyAccountant
from secretballot.datasets import make_votes
from secretballot.inspection import BudgetDisplay
from secretballot.mechanisms import GNMax

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def spend(accountant, *sizes):
    for n_rows in sizes:
        accountant.release(GNMax(sigma=100.0), make_votes(n_rows, random_state=0)[0])
    return accountant


def test_from_accountant_draws_the_entries_of_the_ledger():
    accountant = spend(PrivacyAccountant(epsilon=2.0, delta=1e-5, order="renyi"), 10, 30)
    display = BudgetDisplay.from_accountant(accountant)
    (line,) = display.lines_
    rows, share = line.get_data()
    np.testing.assert_array_equal(rows, [0, 10, 40])
    assert share[0] == 0
    # Rows of one mechanism cost alike here, and the last point is what the accountant says.
    assert share[1] == pytest.approx(share[2] / 4)
    assert share[2] == pytest.approx(accountant.spent().share)
    assert display.accuracy_ax_ is None
    assert display.figure_ is display.ax_.figure


def test_drawing_spends_nothing():
    accountant = spend(PrivacyAccountant(epsilon=2.0, delta=1e-5, order="renyi"), 10)
    before = accountant.spent()
    BudgetDisplay.from_accountant(accountant)
    after = accountant.spent()
    assert (after.amount, after.n_releases) == (before.amount, before.n_releases)


def test_nothing_released_yet():
    display = BudgetDisplay.from_accountant(
        PrivacyAccountant(epsilon=2.0, delta=1e-5, order="renyi")
    )
    np.testing.assert_array_equal(display.lines_[0].get_data(), [[0], [0]])


def test_one_line_for_each_level():
    levels = {"strict": 1.0, "generous": 3.0}
    accountant = spend(PrivacyAccountant(epsilon=levels, delta=1e-5, order="renyi"), 20)
    display = BudgetDisplay.from_accountant(accountant)
    assert [line.get_label() for line in display.lines_] == list(levels)
    for line, spent in zip(display.lines_, accountant.spent().values(), strict=True):
        assert line.get_ydata()[-1] == pytest.approx(spent.share)
    assert display.ax_.get_legend() is not None


def test_accuracy_is_drawn_above():
    accuracy = {"student": ([5, 10], [0.6, 0.7]), "teacher": (None, 0.65)}
    display = BudgetDisplay(rows=[0, 10], shares={"everyone": [0, 0.5]}, accuracy=accuracy).plot()
    assert len(display.figure_.axes) == 2
    names = [text.get_text() for text in display.accuracy_ax_.get_legend().get_texts()]
    assert names == ["student", "teacher"]
    np.testing.assert_array_equal(display.lines_[1].get_data(), [[5, 10], [0.6, 0.7]])


def test_given_axes_are_used():
    _, axes = plt.subplots(1, 2)
    display = BudgetDisplay(
        rows=[0], shares={"everyone": [0]}, accuracy={"teacher": (None, 0.65)}
    ).plot(axes)
    assert (display.accuracy_ax_, display.ax_) == tuple(axes)
    single = BudgetDisplay(rows=[0], shares={"everyone": [0]}).plot(axes[0])
    assert single.ax_ is axes[0]


def test_wrong_number_of_axes():
    _, axes = plt.subplots(1, 2)
    with pytest.raises(ValueError, match="axes has 2 entries; this display draws on 1"):
        BudgetDisplay(rows=[0], shares={"everyone": [0]}).plot(axes)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="install the extra `plot`"):
        BudgetDisplay(rows=[0], shares={"everyone": [0]}).plot()
