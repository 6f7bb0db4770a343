"""What a notebook shows, in a real browser: it can be read, and nothing private is in it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from secretballot import GNMax, PrivacyAccountant, PrivateTeacherEnsemble, recommend_teachers
from secretballot.testing import audit_epsilon

pytestmark = pytest.mark.site

SCREENS = Path(__file__).resolve().parents[2] / "output" / "site"
#: As a notebook does it: scripts are run.
SHOW = """(html) => document.querySelector("article").replaceChildren(
    document.createRange().createContextualFragment(html))"""
#: In some private rows, and in no public one.
PRIVATE = 987_654.0


@pytest.fixture(scope="module")
def displays():
    """HTML of what was shown, by what it is."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    X = y[:, None] * 4 + rng.normal(size=(600, 2))
    X[::7] = PRIVATE
    X[1::7] *= 3  # so that public rows are not beyond all private ones
    levels = np.where(np.arange(600) < 400, "strict <b>", "open")
    accountant = PrivacyAccountant(epsilon={"strict <b>": 1.0, "open": 4.0}, delta=1e-5)
    ensemble = PrivateTeacherEnsemble(
        GaussianNB(),
        30,
        student=GaussianNB(),
        classes=[0, 1],
        accountant=accountant,
        check_public_rows=False,
    )
    ensemble.fit(X, y, X_public=rng.normal(size=(40, 2)), budgets=levels)
    vote = ([[20.0, 10.0]], [[19.0, 11.0]])
    shown = {
        "ensemble": ensemble,
        "accountant": accountant,
        "statement": accountant.statement(),
        "remaining": accountant.remaining(),
        "labels": ensemble.pool_labels_,
        "advice": recommend_teachers(n_private=40_000, n_public=400, epsilon=1.0, delta=1e-5),
        "audit": audit_epsilon(GNMax(sigma=2.0), [vote], 0.01, n_draws=2_000, random_state=0),
    }
    return {name: each._repr_html_() for name, each in shown.items()}


@pytest.fixture
def notebook(visit, displays):
    """Open a page of the site on which displays stand instead of its text."""

    def opened(*names, **window):
        page = visit("guide/ledger.html", **window)
        cells = "".join(
            f"<div class='output_html' id='{name}'>{displays[name]}</div>" for name in names
        )
        page.evaluate(SHOW, cells)
        return page

    return opened


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_displays_render_and_can_be_read(notebook, displays, mode):
    page = notebook(*displays, mode=mode)
    for name in displays:
        box = page.locator(f"#{name}").bounding_box()
        assert box["width"] > 100, name
        assert box["height"] > 40, name
    assert page.evaluate("look.faint('article .sb-view *')") == {}
    assert page.evaluate("look.cutOff()") == []


def test_bars_are_as_long_as_what_they_say(notebook, displays):
    page = notebook("accountant")
    bars = page.locator("#accountant .sb-bar").all()
    assert len(bars) == 2
    for bar in bars:
        whole, spent = (one.bounding_box()["width"] for one in (bar, bar.locator("span").first))
        said = float(re.search(r"([\d.]+)%", bar.locator("xpath=ancestor::tr").inner_text())[1])
        assert spent / whole == pytest.approx(said / 100, abs=0.01)


def test_displays_fit_a_telephone(notebook, displays):
    assert notebook(*displays, width=390).evaluate("look.cutOff()") == []


def test_nothing_private_is_shown(notebook, displays):
    article = notebook(*displays).locator("article")
    assert str(PRIVATE)[:5] not in article.evaluate("(one) => one.outerHTML")
    assert "strict <b>" in article.inner_text()
    assert article.locator(".sb-view b").count() == 0


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_screens(notebook, visit, mode):
    """Not much of a test: pictures to look at, in output/site."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    pages = {
        "front": "index.html",
        "gallery": "examples/index.html",
        "example": "examples/plot_private_labels.html",
        "api": "api/generated/secretballot.ensemble.PrivateTeacherEnsemble.html",
    }
    for name, address in pages.items():
        page = visit(address, mode=mode)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=SCREENS / f"{name}-{mode}.png")
    for name in ("ensemble", "accountant", "statement"):
        page = notebook(name, mode=mode, height=1400)  # what is beyond the window is not drawn
        page.locator(f"#{name}").screenshot(path=SCREENS / f"display-{name}-{mode}.png")
    assert len(list(SCREENS.glob(f"*-{mode}.png"))) == 7
