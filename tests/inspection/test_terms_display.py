import sys

import numpy as np
import pandas as pd
import pytest

from secretballot.accounting import PrivacyAccountant
from secretballot.ensemble import PublicData
from secretballot.inspection import TermsDisplay
from secretballot.linear import AdditiveTerm, PrivateLinearRegression, PrivateLogisticRegression

plt = pytest.importorskip("matplotlib.pyplot")

N_ROWS = 1_500


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a$e": rng.normal(size=N_ROWS),
            "gain": np.where(rng.random(N_ROWS) < 0.7, 0.0, rng.exponential(size=N_ROWS)),
            "work": rng.choice(["state", "own", "none"], N_ROWS),
            "flag": rng.integers(0, 2, N_ROWS),
        }
    )
    budget = PrivacyAccountant(epsilon=4.0, delta=1e-5)
    model = PrivateLogisticRegression(n_bins=4, rounds=0, classes=["no", "yes"], accountant=budget)
    y = np.where(X["a$e"] + (X["work"] == "own") > 0, "yes", "no")
    return model.fit(X[200:], y[200:], X_public=PublicData(X[:200]))


def test_numbers_are_steps_with_a_band(model):
    before = len(model.accountant.entries())
    display = TermsDisplay.from_estimator(model)
    assert len(model.accountant.entries()) == before
    assert [ax.get_title() for ax in display.axes_] == [r"a\$e", "gain", "work", "flag"]
    term, ax = model.terms()[0], display.axes_[0]
    band, steps = ax.patches
    values, edges, _ = steps.get_data()
    effect, error = term.effect[:-1], term.error[:-1]  # without that of missing cells
    np.testing.assert_allclose(values, effect)
    np.testing.assert_allclose(edges[1:-1], term.edges)
    assert (np.diff(edges) > 0).all()
    upper, _, lower = band.get_data()
    np.testing.assert_allclose(upper, effect + 2 * error)
    np.testing.assert_allclose(lower, effect - 2 * error)
    assert ax.get_ylabel() == "added to the log odds of yes"


def test_values_of_their_own_are_points_beside_the_steps(model):
    display = TermsDisplay.from_estimator(model, columns=["gain"])
    (ax,) = display.axes_
    term = model.terms()[1]
    (points,) = ax.containers
    single = term.labels.index("0")
    np.testing.assert_allclose(points[0].get_xydata(), [[0.0, term.effect[single]]])
    others = np.delete(term.effect[:-1], single)
    np.testing.assert_allclose(ax.patches[1].get_data()[0], others)


def test_categories_are_sorted_points(model):
    _, axes = plt.subplots(2)
    display = TermsDisplay.from_estimator(model, columns=["work", "a$e"], target="no", axes=axes)
    assert display.axes_.tolist() == axes.tolist()
    term, ax = model.terms("no")[2], axes[0]
    (points,) = ax.containers
    order = np.argsort(term.effect[:-1])
    np.testing.assert_allclose(points[0].get_xdata(), term.effect[order])
    assert [text.get_text() for text in ax.get_yticklabels()] == [term.labels[i] for i in order]
    assert ax.get_xlabel() == "added to the log odds of no"


def test_of_many_categories_the_furthest_are_drawn():
    effect = np.linspace(-1.0, 1.0, 40)
    names = tuple(f"place {at}" for at in range(40))
    term = AdditiveTerm(
        name=3,
        labels=names,
        values=None,
        edges=None,
        effect=effect,
        error=np.full(40, 0.1),
        is_value=np.zeros(40, dtype=bool),
    )
    (ax,) = TermsDisplay([term]).plot().axes_
    assert ax.get_title() == "column 3 (15 of 40)"
    assert len(ax.get_yticks()) == 15
    assert np.abs(ax.containers[0][0].get_xdata()).min() > 0.6


def test_the_display_holds_no_row(model):
    """Whatever a picture is pickled with is as long as the columns have bins, and public."""
    display = TermsDisplay.from_estimator(model)
    assert sorted(vars(display)) == ["axes_", "figure_", "quantity", "target", "terms"]
    longest = max(len(term.effect) for term in model.terms())
    for term in display.terms:
        for value in vars(term).values():
            assert value is None or np.ndim(value) == 0 or len(value) <= longest


@pytest.mark.parametrize("columns", [["age"], []])
def test_unknown_columns(model, columns):
    with pytest.raises(ValueError, match=r"must be some of the columns .*'gain'"):
        TermsDisplay.from_estimator(model, columns=columns)


def test_a_target_is_for_classes():
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    numbers = PrivateLinearRegression(
        target_bounds=(-3, 3), accountant=PrivacyAccountant(4.0, 1e-5), bounds=(-4, 4)
    ).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="target=1 is for classes"):
        TermsDisplay.from_estimator(numbers, target=1)


def test_wrong_number_of_axes(model):
    with pytest.raises(ValueError, match="axes has 1 entries; this display draws on 4"):
        TermsDisplay.from_estimator(model, axes=[plt.subplots()[1]])


def test_without_matplotlib(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="TermsDisplay draws .* install the extra `plot`"):
        TermsDisplay.from_estimator(model)
