"""The built site in a real browser: nothing is cut off, both modes can be read, a search finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.site

DOCS = Path(__file__).resolve().parents[2] / "docs"
ENSEMBLE = "api/generated/secretballot.ensemble.PrivateTeacherEnsemble.html"
SOME_OF_THE_API = (
    ENSEMBLE,
    "api/generated/secretballot.linear.PrivateLogisticRegression.html",
    "api/generated/secretballot.accounting.PrivacyAccountant.html",
    "api/generated/secretballot.mechanisms.GNMax.html",
    "api/generated/secretballot.quantification.MMDClassRatioEstimator.html",
    "_modules/secretballot/ensemble/_private_teacher_ensemble.html",
)
WRITTEN = sorted(
    str(path.relative_to(DOCS).with_suffix(".html"))
    for path in [*DOCS.rglob("*.md"), *DOCS.glob("api/*.rst")]
    if "_build" not in path.parts
)
EXAMPLES = sorted(
    f"examples/{path.stem}.html" for path in (DOCS.parent / "examples").glob("plot_*.py")
)
EVERY = [*WRITTEN, *EXAMPLES, "examples/index.html", *SOME_OF_THE_API]


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off(visit, address, width):
    page = visit("index.html", width=width)
    cut = {}
    for name in EVERY:
        page.goto(f"{address}/{name}")
        found = page.evaluate("look.cutOff()") + page.evaluate("look.scrolledCode()")
        if found:
            cut[name] = found
    assert cut == {}


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_both_modes_can_be_read(visit, address, mode):
    page = visit("index.html", mode=mode)
    assert page.evaluate("document.documentElement.dataset.theme") == mode
    faint = {}
    for name in EVERY:
        page.goto(f"{address}/{name}")
        if found := page.evaluate("look.faint('body *')"):
            faint[name] = found
    assert faint == {}


def test_what_is_cut_off_or_faint_is_found(visit):
    page = visit()
    page.set_content(
        "<article><p style='width: 3000px'>wide</p><p style='color: #ccc'>faint</p>"
        f"<div style='overflow: hidden'><h1>{'Long' * 100}</h1></div></article>"
    )
    assert len(page.evaluate("look.cutOff()")) == 3  # the paragraph, the page with it, the title
    ((colours, what),) = page.evaluate("look.faint('body *')").items()
    assert colours == "rgb(204, 204, 204) on 255,255,255"
    assert what.endswith("faint")


def test_a_search_finds_the_ensemble(visit):
    page = visit("search.html?q=PrivateTeacherEnsemble")
    result = page.locator("#search-results a[href*='secretballot.ensemble.PrivateTeacherEnsemble']")
    result.first.click()
    page.wait_for_url("**/secretballot.ensemble.PrivateTeacherEnsemble.html*")
    assert page.locator("h1").inner_text().startswith("PrivateTeacherEnsemble")


def test_pictures_of_the_gallery_load(visit, address):
    page = visit("examples/index.html")
    loaded = "() => [...document.images].map((one) => [one.src, one.complete && one.naturalWidth])"

    def widths():
        page.wait_for_load_state("networkidle")
        return dict(page.evaluate(loaded))

    thumbnails = {src: n for src, n in widths().items() if "thumb" in src}
    assert len(thumbnails) == len(EXAMPLES) >= 12
    assert min(thumbnails.values()) > 100
    assert not [src for src in thumbnails if "no_image" in src or "broken" in src]
    for name in EXAMPLES:
        page.goto(f"{address}/{name}")
        drawn = {src: n for src, n in widths().items() if "/_images/" in src}
        assert drawn, f"{name} shows no picture"
        assert min(drawn.values()) > 300, name


def test_modes_are_switched(visit):
    page = visit("topics/budgets.html")
    for mode in ("dark", "light"):
        page.locator("button.theme-switch-button:visible").click()
        page.locator(f".theme-change-button[data-mode={mode}]:visible").click()
        assert page.evaluate("document.documentElement.dataset.theme") == mode


def test_versions_are_switched_where_there_are_several(visit, address):
    known = json.loads((DOCS / "_static/versions.json").read_text())
    page = visit("topics/budgets.html")
    button = page.locator("button.version-switcher__button")
    if len(known) == 1:
        assert button.count() == 0
        return
    button.first.click()
    shown = page.locator(".version-switcher__menu a:visible").all()
    assert [each.inner_text() for each in shown] == [each["name"] for each in known]
    links = [page.evaluate("(one) => one.href", each.element_handle()) for each in shown]
    assert f"{address}/topics/budgets.html" in links


def test_code_is_copied_without_prompts(visit):
    page = visit(ENSEMBLE)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = page.locator("article div.highlight", has=page.locator("button.copybtn")).first
    assert ">>>" in block.inner_text()
    block.hover()
    block.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "import" in copied
    assert ">>>" not in copied
